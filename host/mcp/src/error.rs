//! Why a server can't be what the operator says, or was asked nothing.

use thiserror::Error;
use tidegate_sandbox::SandboxError;
use tidegate_sandbox::egress::EgressError;

/// Why a server can't be asked, before it is.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its program can't be used.
    #[error(transparent)]
    Program(#[from] SandboxError),
    /// A bound is out of range.
    #[error("{name} must be from {minimum} to {maximum}")]
    Bound {
        /// The setting.
        name: &'static str,
        /// The least.
        minimum: u64,
        /// The most.
        maximum: u64,
    },
    /// Its address is none of http or https.
    #[error("the url must be http or https, with a host and without user information")]
    Url,
}

/// Nothing of a request left the host.
#[derive(Debug, Error)]
pub(crate) enum NotSent {
    /// Its address is not granted.
    #[error("the URL is not granted")]
    Url,
    /// There was no connection.
    #[error(transparent)]
    Connection(EgressError),
    /// The server knows the session no longer: it has taken nothing.
    #[error("the server has forgotten the session")]
    Session,
}
