//! `grep`: writes the lines that match a pattern.

mod bracket;
mod excerpt;
mod needle;
mod pattern;
mod search;
mod syntax;

use std::ffi::OsStr;

use crate::console::{Console, End};
use crate::input::{self, Input, Refusal};
use crate::name;
use crate::reason::reason;
use crate::shape::{Arguments, Operands, Presence, Shape, flag};
use crate::status::{Follow, Kind};
use crate::system;
use crate::walk::{Step, Walk};
use pattern::{Case, Pattern, Syntax};
use search::Search;

pub(crate) const SHAPE: Shape = Shape {
    usage: "grep -n [-R] [-i] [-F] -- pattern paths...",
    options: &[
        flag("-n", Presence::Required),
        flag("-R", Presence::Optional),
        flag("-i", Presence::Optional),
        flag("-F", Presence::Optional),
    ],
    operands: Operands::Last,
    count: 2..=usize::MAX,
};

/// The exit code when no line matched.
const NO_MATCH: u8 = 1;

/// The exit code when something could not be searched.
const TROUBLE: u8 = 2;

/// What is done with a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folders {
    Walked,
    Refused,
}

/// Whether lines are preceded by the path of their file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefix {
    Always,
    /// Only those of files that a walk found.
    Found,
}

pub(crate) fn run(arguments: &Arguments, console: &mut Console) -> Result<(), End> {
    let case = if arguments.has("-i") {
        Case::Ignored
    } else {
        Case::Kept
    };
    let syntax = if arguments.has("-F") {
        Syntax::Fixed
    } else {
        Syntax::Basic
    };
    let pattern = arguments.first().as_encoded_bytes();
    let pattern = match Pattern::new(pattern, syntax, case) {
        Ok(pattern) => pattern,
        Err(problems) => {
            for problem in problems {
                console.complain(TROUBLE, problem);
            }
            return Ok(());
        }
    };
    let mut grep = Grep {
        search: Search::new(pattern),
        console,
        prefix: match arguments.rest() {
            [_] => Prefix::Found,
            _ => Prefix::Always,
        },
        matched: false,
    };
    let folders = if arguments.has("-R") {
        Folders::Walked
    } else {
        Folders::Refused
    };
    for path in arguments.rest() {
        grep.operand(path, folders)?;
    }
    if !grep.matched && grep.console.code() == 0 {
        grep.console.set_code(NO_MATCH);
    }
    Ok(())
}

/// How a file came to be searched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Named,
    Found,
}

/// One run over all operands.
struct Grep<'a> {
    search: Search,
    console: &'a mut Console,
    prefix: Prefix,
    matched: bool,
}

impl Grep<'_> {
    fn operand(&mut self, path: &OsStr, folders: Folders) -> Result<(), End> {
        match input::open(path) {
            Ok(input) => self.file(path, input, Origin::Named),
            Err(Refusal::Folder) if folders == Folders::Walked => self.tree(path),
            Err(refusal) => {
                self.complain(path.as_encoded_bytes(), &refusal.reason());
                Ok(())
            }
        }
    }

    /// Searches all files below a folder. Links are followed, and one that leads back to a folder
    /// that the walk is in is told.
    fn tree(&mut self, start: &OsStr) -> Result<(), End> {
        let mut walk = Walk::new(start);
        self.enter(&mut walk)?;
        while let Some(step) = walk.step()? {
            let Step::Entry(kind) = step else { continue };
            match self.followed(&walk, kind) {
                Some(Kind::Folder) => self.enter(&mut walk)?,
                Some(Kind::File) => self.found(&walk)?,
                Some(Kind::Link | Kind::Other) | None => {}
            }
        }
        Ok(())
    }

    /// What an entry is, behind the link that it may be.
    fn followed(&mut self, walk: &Walk, kind: Kind) -> Option<Kind> {
        if kind != Kind::Link {
            return Some(kind);
        }
        match system::status(walk.path(), Follow::Yes) {
            Ok(status) => Some(status.kind()),
            Err(error) => {
                self.complain(walk.name(), &reason(&error));
                None
            }
        }
    }

    fn enter(&mut self, walk: &mut Walk) -> Result<(), End> {
        let identity = match system::status(walk.path(), Follow::Yes) {
            Ok(status) => status.identity(),
            Err(error) => {
                self.complain(walk.name(), &reason(&error));
                return Ok(());
            }
        };
        if walk.is_inside(identity) {
            let shown = name::shown(walk.name());
            let warning = format_args!("{shown}: warning: recursive directory loop");
            self.console.complain(0, warning);
            return Ok(());
        }
        match walk.enter(Some(identity))? {
            Ok(None) => {}
            Ok(Some(missing)) => self.complain(walk.name(), &missing),
            Err(error) => self.complain(walk.name(), &reason(&error)),
        }
        Ok(())
    }

    /// Searches a file that the walk found.
    fn found(&mut self, walk: &Walk) -> Result<(), End> {
        let path = walk.path().as_os_str();
        match input::open(path) {
            Ok(input) => self.file(path, input, Origin::Found),
            // What is no longer a file is skipped as if it had never been one.
            Err(Refusal::NotRegular | Refusal::Folder) => Ok(()),
            Err(Refusal::Failed(error)) => {
                self.complain(walk.name(), &reason(&error));
                Ok(())
            }
        }
    }

    fn file(&mut self, path: &OsStr, input: Input, origin: Origin) -> Result<(), End> {
        let shown = name::shown(path.as_encoded_bytes());
        let prefix = match (origin, self.prefix) {
            (Origin::Named, Prefix::Found) => b"",
            (Origin::Found, _) | (_, Prefix::Always) => shown.as_bytes(),
        };
        match self.search.file(input.file, prefix, self.console) {
            Ok(found) => {
                self.matched |= found.matched;
                if found.in_binary {
                    let message = format_args!("{shown}: binary file matches");
                    self.console.complain(0, message);
                }
                if let Some(error) = found.error {
                    self.complain(path.as_encoded_bytes(), &reason(&error));
                }
                Ok(())
            }
            Err(End::TooLarge) => {
                self.console.too_large(&format!("{shown}: "));
                Ok(())
            }
            Err(End::Unread) => {
                self.matched = true;
                Err(End::Unread)
            }
        }
    }

    fn complain(&mut self, path: &[u8], reason: &str) {
        let shown = name::shown(path);
        self.console
            .complain(TROUBLE, format_args!("{shown}: {reason}"));
    }
}
