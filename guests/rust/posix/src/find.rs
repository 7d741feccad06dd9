//! `find`: lists the entries of a tree by name and kind.

use std::ffi::OsStr;

use crate::console::{Console, End};
use crate::glob::Glob;
use crate::name;
use crate::reason::reason;
use crate::shape::{Arguments, Operands, Presence, Shape, decimal, flag, valued};
use crate::status::{Follow, Kind};
use crate::system;
use crate::walk::{Step, Walk};

pub(crate) const SHAPE: Shape = Shape {
    usage: "find path -maxdepth N [-type f|d] [-name GLOB] -print",
    options: &[
        valued("-maxdepth", Presence::Required),
        valued("-type", Presence::Optional),
        valued("-name", Presence::Optional),
        flag("-print", Presence::Required),
    ],
    operands: Operands::First,
    count: 1..=1,
};

/// What is listed.
struct Search {
    depth: usize,
    kind: Option<Kind>,
    glob: Option<Glob>,
}

pub(crate) fn run(arguments: &Arguments, console: &mut Console) -> Result<(), End> {
    let Some(search) = search(arguments, console) else {
        return Ok(());
    };
    let mut walk = Walk::new(arguments.first());
    match system::status(walk.path(), Follow::No) {
        Ok(status) => search.visit(&mut walk, status.kind(), console)?,
        Err(error) => complain(&walk, &reason(&error), console),
    }
    while let Some(step) = walk.step()? {
        if let Step::Entry(kind) = step {
            search.visit(&mut walk, kind, console)?;
        }
    }
    Ok(())
}

fn search(arguments: &Arguments, console: &mut Console) -> Option<Search> {
    let text = arguments.value("-maxdepth").unwrap_or_default();
    let Some(depth) = decimal(text).and_then(|depth| usize::try_from(depth).ok()) else {
        let shown = name::shown(text.as_encoded_bytes());
        console.complain(
            1,
            format_args!(
                "Expected a positive decimal integer argument to -maxdepth, but got '{shown}'"
            ),
        );
        return None;
    };
    let kind = match arguments.value("-type").and_then(OsStr::to_str) {
        None => None,
        Some("f") => Some(Kind::File),
        Some("d") => Some(Kind::Folder),
        Some(other) => {
            let shown = name::shown(other.as_bytes());
            console.complain(1, format_args!("Unknown argument to -type: {shown}"));
            return None;
        }
    };
    let glob = arguments.value("-name");
    let glob = glob.map(|pattern| Glob::new(pattern.as_encoded_bytes()));
    Some(Search { depth, kind, glob })
}

impl Search {
    /// Lists what the walk stands at, and enters it if it is a folder.
    fn visit(&self, walk: &mut Walk, kind: Kind, console: &mut Console) -> Result<(), End> {
        let named = match &self.glob {
            Some(glob) => glob.matches(last_part(walk.name())),
            None => true,
        };
        if named && self.kind.is_none_or(|wanted| wanted == kind) {
            console.text(&name::shown(walk.name()))?;
        }
        if kind != Kind::Folder || walk.depth() >= self.depth {
            return Ok(());
        }
        match walk.enter(None)? {
            Ok(None) => {}
            Ok(Some(missing)) => complain(walk, &missing, console),
            Err(error) => complain(walk, &reason(&error), console),
        }
        Ok(())
    }
}

/// The last part of a path, without the slashes behind it.
fn last_part(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/');
    let Some(end) = end else {
        return path.get(..1).unwrap_or(path);
    };
    let path = path.get(..=end).unwrap_or(path);
    let mut parts = path.rsplit(|byte| *byte == b'/');
    parts.next().unwrap_or(path)
}

fn complain(walk: &Walk, reason: &str, console: &mut Console) {
    let shown = name::shown(walk.name());
    let shown = shown.replace('\'', "\\'");
    console.complain(1, format_args!("'{shown}': {reason}"));
}
