//! Reaching the network for a plugin (SPEC S3): every address is refused.
//!
//! Absent on purpose: name resolution and connecting. No address is vetted yet, so none is granted.

use crate::denial::{Denial, Kind};

/// The record of what was refused: a host name that was looked up, or `tcp` or `udp` for a socket.
#[must_use]
pub fn deny(name: &str) -> Denial {
    Denial::new(Kind::Network, name)
}
