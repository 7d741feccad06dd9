//! Where a command speaks: bounded standard output, standard error, and the exit code so far.

use std::fmt::Display;

use crate::system::{self, Output};

/// How much output is gathered before it is written, in bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// How much of that there is room for from the start, in bytes: growing moves what is there.
const FIRST_BYTES: usize = 8 * 1024;

/// How far past the caller's bound a command goes on, in bytes: a caller that counts what is
/// missing counts small outputs exactly, and an endless one ends.
const PAST_BOUND_BYTES: u64 = 1024 * 1024;

/// The exit code of a command that met input it cannot hold.
const TOO_LARGE_CODE: u8 = 125;

/// Why a command ends before its work is done.
#[derive(Debug)]
pub(crate) enum End {
    /// Nobody reads its output any more.
    Unread,
    /// Its input does not fit into memory, and what it would print is not whole.
    TooLarge,
}

/// Memory that was asked for and refused.
impl From<std::collections::TryReserveError> for End {
    fn from(_refused: std::collections::TryReserveError) -> Self {
        Self::TooLarge
    }
}

/// What one command writes to.
pub(crate) struct Console {
    program: &'static str,
    stdout: Output,
    buffer: Vec<u8>,
    written: u64,
    bound: Option<u64>,
    code: u8,
}

impl Console {
    pub(crate) fn new(program: &'static str) -> Self {
        let bound = system::variable("TIDEGATE_STDOUT_BYTES");
        Self {
            program,
            stdout: system::stdout(),
            buffer: Vec::with_capacity(FIRST_BYTES),
            written: 0,
            bound: bound.and_then(|bytes| bytes.parse().ok()),
            code: 0,
        }
    }

    /// How many bytes of output the caller keeps; none if it keeps all.
    pub(crate) fn bound(&self) -> Option<u64> {
        self.bound
    }

    /// How many bytes of the caller's bound are left.
    pub(crate) fn left(&self) -> Option<u64> {
        self.bound.map(|bound| bound.saturating_sub(self.written))
    }

    /// Writes bytes to standard output as they are.
    #[inline]
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), End> {
        if self.buffer.len().saturating_add(bytes.len()) > BUFFER_BYTES {
            self.flush()?;
        }
        if bytes.len() >= BUFFER_BYTES {
            self.stdout.write(bytes).map_err(|_closed| End::Unread)?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        self.went_on(count(bytes))
    }

    /// Counts what was written, up to where nobody reads on.
    fn went_on(&mut self, bytes: u64) -> Result<(), End> {
        self.written = self.written.saturating_add(bytes);
        match self.bound {
            Some(bound) if self.written > bound.saturating_add(PAST_BOUND_BYTES) => {
                Err(End::Unread)
            }
            _ => Ok(()),
        }
    }

    /// Writes some bytes one after the other, most of which are short.
    pub(crate) fn pieces(&mut self, pieces: &[&[u8]]) -> Result<(), End> {
        let length = pieces.iter().map(|piece| piece.len()).sum::<usize>();
        if self.buffer.len().saturating_add(length) > BUFFER_BYTES {
            return pieces.iter().try_for_each(|piece| self.write(piece));
        }
        for piece in pieces {
            match piece {
                [byte] => self.buffer.push(*byte),
                bytes => self.buffer.extend_from_slice(bytes),
            }
        }
        self.went_on(u64::try_from(length).unwrap_or(u64::MAX))
    }

    /// Writes a text as one line to standard output.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), End> {
        self.pieces(&[text.as_bytes(), b"\n"])
    }

    /// Writes one line to standard output.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), End> {
        self.write(format!("{line}\n").as_bytes())
    }

    fn flush(&mut self) -> Result<(), End> {
        let written = self.stdout.write(&self.buffer);
        self.buffer.clear();
        written.map_err(|_closed| End::Unread)
    }

    /// Says on standard error what is wrong, and raises the exit code to `code`.
    pub(crate) fn complain(&mut self, code: u8, message: impl Display) {
        self.code = self.code.max(code);
        say(format_args!("{}: {message}", self.program));
    }

    /// Sets the exit code where it says something that is no failure.
    pub(crate) fn set_code(&mut self, code: u8) {
        self.code = code;
    }

    /// The exit code so far.
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// Says that some input was too large to be held; the exit code tells of it too.
    pub(crate) fn too_large(&mut self, what: &str) {
        self.complain(
            TOO_LARGE_CODE,
            format_args!("{what}input too large for the memory limit"),
        );
    }

    /// Writes out what is left, and gives the exit code.
    pub(crate) fn finish(mut self, end: &Result<(), End>) -> u8 {
        if let Err(End::TooLarge) = end {
            self.too_large("");
        }
        let flushed = self
            .flush()
            .and_then(|()| self.stdout.flush().map_err(|_closed| End::Unread));
        match flushed {
            // A reader that went away has seen what it wanted.
            Ok(()) | Err(_) => self.code,
        }
    }
}

/// Writes one line to standard error.
pub(crate) fn say(line: impl Display) {
    match system::stderr().write(format!("{line}\n").as_bytes()) {
        // Where standard error is closed nobody is left to be told.
        Ok(()) | Err(_) => {}
    }
}

/// The length of some bytes as the wide number that sizes are counted in.
pub(crate) fn count(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
