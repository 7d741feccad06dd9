//! What is said to a server and not written yet, bounded in lines and in bytes (CASES MC05).
//!
//! Nobody waits for room: a server that stops reading would keep a line of each call that is given up
//! meanwhile. Where there is no room, the connection is over.

use std::io;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

/// Lines that wait to be written: as many as calls may wait by default.
const UNSENT_LINES: usize = 1_024;

/// Their bytes: four times the largest arguments that a call may have.
const UNSENT_BYTES: usize = 64 * 1024 * 1024;

/// One line, with the room that it takes until it is dropped.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
    _question: Option<OwnedSemaphorePermit>,
}

/// Where lines are put.
#[derive(Debug)]
pub(crate) struct Unsent {
    lines: mpsc::Sender<Line>,
    bytes: Arc<Semaphore>,
    over: CancellationToken,
}

impl Unsent {
    /// The queue, and what comes out of it for whoever writes.
    pub(crate) fn queue() -> (Self, mpsc::Receiver<Line>) {
        let (lines, written) = mpsc::channel(UNSENT_LINES);
        let unsent = Self {
            lines,
            bytes: Arc::new(Semaphore::new(UNSENT_BYTES)),
            over: CancellationToken::new(),
        };
        (unsent, written)
    }

    /// Puts a line behind the others, with the place of the request that it answers.
    pub(crate) fn put(
        &self,
        bytes: Vec<u8>,
        question: Option<OwnedSemaphorePermit>,
    ) -> io::Result<()> {
        let needed = u32::try_from(bytes.len()).ok();
        let room = needed.and_then(|needed| {
            let bytes = Arc::clone(&self.bytes);
            bytes.try_acquire_many_owned(needed).ok()
        });
        let put = room.is_some_and(|room| {
            let line = Line {
                bytes,
                _room: room,
                _question: question,
            };
            self.lines.try_send(line).is_ok()
        });
        if !put {
            self.over.cancel();
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        Ok(())
    }

    /// Is cancelled when a line found no room, or nobody who writes it.
    pub(crate) fn over(&self) -> CancellationToken {
        self.over.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mc05_lines_that_nobody_writes_are_bounded() {
        let (unsent, mut written) = Unsent::queue();
        for _ in 0..UNSENT_LINES {
            unsent.put(vec![b'\n'], None).unwrap();
        }
        assert!(!unsent.over().is_cancelled());
        drop(written.try_recv().unwrap());
        unsent.put(vec![b'\n'], None).unwrap();
        assert!(unsent.put(vec![b'\n'], None).is_err());
        assert!(unsent.over().is_cancelled());
    }

    #[test]
    fn mc05_bytes_that_nobody_writes_are_bounded_to_the_byte() {
        for (more, fits) in [(1_023, true), (1_024, true), (1_025, false)] {
            let (unsent, _written) = Unsent::queue();
            unsent.put(vec![0; UNSENT_BYTES - 1_024], None).unwrap();
            assert_eq!(unsent.put(vec![0; more], None).is_ok(), fits, "{more}");
            assert_eq!(unsent.over().is_cancelled(), !fits, "{more}");
        }
    }
}
