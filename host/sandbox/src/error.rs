//! What can go wrong between a grant and a handle, where the caller is the host's operator, and
//! while a command runs.

use std::io;

use thiserror::Error;
use tidegate_contract::Failure;
use tidegate_contract::failure::host_failure;

use crate::command::{Digest, Layer};

/// Why a handle could not be opened.
#[derive(Debug, Error)]
pub enum SandboxError {
    /// A granted folder is missing, is no folder, or may not be opened by this process.
    #[error("cannot open the granted folder `{root}`")]
    Folder {
        /// The root as the grant names it.
        root: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file named by the operator could not be read.
    #[error("cannot read `{path}`")]
    File {
        /// The path as the operator named it.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The cache folder could not be made or is not ours alone.
    #[error("the cache folder `{path}` can't be used: {reason}")]
    Cache {
        /// The folder.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The folder of artifacts could not be made, is not ours alone, or has a bound out of its range.
    #[error("artifacts can't be kept in `{path}`: {reason}")]
    Artifacts {
        /// The folder.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// A file of certificate authorities has none.
    #[error("there is no certificate in PEM form")]
    Authorities,
    /// A secret's value can't be kept from results, or sent.
    #[error("a secret can't be used: {reason}")]
    Secret {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A header can't be added to requests.
    #[error("a header can't be added to requests: {reason}")]
    Injection {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A native command can't be what the operator says.
    #[error("the command `{name}` can't be used")]
    Command {
        /// The command's name.
        name: String,
        /// What is wrong with it.
        #[source]
        reason: ProgramError,
    },
    /// The kernel lacks a protection that native commands are run under.
    #[error("this kernel lacks `{layer}`, without which native commands are not run")]
    MissingLayer {
        /// What is missing.
        layer: Layer,
    },
    /// The system lacks all of the protections that native commands are run under.
    #[error("native commands are run on Linux on x86-64 and aarch64 only")]
    NoNativeCommands,
}

/// Why a program can't be a native command.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// The name is empty, a path, or has a control character.
    #[error("a command's name is not empty and has neither `/` nor control characters")]
    Name,
    /// Two commands have the same name.
    #[error("the name is given twice")]
    Twice,
    /// The path depends on something else.
    #[error("`{path}` is not an absolute path")]
    Relative {
        /// The path as the operator named it.
        path: String,
    },
    /// A file is missing or may not be opened by this process.
    #[error("cannot open `{path}`")]
    Open {
        /// The path as the operator named it.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A folder, a device, or a file without a permission to execute it.
    #[error("it is no executable file")]
    NotExecutable,
    /// Every user of the machine could change it.
    #[error("every user can write to it")]
    Writable,
    /// A script, or a program of another machine.
    #[error("it is no 64-bit ELF program for this machine; of a script, offer the interpreter")]
    Format,
    /// The bytes are not the pinned ones.
    #[error("its SHA-256 digest is {found}, which is not the pinned one")]
    Digest {
        /// The digest of what is there.
        found: Digest,
    },
    /// An argument or a variable that no program can be given.
    #[error("its arguments and variables have no NUL character, and variables have a name")]
    Unpassable,
    /// More further paths than handles can be passed to the launcher.
    #[error("it has more than 64 further paths")]
    TooManyPaths,
}

/// Why a run of a command gave no output. The host never runs a command twice.
#[derive(Debug, Error)]
pub enum CommandError {
    /// No command of this name was granted.
    #[error("permission denied: execute:{command}")]
    NotGranted {
        /// The name, cut and without control characters.
        command: String,
    },
    /// An argument or a variable that no program can be given.
    #[error("a NUL character can't be passed to a command")]
    Unpassable,
    /// The deadline passed; every process of the command was killed.
    #[error("the command was stopped at the deadline")]
    Deadline,
    /// The caller cancelled; every process of the command was killed.
    #[error("the command was cancelled")]
    Cancelled,
    /// The command could not be run or watched. Whether it had an effect is unknown.
    #[error("cannot {step}")]
    Fault {
        /// What the host was about to do.
        step: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl CommandError {
    /// The public code (SPEC E).
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotGranted { .. } => "PERMISSION_DENIED",
            Self::Unpassable => "INVALID_ARGUMENTS",
            Self::Deadline => "LIMIT_DEADLINE",
            Self::Cancelled => "CANCELLED",
            Self::Fault { .. } => "EXECUTOR_FAULT",
        }
    }

    /// What a plugin is told. What the system said stays with the host.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        host_failure(self.code(), self.to_string())
    }
}
