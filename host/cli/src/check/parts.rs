//! The parts that a worker stages, looked at and dropped.

use std::sync::{Mutex, PoisonError};

use tidegate::Parts;
use tidegate_contract::Failure;
use tidegate_contract::failure::host_failure;

/// Longest name, in bytes, and largest part.
const NAME_BYTES: usize = 255;
const PART_BYTES: usize = 2 * 1024 * 1024;

/// What is wrong with the parts of one step.
#[derive(Debug, Default)]
pub(super) struct StagedParts(Mutex<Vec<String>>);

impl StagedParts {
    pub(super) fn unfit(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Parts for StagedParts {
    fn stage(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        let wrong = if name.is_empty() || name.len() > NAME_BYTES {
            "its name is not 1 to 255 bytes"
        } else if name.contains(['/', '\\', '\0']) || matches!(name, "." | "..") {
            "its name is no plain file name"
        } else if content.len() > PART_BYTES {
            "it is larger than 2 MiB"
        } else if std::str::from_utf8(content).is_err() {
            "it is not UTF-8"
        } else {
            return Ok(());
        };
        let shown = name.escape_debug().to_string();
        let mut unfit = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        unfit.push(format!("`{shown}`: {wrong}"));
        Err(host_failure(
            "INVALID_PART",
            format!("the part was not taken: {wrong}"),
        ))
    }
}
