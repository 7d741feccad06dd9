//! `wc`: counts the lines, words or bytes of a file.

use std::ffi::OsStr;
use std::io;

use crate::class::is_space;
use crate::console::{Console, End};
use crate::input::{self, CHUNK_BYTES, Input, Refusal};
use crate::name;
use crate::newlines::newlines;
use crate::reason::reason;
use crate::shape::{Arguments, Presence, Shape, flag, one_path};

pub(crate) const SHAPE: Shape = one_path(
    "wc -l|-w|-c -- path",
    &[
        flag("-l", Presence::OneOf),
        flag("-w", Presence::OneOf),
        flag("-c", Presence::OneOf),
    ],
);

pub(crate) fn run(arguments: &Arguments, console: &mut Console) -> Result<(), End> {
    let path = arguments.first();
    let mut input = match input::open(path) {
        Ok(input) => input,
        Err(refusal) => {
            complain(path, &refusal.reason(), console);
            // A folder can be opened but not read, and so it has a count.
            return match refusal {
                Refusal::Folder => print(0, path, console),
                Refusal::NotRegular | Refusal::Failed(_) => Ok(()),
            };
        }
    };
    if arguments.has("-c") {
        return print(input.length, path, console);
    }
    let mut counter = if arguments.has("-l") {
        Counter::Lines(0)
    } else {
        Counter::Words(Words::default())
    };
    if let Err(error) = read_all(&mut input, &mut counter) {
        complain(path, &reason(&error), console);
    }
    print(counter.total(), path, console)
}

fn print(total: u64, path: &OsStr, console: &mut Console) -> Result<(), End> {
    console.line(format_args!(
        "{total} {}",
        name::shown(path.as_encoded_bytes())
    ))
}

fn complain(path: &OsStr, reason: &str, console: &mut Console) {
    let shown = name::in_message(path.as_encoded_bytes());
    console.complain(1, format_args!("{shown}: {reason}"));
}

fn read_all(input: &mut Input, counter: &mut Counter) -> io::Result<()> {
    loop {
        let bytes = input.file.read(CHUNK_BYTES)?;
        if bytes.is_empty() {
            return Ok(());
        }
        counter.add(&bytes);
    }
}

enum Counter {
    Lines(u64),
    Words(Words),
}

impl Counter {
    fn add(&mut self, bytes: &[u8]) {
        match self {
            Self::Lines(lines) => *lines += newlines(bytes),
            Self::Words(words) => words.add(bytes),
        }
    }

    fn total(&self) -> u64 {
        match self {
            Self::Lines(lines) => *lines,
            Self::Words(words) => words.finished + u64::from(words.inside),
        }
    }
}

/// Words as the C locale has them: a run without white space that has a printable byte in it.
#[derive(Default)]
struct Words {
    finished: u64,
    inside: bool,
}

impl Words {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if is_space(*byte) {
                self.finished += u64::from(self.inside);
                self.inside = false;
            } else if byte.is_ascii_graphic() {
                self.inside = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_may_be_cut_by_chunks() {
        let check = |pieces: &[&[u8]], expected| {
            let mut counter = Counter::Words(Words::default());
            for piece in pieces {
                counter.add(piece);
            }
            assert_eq!(counter.total(), expected);
        };
        check(&[b"one two"], 2);
        check(&[b"on", b"e two\n"], 2);
        check(&[b" \t\x0b\x0c\r\n"], 0);
        check(&[b"a \x80\x80 \x01 d\x01 e\xff"], 3);
        check(&[], 0);
    }
}
