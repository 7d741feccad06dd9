//! `file`: names the type of a file. The names are those of `kind.rs`.

mod kind;
mod text;

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use crate::console::{Console, End};
use crate::input::{self, Refusal};
use crate::link;
use crate::name;
use crate::reason::reason;
use crate::shape::{Arguments, Shape, one_path};
use crate::status::{Follow, Status};
use crate::system;

pub(crate) const SHAPE: Shape = one_path("file -- path", &[]);

/// How much of a file its type is told by, in bytes.
const HEAD_BYTES: usize = 64 * 1024;

pub(crate) fn run(arguments: &Arguments, console: &mut Console) -> Result<(), End> {
    let path = arguments.first();
    let kind = match system::status(Path::new(path), Follow::No) {
        Ok(status) => of_status(path, &status),
        Err(error) => not_opened(path, &reason(&error)),
    };
    console.line(format_args!(
        "{}: {kind}",
        name::shown(path.as_encoded_bytes())
    ))
}

/// As with GNU's `file`, a file that cannot be opened is an answer and no failure.
fn not_opened(path: &OsStr, reason: &str) -> String {
    let shown = name::shown(path.as_encoded_bytes());
    format!("cannot open `{shown}' ({reason})")
}

fn of_status(path: &OsStr, status: &Status) -> String {
    match status.type_bits() {
        0o100_000 if status.size == 0 => "empty".to_owned(),
        0o100_000 => of_content(path),
        0o040_000 => "directory".to_owned(),
        0o120_000 => of_link(path),
        0o010_000 => "fifo (named pipe)".to_owned(),
        0o140_000 => "socket".to_owned(),
        0o060_000 => "block special".to_owned(),
        0o020_000 => "character special".to_owned(),
        _ => "unknown type".to_owned(),
    }
}

fn of_link(path: &OsStr) -> String {
    let target = link::target(path);
    match system::status(Path::new(path), Follow::Yes) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            format!("broken symbolic link to {target}")
        }
        Ok(_) | Err(_) => format!("symbolic link to {target}"),
    }
}

fn of_content(path: &OsStr) -> String {
    match head(path) {
        Ok(head) => kind::of(&head),
        Err(refusal) => not_opened(path, &refusal.reason()),
    }
}

/// The first bytes of a file.
fn head(path: &OsStr) -> Result<Vec<u8>, Refusal> {
    let mut input = input::open(path)?;
    input::read_full(&mut input.file, HEAD_BYTES).map_err(Refusal::Failed)
}
