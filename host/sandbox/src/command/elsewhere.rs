//! Native commands where the kernel can't confine them: they are refused at load.

use std::convert::Infallible;
use std::process::ExitCode;

use tidegate_contract::Names;

use crate::command::{CommandOutput, CommandRun, Layer, NativeCommand, Options, Surroundings};
use crate::error::{CommandError, SandboxError};

/// Commands that the operator offers, opened; there are none on this system.
#[derive(Debug)]
pub struct NativeCommands(Infallible);

impl NativeCommands {
    /// Refuses: only Linux on x86-64 and aarch64 can confine a command.
    ///
    /// # Errors
    ///
    /// [`SandboxError::NoNativeCommands`], always.
    pub fn open(
        _commands: &[NativeCommand],
        _granted: &Names,
        _options: Options,
    ) -> Result<Self, SandboxError> {
        Err(SandboxError::NoNativeCommands)
    }

    /// Whether a command of this name is there.
    #[must_use]
    pub fn has(&self, _name: &str) -> bool {
        match self.0 {}
    }

    /// The layers that are missing and were allowed to be.
    #[must_use]
    pub fn missing(&self) -> &[Layer] {
        match self.0 {}
    }

    /// Runs a command; there is none.
    ///
    /// # Errors
    ///
    /// None, since this is never reached.
    pub fn run(
        &self,
        _run: &CommandRun,
        _around: &Surroundings<'_>,
    ) -> Result<CommandOutput, CommandError> {
        match self.0 {}
    }
}

pub(super) fn has(_layer: Layer) -> bool {
    false
}

pub(super) fn launch() -> ExitCode {
    ExitCode::FAILURE
}
