//! Header fields in unusual amounts, which the host holds for a guest (CASES WA01, WA02).

use serde_json::json;

use super::calling::{Probe, assert_ended, assert_told};
use crate::support::Fixture;

#[test]
fn wa01_fields_without_end_are_too_many_handles() {
    for (limit, says) in [(4_096, "handles = 4096"), (65_536, "handles = 65536")] {
        let probe = Probe::of(&Fixture::new(&[]).limit("handles", limit));
        for count in [limit + 1, 2_000_000] {
            let result = probe.call("fields_keep", json!({ "count": count }));
            assert_ended(&result, "failed", "LIMIT_HANDLES", says);
        }
        // The call itself holds a few.
        let result = probe.call("fields_keep", json!({ "count": limit - 16 }));
        assert_told(&result, "ok");
    }
}

/// 40,000 panicked a map; 24,577 and 32,769 are where it grows for the last time. A field takes 80
/// bytes here, of 9/4 of the limit; what is sent is counted exactly.
#[test]
fn wa02_a_list_of_any_number_of_fields_ends_in_a_limit() {
    let probe = Probe::granted(&[]);
    for count in [1_900, 24_576, 24_577, 32_768, 32_769, 40_000, 65_536] {
        let result = probe.call("fields_from_list", json!({ "count": count }));
        assert_ended(&result, "failed", "LIMIT_HTTP", "http_header_bytes = 65536");
        let told = probe.call("fields_from_list", json!({"count": 100}));
        assert_told(&told, "ok");
    }
    for count in [0, 1, 1_000, 1_800] {
        let result = probe.call("fields_from_list", json!({ "count": count }));
        assert_told(&result, "ok");
    }
}

#[test]
fn wa02_at_the_highest_limit_a_list_still_ends() {
    let probe = Probe::of(&Fixture::new(&[]).limit("http_header_bytes", 262_144));
    for count in [32_768, 32_769, 40_000] {
        let result = probe.call("fields_from_list", json!({ "count": count }));
        assert_ended(
            &result,
            "failed",
            "LIMIT_HTTP",
            "http_header_bytes = 262144",
        );
    }
    assert_told(
        &probe.call("fields_from_list", json!({"count": 6_000})),
        "ok",
    );
}

/// One host call is small; many of them are not.
#[test]
fn wa02_fields_that_grow_one_by_one_end_at_the_same_limit() {
    let probe = Probe::granted(&[]);
    for (count, bytes) in [
        (40_000, 0),
        (40_000, 1),
        (100, 2_000),
        (3, 65_536),
        (1, 200_000),
    ] {
        let result = probe.call("fields_grow", json!({"count": count, "bytes": bytes}));
        assert_ended(&result, "failed", "LIMIT_HTTP", "http_header_bytes = 65536");
    }
    for (count, bytes) in [(1_600, 1), (30, 2_000), (1, 65_000)] {
        let result = probe.call("fields_grow", json!({"count": count, "bytes": bytes}));
        assert_told(&result, "ok");
    }
}
