//! Lines on their way to a client: written at once where nothing is before them and nobody would wait,
//! by a thread of their own otherwise.
//!
//! Waking that thread costs more than the writing. Lines keep the order in which they are given.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};

use tokio::sync::mpsc;

/// Lines that may wait for the thread.
const OUTGOING: usize = 64;

/// Where the lines of a server go. Only one of its functions is called at a time.
pub trait LineOutput: Send + Sync + 'static {
    /// Writes a whole line where that takes no waiting, and otherwise nothing of it. Says whether it
    /// did. The default never does.
    ///
    /// # Errors
    ///
    /// What the system said: nothing more is written then.
    fn write_at_once(&self, line: &[u8]) -> io::Result<bool> {
        let _ = line;
        Ok(false)
    }

    /// Writes a whole line, however long it takes.
    ///
    /// # Errors
    ///
    /// What the system said: nothing more is written then.
    fn write(&self, line: &[u8]) -> io::Result<()>;
}

/// Where lines are given. Cloning gives another handle to the same output.
#[derive(Clone)]
pub(crate) struct Outgoing(Arc<Inner>);

struct Inner {
    lines: mpsc::Sender<Line>,
    stream: Arc<Stream>,
}

/// A handle that does not keep the output open.
#[derive(Clone)]
pub(crate) struct WeakOutgoing(Weak<Inner>);

impl WeakOutgoing {
    /// None once every handle that keeps it open is dropped.
    pub(crate) fn upgrade(&self) -> Option<Outgoing> {
        self.0.upgrade().map(Outgoing)
    }
}

struct Stream {
    output: Box<dyn LineOutput>,
    /// Held while something is written.
    writing: Mutex<()>,
    /// Lines that the thread has still to write.
    waiting: AtomicUsize,
    /// Whether a line could not be written: another after half of it would be none.
    is_broken: AtomicBool,
}

/// A line for the thread, counted until it is dropped.
struct Line {
    bytes: Vec<u8>,
    stream: Arc<Stream>,
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing").finish_non_exhaustive()
    }
}

impl Stream {
    /// Must be asked under the lock.
    fn write<T>(&self, write: impl FnOnce(&dyn LineOutput) -> io::Result<T>) -> io::Result<T> {
        if self.is_broken.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let written = write(&*self.output);
        if written.is_err() {
            self.is_broken.store(true, Ordering::SeqCst);
        }
        written
    }
}

