//! `head`: writes the first lines of a file.

use std::ffi::OsStr;

use memchr::memchr_iter;

use crate::console::{Console, End};
use crate::input::{self, CHUNK_BYTES, Input, Refusal};
use crate::name;
use crate::reason::reason;
use crate::shape::{Arguments, Presence, Shape, decimal, one_path, valued};

pub(crate) const SHAPE: Shape = one_path("head -n N -- path", &[valued("-n", Presence::Required)]);

pub(crate) fn run(arguments: &Arguments, console: &mut Console) -> Result<(), End> {
    let Some(lines) = line_count(arguments, console) else {
        return Ok(());
    };
    let path = arguments.first();
    if lines == 0 && matches!(input::open(path), Err(Refusal::Folder)) {
        // It can be opened, and nothing of it has to be read.
        return Ok(());
    }
    let Some(input) = open(path, console) else {
        return Ok(());
    };
    write_lines(input, lines, path, console)
}

fn write_lines(
    mut input: Input,
    mut lines: u64,
    path: &OsStr,
    console: &mut Console,
) -> Result<(), End> {
    while lines > 0 {
        let bytes = match input.file.read(CHUNK_BYTES) {
            Ok(bytes) if bytes.is_empty() => break,
            Ok(bytes) => bytes,
            Err(error) => {
                unreadable(path, &reason(&error), console);
                break;
            }
        };
        let mut end = bytes.len();
        for newline in memchr_iter(b'\n', &bytes) {
            lines -= 1;
            if lines == 0 {
                end = newline + 1;
                break;
            }
        }
        console.write(bytes.get(..end).unwrap_or(&bytes))?;
    }
    Ok(())
}

/// The number of lines that `head` and `tail` are asked for.
pub(crate) fn line_count(arguments: &Arguments, console: &mut Console) -> Option<u64> {
    let text = arguments.value("-n").unwrap_or_default();
    let lines = decimal(text);
    if lines.is_none() {
        let shown = name::quoted(text.as_encoded_bytes());
        console.complain(1, format_args!("invalid number of lines: {shown}"));
    }
    lines
}

/// Opens the file of `head` and `tail`, or says why not in their words.
pub(crate) fn open(path: &OsStr, console: &mut Console) -> Option<Input> {
    match input::open(path) {
        Ok(input) => return Some(input),
        Err(Refusal::Folder) => unreadable(path, &Refusal::Folder.reason(), console),
        Err(refusal) => {
            let shown = name::quoted(path.as_encoded_bytes());
            let reason = refusal.reason();
            console.complain(1, format_args!("cannot open {shown} for reading: {reason}"));
        }
    }
    None
}

/// Says that an open file could not be read.
pub(crate) fn unreadable(path: &OsStr, reason: &str, console: &mut Console) {
    let shown = name::quoted(path.as_encoded_bytes());
    console.complain(1, format_args!("error reading {shown}: {reason}"));
}
