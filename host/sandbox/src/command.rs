//! Running commands for a plugin (SPEC S4): the port, and the executor that runs nothing.
//!
//! Absent on purpose: a shell, a search path, anything taken from a request but the command's
//! granted name and its literal arguments.

use tidegate_contract::Failure;
use tidegate_contract::failure::host_failure;

use crate::denial::{Denial, Kind};

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
