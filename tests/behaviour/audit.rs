//! The audit trail of a runtime whose calls end in unusual ways (SPEC X7).

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tidegate::{
    Audit, AuditEvent, AuditLog, Caller, InvokeOptions, Runtime, RuntimeOptions, Sinks,
    ToolRegistry,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::{Content, Delivery, ReceiptStatus, Tenant, ToolOutcome};

use super::native::{NativeSink, native, receipt};
use crate::support::{call, nothing};

/// Keeps events as JSON.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Value>>>);

impl AuditLog for Kept {
    fn record(&self, event: &AuditEvent<'_>) {
        let event = serde_json::to_value(event).unwrap();
        self.0.lock().unwrap().push(event);
    }
}

impl Kept {
    fn last(&self) -> Value {
        self.0.lock().unwrap().last().cloned().unwrap()
    }
}

fn runtime(kept: &Kept) -> Runtime {
    let tools = ToolRegistry::new();
    let tool = native("text", |_, _| Ok(ToolOutcome::text("text")));
    drop(tools.register(tool).unwrap());
    let mut sandbox = Grant::default();
    parse_allow("tool=text", &mut sandbox).unwrap();
    Runtime::new(RuntimeOptions {
        sandbox,
        tools,
        sinks: Sinks::default(),
        audit: Some(Audit::to(kept.clone())),
        ..RuntimeOptions::default()
    })
    .unwrap()
}

#[tokio::test]
async fn x7_the_tenant_of_a_call_is_in_its_events() {
    let kept = Kept::default();
    let options = InvokeOptions {
        caller: Caller {
            tenant: Tenant::new("acme").unwrap(),
            ..Caller::default()
        },
        ..InvokeOptions::default()
    };
    let runtime = runtime(&kept);
    let made = runtime.act_tool(call("text", nothing()), options);
    made.await.unwrap();
    let event = kept.last();
    assert_eq!(
        (&event["event"], &event["tenant"]),
        (&json!("call"), &json!("acme"))
    );
    assert_eq!(event["status"], "success");
}

#[tokio::test]
async fn x7_a_call_that_its_caller_drops_is_an_event_too() {
    let kept = Kept::default();
    let tools = ToolRegistry::new();
    let gate = super::admission::gate();
    drop(tools.register(gate).unwrap());
    let mut sandbox = Grant::default();
    parse_allow("tool=*", &mut sandbox).unwrap();
    let runtime = Runtime::new(RuntimeOptions {
        sandbox,
        tools,
        audit: Some(Audit::to(kept.clone())),
        ..RuntimeOptions::default()
    })
    .unwrap();
    let made = runtime.act_tool(call("gate", nothing()), InvokeOptions::default());
    tokio::select! {
        biased;
        ended = made => panic!("{ended:?}"),
        () = std::future::ready(()) => {}
    }
    let event = kept.last();
    assert_eq!(
        (&event["event"], &event["code"]),
        (&json!("call"), &json!("CANCELLED"))
    );
    assert_eq!(event["status"], Value::Null);
}

#[tokio::test]
async fn x7_a_delivery_names_its_sink_also_where_nobody_chose_it() {
    for (names, chosen, recorded) in [
        (&["one"][..], None, json!("one")),
        (&["one", "two"], Some("two"), json!("two")),
        (&["one", "two"], None, Value::Null),
    ] {
        let kept = Kept::default();
        let mut sinks = Sinks::default();
        for name in names {
            sinks.insert(
                *name,
                NativeSink(|sent| receipt(sent, ReceiptStatus::Accepted)),
            );
        }
        let runtime = Runtime::new(RuntimeOptions {
            sinks,
            audit: Some(Audit::to(kept.clone())),
            ..RuntimeOptions::default()
        })
        .unwrap();
        let message = json!({"deliveryId": "d-1", "message": {"role": "user", "content": "a"}});
        let options = InvokeOptions {
            sink: chosen.map(str::to_owned),
            ..InvokeOptions::default()
        };
        let sent = Delivery::from_value(message).unwrap();
        let end = runtime.output(sent, options).await;
        assert_eq!(end.is_ok(), !recorded.is_null(), "{end:?}");
        assert_eq!(kept.last()["sink"], recorded);
    }
}

/// CASES IO10: a message that is too deep is refused, and the trail does not try to write it.
#[tokio::test]
async fn io10_a_refused_delivery_of_any_depth_is_an_event() {
    let kept = Kept::default();
    let mut deep = Value::Null;
    for _ in 0..100_000 {
        deep = Value::Array(vec![deep]);
    }
    let message = json!({"deliveryId": "d-1", "message": {"role": "assistant", "content": ""}});
    let mut delivery = Delivery::from_value(message).unwrap();
    delivery.message.content = Content::Json(deep);
    let runtime = runtime(&kept);
    let refused = runtime.output(delivery, InvokeOptions::default());
    assert_eq!(refused.await.unwrap_err().code(), "NOT_INJECTED");
    let event = kept.last();
    assert_eq!(
        (&event["event"], &event["refused"]),
        (&json!("delivery"), &json!(true))
    );
    assert_eq!(event["messageBytes"], 0);
}
