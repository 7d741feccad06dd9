//! The search through one file: chunk by chunk, whole lines at a time.
//!
//! As with GNU, a file with a NUL is binary from the chunk with the first one on: there a NUL ends
//! a line like a newline does, no line is shown, and the first match ends the search.

use std::io;

use memchr::{memchr, memrchr};

use super::excerpt;
use super::pattern::Pattern;
use crate::console::{Console, End, count};
use crate::input;
use crate::lines::MAX_LINE_BYTES;
use crate::newlines::newlines;
use crate::system::File;

/// How much is read at once, in bytes; as GNU, which decides by the first chunk what is binary.
const CHUNK_BYTES: usize = 96 * 1024;

/// What a search found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Whether a line matched.
    pub(crate) matched: bool,
    /// Whether one did that is not shown.
    pub(crate) in_binary: bool,
    /// What ended the search early.
    pub(crate) error: Option<io::Error>,
}

/// Searches files one after the other.
pub(crate) struct Search {
    pattern: Pattern,
}

/// Where the search through one file stands.
struct State<'a> {
    prefix: &'a [u8],
    line: u64,
    is_binary: bool,
    found: Found,
}

impl Search {
    pub(crate) fn new(pattern: Pattern) -> Self {
        Self { pattern }
    }

    /// Searches one file, and writes the lines that match behind `prefix` and their number.
    pub(crate) fn file(
        &mut self,
        mut file: File,
        prefix: &[u8],
        console: &mut Console,
    ) -> Result<Found, End> {
        let mut state = State {
            prefix,
            line: 1,
            is_binary: false,
            found: Found::default(),
        };
        self.chunks(&mut file, &mut Vec::new(), &mut state, console)?;
        Ok(state.found)
    }

    fn chunks(
        &mut self,
        file: &mut File,
        held: &mut Vec<u8>,
        state: &mut State<'_>,
        console: &mut Console,
    ) -> Result<(), End> {
        while !state.found.in_binary {
            if held.len() > MAX_LINE_BYTES {
                return Err(End::TooLarge);
            }
            let mut fresh = match input::read_full(file, CHUNK_BYTES) {
                Ok(bytes) => bytes,
                Err(error) => {
                    state.found.error = Some(error);
                    Vec::new()
                }
            };
            if fresh.is_empty() {
                return match held.as_slice() {
                    [] => Ok(()),
                    last => self.lines(last, state, console),
                };
            }
            state.is_binary = state.is_binary || memchr(0, &fresh).is_some();
            if state.is_binary {
                end_lines_at_nul(&mut fresh);
            }
            self.fresh(&fresh, held, state, console)?;
        }
        Ok(())
    }

    /// Searches what was read: the line that `held` is the start of, then all whole lines where they
    /// are; the start of the next line is held.
    fn fresh(
        &mut self,
        mut fresh: &[u8],
        held: &mut Vec<u8>,
        state: &mut State<'_>,
        console: &mut Console,
    ) -> Result<(), End> {
        if !held.is_empty()
            && let Some((first, rest)) = split_at_newline(fresh, memchr(b'\n', fresh))
        {
            held.try_reserve(first.len())?;
            held.extend_from_slice(first);
            self.lines(held, state, console)?;
            state.line += 1;
            held.clear();
            fresh = rest;
        }
        if held.is_empty()
            && let Some((whole, rest)) = split_at_newline(fresh, memrchr(b'\n', fresh))
        {
            self.lines(whole, state, console)?;
            state.line += 1;
            fresh = rest;
        }
        held.try_reserve(fresh.len())?;
        held.extend_from_slice(fresh);
        Ok(())
    }

    /// Searches whole lines; the last one comes without its newline.
    fn lines(
        &mut self,
        text: &[u8],
        state: &mut State<'_>,
        console: &mut Console,
    ) -> Result<(), End> {
        let mut at = 0;
        let mut counted = 0;
        while at <= text.len() {
            let Some(end) = self.pattern.search(text, at) else {
                break;
            };
            state.found.matched = true;
            if state.is_binary {
                state.found.in_binary = true;
                return Ok(());
            }
            let (before, behind) = text.split_at_checked(end).unwrap_or_default();
            let start = memrchr(b'\n', before).map_or(0, |newline| newline + 1);
            let end = memchr(b'\n', behind).map_or(text.len(), |length| before.len() + length);
            state.line += newlines(text.get(counted..start).unwrap_or_default());
            self.show(text.get(start..end).unwrap_or_default(), state, console)?;
            at = end + 1;
            counted = at.min(text.len());
            if counted == at {
                // The newline behind the line.
                state.line += 1;
            }
        }
        state.line += newlines(text.get(counted..).unwrap_or_default());
        Ok(())
    }

    /// Writes one line that matched, or what surrounds the match where the whole is too long for
    /// the caller.
    fn show(&mut self, line: &[u8], state: &State<'_>, console: &mut Console) -> Result<(), End> {
        let behind_prefix: &[u8] = if state.prefix.is_empty() { b"" } else { b":" };
        let digits = Digits::of(state.line);
        let head = [state.prefix, behind_prefix, digits.bytes(), b":"];
        let head_length: u64 = head.iter().map(|piece| count(piece)).sum();
        let length = head_length + count(line) + 1;
        match console.bound() {
            Some(bound) if length > bound => {
                console.pieces(&head)?;
                let left = console.left().unwrap_or(bound).saturating_sub(1);
                let room = usize::try_from(left).unwrap_or(usize::MAX);
                let found = self.pattern.find(line).unwrap_or(0..0);
                console.pieces(&[&excerpt::around(line, found, room), b"\n"])
            }
            _ => console.pieces(&[
                state.prefix,
                behind_prefix,
                digits.bytes(),
                b":",
                line,
                b"\n",
            ]),
        }
    }
}

/// A number as it is written; there is one before every line.
struct Digits {
    bytes: [u8; 20],
    start: usize,
}

impl Digits {
    fn of(mut number: u64) -> Self {
        let mut bytes = [b'0'; 20];
        let mut start = bytes.len();
        for (at, byte) in bytes.iter_mut().enumerate().rev() {
            *byte += u8::try_from(number % 10).unwrap_or_default();
            start = at;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        Self { bytes, start }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }
}

/// What stands before a newline, and what behind it.
fn split_at_newline(bytes: &[u8], newline: Option<usize>) -> Option<(&[u8], &[u8])> {
    let (before, behind) = bytes.split_at_checked(newline?)?;
    Some((before, behind.get(1..).unwrap_or_default()))
}

/// Makes each NUL a newline.
fn end_lines_at_nul(bytes: &mut [u8]) {
    for byte in bytes {
        if *byte == 0 {
            *byte = b'\n';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_written_with_all_its_digits() {
        for number in [0, 1, 9, 10, 99, 100, 1_234_567_890, u64::MAX] {
            assert_eq!(Digits::of(number).bytes(), number.to_string().as_bytes());
        }
    }
}
