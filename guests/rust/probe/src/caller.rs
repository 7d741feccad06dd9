//! The running call: what the host tells about it, progress, and waiting for its end.

use serde_json::{Value, json};
use wasip2::clocks::monotonic_clock::subscribe_duration;

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::context;
use crate::bindings::tidegate::plugin::types::{Outcome, Status};
use crate::outcome;

const MILLISECOND_NS: u64 = 1_000_000;

/// How often a watchful sleep looks, in milliseconds.
const WATCH_MS: u64 = 5;

/// Tells all that the host says about the call.
pub(crate) fn context(_arguments: &Arguments) -> Outcome {
    let config = context::config();
    let details = json!({
        "callId": context::call_id(),
        "config": serde_json::from_str::<Value>(&config).unwrap_or(Value::String(config)),
        "remainingMs": context::remaining_ms(),
        "cancelled": context::cancelled(),
    });
    outcome::detailed("ok", &details)
}

/// Reports progress, step by step.
pub(crate) fn progress(arguments: &Arguments) -> Outcome {
    let total = arguments.optional_number("total");
    for done in 1..=arguments.number("steps", 1) {
        context::progress(done, total, arguments.text("note", "step"));
    }
    outcome::reported("ok")
}

/// Waits, in one host call or looking now and then whether the caller has given up.
pub(crate) fn sleep(arguments: &Arguments) -> Outcome {
    let wait_ms = arguments.number("ms", 0);
    if !arguments.flag("watch") {
        pause(wait_ms);
        return outcome::reported("ok");
    }
    let mut waited_ms = 0;
    while waited_ms < wait_ms {
        if context::cancelled() {
            let seen = outcome::failed("CANCELLED", "the caller has given up");
            return Outcome {
                status: Status::Cancelled,
                ..seen
            };
        }
        pause(WATCH_MS);
        waited_ms += WATCH_MS;
    }
    outcome::reported("ok")
}

/// Waits in one host call.
pub(crate) fn pause(wait_ms: u64) {
    if wait_ms > 0 {
        subscribe_duration(wait_ms.saturating_mul(MILLISECOND_NS)).block();
    }
}
