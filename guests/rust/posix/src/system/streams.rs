//! Reading files and writing the two outputs by the streams of `wasi:io`.

use std::io::{self, ErrorKind};

use wasip2::filesystem::types::{Descriptor, filesystem_error_code};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

use super::from_code;

/// An open file.
#[derive(Debug)]
pub(crate) struct File {
    /// Where it is being read; dropped before the file that it reads.
    stream: Option<InputStream>,
    opened: Descriptor,
    position: u64,
    /// Whether its end was seen: the host is not asked for it again.
    ended: bool,
}

impl File {
    pub(super) fn new(opened: Descriptor) -> Self {
        Self {
            stream: None,
            opened,
            position: 0,
            ended: false,
        }
    }

    /// The next bytes, at most so many; none at the end of the file.
    pub(crate) fn read(&mut self, most: usize) -> io::Result<Vec<u8>> {
        if self.ended {
            return Ok(Vec::new());
        }
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => self
                .opened
                .read_via_stream(self.position)
                .map_err(from_code)?,
        };
        let stream = self.stream.insert(stream);
        match stream.blocking_read(u64::try_from(most).unwrap_or(u64::MAX)) {
            Ok(bytes) => Ok(bytes),
            Err(StreamError::Closed) => {
                self.ended = true;
                Ok(Vec::new())
            }
            Err(error) => Err(from_stream(&error)),
        }
    }

    /// Goes to where the next byte is read.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "where files are the system's own this can fail"
    )]
    pub(crate) fn go_to(&mut self, start: u64) -> io::Result<()> {
        self.stream = None;
        self.position = start;
        self.ended = false;
        Ok(())
    }
}

/// One of the two standard outputs.
pub(crate) struct Output(OutputStream);

pub(crate) fn stdout() -> Output {
    Output(wasip2::cli::stdout::get_stdout())
}

pub(crate) fn stderr() -> Output {
    Output(wasip2::cli::stderr::get_stderr())
}

impl Output {
    /// Writes all of it.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let room = self.0.check_write().map_err(|error| from_stream(&error))?;
            if room == 0 {
                // Waits too until there is room, and no pollable has to be imported for it.
                self.0
                    .blocking_flush()
                    .map_err(|error| from_stream(&error))?;
                continue;
            }
            let length = usize::try_from(room).unwrap_or(usize::MAX);
            let (now, rest) = bytes.split_at(length.min(bytes.len()));
            self.0.write(now).map_err(|error| from_stream(&error))?;
            bytes = rest;
        }
        Ok(())
    }

    /// Waits until all that was written has arrived.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.0.blocking_flush().map_err(|error| from_stream(&error))
    }
}

fn from_stream(error: &StreamError) -> io::Error {
    match error {
        StreamError::Closed => ErrorKind::BrokenPipe.into(),
        StreamError::LastOperationFailed(error) => match filesystem_error_code(error) {
            Some(code) => from_code(code),
            // Only what is written fails without such a code, and then nobody is left to be told.
            None => io::Error::other("Input/output error"),
        },
    }
}
