//! Concurrency, waiting, cancelling and closing (SPEC X2, X3, X5).

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tidegate::{
    BoxFuture, CallContext, CancellationToken, InvokeOptions, Registration, Runtime,
    RuntimeOptions, Tool, ToolRegistry,
};
use tidegate_contract::{CallError, Status, ToolCall, ToolDefinition, ToolOutcome};
use tokio::sync::Notify;

use super::native::native;
use crate::support::{Fixture, call, nothing};

/// A tool that runs until it is let go.
struct Gate {
    definition: ToolDefinition,
    entered: Arc<Notify>,
    leave: Arc<Notify>,
}

impl Tool for Gate {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn execute<'a>(
        &'a self,
        _call: &'a ToolCall,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutcome, CallError>> {
        Box::pin(async {
            self.entered.notify_one();
            self.leave.notified().await;
            Ok(ToolOutcome::text("left"))
        })
    }
}

/// A tool named `gate` that nobody lets go.
pub(super) fn gate() -> impl Tool {
    Gate {
        definition: native("gate", |_, _| panic!("never run"))
            .definition()
            .clone(),
        entered: Arc::default(),
        leave: Arc::default(),
    }
}

/// A runtime that one call fills, with that call inside.
struct Full {
    runtime: Runtime,
    gate: Registration,
    leave: Arc<Notify>,
    inside: tokio::task::JoinHandle<Status>,
}

async fn full(queue: usize) -> Full {
    let (entered, leave) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let definition = native("gate", |_, _| panic!("never run"))
        .definition()
        .clone();
    let tools = ToolRegistry::new();
    let gate = Gate {
        definition,
        entered: Arc::clone(&entered),
        leave: Arc::clone(&leave),
    };
    let gate = tools.register(gate).unwrap();
    let text = native("text", |_, _| Ok(ToolOutcome::text("text")));
    drop(tools.register(text).unwrap());
    let runtime = Runtime::new(RuntimeOptions {
        sandbox: Fixture::new(&[]).grant,
        tools,
        concurrency: Some(1),
        queue,
        ..RuntimeOptions::default()
    })
    .unwrap();
    let inside = {
        let runtime = runtime.clone();
        tokio::task::spawn(async move {
            let gate = call("gate", nothing());
            let ended = runtime.act_tool(gate, InvokeOptions::default()).await;
            ended.unwrap().status
        })
    };
    entered.notified().await;
    Full {
        runtime,
        gate,
        leave,
        inside,
    }
}

#[tokio::test]
async fn x2_calls_over_the_concurrency_wait_and_an_empty_queue_refuses_at_once() {
    let none_waits = full(0).await;
    let text = || call("text", nothing());
    let refused = none_waits
        .runtime
        .act_tool(text(), InvokeOptions::default())
        .await;
    assert!(
        matches!(refused, Err(CallError::QueueFull { limit: 0 })),
        "{refused:?}"
    );
    none_waits.leave.notify_one();
    assert_eq!(none_waits.inside.await.unwrap(), Status::Success);

    let one_waits = full(1).await;
    let waiting = {
        let runtime = one_waits.runtime.clone();
        tokio::task::spawn(async move { runtime.act_tool(text(), InvokeOptions::default()).await })
    };
    tokio::task::yield_now().await;
    let refused = one_waits
        .runtime
        .act_tool(text(), InvokeOptions::default())
        .await;
    assert!(
        matches!(refused, Err(CallError::QueueFull { limit: 1 })),
        "{refused:?}"
    );
    one_waits.leave.notify_one();
    assert_eq!(waiting.await.unwrap().unwrap().status, Status::Success);
}

#[tokio::test]
async fn x3_waiting_ends_at_once_when_the_caller_cancels_and_counts_against_the_deadline() {
    let full = full(8).await;
    let cancel = CancellationToken::new();
    let options = InvokeOptions {
        cancel: cancel.clone(),
        ..InvokeOptions::default()
    };
    let waiting = full.runtime.act_tool(call("text", nothing()), options);
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
    let ended = full
        .runtime
        .act_tool(call("text", nothing()), options)
        .await;
    let Err(CallError::Ended { status, failure }) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!(status, Status::Timeout);
    assert_eq!(failure.code(), "LIMIT_DEADLINE");
    assert!(start.elapsed() < Duration::from_secs(1));
    full.leave.notify_one();
}

#[tokio::test]
async fn t5_a_running_call_ends_by_itself_when_its_tool_is_unregistered() {
    let mut full = full(8).await;
    assert!(full.gate.unregister());
    assert!(!full.inside.is_finished());
    full.leave.notify_one();
    assert_eq!(full.inside.await.unwrap(), Status::Success);
    let gate = call("gate", nothing());
    let after = full.runtime.act_tool(gate, InvokeOptions::default()).await;
    assert!(
        matches!(after, Err(CallError::UnknownTool { .. })),
        "{after:?}"
    );
}

#[tokio::test]
async fn x5_close_refuses_calls_that_wait_and_drains_the_one_that_runs() {
    let full = full(8).await;
    let waiting = {
        let runtime = full.runtime.clone();
        let text = call("text", nothing());
        tokio::task::spawn(async move { runtime.act_tool(text, InvokeOptions::default()).await })
    };
    tokio::task::yield_now().await;
    let closing = {
        let runtime = full.runtime.clone();
        tokio::task::spawn(async move { runtime.close().await })
    };
    assert!(matches!(waiting.await.unwrap(), Err(CallError::Closed)));
    let late = full
        .runtime
        .act_tool(call("text", nothing()), InvokeOptions::default())
        .await;
    assert!(matches!(late, Err(CallError::Closed)), "{late:?}");
    assert!(!closing.is_finished(), "one call still runs");
    full.leave.notify_one();
    closing.await.unwrap();
    assert_eq!(full.inside.await.unwrap(), Status::Success);
    full.runtime.close().await;
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
