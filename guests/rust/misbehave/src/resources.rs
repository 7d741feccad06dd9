//! Tools that take more than their share: of CPU, time, memory, handles and randomness.

use std::hint::black_box;

use wasip2::cli::stdout::get_stdout;
use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::random::random::get_random_bytes;

use crate::bindings::tidegate::plugin::types::Outcome;
use crate::outcome;

const HOUR_NS: u64 = 3_600_000_000_000;

/// How much `grow` takes at a time.
const STEP_BYTES: usize = 1 << 20;

/// How much `random` asks for when not told.
const RANDOM_BYTES: usize = 1 << 30;

/// Computes for ever.
pub(crate) fn spin(_arguments: &str) -> Outcome {
    let mut state = 1_u64;
    loop {
        // The multiplier of a common generator; without the black box the loop would be empty.
        state = black_box(
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1),
        );
    }
}

/// Waits an hour in one host call.
pub(crate) fn sleep(_arguments: &str) -> Outcome {
    subscribe_duration(HOUR_NS).block();
    outcome::text("slept".to_owned())
}

/// Takes memory and touches each page until an allocation fails, which traps.
pub(crate) fn grow(_arguments: &str) -> Outcome {
    let mut taken = Vec::new();
    loop {
        taken.push(black_box(vec![1_u8; STEP_BYTES]));
    }
}

/// Makes pollables and keeps them all.
pub(crate) fn handles(arguments: &str) -> Outcome {
    keep(arguments, || subscribe_duration(HOUR_NS))
}

/// Takes the standard output stream again and again, a handle each time, and keeps them all.
pub(crate) fn streams(arguments: &str) -> Outcome {
    keep(arguments, get_stdout)
}

/// Keeps `count` handles, or any number of them, to the end; says how many.
fn keep<T>(arguments: &str, make: impl Fn() -> T) -> Outcome {
    let mut kept = Vec::new();
    for _handle in 0..outcome::number(arguments, "count", usize::MAX) {
        kept.push(black_box(make()));
    }
    outcome::text(format!("{} handles", kept.len()))
}

/// Asks for many random bytes at once.
pub(crate) fn random(arguments: &str) -> Outcome {
    let wanted = outcome::number(arguments, "bytes", RANDOM_BYTES);
    let bytes = get_random_bytes(u64::try_from(wanted).unwrap_or(u64::MAX));
    outcome::text(format!("{} bytes", bytes.len()))
}
