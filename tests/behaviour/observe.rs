//! Observing: what a model reads of a result (SPEC O1, O2).

use serde_json::{Value, json};
use tidegate::observe;
use tidegate_contract::{ExternalResult, JsonBounds};

fn observed(result: Value) -> Value {
    let result = ExternalResult::from_value(result, &JsonBounds::default()).unwrap();
    serde_json::to_value(observe(result).unwrap()).unwrap()
}

fn content(mut result: Value) -> Value {
    result["callId"] = json!("1");
    result["source"] = json!("tool");
    observed(result)["message"]["content"].clone()
}

#[test]
fn o2_parts_come_in_order_and_one_text_part_is_a_string() {
    let reference = json!({"uri": "urn:a"});
    let text = |text: &str| json!({"type": "text", "text": text});
    let data = |data: Value| json!({"type": "json", "data": data});
    let referring = json!({"type": "reference", "reference": reference});
    let error = json!({"code": "LOCKED", "message": "it is locked"});
    let summary = text("failed: LOCKED: it is locked");
    for (result, expected) in [
        (json!({"status": "success", "content": "a"}), json!("a")),
        (
            json!({"status": "success", "content": null}),
            json!([data(Value::Null)]),
        ),
        (
            json!({"status": "success", "content": 7}),
            json!([data(json!(7))]),
        ),
        (
            json!({"status": "success", "content": []}),
            json!([data(json!([]))]),
        ),
        (
            json!({"status": "success", "content": [text("a")]}),
            json!("a"),
        ),
        (
            json!({"status": "success", "content": [text("a"), referring]}),
            json!([text("a"), referring]),
        ),
        // Not every element is a well-formed part: the array is data.
        (
            json!({"status": "success", "content": [text("a"), {"type": "weird"}]}),
            json!([data(json!([text("a"), {"type": "weird"}]))]),
        ),
        (
            json!({
                "status": "success", "content": "a", "structuredContent": {"n": 1},
                "references": [reference],
            }),
            json!([text("a"), data(json!({"n": 1})), referring]),
        ),
        (
            json!({"status": "failed", "error": error}),
            json!("failed: LOCKED: it is locked"),
        ),
        (
            json!({"status": "failed", "error": error, "content": "partial"}),
            json!([summary, text("partial")]),
        ),
    ] {
        assert_eq!(content(result.clone()), expected, "{result}");
    }
}

#[test]
fn o2_empty_content_still_says_something_true() {
    for result in [
        json!({"status": "success", "content": ""}),
        json!({"status": "success", "references": []}),
    ] {
        assert_eq!(content(result), "success: tool returned no content");
    }
}

#[test]
fn o1_everything_but_the_content_is_kept() {
    for status in ["failed", "cancelled", "timeout", "unknown"] {
        let result = json!({
            "callId": "1", "source": "tool", "status": status, "content": "text",
            "structuredContent": null, "references": [{"uri": "urn:a", "digest": "sha-256:00"}],
            "error": {"code": "A", "message": "b", "retryable": true}, "metadata": {"m": 1},
        });
        let observation = observed(result.clone());
        assert_eq!(observation["message"]["role"], "tool");
        assert_eq!(observation["message"]["name"], "tool");
        for field in [
            "callId",
            "source",
            "status",
            "structuredContent",
            "references",
            "error",
            "metadata",
        ] {
            assert_eq!(observation[field], result[field], "{field}");
        }
        let first = &observation["message"]["content"][0]["text"];
        assert_eq!(
            first,
            &json!(format!("{status}: A: b")),
            "never promoted to success"
        );
    }
}
