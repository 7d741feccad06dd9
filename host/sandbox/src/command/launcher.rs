//! The small program between the host and a native command.
//!
//! The host has many threads and many descriptors, so nothing runs between its fork and an exec: it
//! starts this program, which gets its orders through a socket, confines itself and becomes the
//! command.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::command::native;

/// The first argument by which a program knows that it is to be the launcher.
pub const ARGUMENT: &str = "run-confined-command";

/// How the launcher is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// An absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl Launcher {
    /// The running program itself, which calls [`main`] first thing where [`ARGUMENT`] is its first
    /// argument. One that does not would be started anew, as itself, for each command.
    #[must_use]
    pub fn this_program() -> Self {
        Self {
            program: PathBuf::from("/proc/self/exe"),
            arguments: vec![ARGUMENT.to_owned()],
        }
    }
}

/// The launcher: takes its orders from standard input, confines itself and becomes the command.
///
/// Call it before the program has threads or has opened anything. It returns only when the command
/// could not be started; the host is told why.
#[must_use]
pub fn main() -> ExitCode {
    native::launch()
}
