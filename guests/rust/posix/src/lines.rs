//! A file line by line, with at most one line of bounded length in memory.

use std::io;

use memchr::memchr;

use crate::console::Console;
use crate::console::End;
use crate::input::CHUNK_BYTES;
use crate::name;
use crate::reason::reason;
use crate::system::File;

/// The longest line that is held, in bytes.
pub(crate) const MAX_LINE_BYTES: usize = 32 * 1024 * 1024;

/// Reads lines from a file.
pub(crate) struct Lines {
    file: File,
    buffer: Vec<u8>,
    start: usize,
    searched: usize,
    ended: bool,
    /// Whether the last line given had a newline at its end.
    pub(crate) was_terminated: bool,
}

/// One line without its newline.
pub(crate) type Line<'a> = Option<&'a [u8]>;

impl Lines {
    pub(crate) fn new(file: File) -> Self {
        Self {
            file,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            ended: false,
            was_terminated: false,
        }
    }

    /// The next line without its newline, or none at the end. An error of the file ends it.
    pub(crate) fn next(&mut self) -> Result<io::Result<Line<'_>>, End> {
        let end = loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(length) = memchr(b'\n', unsearched) {
                break self.searched + length;
            }
            self.searched = self.buffer.len();
            if self.ended {
                return Ok(Ok(self.last()));
            }
            if let Err(error) = self.fill()? {
                return Ok(Err(error));
            }
        };
        let line = self.start..end;
        self.start = end + 1;
        self.searched = self.start;
        self.was_terminated = true;
        Ok(Ok(Some(self.buffer.get(line).unwrap_or_default())))
    }

    /// What stands behind the last newline.
    fn last(&mut self) -> Line<'_> {
        let line = self.start..self.buffer.len();
        self.start = self.buffer.len();
        self.was_terminated = self.was_terminated && line.is_empty();
        (!line.is_empty()).then(|| self.buffer.get(line).unwrap_or_default())
    }

    /// Reads one more chunk behind what is held.
    fn fill(&mut self) -> Result<io::Result<()>, End> {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        let held = self.buffer.len();
        if held > MAX_LINE_BYTES {
            return Err(End::TooLarge);
        }
        let read = self.file.read(CHUNK_BYTES);
        let bytes = read.as_deref().unwrap_or_default();
        self.buffer.try_reserve(bytes.len())?;
        self.buffer.extend_from_slice(bytes);
        self.ended = bytes.is_empty();
        Ok(read.map(drop))
    }
}

/// Says that a file could not be read to its end.
pub(crate) fn broken(path: &std::ffi::OsStr, error: &io::Error, console: &mut Console) {
    let name = name::in_message(path.as_encoded_bytes());
    console.complain(1, format_args!("{name}: {}", reason(error)));
}
