//! What a guest runs as: its arguments, its environment, and where its output goes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use tidegate_contract::limits::Limits;
use tidegate_sandbox::LineSink;
use tidegate_sandbox::command::{Bounded, CommandOutput, OutputBounds};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use crate::streams::CHUNK_BYTES;

/// What a guest runs as.
pub(crate) enum Program {
    /// A tool: what it prints is kept beside its result.
    Tool,
    /// A sink that was granted the process's standard output.
    Sink(LineSink),
    /// A tool that is a command of its own: what it prints is its result.
    Standalone {
        arguments: Vec<String>,
        stdin: Bytes,
    },
    /// A command, the first argument being its name.
    Command {
        arguments: Vec<String>,
        streams: Streams,
    },
}

/// Tells a command how many bytes of its standard output are kept, so that it can show the part of a
/// long line that matters and stop when nobody reads on.
pub(crate) const STDOUT_BYTES_VARIABLE: &str = "TIDEGATE_STDOUT_BYTES";

/// The bounded output of a command.
#[derive(Clone)]
pub(crate) struct Streams {
    pub(crate) bounds: OutputBounds,
    pub(crate) stdout: CommandStream,
    pub(crate) stderr: CommandStream,
}

impl Streams {
    /// What is asked for, within the host's own bounds (SPEC S5: the hard maxima of a call's output).
    pub(crate) fn new(asked: OutputBounds) -> Self {
        let within =
            |asked: u32, most: u64| u32::try_from(most).map_or(asked, |most| asked.min(most));
        let bounds = OutputBounds {
            stdout_bytes: within(asked.stdout_bytes, Limits::MAXIMUM.stdout_bytes),
            stderr_bytes: within(asked.stderr_bytes, Limits::MAXIMUM.stderr_bytes),
            stdout_lines: asked.stdout_lines,
        };
        // There are no more lines than bytes: most callers bound only these, and nothing is counted.
        let stdout = if bounds.stdout_lines < bounds.stdout_bytes {
            Bounded::lines(bounds.stdout_bytes, bounds.stdout_lines)
        } else {
            Bounded::bytes(bounds.stdout_bytes)
        };
        Self {
            bounds,
            stdout: CommandStream::new(stdout),
            stderr: CommandStream::new(Bounded::bytes(bounds.stderr_bytes)),
        }
    }

    /// What is left of the output once the command has ended.
    pub(crate) fn finish(self, exit_code: u8) -> CommandOutput {
        let (stdout, stdout_omitted) = self.stdout.finish();
        let (stderr, stderr_omitted) = self.stderr.finish();
        CommandOutput {
            exit_code,
            stdout,
            stderr,
            stdout_omitted,
            stderr_omitted,
        }
    }
}

/// One output of a command. It closes once far more was written than is kept, as a pipe does whose
/// reader has gone: a command then stops.
#[derive(Clone)]
pub(crate) struct CommandStream(Arc<Mutex<State>>);

struct State {
    kept: Bounded,
    /// Bytes that are still taken before the stream closes.
    left: u64,
}

/// Bytes that a command may write before nobody reads on: far above what is kept.
const READ_BYTES: u64 = 16 * 1024 * 1024;

impl CommandStream {
    fn new(kept: Bounded) -> Self {
        Self(Arc::new(Mutex::new(State {
            kept,
            left: READ_BYTES,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an output that is there already.
    pub(crate) fn keep(&self, bytes: &[u8]) {
        self.state().kept.push(bytes);
    }

    fn finish(&self) -> (Vec<u8>, u64) {
        std::mem::replace(&mut self.state().kept, Bounded::bytes(0)).finish()
    }
}

impl IsTerminal for CommandStream {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for CommandStream {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only preview-1 and preview-3 guests ask for this; none is linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl Pollable for CommandStream {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for CommandStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let mut state = self.state();
        state.kept.push(&bytes);
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        state.left = state.left.saturating_sub(length);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        if self.state().left == 0 {
            return Err(StreamError::Closed);
        }
        Ok(CHUNK_BYTES)
    }
}
