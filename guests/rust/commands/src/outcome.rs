//! What a call came to, from the output of its command (SPEC R4, R5).
//!
//! The content is the bounded standard output, on failure too. What a command says on standard
//! error is part of the structured content and never of a message.

use crate::bindings::exports::tidegate::plugin::tools::Problem;
use crate::bindings::tidegate::plugin::exec::Output;
use crate::bindings::tidegate::plugin::types::{Content, Failure, Outcome, Status};
use crate::json::Object;
use crate::reason;
use crate::settings::{NoMatch, Settings};
use crate::shape::Command;
use crate::text::{BoundedText, Bounds};

/// What a command ends with that gave up because its input passed a bound on memory or on one line.
const INPUT_LIMIT: u8 = 125;

/// What `grep` ends with that has selected no line.
const NO_MATCH: u8 = 1;

/// The structured content; its schema is in `schema`.
struct Structured<'a> {
    command: &'a str,
    args: &'a [String],
    stdout: &'a str,
    stderr: &'a str,
    exit_code: u8,
    truncated: bool,
    incomplete: bool,
    stdout_omitted_bytes: u64,
    stdout_omitted_lines: u64,
    stderr_omitted_bytes: u64,
}

impl Structured<'_> {
    /// Its text. What is 0 or false at the end is left out.
    fn json(&self) -> String {
        // The streams, some of their bytes escaped, and all else.
        let streams = self.stdout.len() + self.stderr.len();
        let mut object = Object::with_capacity(streams + streams / 8 + 512);
        object.text("command", self.command);
        object.texts("args", self.args);
        object.text("stdout", self.stdout);
        object.text("stderr", self.stderr);
        object.number("exitCode", self.exit_code.into());
        object.flag("truncated", self.truncated);
        if self.incomplete {
            object.flag("incomplete", true);
        }
        for (name, number) in [
            ("stdoutOmittedBytes", self.stdout_omitted_bytes),
            ("stdoutOmittedLines", self.stdout_omitted_lines),
            ("stderrOmittedBytes", self.stderr_omitted_bytes),
        ] {
            if number > 0 {
                object.number(name, number);
            }
        }
        object.finish()
    }
}

/// The outcome of a command that ran to its end.
pub(crate) fn ended(command: &Command, output: &Output, settings: &Settings) -> Outcome {
    let lines = size(settings.max_entries);
    let bounds = |bytes| Bounds {
        bytes: size(bytes),
        lines,
    };
    let stdout = BoundedText::new(
        &output.stdout,
        output.stdout_omitted,
        bounds(settings.max_output_bytes),
    );
    let stderr = BoundedText::new(
        &output.stderr,
        output.stderr_omitted,
        bounds(settings.max_error_bytes),
    );
    let error = error(command.name, output.exit_code, [&stdout, &stderr])
        .filter(|error| error.code != "COMMAND_NO_MATCH" || settings.no_match == NoMatch::Failed);
    let structured = Structured {
        command: command.name,
        args: &command.args,
        stdout: &stdout.text,
        stderr: &stderr.text,
        exit_code: output.exit_code,
        truncated: stdout.omitted_bytes > 0 || stderr.omitted_bytes > 0,
        incomplete: is_incomplete(output.exit_code, &stdout),
        stdout_omitted_bytes: stdout.omitted_bytes,
        stdout_omitted_lines: stdout.omitted_lines.unwrap_or_default(),
        stderr_omitted_bytes: stderr.omitted_bytes,
    };
    Outcome {
        structured_content: Some(structured.json()),
        status: error.as_ref().map_or(Status::Success, |_| Status::Failed),
        content: Some(Content::Text(stdout.text)),
        error,
        ..empty()
    }
}

/// The outcome of a command that the host did not run, or ended. The host knows its own failures
/// and makes of each what it is.
pub(crate) fn not_run(failure: Failure) -> Outcome {
    let status = match failure.code.as_str() {
        "CANCELLED" => Status::Cancelled,
        "LIMIT_DEADLINE" => Status::Timeout,
        _ => Status::Failed,
    };
    Outcome {
        status,
        error: Some(failure),
        ..empty()
    }
}

/// The outcome of a call that should not have passed `validate`.
pub(crate) fn invalid_arguments(problems: &[Problem]) -> Outcome {
    let message = match problems {
        [Problem { pointer, reason }, ..] if pointer.is_empty() => reason.clone(),
        [Problem { reason, .. }, ..] => format!("an argument {reason}"),
        [] => "the arguments are not those of this tool".to_owned(),
    };
    not_run(failure("INVALID_ARGUMENTS", message))
}

/// The outcome under settings that are wrong: an operator's mistake, no caller's.
pub(crate) fn invalid_config(reason: String) -> Outcome {
    not_run(failure("CONFIG_INVALID", reason))
}

/// Why it is no success, if it is none.
fn error(command: &str, exit_code: u8, [stdout, stderr]: [&BoundedText; 2]) -> Option<Failure> {
    match exit_code {
        0 => None,
        NO_MATCH if command == "grep" && stdout.is_empty() && stderr.is_empty() => {
            let message = "no line matches the pattern".to_owned();
            Some(failure("COMMAND_NO_MATCH", message))
        }
        INPUT_LIMIT => {
            let message = format!(
                "{command} gave up: its input needs more memory than it may have, or has a line \
                 that is too long; the limit to raise is memory_bytes"
            );
            Some(failure("COMMAND_INPUT_LIMIT", message))
        }
        code => {
            let mut message = format!("{command} exited with code {code}");
            if let Some(reason) = reason::of(&stderr.text) {
                message.push_str(": ");
                message.push_str(reason);
            } else if !stderr.is_empty() {
                message.push_str("; stderr says why");
            }
            if is_incomplete(exit_code, stdout) {
                message.push_str("; its output is kept and may be incomplete");
            }
            Some(failure("COMMAND_EXIT_NONZERO", message))
        }
    }
}

/// Whether there is output beside an error, such as a match beside a file that could not be read.
fn is_incomplete(exit_code: u8, stdout: &BoundedText) -> bool {
    exit_code != 0 && !stdout.is_empty()
}

fn failure(code: &str, message: String) -> Failure {
    Failure {
        code: code.to_owned(),
        message,
        retryable: None,
    }
}

fn empty() -> Outcome {
    Outcome {
        status: Status::Failed,
        content: None,
        structured_content: None,
        references: Vec::new(),
        error: None,
        metadata: None,
    }
}

/// A setting as a size in memory; each is far below what the smallest `usize` holds.
fn size(setting: u32) -> usize {
    usize::try_from(setting).unwrap_or(usize::MAX)
}
