//! One program, run to its end in front of the reader.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::workspace::Workspace;

/// Shorter steps don't say how long they took.
const WORTH_TELLING: Duration = Duration::from_secs(1);

/// Says on stderr what is run, runs it with this program's own output, and says how long it took.
///
/// # Errors
/// [`Failure::Start`] if there is no such program, [`Failure::Step`] if it fails.
pub(crate) fn run(workspace: &Workspace, mut command: Command) -> Result<(), Failure> {
    let line = workspace.typed(&command);
    eprintln!("xtask: {line}");
    let start = Instant::now();
    let status = command
        .status()
        .map_err(|source| not_started(&command, source))?;
    let elapsed = start.elapsed();
    if elapsed >= WORTH_TELLING {
        eprintln!("xtask: took {:.1} s", elapsed.as_secs_f64());
    }
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Step { line, status })
    }
}

/// Runs a program that downloads. Like [`run`], but what it says on stderr is shown at its end.
///
/// # Errors
/// As for [`run`], and [`Failure::NoAnswer`] if it failed for want of a connection.
pub(crate) fn download(workspace: &Workspace, mut command: Command) -> Result<(), Failure> {
    let line = workspace.typed(&command);
    eprintln!("xtask: {line}");
    let output = command
        .stdout(Stdio::inherit())
        .output()
        .map_err(|source| not_started(&command, source))?;
    let said = String::from_utf8_lossy(&output.stderr);
    eprint!("{said}");
    if output.status.success() {
        Ok(())
    } else if is_no_answer(&said) {
        Err(Failure::NoAnswer { line })
    } else {
        Err(Failure::Step {
            line,
            status: output.status,
        })
    }
}

/// What pip, npm and cargo say when a registry can't be reached or is out of order, as opposed to
/// one that answers with a refusal.
const NO_ANSWER: [&str; 20] = [
    "E502",
    "E503",
    "E504",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "ENOTFOUND",
    "ERR_SOCKET_TIMEOUT",
    "ETIMEDOUT",
    "Connection refused",
    "Could not resolve host",
    "Couldn't connect to server",
    "Failed to establish a new connection",
    "Max retries exceeded",
    "Read timed out",
    "Timeout was reached",
    "Server Error",
    "Temporary failure in name resolution",
];

fn is_no_answer(said: &str) -> bool {
    NO_ANSWER.iter().any(|words| said.contains(words))
}

/// What `command` prints, for a question that takes no time.
///
/// # Errors
/// As for [`run`].
pub(crate) fn answer(workspace: &Workspace, mut command: Command) -> Result<String, Failure> {
    let output = command
        .output()
        .map_err(|source| not_started(&command, source))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Failure::Step {
            line: workspace.typed(&command),
            status: output.status,
        })
    }
}

fn not_started(command: &Command, source: std::io::Error) -> Failure {
    Failure::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_that_is_not_there_is_told_from_one_that_refuses() {
        for (said, silent) in [
            (
                "npm error code ENOTFOUND\nnpm error syscall getaddrinfo",
                true,
            ),
            (
                "npm error code ETARGET\nnpm error notarget No matching version",
                false,
            ),
            (
                "NewConnectionError: Failed to establish a new connection",
                true,
            ),
            ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", false),
            (
                "warning: spurious network error: [6] Could not resolve host",
                true,
            ),
            ("error: failed to select a version", false),
        ] {
            assert_eq!(is_no_answer(said), silent, "{said}");
        }
    }
}
