//! `exec`: runs one command through the host.

use serde_json::json;

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::exec::{self, Bounds};
use crate::bindings::tidegate::plugin::types::Outcome;
use crate::outcome;

pub(crate) const DESCRIPTION: &str = "Runs {command, args}, keeping {stdout_bytes, stderr_bytes, \
    stdout_lines} of its output, and tells the output or the failure.";

/// What is kept when not told: 1 MiB, and as many lines as fit.
const KEEP: u64 = 1 << 20;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let args: Vec<String> = arguments
        .list("args")
        .into_iter()
        .map(str::to_owned)
        .collect();
    let bounds = Bounds {
        stdout_bytes: bound(arguments, "stdout_bytes"),
        stderr_bytes: bound(arguments, "stderr_bytes"),
        stdout_lines: bound(arguments, "stdout_lines"),
    };
    match exec::run(arguments.text("command", ""), &args, bounds) {
        Ok(output) => {
            let details = json!({
                "exitCode": output.exit_code,
                "stdout": String::from_utf8_lossy(&output.stdout),
                "stderr": String::from_utf8_lossy(&output.stderr),
                "stdoutOmitted": output.stdout_omitted,
                "stderrOmitted": output.stderr_omitted,
            });
            outcome::detailed("ok", &details)
        }
        Err(failure) => outcome::refused(&failure),
    }
}

fn bound(arguments: &Arguments, key: &str) -> u32 {
    u32::try_from(arguments.number(key, KEEP)).unwrap_or(u32::MAX)
}
