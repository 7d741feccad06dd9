//! The writer behind a `stdout` grant.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// What was printed under a `stdout` grant.
#[derive(Clone, Default)]
pub(crate) struct Printed(pub(crate) Arc<Mutex<Vec<u8>>>);

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Printed {
    /// Each line as a JSON document.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}
