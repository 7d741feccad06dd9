//! The limits of SPEC S5 whose quantity is exact, obeyed and passed at their edge; what is printed,
//! logged and allocated. Time is in `times.rs`; memory, tables and instances are in `wat.rs`.

use serde_json::{Value, json};
use tidegate_contract::{CallError, Limits};

use super::asking::{ask, assert_ended, assert_says, refusal};
use crate::support::{Fixture, nothing};

#[tokio::test]
async fn s5_arguments_are_refused_from_the_first_byte_over_arguments_bytes() {
    let fixture = Fixture::new(&[]).limit("arguments_bytes", 1_000);
    let runtime = fixture.runtime(&["probe"]).await;
    let around = r#"{"value":""}"#.len();
    for (bytes, fits) in [(999, true), (1_000, true), (1_001, false), (500_000, false)] {
        let value = "x".repeat(bytes - around);
        let arguments = json!({ "value": value });
        assert_eq!(arguments.to_string().len(), bytes);
        if fits {
            assert_eq!(
                ask(&runtime, "echo", arguments).await["structuredContent"],
                value
            );
            continue;
        }
        let refused = refusal(&runtime, "echo", arguments).await;
        let CallError::InvalidArguments { problems } = &refused else {
            panic!("{refused:?}")
        };
        let [problem] = problems.as_slice() else {
            panic!("{problems:?}")
        };
        assert!(
            problem.reason.contains("arguments_bytes = 1000"),
            "{problem:?}"
        );
        assert!(refused.is_refusal());
    }
    assert_eq!(
        ask(&runtime, "echo", json!({"value": 1})).await["structuredContent"],
        1
    );
}

#[tokio::test]
async fn s5_a_result_fails_from_the_first_byte_over_result_bytes() {
    let fixture = Fixture::new(&[]).limit("result_bytes", 1_000);
    let runtime = fixture.runtime(&["misbehave"]).await;
    let echoing = fixture.runtime(&["probe"]).await;
    for (bytes, fits) in [
        (999, true),
        (1_000, true),
        (1_001, false),
        (5_000_000, false),
    ] {
        let result = ask(&runtime, "huge_result", json!({ "bytes": bytes })).await;
        if fits {
            assert_says(&result, &"x".repeat(bytes));
        } else {
            assert_ended(&result, "failed", "LIMIT_RESULT", "result_bytes = 1000");
        }
        // The same as structured content, whose quotes count.
        let value = "x".repeat(bytes.min(10_000) - 2);
        let result = ask(&echoing, "echo", json!({ "value": value })).await;
        if fits {
            assert_eq!(result["structuredContent"], value);
        } else {
            assert_ended(&result, "failed", "LIMIT_RESULT", "result_bytes = 1000");
        }
        assert_says(&ask(&runtime, "counter", nothing()).await, "1");
    }
}

/// The default bound, and a result so large that the host does not even take it over.
#[tokio::test]
async fn s5_a_result_over_the_host_allocation_is_named_by_the_smaller_bound() {
    let default = Limits::default();
    let (result_bytes, host_bytes) = (default.result_bytes, default.host_allocation_bytes);
    for (result_limit, bytes, code, says) in [
        (
            result_bytes,
            result_bytes + 1,
            "LIMIT_RESULT",
            format!("result_bytes = {result_bytes}"),
        ),
        (
            result_bytes,
            host_bytes + 1,
            "LIMIT_RESULT",
            format!("result_bytes = {result_bytes}"),
        ),
        (
            2 * host_bytes,
            host_bytes + 1,
            "LIMIT_HOST_ALLOCATION",
            format!("host_allocation_bytes = {host_bytes}"),
        ),
    ] {
        let fixture = Fixture::new(&[]).limit("result_bytes", result_limit);
        let runtime = fixture.runtime(&["misbehave"]).await;
        let result = ask(&runtime, "huge_result", json!({ "bytes": bytes })).await;
        assert_ended(&result, "failed", code, &says);
        assert_says(&ask(&runtime, "counter", nothing()).await, "1");
    }
}

