//! Reading from a server in turns: one that sends without end, of which nothing comes of use, may not
//! keep the thread that the timers and the connections of all plugins share.

use std::io::Result;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::yield_now;

/// How much is read in one turn, in bytes.
const TURN_BYTES: usize = 64 * 1024;

/// A stream that gives way after each turn; it is written to as it is.
pub(super) struct Turns<S> {
    stream: S,
    left_bytes: usize,
}

impl<S> Turns<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            left_bytes: TURN_BYTES,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Turns<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        if self.left_bytes == 0 {
            self.left_bytes = TURN_BYTES;
            // Wakes the reader when timers and other connections have been looked at.
            return pin!(yield_now()).poll(context).map(Ok);
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let bytes = buffer.filled().len().saturating_sub(before);
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Turns<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[std::io::IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }
}
