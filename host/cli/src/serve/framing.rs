//! What stands between a socket and the HTTP library: it lets through whole heads that were judged
//! and the bodies that they announce, and nothing after them until they are over (CASES IO12).
//!
//! A head that does not pass is put in the place of one that is answered with the refusal, so that
//! earlier answers leave first and this one is the connection's last. Here are also the times of a
//! connection: for a head to come, for the next one, for an answer to be taken.
//! Deliberately absent: routes, and the time for a body, which whoever reads it knows.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::io::poll_read_buf;

use super::chunks::{Chunks, NotChunked};
use super::head::{self, Framing, Refusal};
use super::settings::ServeLimits;

/// Read at once, and of a large body.
const PIECE: usize = 16 * 1024;
const LARGE: usize = 64 * 1024;

/// How long, and for how much, a connection that was given up is read before it is closed, so that
/// its peer sees the answer and not a reset.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 4 * 1024 * 1024;

/// The method of the head that is put in the place of a refused one.
pub(super) const REFUSED: &str = "REFUSED";

const SUBSTITUTE: &[u8] = b"REFUSED / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// What a connection's two halves, the socket's and the requests', tell each other.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// Requests that were let through and are worked on, and answers that go on.
    busy: AtomicUsize,
    refusal: Mutex<Option<Refusal>>,
}

/// While it is there the connection is not idle.
#[derive(Debug)]
pub(super) struct Busy(Arc<Gate>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Gate {
    /// Takes over a request that was let through.
    pub(super) fn request(self: &Arc<Self>) -> Busy {
        Busy(Arc::clone(self))
    }

    /// Says that an answer goes on after its head.
    pub(super) fn answer(self: &Arc<Self>) -> Busy {
        self.let_through();
        Busy(Arc::clone(self))
    }

    fn let_through(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) > 0
    }

    /// Why the last head was refused, once.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        let mut refusal = self.refusal.lock().unwrap_or_else(PoisonError::into_inner);
        refusal.take()
    }
}

/// Where the next byte that comes stands.
#[derive(Debug)]
enum Place {
    /// In a head, of which so many bytes were looked at.
    Head { seen: usize },
    /// In a body with so many bytes left.
    Body(u64),
    /// In a body that comes in chunks.
    Chunked(Chunks),
    /// After a refused head: nothing more is read.
    Refused,
}

/// A judged stream.
pub(super) struct Framed<S> {
    stream: S,
    gate: Arc<Gate>,
    limits: ServeLimits,
    place: Place,
    /// What came and was not judged.
    arrived: BytesMut,
    /// What was judged and not taken.
    passed: Bytes,
    /// Whether the peer has ended its half.
    ended: bool,
    /// When something last happened that the next head is waited for from.
    since: Instant,
    /// Whether no request has come yet.
    is_new: bool,
    timer: Option<Pin<Box<Sleep>>>,
    stall: Option<Pin<Box<Sleep>>>,
    linger: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> Framed<S> {
    pub(super) fn new(stream: S, gate: Arc<Gate>, limits: ServeLimits) -> Self {
        Self {
            stream,
            gate,
            limits,
            place: Place::Head { seen: 0 },
            arrived: BytesMut::new(),
            passed: Bytes::new(),
            ended: false,
            since: Instant::now(),
            is_new: true,
            timer: None,
            stall: None,
            linger: None,
        }
    }

    /// Lets through what can be; whether anything was.
    fn judge(&mut self) -> io::Result<bool> {
        match &mut self.place {
            Place::Head { seen } => match head::find_end(&self.arrived, *seen) {
                Ok(Some(end)) if end <= self.limits.head_size() => {
                    let whole = self.arrived.split_to(end).freeze();
                    match head::judge(&whole) {
                        Ok(framing) => self.pass(whole, framing),
                        Err(refusal) => self.refuse(refusal),
                    }
                    Ok(true)
                }
                Ok(None) if self.arrived.len() <= self.limits.head_size() => {
                    *seen = self.arrived.len();
                    Ok(false)
                }
                Ok(_too_large) => {
                    self.refuse(Refusal::TooLarge);
                    Ok(true)
                }
                Err(refusal) => {
                    self.refuse(refusal);
                    Ok(true)
                }
            },
            Place::Body(left) => {
                let there = u64::try_from(self.arrived.len()).unwrap_or(u64::MAX);
                let taken = there.min(*left);
                *left -= taken;
                let is_over = *left == 0;
                let taken = usize::try_from(taken).unwrap_or(usize::MAX);
                self.passed = self.arrived.split_to(taken).freeze();
                if is_over {
                    self.place = Place::Head { seen: 0 };
                }
                Ok(taken > 0)
            }
            Place::Chunked(chunks) => {
                let taken = chunks.take(&self.arrived);
                let is_over = chunks.is_done();
                let taken = taken.map_err(|NotChunked| io::ErrorKind::InvalidData)?;
                self.passed = self.arrived.split_to(taken).freeze();
                if is_over {
                    self.place = Place::Head { seen: 0 };
                }
                Ok(taken > 0)
            }
            Place::Refused => Ok(false),
        }
    }

    fn pass(&mut self, head: Bytes, framing: Framing) {
        self.passed = head;
        self.is_new = false;
        self.gate.let_through();
        self.place = match framing {
            Framing::Nothing => Place::Head { seen: 0 },
            Framing::Length(length) => Place::Body(length),
            Framing::Chunked => Place::Chunked(Chunks::new()),
        };
    }

    fn refuse(&mut self, refusal: Refusal) {
        let mut place = self
            .gate
            .refusal
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *place = Some(refusal);
        drop(place);
        self.passed = Bytes::from_static(SUBSTITUTE);
        self.gate.let_through();
        self.arrived = BytesMut::new();
        self.place = Place::Refused;
    }

    /// Whether it took too long until the next head came, or came whole.
    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        if !matches!(self.place, Place::Head { .. }) {
            return false;
        }
        if self.gate.is_busy() || self.stall.is_some() {
            // Nobody asks again when the work is done, so that is looked for after a while.
            let now = Instant::now();
            let set = self.timer.as_ref().map(|timer| timer.deadline());
            let idle = Duration::from_millis(self.limits.idle_ms);
            let again = set.filter(|until| *until > now).unwrap_or(now + idle);
            if wait(&mut self.timer, again, context).is_ready() {
                context.waker().wake_by_ref();
            }
            return false;
        }
        let is_idle = self.arrived.is_empty() && !self.is_new;
        let within_ms = if is_idle {
            self.limits.idle_ms
        } else {
            self.limits.head_ms
        };
        let until = self.since + Duration::from_millis(within_ms);
        wait(&mut self.timer, until, context).is_ready()
    }
}

