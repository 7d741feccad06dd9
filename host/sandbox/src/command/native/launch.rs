//! The launcher's own process: orders, confinement, exec (`launcher.rs` says why it is there).

use std::convert::Infallible;
use std::fmt::Display;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::ExitCode;

use super::confinement;
use super::orders::Orders;
use crate::ambient;

/// What the launcher reports when only the exec is left to do. The socket's end without it means
/// that the launcher died; a text, with it or without, says what failed.
pub(super) const READY: u8 = b'+';

/// The exit code of a launcher that could not become the command; the host reads the report.
const NOT_STARTED: u8 = 127;

/// Does what `launcher::main` says.
pub(in crate::command) fn launch() -> ExitCode {
    // Standard input will be replaced, and the copy is gone once the command runs.
    if let Ok(host) = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3) {
        let Err(error) = become_command(&host);
        if rustix::io::write(&host, error.to_string().as_bytes()).is_err() {
            // Without a host there is nobody to tell.
        }
    }
    ExitCode::from(NOT_STARTED)
}

/// An error of one step, as the report words it.
pub(super) fn at<E: Display>(step: &'static str) -> impl Fn(E) -> io::Error {
    move |error| io::Error::other(format!("{step}: {error}"))
}

fn become_command(host: &OwnedFd) -> io::Result<Infallible> {
    let (orders, handles) = Orders::receive(host.as_fd()).map_err(at("taking orders"))?;
    confinement::confine(&orders, &handles)?;
    rustix::io::write(host, &[READY]).map_err(at("reporting"))?;
    let program = PathBuf::from(format!("/proc/self/fd/{}", handles.program.as_raw_fd()));
    let failed = ambient::become_program(&program, &orders.arguments, &orders.environment);
    Err(at("starting the program")(failed))
}
