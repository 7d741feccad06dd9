//! `tail`: writes the last lines of a file.
//!
//! They are looked for from the end, so that nothing but one chunk is held. How far back is
//! bounded, so that a huge file without newlines ends quickly.

use std::io::{self, ErrorKind};

use memchr::memrchr_iter;

use crate::console::{Console, End};
use crate::head::{line_count, open, unreadable};
use crate::input::{self, CHUNK_BYTES, Input};
use crate::reason::reason;
use crate::shape::{Arguments, Presence, Shape, one_path, valued};
use crate::system::File;

pub(crate) const SHAPE: Shape = one_path("tail -n N -- path", &[valued("-n", Presence::Required)]);

/// The most that the last lines may take, in bytes.
const WINDOW_BYTES: u64 = 32 * 1024 * 1024;

pub(crate) fn run(arguments: &Arguments, console: &mut Console) -> Result<(), End> {
    let Some(lines) = line_count(arguments, console) else {
        return Ok(());
    };
    if lines == 0 {
        return Ok(());
    }
    let path = arguments.first();
    let Some(mut input) = open(path, console) else {
        return Ok(());
    };
    let start = find_start(&mut input, lines)?;
    let found = start.and_then(|start| input.file.go_to(start));
    if let Err(error) = found {
        unreadable(path, &reason(&error), console);
        return Ok(());
    }
    loop {
        match input.file.read(CHUNK_BYTES) {
            Ok(bytes) if bytes.is_empty() => return Ok(()),
            Ok(bytes) => console.write(&bytes)?,
            Err(error) => {
                unreadable(path, &reason(&error), console);
                return Ok(());
            }
        }
    }
}

/// Where the last `lines` lines start.
fn find_start(input: &mut Input, lines: u64) -> Result<io::Result<u64>, End> {
    let chunk_bytes = u64::try_from(CHUNK_BYTES).unwrap_or(u64::MAX);
    let mut end = input.length;
    let mut newlines = 0;
    while end > 0 {
        if input.length - end > WINDOW_BYTES {
            return Err(End::TooLarge);
        }
        let start = end.saturating_sub(chunk_bytes);
        let length = usize::try_from(end - start).unwrap_or(usize::MAX);
        let bytes = match read_at(&mut input.file, start, length) {
            Ok(bytes) => bytes,
            Err(error) => return Ok(Err(error)),
        };
        for at in memrchr_iter(b'\n', &bytes) {
            let after = start + u64::try_from(at).unwrap_or(0) + 1;
            // The newline that ends the last line starts none.
            if after == input.length {
                continue;
            }
            newlines += 1;
            if newlines == lines {
                return Ok(Ok(after));
            }
        }
        end = start;
    }
    Ok(Ok(0))
}

/// Reads what stood there when the file was opened, or refuses where it has become shorter.
fn read_at(file: &mut File, start: u64, length: usize) -> io::Result<Vec<u8>> {
    file.go_to(start)?;
    let bytes = input::read_full(file, length)?;
    if bytes.len() < length {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}
