//! Tools that do not come back.

use std::hint::black_box;

use crate::bindings::tidegate::plugin::types::Outcome;
use crate::outcome;

/// What each level of `recurse` keeps on the stack, in bytes.
const FRAME_BYTES: usize = 256;

/// Panics.
#[expect(clippy::panic, reason = "the case to be tested")]
pub(crate) fn panic(_arguments: &str) -> Outcome {
    panic!("this tool always panics");
}

/// Calls itself until the stack is full.
pub(crate) fn recurse(_arguments: &str) -> Outcome {
    outcome::text(descend(0).to_string())
}

/// Ends the process, which a plugin is not.
#[expect(clippy::exit, reason = "the case to be tested")]
pub(crate) fn exit(arguments: &str) -> Outcome {
    let failed = outcome::number(arguments, "code", 0) != 0;
    std::process::exit(i32::from(failed))
}

/// Uses what the deeper call returned and a frame of its own, so that no compiler makes it a loop.
#[expect(unconditional_recursion, reason = "the case to be tested")]
fn descend(level: u64) -> u64 {
    let frame = black_box([0_u8; FRAME_BYTES]);
    let deeper = descend(black_box(level) + 1);
    deeper
        + black_box(frame)
            .iter()
            .map(|byte| u64::from(*byte))
            .sum::<u64>()
}
