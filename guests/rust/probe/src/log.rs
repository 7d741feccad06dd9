//! Text for the operator and the caller in unusual amounts.

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::context::{self, Level};
use crate::bindings::tidegate::plugin::types::{Failure, Outcome, Status};
use crate::outcome;

/// More than any host should take as one value: 200 MiB.
const HUGE_BYTES: usize = 200 << 20;

/// Logs lines of filler, or of `text`.
pub(crate) fn lines(arguments: &Arguments) -> Outcome {
    let filler = "x".repeat(arguments.size("bytes", 16));
    let text = arguments.text("text", &filler);
    for _line in 0..arguments.number("lines", 1) {
        context::log(level(arguments), text);
    }
    outcome::reported("ok")
}

/// Logs one huge line.
pub(crate) fn huge(arguments: &Arguments) -> Outcome {
    context::log(
        level(arguments),
        &"x".repeat(arguments.size("bytes", HUGE_BYTES)),
    );
    outcome::reported("ok")
}

/// Fails with a huge message, which is made once and moved: there may be no room for a copy.
pub(crate) fn error_huge(arguments: &Arguments) -> Outcome {
    let error = Failure {
        code: "HUGE".to_owned(),
        message: "x".repeat(arguments.size("bytes", HUGE_BYTES)),
        retryable: None,
    };
    Outcome {
        status: Status::Failed,
        error: Some(error),
        ..outcome::empty_success()
    }
}

fn level(arguments: &Arguments) -> Level {
    match arguments.text("level", "info") {
        "trace" => Level::Trace,
        "debug" => Level::Debug,
        "warn" => Level::Warn,
        "error" => Level::Error,
        _ => Level::Info,
    }
}
