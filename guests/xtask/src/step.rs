//! One program, run to its end in front of the reader.

use std::process::Command;
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
