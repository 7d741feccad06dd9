//! One call from its arguments to its outcome. The host is asked at most once: it comes in as
//! something that can only be called once.

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::exec::{Bounds, Output};
use crate::bindings::tidegate::plugin::types::{Failure, Outcome, ToolCall};
use crate::outcome;
use crate::settings::Settings;
use crate::shape::Command;

/// Runs one call; `run` asks the host to run a command.
pub(crate) fn execute(
    call: &ToolCall,
    config: &str,
    run: impl FnOnce(&str, &[String], Bounds) -> Result<Output, Failure>,
) -> Outcome {
    let arguments = match Arguments::read(&call.name, &call.arguments) {
        Ok(arguments) => arguments,
        Err(problems) => return outcome::invalid_arguments(&problems),
    };
    let settings = match Settings::read(config) {
        Ok(settings) => settings,
        Err(reason) => return outcome::invalid_config(reason),
    };
    let command = Command::of(arguments);
    match run(command.name, &command.args, bounds(&settings)) {
        Ok(output) => outcome::ended(&command, &output, &settings),
        Err(failure) => outcome::not_run(failure),
    }
}

/// What the host is asked to keep. It leaves the lines to this plugin, which can then tell how many
/// are missing.
fn bounds(settings: &Settings) -> Bounds {
    Bounds {
        stdout_bytes: settings.max_output_bytes,
        stderr_bytes: settings.max_error_bytes,
        stdout_lines: u32::MAX,
    }
}

#[cfg(test)]
mod tests;
