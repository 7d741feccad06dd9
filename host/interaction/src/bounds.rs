//! Limits of a call as bounds for JSON.

use tidegate_contract::json::JsonBounds;
use tidegate_contract::limits::Limits;

fn bytes(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Bounds of what a sink is handed under its limits.
pub(crate) fn of_delivery(limits: &Limits) -> JsonBounds {
    JsonBounds {
        bytes: bytes(limits.arguments_bytes),
        ..JsonBounds::default()
    }
}

/// Bounds of a result under a tool's limits.
pub(crate) fn of_result(limits: &Limits) -> JsonBounds {
    JsonBounds {
        bytes: bytes(limits.result_bytes),
        ..JsonBounds::default()
    }
}
