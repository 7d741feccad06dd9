//! `artifact`: stores bytes with the host.

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::artifacts;
use crate::bindings::tidegate::plugin::types::Outcome;
use crate::outcome;

/// Stores `text`, or as many bytes as told; a success carries the reference.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let filler = "x".repeat(arguments.size("bytes", 0));
    let content = arguments.text("text", &filler);
    match artifacts::put(
        arguments.text("media_type", "text/plain"),
        content.as_bytes(),
    ) {
        Ok(reference) => Outcome {
            references: vec![reference],
            ..outcome::reported("ok")
        },
        Err(failure) => outcome::refused(&failure),
    }
}
