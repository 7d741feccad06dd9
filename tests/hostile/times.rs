//! Deadlines, CPU time and cancelling: guests that compute or wait for ever (WA07, WA11).

use std::time::Duration;

use serde_json::Value;
use tidegate::{CancellationToken, InvokeOptions, Runtime};
use tidegate_contract::{CallError, ExternalResult, Status};

use super::asking::{Numbers, ask, assert_ended, assert_says, own_engine, runtime_on, timed};
use crate::support::{Fixture, call, nothing};

fn limited(deadline_ms: u64, cpu_ms: u64) -> Fixture {
    Fixture::new(&[])
        .limit("deadline_ms", deadline_ms)
        .limit("cpu_ms", cpu_ms)
}

#[tokio::test]
async fn s5_a_computing_guest_ends_at_the_smaller_of_cpu_and_deadline() {
    for (deadline_ms, cpu_ms, status, code, says) in [
        (20_000, 200, "failed", "LIMIT_CPU", "cpu_ms = 200"),
        (
            300,
            10_000,
            "timeout",
            "LIMIT_DEADLINE",
            "deadline_ms = 300",
        ),
    ] {
        let runtime = limited(deadline_ms, cpu_ms).runtime(&["misbehave"]).await;
        let (result, elapsed) = timed(ask(&runtime, "spin", nothing())).await;
        assert_ended(&result, status, code, says);
        assert!(
            elapsed >= Duration::from_millis(deadline_ms.min(cpu_ms)),
            "{code}: {elapsed:?}"
        );
        assert!(elapsed < Duration::from_secs(8), "{code}: {elapsed:?}");
        assert_says(&ask(&runtime, "counter", nothing()).await, "1");
    }
}

/// Waiting is no CPU time: a guest that sleeps has its whole deadline.
#[tokio::test]
async fn s5_waiting_uses_up_no_cpu_time() {
    let runtime = limited(10_000, 150).runtime(&["probe"]).await;
    let (result, elapsed) = timed(ask(&runtime, "sleep", serde_json::json!({"ms": 400}))).await;
    assert_says(&result, "ok");
    assert!(elapsed >= Duration::from_millis(400), "{elapsed:?}");
}

/// Longer than any clock has: 584 years as nanoseconds, and more than fit.
#[tokio::test]
async fn wa07_a_wait_without_end_is_a_wait_until_the_deadline() {
    let runtime = limited(1_000, 10_000).runtime(&["probe"]).await;
    for ms in [18_446_744_073_709_u64, u64::MAX / 1_000_000 + 1, u64::MAX] {
        let (result, _) = timed(ask(&runtime, "sleep", serde_json::json!({ "ms": ms }))).await;
        assert_ended(&result, "timeout", "LIMIT_DEADLINE", "deadline_ms = 1000");
    }
}

/// The engine has one slot: if the guest were still waiting, no later call could start.
#[tokio::test]
async fn wa07_a_guest_inside_a_host_call_ends_at_its_deadline_and_leaves_no_task() {
    let engine = own_engine(1);
    let runtime = runtime_on(&engine, &limited(500, 10_000), "misbehave").await;
    for tool in ["sleep", "spin", "sleep"] {
        let (result, elapsed) = timed(ask(&runtime, tool, nothing())).await;
        assert_ended(&result, "timeout", "LIMIT_DEADLINE", "deadline_ms = 500");
        assert!(elapsed >= Duration::from_millis(500), "{tool}: {elapsed:?}");
        assert!(
            elapsed < Duration::from_millis(1_500),
            "{tool}: {elapsed:?}"
        );
        let (result, elapsed) = timed(ask(&runtime, "counter", nothing())).await;
        assert_says(&result, "1");
        assert!(
            elapsed < Duration::from_secs(1),
            "after {tool}: {elapsed:?}"
        );
    }
}

/// The message names the deadline that the call passed, whoever set it.
#[tokio::test]
async fn x3_a_deadline_of_the_caller_is_named_by_its_own_value() {
    let runtime = limited(20_000, 10_000).runtime(&["misbehave"]).await;
    for tool in ["spin", "sleep"] {
        let options = InvokeOptions {
            deadline_ms: Some(150),
            ..InvokeOptions::default()
        };
        let (ended, elapsed) = timed(runtime.act_tool(call(tool, nothing()), options)).await;
        let result = serde_json::to_value(ended.unwrap()).unwrap();
        assert!(elapsed < Duration::from_secs(2), "{tool}: {elapsed:?}");
        assert_ended(&result, "timeout", "LIMIT_DEADLINE", "deadline_ms = 150");
    }
}

fn is_cancelled(ended: &Result<ExternalResult, CallError>) -> bool {
    match ended {
        Ok(result) => result.status == Status::Cancelled,
        // It was cancelled before the guest had started.
        Err(CallError::Ended { status, failure }) => {
            *status == Status::Cancelled && failure.code() == "CANCELLED"
        }
        Err(_) => false,
    }
}

/// Calls for ever, until cancelled after so long.
async fn cancelled_after(
    runtime: Runtime,
    tool: &str,
    delay: Duration,
) -> Result<ExternalResult, CallError> {
    let cancel = CancellationToken::new();
    let options = InvokeOptions {
        cancel: cancel.clone(),
        ..InvokeOptions::default()
    };
    let cancelling = async {
        tokio::time::sleep(delay).await;
        cancel.cancel();
    };
    tokio::join!(runtime.act_tool(call(tool, nothing()), options), cancelling).0
}

#[tokio::test]
async fn wa11_a_hundred_calls_cancelled_at_any_moment_leave_a_working_host() {
    let runtime = limited(20_000, 10_000).runtime(&["misbehave"]).await;
    let mut numbers = Numbers::seeded(11);
    let mut calls = tokio::task::JoinSet::new();
    for round in 0..100 {
        let delay = Duration::from_micros(numbers.below(20_001));
        let tool = if round % 2 == 0 { "spin" } else { "sleep" };
        calls.spawn(cancelled_after(runtime.clone(), tool, delay));
    }
    let (ended, elapsed) = timed(calls.join_all()).await;
    assert_eq!(ended.len(), 100);
    for ended in &ended {
        assert!(is_cancelled(ended), "{ended:?}");
    }
    assert!(elapsed < Duration::from_secs(8), "{elapsed:?}");
    assert_says(&ask(&runtime, "counter", nothing()).await, "1");
}

/// The caller that goes away takes its call along: on one slot, a guest that went on would keep the
/// next one waiting.
#[tokio::test]
async fn wa11_a_hundred_calls_dropped_at_any_moment_leave_a_working_host() {
    let engine = own_engine(1);
    let runtime = runtime_on(&engine, &limited(20_000, 10_000), "misbehave").await;
    let mut numbers = Numbers::seeded(12);
    for round in 0..100 {
        let delay = Duration::from_micros(numbers.below(20_001));
        let tool = if round % 2 == 0 { "spin" } else { "sleep" };
        let running = runtime.act_tool(call(tool, nothing()), InvokeOptions::default());
        let dropped: Result<_, _> = tokio::time::timeout(delay, running).await;
        assert!(dropped.is_err(), "{dropped:?}");
    }
    let (result, elapsed): (Value, _) = timed(ask(&runtime, "counter", nothing())).await;
    assert_says(&result, "1");
    assert!(elapsed < Duration::from_secs(1), "{elapsed:?}");
}