/// What a tool prints has bounds of its own.
#[tokio::test]
async fn s5_what_is_printed_does_not_count_against_the_result() {
    let fixture = Fixture::new(&[]).limit("result_bytes", 100);
    let runtime = fixture.runtime(&["misbehave"]).await;
    let result = ask(&runtime, "flood_stdout", json!({"bytes": 5_000})).await;
    assert_says(&result, "done");
    assert_eq!(
        result["metadata"]["stdout"]["text"].as_str().unwrap().len(),
        5_000
    );
}

/// Nor has what the host says about denials.
#[tokio::test]
async fn s5_what_was_denied_does_not_count_against_the_result() {
    let fixture = Fixture::new(&["read"]).limit("result_bytes", 100);
    let runtime = fixture.runtime(&["probe"]).await;
    let path = "p".repeat(120);
    let result = ask(&runtime, "fs", json!({"op": "write", "path": path})).await;
    assert_says(&result, "not-permitted");
    assert_eq!(
        result["metadata"]["denied"],
        json!([format!("write:{path}")])
    );
}

#[tokio::test]
async fn s5_random_bytes_end_at_the_first_byte_over_host_allocation_bytes() {
    let fixture = Fixture::new(&[]).limit("host_allocation_bytes", 65_536);
    let runtime = fixture.runtime(&["misbehave"]).await;
    let (code, says) = ("LIMIT_HOST_ALLOCATION", "host_allocation_bytes = 65536");
    for bytes in [65_535, 65_536] {
        let result = ask(&runtime, "random", json!({ "bytes": bytes })).await;
        assert_says(&result, &format!("{bytes} bytes"));
    }
    for bytes in [65_537, 1 << 30, u32::MAX.into(), 0xffff_fffe_u64] {
        let result = ask(&runtime, "random", json!({ "bytes": bytes })).await;
        assert_ended(&result, "failed", code, says);
        assert_says(&ask(&runtime, "counter", nothing()).await, "1");
    }
}

/// The bound holds for each host call by itself: many small values are no breach.
#[tokio::test]
async fn s5_a_value_handed_to_the_host_ends_at_the_first_byte_over_host_allocation_bytes() {
    let fixture = Fixture::new(&[]).limit("host_allocation_bytes", 65_536);
    let runtime = fixture.runtime(&["probe"]).await;
    for (bytes, lines, fits) in [
        (65_535, 1, true),
        (65_536, 1, true),
        (65_536, 50, true),
        (65_537, 1, false),
    ] {
        let result = ask(&runtime, "log", json!({ "bytes": bytes, "lines": lines })).await;
        if fits {
            assert_says(&result, "ok");
        } else {
            let says = "host_allocation_bytes = 65536";
            assert_ended(&result, "failed", "LIMIT_HOST_ALLOCATION", says);
        }
    }
    assert_says(&ask(&runtime, "log", nothing()).await, "ok");
}

#[tokio::test]
async fn s5_handles_end_at_the_first_one_over_the_limit() {
    let fixture = Fixture::new(&[]).limit("handles", 100);
    let runtime = fixture.runtime(&["misbehave"]).await;
    for count in [99, 100] {
        let result = ask(&runtime, "streams", json!({ "count": count })).await;
        assert_says(&result, &format!("{count} handles"));
    }
    for tool in ["streams", "handles"] {
        for count in [101, 1_000_000] {
            let result = ask(&runtime, tool, json!({ "count": count })).await;
            assert_ended(&result, "failed", "LIMIT_HANDLES", "handles = 100");
            assert_says(&ask(&runtime, "counter", nothing()).await, "1");
        }
    }
}

/// A pollable is one handle for the guest, whatever the host keeps for it.
#[tokio::test]
async fn s5_as_many_pollables_as_the_limit_has_handles_can_be_held() {
    let runtime = Fixture::new(&[])
        .limit("handles", 100)
        .runtime(&["misbehave"])
        .await;
    for count in [50, 51, 99, 100] {
        let result = ask(&runtime, "handles", json!({ "count": count })).await;
        assert_says(&result, &format!("{count} handles"));
    }
}

