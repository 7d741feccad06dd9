//! Running commands for a plugin (SPEC S4): the values of a run, and the answer where no executor is
//! there. `command/native.rs` runs pinned programs of the operator.
//!
//! Absent on purpose: a shell, a search path, anything taken from a request but the command's
//! granted name and its literal arguments.

mod bounded;
pub mod launcher;
mod options;

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod native;

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
#[path = "command/elsewhere.rs"]
mod native;

use std::fmt;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use tidegate_contract::Failure;
use tidegate_contract::failure::host_failure;

use crate::denial::{Denial, Kind};
use crate::error::CommandError;

pub use bounded::Bounded;
pub use launcher::Launcher;
pub use native::NativeCommands;
pub use options::{Digest, DigestError, Layer, Limits, NativeCommand, Options};

/// One run of a command, as a plugin asks for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandRun {
    /// The granted name; never a path.
    pub command: String,
    /// Each reaches the command as it is.
    pub args: Vec<String>,
    /// How much of the output to keep.
    pub bounds: OutputBounds,
}

/// How much of a command's output to keep; 0 keeps nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputBounds {
    /// Bytes of standard output.
    pub stdout_bytes: u32,
    /// Bytes of standard error.
    pub stderr_bytes: u32,
    /// Lines of standard output.
    pub stdout_lines: u32,
}

/// What one run of a command gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandOutput {
    /// The exit code; 128 and the signal's number where a signal ended the command.
    pub exit_code: u8,
    /// The first bytes of standard output.
    pub stdout: Vec<u8>,
    /// The first bytes of standard error.
    pub stderr: Vec<u8>,
    /// Bytes of standard output that are missing.
    pub stdout_omitted: u64,
    /// Bytes of standard error that are missing.
    pub stderr_omitted: u64,
}

/// What a run takes from the call that it is part of.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The open folder that the command runs in.
    pub workspace: BorrowedFd<'a>,
    /// The open folders, with all below them, that the command may read: the plugin's read roots.
    pub readable: &'a [BorrowedFd<'a>],
    /// The whole environment of the command.
    pub environment: &'a [(String, String)],
    /// When the run ends at the latest.
    pub deadline: Instant,
    /// Whether the caller has cancelled; asked every 5 ms, so it must not block.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl fmt::Debug for Surroundings<'_> {
    /// Values of variables may be secrets: only their number is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings")
            .field("workspace", &self.workspace)
            .field("readable", &self.readable)
            .field("environment", &self.environment.len())
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// Something of the host that runs commands: [`NativeCommands`], or what an embedder brings.
///
/// It is asked on the thread of the call, which may block, once the command was found granted and its
/// plugin may read the workspace. Whatever confines the command is its own affair: it keeps to the
/// folders and variables in [`Surroundings`], changes nothing, and starts nothing twice.
pub trait CommandExecutor: fmt::Debug + Send + Sync {
    /// Whether a command of this name is there. A granted name that is not is denied.
    fn has(&self, command: &str) -> bool;

    /// Runs a command once and waits for its end, at most until the deadline or a cancel. What it gives
    /// past the bounds of the run is cut by the host and counted as missing.
    ///
    /// # Errors
    ///
    /// [`CommandError::Deadline`] and [`CommandError::Cancelled`] end the call with these; the plugin
    /// is told of any other. A nonzero exit code is an output.
    fn run(
        &self,
        run: &CommandRun,
        around: &Surroundings<'_>,
    ) -> Result<CommandOutput, CommandError>;
}

impl CommandExecutor for NativeCommands {
    fn has(&self, command: &str) -> bool {
        Self::has(self, command)
    }

    fn run(
        &self,
        run: &CommandRun,
        around: &Surroundings<'_>,
    ) -> Result<CommandOutput, CommandError> {
        Self::run(self, run, around)
    }
}

/// Answers a plugin's request to run `command` when no executor is there.
///
/// The denial is for the host's record; the failure is what the plugin gets.
#[must_use]
pub fn deny(command: &str) -> (Denial, Failure) {
    let denial = Denial::new(Kind::Execute, command);
    let failure = host_failure(
        "PERMISSION_DENIED",
        format!("permission denied: {denial}; this host runs no commands"),
    );
    (denial, failure)
}
