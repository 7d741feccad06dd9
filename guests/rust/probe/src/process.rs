//! What a process knows about itself, and a value given back as it came.

use serde_json::json;
use wasip2::cli::environment::{get_arguments, get_environment, initial_cwd};

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::types::Outcome;
use crate::outcome;

/// Tells environment, arguments and working folder.
pub(crate) fn environment(_arguments: &Arguments) -> Outcome {
    let details = json!({
        "environment": get_environment(),
        "arguments": get_arguments(),
        "initialCwd": initial_cwd(),
    });
    outcome::detailed("ok", &details)
}

/// Returns `value` in the same text; `null` without one.
pub(crate) fn echo(arguments: &Arguments) -> Outcome {
    outcome::structured(arguments.raw("value").unwrap_or_else(|| "null".to_owned()))
}
