//! Deliveries: receipts that are checked, sinks that are chosen, lines that are whole or rejected
//! (SPEC D1, D2).

use serde_json::{Value, json};
use tidegate::{ComponentSink, InvokeOptions, LineSink, Node, Runtime, RuntimeOptions, Sinks};
use tidegate_contract::{CallError, OutputReceipt, ReceiptStatus};

use super::native::{NativeSink, receipt};
use crate::support::{Fixture, Printed, guest};

fn delivery(content: &Value) -> Value {
    json!({"deliveryId": "d-1", "message": {"role": "assistant", "content": content}})
}

fn runtime(sinks: Sinks) -> Runtime {
    let options = RuntimeOptions {
        sinks,
        ..RuntimeOptions::default()
    };
    Runtime::new(options).unwrap()
}

#[tokio::test]
async fn d1_a_receipt_that_breaks_the_contract_is_an_error_and_proves_nothing() {
    let broken: [(&str, NativeSink); 3] = [
        (
            "another id",
            NativeSink(|sent| OutputReceipt {
                delivery_id: "other".to_owned(),
                ..receipt(sent, ReceiptStatus::Accepted)
            }),
        ),
        (
            "rejected without an error",
            NativeSink(|sent| OutputReceipt {
                error: None,
                ..receipt(sent, ReceiptStatus::Rejected)
            }),
        ),
        (
            "unknown without an error",
            NativeSink(|sent| OutputReceipt {
                error: None,
                ..receipt(sent, ReceiptStatus::Unknown)
            }),
        ),
    ];
    for (what, sink) in broken {
        let mut sinks = Sinks::default();
        sinks.insert("broken", sink);
        let runtime = runtime(sinks);
        let input = delivery(&json!(1));
        let ended = runtime
            .invoke(Node::Output, input, InvokeOptions::default())
            .await;
        assert!(
            matches!(ended, Err(CallError::InvalidReceipt { .. })),
            "{what}: {ended:?}"
        );
    }
}

#[tokio::test]
async fn d2_one_call_goes_to_one_sink_the_only_one_or_the_chosen_one() {
    let mut sinks = Sinks::default();
    sinks.insert(
        "yes",
        NativeSink(|sent| receipt(sent, ReceiptStatus::Accepted)),
    );
    sinks.insert(
        "no",
        NativeSink(|sent| receipt(sent, ReceiptStatus::Rejected)),
    );
    let runtime = runtime(sinks);
    let deliver = |sink: Option<&str>| {
        let options = InvokeOptions {
            sink: sink.map(str::to_owned),
            ..InvokeOptions::default()
        };
        runtime.invoke(Node::Output, delivery(&json!("a")), options)
    };
    assert_eq!(deliver(Some("yes")).await.unwrap()["status"], "accepted");
    assert_eq!(deliver(Some("no")).await.unwrap()["status"], "rejected");
    for unclear in [None, Some("maybe")] {
        let refused = deliver(unclear).await.unwrap_err();
        assert_eq!(refused.code(), "INVALID_CALL");
        assert!(refused.to_string().contains("no, yes"), "{refused}");
    }
}

#[tokio::test]
async fn d2_a_line_is_printed_whole_or_rejected() {
    let printed = Printed::default();
    let mut fixture = Fixture::new(&["stdout"]).limit("stdout_bytes", 200);
    fixture.stdout = Some(LineSink::new(printed.clone()));
    let runtime = fixture.runtime(&["console"]).await;
    let deliver = |length: usize| {
        let input = delivery(&json!("x".repeat(length)));
        runtime.invoke(Node::Output, input, InvokeOptions::default())
    };
    let around = serde_json::to_string(&json!({
        "id": "d-1", "message": {"role": "assistant", "content": ""},
    }));
    let fits = 200 - around.unwrap().len() - 1;
    let receipt = deliver(fits + 1).await.unwrap();
    assert_eq!(receipt["status"], "rejected");
    assert_eq!(receipt["error"]["code"], "CONSOLE_REJECTED");
    assert!(printed.0.lock().unwrap().is_empty(), "not a byte of it");
    assert_eq!(deliver(fits).await.unwrap()["status"], "accepted");
    assert_eq!(printed.0.lock().unwrap().len(), 200);
}

#[tokio::test]
async fn d2_a_sink_that_prints_is_refused_without_the_grant_instead_of_printing_to_nobody() {
    let plugin = Fixture::new(&[]).plugin("console", guest("console")).await;
    let mut sinks = Sinks::default();
    sinks.insert(
        "console",
        ComponentSink::new(&plugin).unwrap().needing_stdout(),
    );
    let runtime = runtime(sinks);
    let input = delivery(&json!("a"));
    let denied = runtime
        .invoke(Node::Output, input, InvokeOptions::default())
        .await;
    let error = denied.unwrap_err();
    assert_eq!(error.code(), "PERMISSION_DENIED");
    assert!(error.to_string().contains("--allow stdout"), "{error}");
}
