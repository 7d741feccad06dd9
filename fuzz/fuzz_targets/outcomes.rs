//! What a plugin answers, from bytes to the observation that a caller reads.
//!
//! Held: nothing panics; an accepted result passes its own check, is written and read back the
//! same, and its observation keeps id, source, status and error; a failure is never read as a
//! success. The same for messages, deliveries and receipts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_contract::failure::check_message;
use tidegate_contract::json::{self, JsonBounds, Value};
use tidegate_contract::{
    Artifact, Content, Delivery, DeliveryId, ExternalResult, Failure, Message, OutputReceipt,
    ReceiptStatus, Role, Status, ToolCall, ToolOutcome,
};

// The file itself and not its crate, which would bring a compiler of WebAssembly.
#[path = "../../host/interaction/src/observe.rs"]
mod observe;

fuzz_target!(|bytes: &[u8]| {
    let bounds = JsonBounds {
        bytes: 64 * 1024,
        depth: 16,
    };
    let Ok(value) = json::parse_bytes(bytes, &JsonBounds::default()) else {
        return;
    };
    result(value.clone(), &bounds);
    receipt(&value);
    outcome(&value, &bounds);
    if let Ok(call) = ToolCall::from_value(value.clone(), &bounds) {
        assert!(json::check(call.arguments.value(), &bounds).is_ok());
        let written = serde_json::to_value(&call).expect("JSON");
        assert_eq!(ToolCall::from_value(written, &bounds), Ok(call));
    }
    if let Ok(message) = Message::from_value(value.clone()) {
        let written = serde_json::to_value(&message).expect("JSON");
        assert_eq!(Message::from_value(written), Ok(message));
    }
    if let Ok(delivery) = Delivery::from_value(value) {
        let _either = delivery.check(&bounds).is_ok();
        let written = serde_json::to_value(&delivery).expect("JSON");
        assert_eq!(Delivery::from_value(written), Ok(delivery));
    }
});

fn result(value: Value, bounds: &JsonBounds) {
    let Ok(result) = ExternalResult::from_value(value, bounds) else {
        return;
    };
    assert_eq!(result.check(bounds), Ok(()));
    let written = serde_json::to_value(&result).expect("JSON");
    assert_eq!(
        ExternalResult::from_value(written, bounds).as_ref(),
        Ok(&result)
    );
    observed(result);
}

fn observed(result: ExternalResult) {
    let observation = observe::observe(result.clone()).expect("an accepted result is observed");
    assert_eq!(observation.call_id, result.call_id);
    assert_eq!(observation.source, result.source);
    assert_eq!(observation.status, result.status);
    assert_eq!(observation.error, result.error);
    assert_eq!(observation.structured_content, result.structured_content);
    assert_eq!(observation.references, result.references);
    assert_eq!(observation.metadata, result.metadata);
    assert_eq!(observation.message.role, Role::Tool);
    assert_eq!(observation.message.name.as_ref(), Some(&result.source));
    let text = match &observation.message.content {
        Content::Text(text) => text.clone(),
        Content::Parts(parts) => serde_json::to_string(parts).expect("JSON"),
        Content::Json(value) => panic!("an observation is text or parts, not {value}"),
    };
    assert!(!text.is_empty(), "there is something to read");
    if let (false, Some(error)) = (result.status == Status::Success, &result.error) {
        assert!(text.contains(result.status.as_str()) && text.contains(error.code()));
        assert_eq!(check_message(error.message()), Ok(()));
    }
}

/// An outcome whose fields are taken as they come: a check decides, and nothing else may fail.
fn outcome(value: &Value, bounds: &JsonBounds) {
    let field = |name: &str| value.get(name).cloned();
    let mut outcome = ToolOutcome::text("");
    outcome.content = field("content").map(Content::from_value);
    outcome.structured_content = field("structuredContent");
    outcome.metadata = field("metadata").and_then(|value| value.as_object().cloned());
    outcome.error = field("error").and_then(|value| Failure::from_value(&value).ok());
    outcome.status = match field("status").as_ref().and_then(Value::as_str) {
        Some("failed") => Status::Failed,
        Some("cancelled") => Status::Cancelled,
        Some("timeout") => Status::Timeout,
        Some("unknown") => Status::Unknown,
        _ => Status::Success,
    };
    let passes = outcome.check(bounds).is_ok();
    let id = tidegate_contract::CallId::new("call-1").expect("an id");
    let result = ExternalResult::new(&id, "tool", outcome);
    assert_eq!(result.check(bounds).is_ok(), passes);
    if passes {
        observed(result);
    } else {
        result.discard();
    }
}

/// A receipt as a sink gives it: it counts for the delivery that it names and for no other.
fn receipt(value: &Value) {
    let field = |name: &str| value.get(name);
    let text = |name: &str| field(name).and_then(Value::as_str).unwrap_or_default();
    let artifacts = field("artifacts").and_then(Value::as_array);
    let receipt = OutputReceipt {
        delivery_id: text("deliveryId").to_owned(),
        status: match text("status") {
            "accepted" => ReceiptStatus::Accepted,
            "rejected" => ReceiptStatus::Rejected,
            _ => ReceiptStatus::Unknown,
        },
        artifacts: artifacts.map(|items| {
            let read = |item: &Value| Artifact::from_value(item.clone()).ok();
            items.iter().filter_map(read).collect()
        }),
        error: field("error").and_then(|error| Failure::from_value(error).ok()),
        metadata: field("metadata").and_then(|value| value.as_object().cloned()),
    };
    let sent = DeliveryId::new("delivery-1").expect("an id");
    if receipt.check(&sent).is_ok() {
        assert_eq!(receipt.delivery_id, sent.as_str());
        assert!(receipt.status == ReceiptStatus::Accepted || receipt.error.is_some());
    }
}