/// Waits with a timer that is made once.
fn wait(
    timer: &mut Option<Pin<Box<Sleep>>>,
    until: Instant,
    context: &mut Context<'_>,
) -> Poll<()> {
    let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(until)));
    if timer.deadline() != until {
        timer.as_mut().reset(until);
    }
    timer.as_mut().poll(context)
}

impl<S: AsyncRead + Unpin> Framed<S> {
    /// Reads more from the socket.
    fn fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let piece = match self.place {
            Place::Body(left) => {
                usize::try_from(left).map_or(LARGE, |left| left.clamp(PIECE, LARGE))
            }
            _ => PIECE,
        };
        if self.arrived.capacity() - self.arrived.len() < piece / 4 {
            self.arrived.reserve(piece);
        }
        let was_empty = self.arrived.is_empty();
        let stream = Pin::new(&mut self.stream);
        let read = ready!(poll_read_buf(stream, context, &mut self.arrived))?;
        self.ended = read == 0;
        if was_empty && !self.is_new {
            // From its first byte on a head is waited for.
            self.since = Instant::now();
        }
        Poll::Ready(Ok(()))
    }

    /// Reads what is of no use any more, for a while.
    fn drain(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let (timer, mut left) = self.linger.take().unwrap_or_else(|| {
            let until = Instant::now() + LINGER;
            (Box::pin(sleep_until(until)), LINGER_BYTES)
        });
        let mut timer = Some(timer);
        loop {
            self.arrived.clear();
            self.arrived.reserve(PIECE);
            let stream = Pin::new(&mut self.stream);
            match poll_read_buf(stream, context, &mut self.arrived) {
                Poll::Ready(Ok(1..)) if left > 0 => left = left.saturating_sub(self.arrived.len()),
                Poll::Ready(_over) => return Poll::Ready(()),
                Poll::Pending => break,
            }
        }
        let late = timer
            .as_mut()
            .is_none_or(|timer| timer.as_mut().poll(context).is_ready());
        if late {
            return Poll::Ready(());
        }
        self.linger = timer.map(|timer| (timer, left));
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Framed<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if !this.passed.is_empty() {
                let taken = this
                    .passed
                    .split_to(this.passed.len().min(into.remaining()));
                into.put_slice(&taken);
                return Poll::Ready(Ok(()));
            }
            if matches!(this.place, Place::Refused) {
                // The refusal's answer ends the connection; an end here would end it before.
                return Poll::Pending;
            }
            if this.judge()? {
                continue;
            }
            if this.ended {
                return Poll::Ready(Ok(()));
            }
            match this.fill(context) {
                Poll::Ready(read) => read?,
                Poll::Pending if !this.is_late(context) => return Poll::Pending,
                Poll::Pending if this.arrived.is_empty() => this.ended = true,
                Poll::Pending => this.refuse(Refusal::Slow),
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Framed<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if let Poll::Ready(written) = Pin::new(&mut this.stream).poll_write(context, bytes) {
            this.stall = None;
            this.since = Instant::now();
            return Poll::Ready(written);
        }
        let within = Duration::from_millis(this.limits.write_ms);
        let stall = this
            .stall
            .get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + within)));
        ready!(stall.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.linger.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
        }
        // Between messages nothing is on its way that a reset could overtake.
        let is_between = matches!(this.place, Place::Head { .. }) && this.arrived.is_empty();
        if !this.ended && !is_between {
            ready!(this.drain(context));
        }
        Poll::Ready(Ok(()))
    }
}
