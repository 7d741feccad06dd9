//! Concurrency, waiting, cancelling and closing (SPEC X2, X3, X5).

use std::time::{Duration, Instant};

use serde_json::json;
use tidegate::{CancellationToken, InvokeOptions, Runtime};
use tidegate_contract::{CallError, Status};

use crate::support::{Fixture, call, nothing};

/// Waits until the runtime refuses or queues a call, that is until another one runs.
async fn until_busy(runtime: &Runtime) {
    for _ in 0..1_000 {
        let options = InvokeOptions {
            deadline_ms: Some(20),
            ..InvokeOptions::default()
        };
        let tried = runtime.act_tool(call("counter", nothing()), options).await;
        if matches!(
            tried,
            Err(CallError::Ended { .. } | CallError::QueueFull { .. })
        ) {
            return;
        }
    }
    panic!("nothing holds the runtime");
}

fn busy(runtime: &Runtime, deadline_ms: u64) -> tokio::task::JoinHandle<Status> {
    let runtime = runtime.clone();
    tokio::task::spawn(async move {
        let options = InvokeOptions {
            deadline_ms: Some(deadline_ms),
            ..InvokeOptions::default()
        };
        loop {
            match runtime
                .act_tool(call("sleep", nothing()), options.clone())
                .await
            {
                Err(CallError::QueueFull { .. }) => tokio::task::yield_now().await,
                ended => return ended.unwrap().status,
            }
        }
    })
}

#[tokio::test]
async fn x2_calls_over_the_concurrency_wait_and_an_empty_queue_refuses_at_once() {
    let mut fixture = Fixture::new(&[]);
    fixture.concurrency = Some(1);
    fixture.queue = 0;
    let runtime = fixture.runtime(&["misbehave"]).await;
    let running = busy(&runtime, 1_000);
    until_busy(&runtime).await;
    let refused = runtime
        .act_tool(call("counter", nothing()), InvokeOptions::default())
        .await;
    assert!(
        matches!(refused, Err(CallError::QueueFull { limit: 0 })),
        "{refused:?}"
    );
    assert_eq!(running.await.unwrap(), Status::Timeout);
    let after = runtime
        .act_tool(call("counter", nothing()), InvokeOptions::default())
        .await;
    assert_eq!(after.unwrap().status, Status::Success);
}

#[tokio::test]
async fn x3_waiting_ends_at_once_when_the_caller_cancels_and_counts_against_the_deadline() {
    let mut fixture = Fixture::new(&[]);
    fixture.concurrency = Some(1);
    let runtime = fixture.runtime(&["misbehave"]).await;
    let running = busy(&runtime, 1_500);
    until_busy(&runtime).await;
    let cancel = CancellationToken::new();
    let options = InvokeOptions {
        cancel: cancel.clone(),
        ..InvokeOptions::default()
    };
    let waiting = runtime.act_tool(call("counter", nothing()), options);
    cancel.cancel();
    let ended = waiting.await;
    let Err(CallError::Ended { status, .. }) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!(status, Status::Cancelled);

    let start = Instant::now();
    let options = InvokeOptions {
        deadline_ms: Some(100),
        ..InvokeOptions::default()
    };
    let ended = runtime.act_tool(call("counter", nothing()), options).await;
    let Err(CallError::Ended { status, failure }) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!(
        (status, failure.code()),
        (Status::Timeout, "LIMIT_DEADLINE")
    );
    assert!(start.elapsed() < Duration::from_secs(1));
    assert_eq!(running.await.unwrap(), Status::Timeout);
}

#[tokio::test]
async fn two_spinning_calls_hold_up_neither_a_listing_nor_a_third_call() {
    let fixture = Fixture::new(&[]);
    let runtime = fixture.runtime(&["misbehave"]).await;
    let spin = || {
        let runtime = runtime.clone();
        tokio::task::spawn(async move {
            let options = InvokeOptions {
                deadline_ms: Some(3_000),
                ..InvokeOptions::default()
            };
            runtime
                .act_tool(call("spin", nothing()), options)
                .await
                .unwrap()
        })
    };
    let (one, two) = (spin(), spin());
    tokio::task::yield_now().await;
    assert!(
        runtime
            .tools()
            .iter()
            .any(|tool| tool.name.as_str() == "counter")
    );
    let third = runtime
        .act_tool(call("counter", nothing()), InvokeOptions::default())
        .await;
    assert_eq!(third.unwrap().status, Status::Success);
    assert!(!one.is_finished() && !two.is_finished(), "both still spin");
    for spinning in [one, two] {
        let result = spinning.await.unwrap();
        assert_eq!(result.status, Status::Timeout);
        assert_eq!(result.error.unwrap().code(), "LIMIT_DEADLINE");
    }
}

#[tokio::test]
async fn x3_cancelling_reaches_a_computing_guest_and_one_in_a_host_call() {
    let fixture = Fixture::new(&[]);
    let runtime = fixture.runtime(&["misbehave"]).await;
    for tool in ["spin", "sleep"] {
        let cancel = CancellationToken::new();
        let options = InvokeOptions {
            cancel: cancel.clone(),
            ..InvokeOptions::default()
        };
        let running = {
            let runtime = runtime.clone();
            tokio::task::spawn(
                async move { runtime.act_tool(call(tool, nothing()), options).await },
            )
        };
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!running.is_finished());
        let start = Instant::now();
        cancel.cancel();
        let result = running.await.unwrap().unwrap();
        assert_eq!(result.status, Status::Cancelled, "{tool}");
        assert_eq!(result.error.unwrap().code(), "CANCELLED");
        assert!(
            start.elapsed() < Duration::from_secs(1),
            "{tool}: {:?}",
            start.elapsed()
        );
    }
}

#[tokio::test]
async fn x5_close_refuses_new_calls_and_drains_running_ones() {
    let fixture = Fixture::new(&[]);
    let runtime = fixture.runtime(&["misbehave"]).await;
    let running = busy(&runtime, 300);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let start = Instant::now();
    let closing = runtime.clone();
    let close = tokio::task::spawn(async move { closing.close().await });
    tokio::task::yield_now().await;
    let refused = runtime
        .act_tool(call("counter", nothing()), InvokeOptions::default())
        .await;
    assert!(matches!(refused, Err(CallError::Closed)), "{refused:?}");
    close.await.unwrap();
    assert!(running.is_finished() || start.elapsed() > Duration::from_millis(150));
    assert_eq!(
        running.await.unwrap(),
        Status::Timeout,
        "it ended by itself"
    );
    runtime.close().await;
}

#[tokio::test]
async fn s6_every_call_has_a_fresh_instance() {
    let fixture = Fixture::new(&[]);
    let runtime = fixture.runtime(&["misbehave"]).await;
    for _ in 0..20 {
        let result = runtime
            .act_tool(call("counter", json!({})), InvokeOptions::default())
            .await;
        let result = serde_json::to_value(result.unwrap()).unwrap();
        assert_eq!(result["content"], "1");
    }
}
