//! The search through one file: chunk by chunk, whole lines at a time.
//!
//! As with GNU, a file with a NUL is binary from the chunk with the first one on: there a NUL ends
//! a line like a newline does, no line is shown, and the first match ends the search.

use std::io;

use memchr::{memchr, memrchr};
use regex_automata::Input;
use regex_automata::meta::Cache;

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
    cache: Cache,
    buffer: Vec<u8>,
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
        let cache = pattern.regex.create_cache();
        Self {
            pattern,
            cache,
            buffer: Vec::new(),
        }
    }

    /// Searches one file, and writes the lines that match behind `prefix` and their number.
    pub(crate) fn file(
        &mut self,
        mut file: File,
        prefix: &[u8],
        console: &mut Console,
    ) -> Result<Found, End> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let mut state = State {
            prefix,
            line: 1,
            is_binary: false,
            found: Found::default(),
        };
        let result = self.chunks(&mut file, &mut buffer, &mut state, console);
        // Lines are rarely long: what one long line took is given back.
        buffer.truncate(0);
        buffer.shrink_to(2 * CHUNK_BYTES);
        self.buffer = buffer;
        result.map(|()| state.found)
    }

    fn chunks(
        &mut self,
        file: &mut File,
        buffer: &mut Vec<u8>,
        state: &mut State<'_>,
        console: &mut Console,
    ) -> Result<(), End> {
        while !state.found.in_binary {
            let held = buffer.len();
            if held > MAX_LINE_BYTES {
                return Err(End::TooLarge);
            }
            let bytes = match input::read_full(file, CHUNK_BYTES) {
                Ok(bytes) => bytes,
                Err(error) => {
                    state.found.error = Some(error);
                    Vec::new()
                }
            };
            let length = bytes.len();
            buffer.try_reserve(length)?;
            buffer.extend_from_slice(&bytes);
            if length == 0 && held == 0 {
                return Ok(());
            }
            if length == 0 {
                return self.lines(buffer, state, console);
            }
            let fresh = buffer.get_mut(held..).unwrap_or_default();
            state.is_binary = state.is_binary || memchr(0, fresh).is_some();
            if state.is_binary {
                end_lines_at_nul(fresh);
            }
            let Some(newline) = memrchr(b'\n', fresh) else {
                continue;
            };
            let end = held + newline;
            self.lines(buffer.get(..end).unwrap_or_default(), state, console)?;
            state.line += 1;
            buffer.drain(..=end);
        }
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
            let input = Input::new(text).range(at..).earliest(true);
            let found = self.pattern.regex.search_half_with(&mut self.cache, &input);
            let Some(found) = found else { break };
            state.found.matched = true;
            if state.is_binary {
                state.found.in_binary = true;
                return Ok(());
            }
            let (before, behind) = text.split_at_checked(found.offset()).unwrap_or_default();
            let start = memrchr(b'\n', before).map_or(0, |newline| newline + 1);
            let end = memchr(b'\n', behind).map_or(text.len(), |length| before.len() + length);
            state.line += newlines(text.get(counted..start).unwrap_or_default());
            counted = start;
            self.show(text.get(start..end).unwrap_or_default(), state, console)?;
            at = end + 1;
        }
        state.line += newlines(text.get(counted..).unwrap_or_default());
        Ok(())
    }

    /// Writes one line that matched, or what surrounds the match where the whole is too long for
    /// the caller.
    fn show(&mut self, line: &[u8], state: &State<'_>, console: &mut Console) -> Result<(), End> {
        let mut head = Vec::with_capacity(state.prefix.len() + 24);
        if !state.prefix.is_empty() {
            head.extend_from_slice(state.prefix);
            head.push(b':');
        }
        head.extend_from_slice(format!("{}:", state.line).as_bytes());
        let length = count(&head) + count(line) + 1;
        console.write(&head)?;
        match console.bound() {
            Some(bound) if length > bound => {
                let left = console.left().unwrap_or(bound).saturating_sub(1);
                let room = usize::try_from(left).unwrap_or(usize::MAX);
                let found = self
                    .pattern
                    .regex
                    .find(line)
                    .map_or(0..0, |found| found.range());
                console.write(&excerpt::around(line, found, room))?;
            }
            _ => console.write(line)?,
        }
        console.write(b"\n")
    }
}

/// Makes each NUL a newline.
fn end_lines_at_nul(bytes: &mut [u8]) {
    for byte in bytes {
        if *byte == 0 {
            *byte = b'\n';
        }
    }
}
