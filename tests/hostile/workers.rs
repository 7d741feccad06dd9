//! Workers that break the contract (SPEC I9, C7, C8; GAP 13), and parts outside of a step.

use std::sync::Arc;

use serde_json::{Value, json};
use tidegate::{InvokeOptions, Runtime, WorkEnd};
use tidegate_contract::{CallError, Status};

use crate::behaviour::workers::{Staged, asked, work};
use crate::support::Fixture;

async fn invalid(runtime: &Runtime, orders: Value) -> String {
    match work(runtime, orders.clone()).await {
        Err(CallError::InvalidResult { reason }) => reason,
        other => panic!("{orders}: {other:?}"),
    }
}

#[tokio::test]
async fn c1_a_value_that_is_no_strict_json_is_refused() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    for text in [
        "",
        "{",
        "nul",
        "NaN",
        "1 2",
        r#"{"a":1,"a":2}"#,
        r#"[{"b":{"a":1,"a":2}}]"#,
        "18446744073709551616",
        r#""\ud83d""#,
        &"[".repeat(129),
        &format!("{}{}", "[".repeat(129), "]".repeat(129)),
        &"[".repeat(100_000),
    ] {
        let reason = invalid(&runtime, json!({ "do": "raw", "text": text })).await;
        assert!(reason.starts_with("value: "), "{reason}");
    }
    let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
    let end = work(&runtime, json!({ "do": "raw", "text": deep }))
        .await
        .unwrap();
    assert!(matches!(end, WorkEnd::Value(_)));
}

#[tokio::test]
async fn c7_a_failure_that_is_not_fit_for_the_public_is_refused() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    for (code, message) in [
        ("not a code", "fine"),
        ("", "fine"),
        ("OWN", " "),
        ("OWN", "two\nlines"),
        ("OWN", "open /etc/passwd"),
        ("OWN", "token=abc123def"),
    ] {
        let orders = json!({ "do": "fail", "code": code, "message": message });
        let reason = invalid(&runtime, orders).await;
        assert!(
            !reason.contains("passwd") && !reason.contains("abc123"),
            "{reason}"
        );
    }
}

#[tokio::test]
async fn gap13_a_part_too_large_for_one_host_call_ends_the_step() {
    let fixture = Fixture::new(&[]).limit("host_allocation_bytes", 100_000);
    let runtime = fixture.runtime(&["probe"]).await;
    let parts = Arc::new(Staged::default());
    let step = |bytes: u64| {
        let orders = json!({ "part_bytes": bytes, "parts": [["first", "kept"]] });
        let port = Arc::clone(&parts);
        let runtime = runtime.clone();
        async move {
            let end = runtime.work("probe", asked(&orders), port, InvokeOptions::default());
            end.await.unwrap()
        }
    };
    assert!(matches!(step(90_000).await, WorkEnd::Value(_)));
    let WorkEnd::Ended { status, failure } = step(10_000_000).await else {
        panic!("it is over the bound")
    };
    assert_eq!(
        (status, failure.code()),
        (Status::Failed, "LIMIT_HOST_ALLOCATION")
    );
    let names: Vec<String> = parts.all().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["first", "filler", "first"]);
}

/// Names are the port's business: whatever they are, they arrive as they were given.
#[tokio::test]
async fn io01_names_of_parts_arrive_as_they_are_and_are_never_paths() {
    let fixture = Fixture::new(&["read", "write"]);
    let runtime = fixture.runtime(&["probe"]).await;
    let names = [
        "../x",
        "/abs",
        "a/b",
        ".",
        "..",
        "",
        "a\0b",
        "é",
        &"n".repeat(10_000),
    ];
    let pairs: Vec<[&str; 2]> = names.iter().map(|name| [*name, "text"]).collect();
    let parts = Arc::new(Staged::default());
    let port = Arc::clone(&parts);
    let orders = json!({ "parts": pairs });
    let end = runtime.work("probe", asked(&orders), port, InvokeOptions::default());
    assert!(matches!(end.await, Ok(WorkEnd::Value(_))));
    let staged: Vec<String> = parts.all().into_iter().map(|(name, _)| name).collect();
    assert_eq!(staged, names);
    assert_eq!(
        std::fs::read_dir(fixture.workspace.path()).unwrap().count(),
        0
    );
}

#[tokio::test]
async fn s6_a_step_leaves_nothing_for_the_next() {
    let runtime = Fixture::new(&[])
        .limit("cpu_ms", 200)
        .runtime(&["probe"])
        .await;
    let steps = (0..8).map(|at| {
        let orders = match at % 4 {
            0 => json!({ "do": "trap" }),
            1 => json!({ "do": "spin" }),
            2 => json!({ "do": "raw", "text": "{" }),
            _ => json!({ "do": "tell", "parts": [["a", "b"]] }),
        };
        let runtime = runtime.clone();
        tokio::task::spawn(async move { work(&runtime, orders).await })
    });
    let mut ends = Vec::new();
    for step in steps.collect::<Vec<_>>() {
        ends.push(step.await.unwrap());
    }
    for (at, end) in ends.into_iter().enumerate() {
        match at % 4 {
            0 | 1 => assert!(matches!(end, Ok(WorkEnd::Ended { .. })), "{at}"),
            2 => assert!(matches!(end, Err(CallError::InvalidResult { .. })), "{at}"),
            _ => assert!(matches!(end, Ok(WorkEnd::Value(_))), "{at}"),
        }
    }
}