#[tokio::test]
async fn wa01_handles_without_end_and_a_gibibyte_of_randomness_end_their_call_only() {
    let fixture = Fixture::new(&[]);
    let runtime = fixture.runtime(&["misbehave"]).await;
    for (tool, code, says) in [
        (
            "random",
            "LIMIT_HOST_ALLOCATION",
            "host_allocation_bytes = 8388608",
        ),
        ("handles", "LIMIT_HANDLES", "handles = 4096"),
        ("streams", "LIMIT_HANDLES", "handles = 4096"),
    ] {
        for _again in 0..3 {
            let result = ask(&runtime, tool, nothing()).await;
            assert_ended(&result, "failed", code, says);
            assert_says(&ask(&runtime, "counter", nothing()).await, "1");
        }
    }
}

#[tokio::test]
async fn s5_memory_that_is_taken_without_end_ends_its_call_only() {
    let fixture = Fixture::new(&[]).limit("memory_bytes", 16 << 20);
    let runtime = fixture.runtime(&["misbehave"]).await;
    for _again in 0..3 {
        let result = ask(&runtime, "grow", nothing()).await;
        assert_ended(&result, "failed", "LIMIT_MEMORY", "memory_bytes = 16777216");
        assert_says(&ask(&runtime, "counter", nothing()).await, "1");
    }
}

#[tokio::test]
async fn s5_a_thousand_log_lines_are_kept_and_the_rest_is_counted() {
    let fixture = Fixture::new(&[]);
    let runtime = fixture.runtime(&["probe"]).await;
    let omitted = |lines, bytes| json!({"omittedLines": lines, "omittedBytes": bytes});
    for (lines, bytes, expected) in [
        (999, 16, Value::Null),
        (1_000, 16, Value::Null),
        (1_001, 16, omitted(1, 16)),
        (4_321, 16, omitted(3_321, 3_321 * 16)),
        // A line that is too long keeps its first 4 KiB.
        (1, 4_095, Value::Null),
        (1, 4_096, Value::Null),
        (2, 4_097, omitted(0, 2)),
    ] {
        let result = ask(&runtime, "log", json!({ "lines": lines, "bytes": bytes })).await;
        assert_says(&result, "ok");
        assert_eq!(
            result["metadata"]["log"], expected,
            "{lines} lines of {bytes}"
        );
    }
}

/// 200 MiB as one log line or as an error: the guest has them, the host takes neither over.
#[tokio::test]
async fn wa10_huge_texts_are_refused_at_the_boundary_and_the_error_stays_short() {
    let fixture = Fixture::new(&[]).limit("memory_bytes", 512 << 20);
    let runtime = fixture.runtime(&["probe"]).await;
    for (tool, code, says) in [
        (
            "log_huge",
            "LIMIT_HOST_ALLOCATION",
            "host_allocation_bytes = 8388608",
        ),
        ("error_huge", "LIMIT_RESULT", "result_bytes = 1048576"),
    ] {
        let result = ask(&runtime, tool, nothing()).await;
        assert_ended(&result, "failed", code, says);
        assert!(result.to_string().len() <= 1_024, "{tool}");
    }
    assert_says(&ask(&runtime, "log", nothing()).await, "ok");
}

/// The guest alone has too little memory for that under the default.
#[tokio::test]
async fn wa10_huge_texts_that_do_not_fit_the_guest_are_its_memory_limit() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    for tool in ["log_huge", "error_huge"] {
        let result = ask(&runtime, tool, nothing()).await;
        assert_ended(&result, "failed", "LIMIT_MEMORY", "memory_bytes = 67108864");
    }
}

/// An error's message has a bound of its own, far below the result's.
#[tokio::test]
async fn wa10_a_long_error_that_fits_the_result_is_invalid_and_not_repeated() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    for (bytes, valid) in [(512, true), (513, false), (1_000_000, false)] {
        let arguments = json!({ "bytes": bytes });
        if valid {
            assert_ended(
                &ask(&runtime, "error_huge", arguments).await,
                "failed",
                "HUGE",
                "xxx",
            );
        } else {
            let error = refusal(&runtime, "error_huge", arguments).await;
            assert_eq!(error.code(), "INVALID_RESULT");
            assert!(!error.to_string().contains("xxxx"), "{error}");
        }
    }
}
