//! Reaching the network for a plugin (SPEC S3): every address is refused.
//!
//! Absent on purpose: name resolution and connecting. No address is vetted yet, so none is granted.

use std::net::SocketAddr;

use crate::denial::{Denial, Kind};

/// The record of a refused address.
#[must_use]
pub fn deny(address: SocketAddr) -> Denial {
    Denial::new(Kind::Network, &address.to_string())
}
