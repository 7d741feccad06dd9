//! `ls`: lists the names in a folder, one a line.

use std::ffi::OsStr;
use std::path::Path;

use crate::console::{Console, End};
use crate::listing::{Listing, MAX_ENTRIES};
use crate::name;
use crate::reason::reason;
use crate::shape::{Arguments, Presence, Shape, flag, one_path};
use crate::status::{Follow, Kind};
use crate::system;

pub(crate) const SHAPE: Shape = one_path(
    "ls -1 [-a] -- path",
    &[
        flag("-1", Presence::Required),
        flag("-a", Presence::Optional),
    ],
);

/// What is done with names that start with a dot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hidden {
    Listed,
    Left,
}

pub(crate) fn run(arguments: &Arguments, console: &mut Console) -> Result<(), End> {
    let path = arguments.first();
    let hidden = if arguments.has("-a") {
        Hidden::Listed
    } else {
        Hidden::Left
    };
    // Most paths are folders that can be listed; the others are looked at more closely.
    if let Ok(listing) = system::list(Path::new(path), MAX_ENTRIES)? {
        return show(path, &listing, hidden, console);
    }
    let followed = system::status(Path::new(path), Follow::Yes);
    // A link that leads nowhere, or out of the workspace, is listed as itself; one that leads in a
    // circle is an error, as with GNU.
    let listed = match followed {
        Err(error) if error.raw_os_error() != Some(system::LOOP) => {
            system::status(Path::new(path), Follow::No)
        }
        other => other,
    };
    match listed {
        Err(error) => {
            let shown = name::quoted(path.as_encoded_bytes());
            let reason = reason(&error);
            console.complain(2, format_args!("cannot access {shown}: {reason}"));
            Ok(())
        }
        Ok(status) if status.kind() == Kind::Folder => list(path, hidden, console),
        Ok(_) => console.text(&name::shown(path.as_encoded_bytes())),
    }
}

fn list(path: &OsStr, hidden: Hidden, console: &mut Console) -> Result<(), End> {
    match system::list(Path::new(path), MAX_ENTRIES)? {
        Ok(listing) => show(path, &listing, hidden, console),
        Err(error) => {
            let shown = name::quoted(path.as_encoded_bytes());
            let reason = reason(&error);
            console.complain(2, format_args!("cannot open directory {shown}: {reason}"));
            Ok(())
        }
    }
}

fn show(path: &OsStr, listing: &Listing, hidden: Hidden, console: &mut Console) -> Result<(), End> {
    if let Some(missing) = &listing.missing {
        let shown = name::quoted(path.as_encoded_bytes());
        console.complain(2, format_args!("reading directory {shown}: {missing}"));
    }
    let all = hidden == Hidden::Listed;
    // `.` and `..` stand where their bytes put them: behind `-` and before most letters.
    let mut dots = [".", ".."].into_iter().filter(|_| all).peekable();
    for (entry, _kind) in (0..).map_while(|at| listing.get(at)) {
        let bytes = entry.as_encoded_bytes();
        while let Some(dot) = dots.next_if(|dot| dot.as_bytes() < bytes) {
            console.text(dot)?;
        }
        if all || !bytes.starts_with(b".") {
            console.text(&name::shown(bytes))?;
        }
    }
    for dot in dots {
        console.text(dot)?;
    }
    Ok(())
}