impl Line {
    fn new(bytes: Vec<u8>, stream: &Arc<Stream>) -> Self {
        stream.waiting.fetch_add(1, Ordering::SeqCst);
        Self {
            bytes,
            stream: Arc::clone(stream),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.stream.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Outgoing {
    /// Starts the thread, which ends once every handle is dropped and everything is written.
    pub(crate) fn start(output: impl LineOutput) -> io::Result<(Self, JoinHandle<()>)> {
        let (lines, given) = mpsc::channel(OUTGOING);
        let stream = Arc::new(Stream {
            output: Box::new(output),
            writing: Mutex::new(()),
            waiting: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
        });
        let writer = thread::Builder::new().name("mcp-output".to_owned());
        let writer = writer.spawn(move || write(given))?;
        Ok((Self(Arc::new(Inner { lines, stream })), writer))
    }

    pub(crate) fn downgrade(&self) -> WeakOutgoing {
        WeakOutgoing(Arc::downgrade(&self.0))
    }

    /// Gives a line, after those before it; waits where too many wait already.
    ///
    /// # Errors
    ///
    /// `BrokenPipe` when nobody writes any more.
    pub(crate) async fn give(&self, line: Vec<u8>) -> io::Result<()> {
        if self.at_once(&line)? {
            return Ok(());
        }
        let line = Line::new(line, &self.0.stream);
        let closed = |_nobody| io::Error::from(io::ErrorKind::BrokenPipe);
        self.0.lines.send(line).await.map_err(closed)
    }

    fn at_once(&self, line: &[u8]) -> io::Result<bool> {
        let Ok(_writing) = self.0.stream.writing.try_lock() else {
            return Ok(false);
        };
        // The thread counts a line until it is written, and writes under the lock.
        if self.0.stream.waiting.load(Ordering::SeqCst) > 0 {
            return Ok(false);
        }
        self.0.stream.write(|output| output.write_at_once(line))
    }
}

fn write(mut given: mpsc::Receiver<Line>) {
    while let Some(line) = given.blocking_recv() {
        let writing = line.stream.writing.lock();
        let writing = writing.unwrap_or_else(PoisonError::into_inner);
        let written = line.stream.write(|output| output.write(&line.bytes));
        drop(writing);
        if let Err(error) = written {
            tracing::debug!(%error, "the client reads no more");
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc as blocking;

    /// Takes lines at once but for those that start with `slow`, which wait for a word each.
    struct Recorded {
        written: Arc<Mutex<Vec<String>>>,
        words: Mutex<blocking::Receiver<()>>,
    }

    impl Recorded {
        fn note(&self, how: &str, line: &[u8]) {
            let line = String::from_utf8_lossy(line);
            self.written.lock().unwrap().push(format!("{how} {line}"));
        }
    }

    impl LineOutput for Recorded {
        fn write_at_once(&self, line: &[u8]) -> io::Result<bool> {
            let is_slow = line.starts_with(b"slow");
            if !is_slow {
                self.note("at once", line);
            }
            Ok(!is_slow)
        }

        fn write(&self, line: &[u8]) -> io::Result<()> {
            if line.starts_with(b"slow") {
                let _said = self.words.lock().unwrap().recv();
            }
            self.note("later", line);
            Ok(())
        }
    }

    #[tokio::test]
    async fn m5_no_line_overtakes_one_that_waits() {
        let (say, words) = blocking::channel();
        let written = Arc::default();
        let recorded = Recorded {
            written: Arc::clone(&written),
            words: Mutex::new(words),
        };
        let (outgoing, writer) = Outgoing::start(recorded).unwrap();
        for line in ["one", "slow two", "three"] {
            outgoing.give(line.into()).await.unwrap();
        }
        assert_eq!(*written.lock().unwrap(), ["at once one"]);
        say.send(()).unwrap();
        while outgoing.0.stream.waiting.load(Ordering::SeqCst) > 0 {
            tokio::task::yield_now().await;
        }
        outgoing.give("four".into()).await.unwrap();
        drop(outgoing);
        writer.join().unwrap();
        let all = [
            "at once one",
            "later slow two",
            "later three",
            "at once four",
        ];
        assert_eq!(*written.lock().unwrap(), all);
    }

    #[tokio::test]
    async fn m5_lines_that_wait_are_bounded() {
        let (say, words) = blocking::channel();
        let recorded = Recorded {
            written: Arc::default(),
            words: Mutex::new(words),
        };
        let (outgoing, writer) = Outgoing::start(recorded).unwrap();
        // The thread holds one of them.
        for _ in 0..=OUTGOING {
            outgoing.give("slow".into()).await.unwrap();
        }
        let more = outgoing.give("slow".into());
        let waited = tokio::time::timeout(std::time::Duration::from_millis(50), more).await;
        assert!(waited.is_err(), "no room");
        drop(say);
        drop(outgoing);
        writer.join().unwrap();
    }

    /// Fails at each line that is `broken`.
    struct Failing(Arc<AtomicUsize>);

    impl LineOutput for Failing {
        fn write_at_once(&self, line: &[u8]) -> io::Result<bool> {
            self.0.fetch_add(1, Ordering::SeqCst);
            match line {
                b"broken" => Err(io::ErrorKind::WouldBlock.into()),
                _ => Ok(true),
            }
        }

        fn write(&self, _line: &[u8]) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn m5_nothing_is_written_after_a_line_that_failed() {
        let written = Arc::default();
        let (outgoing, writer) = Outgoing::start(Failing(Arc::clone(&written))).unwrap();
        outgoing.give("one".into()).await.unwrap();
        assert!(outgoing.give("broken".into()).await.is_err());
        assert!(outgoing.give("two".into()).await.is_err());
        assert_eq!(written.load(Ordering::SeqCst), 2);
        drop(outgoing);
        writer.join().unwrap();
    }
}
