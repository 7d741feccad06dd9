//! One connection, with TLS or without, whose incoming bytes all go through the record.
//!
//! Deliberately absent: HTTP.

use std::io::Result;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::answer::End;
use super::record::Entry;
use super::tls::Identity;

/// A recorded connection.
pub(super) struct Wire {
    stream: Stream,
    entry: Arc<Entry>,
    flushed: Arc<Notify>,
}

enum Stream {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

impl Wire {
    /// Shakes hands where there is an identity to show.
    pub(super) async fn open(
        stream: TcpStream,
        entry: Arc<Entry>,
        identity: Option<&Identity>,
    ) -> Result<Self> {
        let stream = match identity {
            None => Stream::Plain(stream),
            Some(identity) => {
                let acceptor = TlsAcceptor::from(identity.config());
                Stream::Secure(Box::new(acceptor.accept(stream).await?))
            }
        };
        Ok(Self {
            stream,
            entry,
            flushed: Arc::default(),
        })
    }

    pub(super) fn speaks_http2(&self) -> bool {
        match &self.stream {
            Stream::Plain(_) => false,
            Stream::Secure(stream) => stream.get_ref().1.alpn_protocol() == Some(b"h2"),
        }
    }

    /// Told each time that everything written so far is with the kernel.
    pub(super) fn flushed(&self) -> Arc<Notify> {
        Arc::clone(&self.flushed)
    }

    /// Writes bytes and sends them at once.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).await?;
        self.flush().await
    }

    /// Ends the connection; but for a reset it is recorded until the peer ends it too.
    pub(super) async fn end(mut self, end: End) {
        let tcp = match &mut self.stream {
            Stream::Plain(stream) => stream,
            Stream::Secure(stream) => stream.get_mut().0,
        };
        let ended = match end {
            // Sent when the socket is dropped.
            End::Reset => return tcp.set_zero_linger().unwrap(),
            End::Cut => tcp.shutdown().await,
            End::Close => self.shutdown().await,
            End::Hang => Ok(()),
        };
        let mut sink = vec![0; 1 << 14];
        // A peer that is gone cannot be told; what it sent before can still be read.
        while ended.is_ok() && matches!(self.read(&mut sink).await, Ok(1..)) {}
    }

    fn inner(&mut self) -> &mut dyn Duplex {
        match &mut self.stream {
            Stream::Plain(stream) => stream,
            Stream::Secure(stream) => stream.as_mut(),
        }
    }

    /// Notes the end of the connection where writing fails.
    fn noting<T>(&self, written: Poll<Result<T>>) -> Poll<Result<T>> {
        if matches!(written, Poll::Ready(Err(_))) {
            self.entry.ended();
        }
        written
    }
}

trait Duplex: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Duplex for T {}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(self.inner()).poll_read(context, buffer);
        match (&read, &buffer.filled()[before..]) {
            (Poll::Pending, _) => {}
            (Poll::Ready(Ok(())), new) if !new.is_empty() => self.entry.received(new),
            (Poll::Ready(_), _) => self.entry.ended(),
        }
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let written = Pin::new(self.inner()).poll_write(context, bytes);
        self.noting(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let flushed = Pin::new(self.inner()).poll_flush(context);
        if matches!(flushed, Poll::Ready(Ok(()))) {
            self.flushed.notify_waiters();
        }
        self.noting(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(self.inner()).poll_shutdown(context)
    }
}
