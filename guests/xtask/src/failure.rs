//! How a command ends when it does not succeed.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};

/// Told to the person at the terminal; the program then ends with [`Failure::exit_code`].
#[derive(Debug)]
pub(crate) enum Failure {
    /// Type something else.
    Usage(String),
    /// `TIDEGATE_GUEST_TOOLCHAIN` has no such value.
    Choice(String),
    /// Started by hand and not by `cargo xtask`.
    NotByCargo,
    /// The program could not be started: install it.
    Start { program: String, source: io::Error },
    /// The program ran and failed; it has said why itself.
    Step { line: String, status: ExitStatus },
    /// The program could not reach the registry it downloads from: try later, or without it.
    NoAnswer { line: String },
    /// The user has no home, so that there is no place for compilers.
    NoCache,
    /// What was fetched lacks a crate that it was to bring.
    NoCrate(String),
    /// Files are formatted otherwise than their language's own tool does it.
    Unformatted { line: String, files: String },
    /// A file or folder of the project can't be used.
    File { path: PathBuf, source: io::Error },
}

impl Failure {
    /// The exit code of the program that failed, 2 for what was typed, else 1.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Usage(_) | Self::Choice(_) => ExitCode::from(2),
            Self::Step { status, .. } => {
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                code.map_or(ExitCode::FAILURE, ExitCode::from)
            }
            Self::NotByCargo
            | Self::Start { .. }
            | Self::NoAnswer { .. }
            | Self::NoCache
            | Self::NoCrate(_)
            | Self::Unformatted { .. }
            | Self::File { .. } => ExitCode::FAILURE,
        }
    }

    /// The message and that of each cause, as one line.
    pub(crate) fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text
    }
}

impl Display for Failure {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(problem) => {
                write!(to, "{problem}; `cargo xtask --help` names what there is")
            }
            Self::Choice(value) => write!(
                to,
                "TIDEGATE_GUEST_TOOLCHAIN is `{value}`; it can be `rustup`, `fallback` or unset"
            ),
            Self::NotByCargo => write!(to, "run this as `cargo xtask`"),
            Self::Start { program, .. } => {
                write!(to, "could not start {program}, which has to be installed")
            }
            Self::Step { line, status } => write!(to, "`{line}` failed ({status})"),
            Self::NoAnswer { line } => {
                write!(to, "`{line}` failed: its registry does not answer")
            }
            Self::NoCache => write!(to, "neither HOME nor XDG_CACHE_HOME is set"),
            Self::NoCrate(name) => write!(to, "the crate {name} is not among the dependencies"),
            Self::Unformatted { line, files } => write!(to, "`{line}` names {files}"),
            Self::File { path, .. } => write!(to, "{}", path.display()),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Start { source, .. } | Self::File { source, .. } => Some(source),
            Self::Usage(_)
            | Self::Choice(_)
            | Self::NotByCargo
            | Self::Step { .. }
            | Self::NoAnswer { .. }
            | Self::NoCache
            | Self::NoCrate(_)
            | Self::Unformatted { .. } => None,
        }
    }
}
