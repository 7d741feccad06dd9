//! Streams that the host gives a guest: bounded output, whole lines, files read in place.

use std::fs::File;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::os::unix::fs::FileExt as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use async_trait::async_trait;
use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, ReadWriteFlags, pread, pwritev2};
use tidegate_contract::text::{BoundedText, TextBuffer};
use tidegate_sandbox::LineSink;
use tokio::task::JoinHandle;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

/// Most bytes taken or given in one stream operation.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the first bytes that a guest prints and counts the rest. The guest always sees success:
/// a stream that closes at its bound makes `println!` panic.
#[derive(Clone)]
pub(crate) struct Capture(Arc<Mutex<TextBuffer>>);

impl Capture {
    pub(crate) fn new(limit_bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(TextBuffer::new(limit_bytes))))
    }

    /// What was kept; later output is dropped.
    pub(crate) fn take(&self) -> BoundedText {
        std::mem::replace(&mut *lock(&self.0), TextBuffer::new(0)).finish()
    }
}

impl IsTerminal for Capture {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Capture {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only preview-1 and preview-3 guests ask for this; none is linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Pollable for Capture {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for Capture {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        lock(&self.0).push(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK_BYTES)
    }
}

/// Standard output under a `stdout` grant: a flush writes the whole lines gathered so far, in one
/// piece. A line longer than the bound is refused before any of it is written.
#[derive(Clone)]
pub(crate) struct Lines {
    sink: LineSink,
    limit_bytes: usize,
    state: Arc<Mutex<LinesState>>,
}

#[derive(Default)]
struct LinesState {
    gathered: Vec<u8>,
    writing: Option<JoinHandle<io::Result<()>>>,
    failed: Option<io::Error>,
}

impl LinesState {
    /// Starts writing the whole lines gathered so far, unless a write is under way: then they wait
    /// for it, so that lines keep their order and one thread at most is held.
    fn start_writing(&mut self, sink: &LineSink) {
        if self.writing.is_some() {
            return;
        }
        let Some(last_line_end) = self.gathered.iter().rposition(|&byte| byte == b'\n') else {
            return;
        };
        let lines: Vec<u8> = self.gathered.drain(..=last_line_end).collect();
        let sink = sink.clone();
        self.writing = Some(tokio::task::spawn_blocking(move || {
            sink.write_lines(&lines)
        }));
    }
}

impl Lines {
    pub(crate) fn new(sink: LineSink, limit_bytes: usize) -> Self {
        Self {
            sink,
            limit_bytes,
            state: Arc::default(),
        }
    }
}

impl IsTerminal for Lines {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Lines {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only preview-1 and preview-3 guests ask for this; none is linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

fn line_too_long(limit_bytes: usize) -> io::Error {
    let reason = format!("a line is longer than stdout_bytes = {limit_bytes}");
    io::Error::new(io::ErrorKind::FileTooLarge, reason)
}

#[async_trait]
impl Pollable for Lines {
    async fn ready(&mut self) {
        let state = Arc::clone(&self.state);
        poll_fn(move |context| {
            let mut state = lock(&state);
            let Some(writing) = state.writing.as_mut() else {
                return Poll::Ready(());
            };
            let Poll::Ready(end) = Pin::new(writing).poll(context) else {
                return Poll::Pending;
            };
            state.writing = None;
            let end = end.unwrap_or_else(|join| Err(io::Error::other(join)));
            if let Err(error) = end {
                state.failed.get_or_insert(error);
            }
            Poll::Ready(())
        })
        .await;
    }
}

#[async_trait]
impl OutputStream for Lines {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let mut state = lock(&self.state);
        if state.writing.is_some() {
            return Err(StreamError::trap("written without asking check-write"));
        }
        if state.gathered.len().saturating_add(bytes.len()) > self.limit_bytes {
            state.gathered.clear();
            return Err(StreamError::LastOperationFailed(
                line_too_long(self.limit_bytes).into(),
            ));
        }
        state.gathered.extend_from_slice(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        lock(&self.state).start_writing(&self.sink);
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        let mut state = lock(&self.state);
        if let Some(error) = state.failed.take() {
            return Err(StreamError::LastOperationFailed(error.into()));
        }
        if state.writing.is_some() {
            return Ok(0);
        }
        match self.limit_bytes.saturating_sub(state.gathered.len()) {
            0 => {
                state.gathered.clear();
                Err(StreamError::LastOperationFailed(
                    line_too_long(self.limit_bytes).into(),
                ))
            }
            room => Ok(room.min(CHUNK_BYTES)),
        }
    }
}

/// Writes a regular file on the calling thread, for the same reason as [`FileStream`]; theirs also
/// queues every write, however many streams a guest opens.
pub(crate) struct FileSink {
    file: Arc<File>,
    /// Where the next byte goes; `None` appends.
    position: Option<u64>,
}

impl FileSink {
    pub(crate) fn new(file: Arc<File>, position: Option<u64>) -> Self {
        Self { file, position }
    }

    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(position) = self.position else {
            let slices = [IoSlice::new(bytes)];
            return Ok(pwritev2(&*self.file, &slices, 0, ReadWriteFlags::APPEND)?);
        };
        let written = self.file.write_at(bytes, position)?;
        self.position = Some(position.saturating_add(crate::saturating::to_u64(written)));
        Ok(written)
    }
}

#[async_trait]
impl Pollable for FileSink {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for FileSink {
    fn write(&mut self, mut bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > CHUNK_BYTES {
            return Err(StreamError::trap("more than check-write allowed"));
        }
        while !bytes.is_empty() {
            match self.write_some(&bytes) {
                Ok(0) => {
                    let error = io::Error::from(io::ErrorKind::WriteZero);
                    return Err(StreamError::LastOperationFailed(error.into()));
                }
                Ok(written) => drop(bytes.split_to(written)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(StreamError::LastOperationFailed(error.into())),
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK_BYTES)
    }
}

/// Reads a regular file on the calling thread. wasmtime-wasi's own stream hands every read to
/// another thread, which costs ten times the read.
pub(crate) struct FileStream {
    file: Arc<File>,
    position: u64,
}

impl FileStream {
    pub(crate) fn new(file: Arc<File>, position: u64) -> Self {
        Self { file, position }
    }
}

#[async_trait]
impl Pollable for FileStream {
    async fn ready(&mut self) {}
}

#[async_trait]
impl InputStream for FileStream {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        // Not filled before it is read into: a guest asks for much more than most files have.
        let mut buffer = Vec::with_capacity(size.min(CHUNK_BYTES));
        loop {
            match pread(&*self.file, spare_capacity(&mut buffer), self.position) {
                Ok(0) => return Err(StreamError::Closed),
                Ok(read) => {
                    self.position = self
                        .position
                        .saturating_add(crate::saturating::to_u64(read));
                    return Ok(buffer.into());
                }
                Err(Errno::INTR) => {}
                Err(error) => {
                    let error = io::Error::from(error);
                    return Err(StreamError::LastOperationFailed(error.into()));
                }
            }
        }
    }
}
