//! Which fault this component has.
//!
//! One build serves every fault: the name stands in the data of the component, where a test writes
//! another one over it. Nothing that a host can grant or set changes it.

use std::hint::black_box;

/// What the name stands after.
const MARK: &str = "planted-fault:";

/// The mark and the name, filled with dots to a length that has room for each name.
static PLANTED: [u8; 40] = *b"planted-fault:none......................";

/// The name of the fault; `none` in the component as it is built.
pub(crate) fn name() -> &'static str {
    // The compiler must not know the bytes.
    let planted: &'static [u8] = black_box(&PLANTED);
    std::str::from_utf8(planted)
        .ok()
        .and_then(|text| text.strip_prefix(MARK))
        .map_or("none", |name| name.trim_end_matches('.'))
}
