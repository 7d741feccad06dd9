//! The process's standard output as a capability: whole lines or nothing (SPEC D2).

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Where a plugin with a `stdout` grant writes its lines.
///
/// Lines of two calls never mix: each is written and flushed under one lock.
#[derive(Clone)]
pub struct LineSink(Arc<Mutex<dyn io::Write + Send>>);

impl fmt::Debug for LineSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LineSink")
    }
}

impl LineSink {
    /// The standard output of this process.
    #[must_use]
    pub fn process() -> Self {
        Self(Arc::new(Mutex::new(io::stdout())))
    }

    /// Any writer, for embedders that show deliveries elsewhere.
    pub fn new(writer: impl io::Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(writer)))
    }

    /// Writes whole lines and flushes. Blocks while the reader of a pipe does not read.
    ///
    /// # Errors
    ///
    /// What the writer said; some of the bytes may have been written then.
    pub fn write_lines(&self, lines: &[u8]) -> io::Result<()> {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writer.write_all(lines)?;
        writer.flush()
    }
}
