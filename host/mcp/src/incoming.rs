//! Lines on their way from a client: read, and cut into frames.
//!
//! Where the last ones came at short intervals the next one is looked for without giving the processor
//! away: waking a thread takes longer than a short call. Where none comes soon, that ends.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crate::frame::{Frame, Framer};
use crate::lines::READ_BYTES;

/// How long something is looked for before it is waited for, and how soon it has to have come the last
/// time.
const SOON: Duration = Duration::from_micros(100);

/// Where the lines of a client come from. Only one of its functions is called at a time.
pub trait LineInput: Send + 'static {
    /// Reads what is there, once something is; 0 bytes are the end.
    ///
    /// # Errors
    ///
    /// What the system said: nothing more is read then.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// The same, where something is there within a time, which is some microseconds: `None` where
    /// nothing is. The default never looks.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read).
    fn read_soon(&mut self, buffer: &mut [u8], within: Duration) -> io::Result<Option<usize>> {
        let _ = (buffer, within);
        Ok(None)
    }
}

/// The frames of an input.
pub(crate) struct Incoming<R> {
    source: R,
    framer: Framer,
    piece: Vec<u8>,
    /// Whether there is a processor for who sends while this one looks.
    may_look: bool,
    /// Whether the last bytes came soon.
    is_quick: bool,
}

impl<R: LineInput> Incoming<R> {
    pub(crate) fn new(source: R, framer: Framer) -> Self {
        Self {
            source,
            framer,
            piece: vec![0; READ_BYTES],
            may_look: thread::available_parallelism().is_ok_and(|processors| processors.get() > 1),
            is_quick: false,
        }
    }

    /// The next frame; none when the input is over.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        loop {
            match self.framer.next() {
                Some(Frame::Flood) => {
                    tracing::warn!("a peer sends a line without an end; its connection is closed");
                    return None;
                }
                Some(frame) => return Some(frame),
                None => {}
            }
            match self.read() {
                Ok(0) => return None,
                Ok(read) => self.framer.push(self.piece.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::debug!(%error, "reading from a peer");
                    return None;
                }
            }
        }
    }

    /// Whether bytes were read that are not in a frame yet.
    pub(crate) fn has_more(&self) -> bool {
        self.framer.has_more()
    }

    fn read(&mut self) -> io::Result<usize> {
        if self.may_look
            && self.is_quick
            && let Some(read) = self.source.read_soon(&mut self.piece, SOON)?
        {
            return Ok(read);
        }
        let started = Instant::now();
        let read = self.source.read(&mut self.piece);
        self.is_quick = started.elapsed() <= SOON;
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes, each after a time; notes how each was asked for.
    struct Timed {
        waits: std::vec::IntoIter<Duration>,
        asked: Vec<&'static str>,
    }

    impl LineInput for Timed {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.asked.push("read");
            let Some(wait) = self.waits.next() else {
                return Ok(0);
            };
            thread::sleep(wait);
            io::Read::read(&mut &b"{}\n"[..], buffer)
        }

        fn read_soon(&mut self, buffer: &mut [u8], within: Duration) -> io::Result<Option<usize>> {
            self.asked.push("soon");
            match self.waits.as_slice().first() {
                Some(wait) if *wait <= within => self.read(buffer).map(Some),
                _ => Ok(None),
            }
        }
    }

    #[test]
    fn m5_a_client_is_looked_for_only_as_long_as_it_is_quick() {
        let (quick, slow) = (Duration::ZERO, Duration::from_millis(20));
        let waits = vec![slow, quick, quick, slow, slow];
        let source = Timed {
            waits: waits.into_iter(),
            asked: Vec::new(),
        };
        let framer = Framer::new("a test".into(), crate::MessageBounds::default());
        let mut incoming = Incoming::new(source, framer);
        incoming.may_look = true;
        while incoming.next().is_some() {}
        let expected = [
            "read", // Nothing is known of it.
            "read", // It was slow.
            "soon", "read", // It was quick, and is again.
            "soon", "read", // It is no more.
            "read", "read", // And neither is the end.
        ];
        assert_eq!(incoming.source.asked, expected);
    }
}
