//! The network of a plugin without a guest in between: the gate, and what is sent when it opens.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not as it should be"
)]

mod gate;
mod sending;

use tidegate_contract::network::{NetworkGrant, NetworkRule};

fn grant(rules: &[&str]) -> NetworkGrant {
    let parsed = rules.iter().map(|rule| NetworkRule::parse(rule).unwrap());
    parsed.collect()
}
