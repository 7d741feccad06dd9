//! How many files one call holds open: descriptors belong to the whole process, so that a guest
//! which opens without end would take them from every other call.

use std::any::Any;
use std::sync::{Arc, Weak};

use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

/// Most files, folders and listings that one call holds open at a time.
pub(crate) const OPEN_FILES: usize = 256;

/// What a call has opened and may still hold, directly or through a stream.
#[derive(Default)]
pub(crate) struct OpenFiles(Vec<Weak<dyn Any + Send + Sync>>);

impl OpenFiles {
    /// Refuses to open one more than [`OPEN_FILES`].
    pub(crate) fn room(&mut self) -> Result<(), ErrorCode> {
        if self.0.len() >= OPEN_FILES {
            self.0.retain(|held| held.strong_count() > 0);
        }
        if self.0.len() < OPEN_FILES {
            Ok(())
        } else {
            Err(ErrorCode::InsufficientMemory)
        }
    }

    /// Counts what was opened for as long as anything holds it.
    pub(crate) fn hold<T: Any + Send + Sync>(&mut self, opened: &Arc<T>) {
        let opened: Weak<T> = Arc::downgrade(opened);
        self.0.push(opened);
    }
}
