//! `write_split`: exact bytes to a standard stream, in exact pieces.

use wasip2::cli::stderr::get_stderr;
use wasip2::cli::stdout::get_stdout;
use wasip2::io::streams::StreamError;

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::types::Outcome;
use crate::{caller, outcome};

pub(crate) const DESCRIPTION: &str = "Writes {chunks}, each a hex string of at most 4,096 bytes, \
    to {stream}, stdout or stderr, each with a flush of its own and {pause_ms} in between.";

pub(crate) fn write_split(arguments: &Arguments) -> Outcome {
    let chunks: Option<Vec<Vec<u8>>> = arguments.list("chunks").into_iter().map(bytes).collect();
    let Some(chunks) = chunks else {
        return outcome::failed("INVALID_ARGUMENTS", "a chunk is not hex");
    };
    let stream = match arguments.text("stream", "stdout") {
        "stderr" => get_stderr(),
        _ => get_stdout(),
    };
    for (index, chunk) in chunks.iter().enumerate() {
        if index > 0 {
            caller::pause(arguments.number("pause_ms", 0));
        }
        match stream.blocking_write_and_flush(chunk) {
            Ok(()) => {}
            Err(StreamError::Closed) => return outcome::reported("closed"),
            Err(StreamError::LastOperationFailed(_)) => {
                return outcome::reported("last-operation-failed");
            }
        }
    }
    outcome::reported("ok")
}

/// The bytes that pairs of hex digits name.
fn bytes(hex: &str) -> Option<Vec<u8>> {
    if !hex.len().is_multiple_of(2) {
        return None;
    }
    (0..hex.len())
        .step_by(2)
        .map(|start| u8::from_str_radix(hex.get(start..start + 2)?, 16).ok())
        .collect()
}
