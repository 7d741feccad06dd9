//! `artifact`: stores bytes with the host.

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::artifacts;
use crate::bindings::tidegate::plugin::types::Outcome;
use crate::outcome;

/// Stores `text`, or as many bytes as told; a success carries the references. The first refusal ends it.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let filler = "x".repeat(arguments.size("bytes", 0));
    let content = arguments.text("text", &filler);
    let media_type = arguments.text("media_type", "text/plain");
    let mut references = Vec::new();
    for time in 1..=arguments.number("times", 1) {
        let apart = format!("{time} {content}");
        let content = if arguments.flag("apart") {
            &apart
        } else {
            content
        };
        match artifacts::put(media_type, content.as_bytes()) {
            Ok(reference) => references.push(reference),
            Err(failure) => return outcome::refused(&failure),
        }
    }
    if arguments.flag("last") {
        references.drain(..references.len().saturating_sub(1));
    }
    Outcome {
        references,
        ..outcome::reported("ok")
    }
}
