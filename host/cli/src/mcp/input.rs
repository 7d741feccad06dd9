//! Standard input as a stream that is read without waiting: by the runtime's own poll where the system
//! can tell when there is something, as with pipes and terminals; by a thread of its own otherwise, as
//! with files.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::thread;

use tidegate_sandbox::ambient::streams;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::sync::mpsc;

/// What the thread reads at once.
const PIECE_BYTES: usize = 64 * 1024;

/// Pieces that the thread has read and nobody has taken yet.
const PIECES: usize = 4;

/// Standard input.
pub(super) enum Input {
    Polled(AsyncFd<OwnedFd>),
    Pieces(Pieces),
}

impl Input {
    /// Must be asked on a runtime.
    #[expect(
        deprecated,
        reason = "it is unsound for types that give a descriptor which they do not own: this one does"
    )]
    pub(super) fn start() -> io::Result<Self> {
        match AsyncFd::with_interest(streams::stdin()?, Interest::READABLE) {
            Ok(input) => Ok(Self::Polled(input)),
            Err(_no_poll) => Pieces::start().map(Self::Pieces),
        }
    }
}

impl AsyncRead for Input {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Polled(input) => read(input, context, buffer),
            Self::Pieces(pieces) => pieces.read(context, buffer),
        }
    }
}

fn read(
    input: &AsyncFd<OwnedFd>,
    context: &mut Context<'_>,
    buffer: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    loop {
        let mut ready = ready!(input.poll_read_ready(context))?;
        match streams::read_at_once(input.get_ref(), buffer.initialize_unfilled())? {
            Some(read) => {
                buffer.advance(read);
                return Poll::Ready(Ok(()));
            }
            None => ready.clear_ready(),
        }
    }
}

/// What a thread reads.
pub(super) struct Pieces {
    read: mpsc::Receiver<Vec<u8>>,
    rest: Vec<u8>,
    taken: usize,
}

impl Pieces {
    fn start() -> io::Result<Self> {
        let (sender, read) = mpsc::channel(PIECES);
        let reader = thread::Builder::new().name("mcp-input".to_owned());
        // The thread waits for the client, and must not hold up the end of the program.
        drop(reader.spawn(move || {
            let take = |piece| sender.blocking_send(piece).is_ok();
            if let Err(error) = streams::read_stdin(PIECE_BYTES, take) {
                tracing::warn!(%error, "standard input");
            }
        })?);
        Ok(Self {
            read,
            rest: Vec::new(),
            taken: 0,
        })
    }

    fn read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.taken >= self.rest.len() {
            match ready!(self.read.poll_recv(context)) {
                Some(piece) => (self.rest, self.taken) = (piece, 0),
                None => return Poll::Ready(Ok(())),
            }
        }
        let left = self.rest.get(self.taken..).unwrap_or_default();
        let fits = left.get(..buffer.remaining()).unwrap_or(left);
        buffer.put_slice(fits);
        self.taken += fits.len();
        Poll::Ready(Ok(()))
    }
}
