//! Calls, messages, results, deliveries and errors on the wire (SPEC C2 to C6, D1, E, T1).

#![expect(clippy::expect_used, reason = "a helper of tests says what it expects")]

use serde_json::json;
use tidegate_contract::{
    CallError, CallId, Content, Delivery, DeliveryId, Effect, ExternalResult, Failure, JsonBounds,
    Message, OutputReceipt, Part, Problem, ReceiptError, ReceiptStatus, Reference, ResultError,
    Status, ToolCall, ToolDefinition, ToolName, ToolOutcome, Value, failure::check_message,
};

fn failure() -> Failure {
    Failure::new("FAILED", "it failed").expect("a fit error")
}

fn wire(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("JSON")
}

fn result(value: Value) -> Result<ExternalResult, ResultError> {
    ExternalResult::from_value(value, &JsonBounds::default())
}

/// The table: names and ids that callers and plugins choose, a row of JSON a line.
const NAMES: &str = include_str!("../../../tests/tables/names.jsonl");

#[test]
fn c2_every_name_and_id_of_the_table_is_taken_or_refused() {
    let mut counted = 0;
    for line in NAMES.lines() {
        let row: Value = serde_json::from_str(line).expect("a row");
        let text = row["text"].as_str().expect("a text");
        let expected = row["ok"].as_bool().expect("a verdict");
        let taken = match row["kind"].as_str() {
            Some("tool") => vec![ToolName::new(text).map(|name| name.to_string())],
            Some("id") => vec![
                CallId::new(text).map(|id| id.to_string()),
                DeliveryId::new(text).map(|id| id.to_string()),
            ],
            _ => continue,
        };
        for taken in taken {
            match taken {
                Ok(name) => assert!(expected && name == text, "{line}"),
                Err(error) => {
                    assert!(!expected, "{line}: {error}");
                    assert_eq!(error.code(), "INVALID_CALL", "{line}");
                    assert_eq!(
                        check_message(error.to_failure().message()),
                        Ok(()),
                        "{line}"
                    );
                }
            }
        }
        counted += 1;
    }
    assert!(counted >= 60, "only {counted} rows");
}

#[test]
fn c6_a_wrong_call_names_its_field() {
    let table = [
        (json!(null), "call must be an object"),
        (json!({"name": "a", "arguments": {}}), "call.id is required"),
        (
            json!({"id": 1, "name": "a", "arguments": {}}),
            "call.id must be a string",
        ),
        (json!({"id": "1", "arguments": {}}), "call.name is required"),
        (
            json!({"id": "1", "name": "a"}),
            "call.arguments is required",
        ),
        (
            json!({"id": "1", "name": "a", "arguments": {}, "foo": 1}),
            "unknown field `call.foo`",
        ),
        (
            json!({"id": "1", "name": "a", "arguments": {}, "\u{1b}[2J": 1}),
            "unknown field `call.\\u{1b}[2J`",
        ),
    ];
    for (value, expected) in table {
        let error = ToolCall::from_value(value, &JsonBounds::default()).expect_err("refused");
        let expected = CallError::InvalidCall {
            reason: expected.to_owned(),
        };
        assert_eq!(error, expected);
    }
    let value = json!({"id": "1", "name": "a", "arguments": [1]});
    let call = ToolCall::from_value(value, &JsonBounds::default()).expect("any document");
    assert_eq!(wire(&call), r#"{"id":"1","name":"a","arguments":[1]}"#);
}

#[test]
fn c4_parts_are_told_from_json() {
    let reference = json!({"type": "reference", "reference": {"uri": "a:b", "digest": "d"}});
    let is_parts = |value: Value| matches!(Content::from_value(value), Content::Parts(_));
    assert!(is_parts(json!([{"type": "text", "text": ""}])));
    assert!(is_parts(json!([{"type": "json", "data": null}, reference])));
    for value in [
        json!([]),
        json!([1]),
        json!([{"type": "weird"}]),
        json!([{"type": "text", "text": "a"}, 1]),
        json!([{"type": "text", "text": 1}]),
        json!([{"type": "text"}]),
        json!([{"type": "text", "text": "a", "x": 1}]),
        json!([{"type": "json"}]),
        json!([{"type": "reference", "reference": {"uri": ""}}]),
        json!([{"type": "reference", "reference": {"uri": "a", "x": 1}}]),
        json!([{"type": "reference", "reference": {"uri": "a", "mediaType": null}}]),
        json!([{"text": "a"}]),
        json!({"type": "text", "text": "a"}),
        json!(null),
    ] {
        assert_eq!(Content::from_value(value.clone()), Content::Json(value));
    }
    assert_eq!(
        Content::from_value(json!("a")),
        Content::Text("a".to_owned())
    );
}

#[test]
fn c4_content_survives_the_wire() {
    for text in [
        r#""a""#,
        "null",
        "[]",
        r#"[{"type":"text","text":"a"},{"type":"json","data":{"b":null}}]"#,
        r#"[{"type":"reference","reference":{"uri":"a:b","mediaType":"text/plain"}}]"#,
        r#"[{"type":"weird"}]"#,
    ] {
        let content: Content = serde_json::from_str(text).expect("content");
        assert_eq!(wire(&content), text);
    }
}

#[test]
fn c5_a_message_needs_content_and_null_is_some() {
    let read = |value| Message::from_value(value).map_err(|error| error.to_string());
    let message = read(json!({"role": "tool", "content": null, "name": "a"})).expect("a message");
    assert_eq!(
        wire(&message),
        r#"{"role":"tool","content":null,"name":"a"}"#
    );
    let roles = "message.role must be `system`, `user`, `assistant` or `tool`";
    for (value, expected) in [
        (json!({"role": "user"}), "message.content is required"),
        (json!({"content": 1}), "message.role is required"),
        (json!({"role": "robot", "content": 1}), roles),
        (
            json!({"role": 1, "content": 1}),
            "message.role must be a string",
        ),
        (
            json!({"role": "user", "content": 1, "name": null}),
            "message.name must be a string",
        ),
        (
            json!({"role": "user", "content": 1, "foo": 1}),
            "unknown field `message.foo`",
        ),
        (json!([]), "message must be an object"),
    ] {
        assert_eq!(read(value), Err(expected.to_owned()));
    }
}

#[test]
fn c3_a_success_shows_something_and_the_others_an_error() {
    let bounds = JsonBounds::default();
    let bare = |status| json!({"callId": "1", "source": "a", "status": status});
    assert_eq!(result(bare("success")), Err(ResultError::EmptySuccess));
    for status in ["failed", "cancelled", "timeout", "unknown"] {
        assert!(matches!(
            result(bare(status)),
            Err(ResultError::ErrorRequired { .. })
        ));
    }
    for (field, value) in [
        ("content", json!(null)),
        ("structuredContent", json!(null)),
        ("references", json!([])),
    ] {
        let mut success = bare("success");
        success[field] = value;
        let text = success.to_string();
        assert_eq!(wire(&result(success).expect("a success")), text);
    }
    assert_eq!(ToolOutcome::text("").check(&bounds), Ok(()));
    assert_eq!(ToolOutcome::failed(failure()).check(&bounds), Ok(()));
    let ended = ToolOutcome::ended(Status::Timeout, failure());
    let result = ExternalResult::new(&CallId::new("1").expect("an id"), "a", ended);
    let expected = r#"{"callId":"1","source":"a","status":"timeout","error":{"code":"FAILED","message":"it failed"}}"#;
    assert_eq!(wire(&result), expected);
}

#[test]
fn c3_an_outcome_is_checked_inside() {
    let bounds = JsonBounds::default();
    let mut outcome = ToolOutcome::text("a");
    outcome.references = Some(vec![Reference::new(" ")]);
    assert_eq!(outcome.check(&bounds), Err(ResultError::EmptyUri));
    let reference = Reference::new("");
    outcome.references = None;
    outcome.content = Some(Content::Parts(vec![Part::Reference { reference }]));
    assert_eq!(outcome.check(&bounds), Err(ResultError::EmptyUri));

    let small = JsonBounds {
        bytes: 10,
        depth: 4,
    };
    assert_eq!(ToolOutcome::text("1234567890").check(&small), Ok(()));
    let over = ToolOutcome::text("12345678901").check(&small);
    assert!(matches!(over, Err(ResultError::Json(_))));
    let mut sum = ToolOutcome::text("12345");
    sum.structured_content = Some(json!("123"));
    assert_eq!(sum.check(&small), Ok(()));
    sum.structured_content = Some(json!("1234"));
    assert!(sum.check(&small).is_err());
}

#[test]
fn c6_a_wrong_result_names_its_field() {
    let with = |field: &str, value: Value| {
        let mut result = json!({"callId": "1", "source": "a", "status": "success", "content": 1});
        result[field] = value;
        result
    };
    for (value, expected) in [
        (with("foo", json!(1)), "unknown field `result.foo`"),
        (
            with("callId", json!("")),
            "result.callId must be a non-empty string",
        ),
        (
            with("metadata", json!([])),
            "result.metadata must be an object",
        ),
        (
            with("references", json!(null)),
            "result.references must be an array",
        ),
        (
            with("references", json!([{"uri": 1}])),
            "result.references[0].uri must be a string",
        ),
        (
            with("references", json!([{"uri": "a", "b": 1}])),
            "unknown field `result.references[0].b`",
        ),
    ] {
        assert_eq!(result(value).expect_err("refused").to_string(), expected);
    }
    let unfit = with("error", json!({"code": "A", "message": "open /etc/passwd"}));
    assert!(matches!(result(unfit), Err(ResultError::Failure(_))));
    let more = with(
        "error",
        json!({"code": "A", "message": "x", "stack": "at a.js:1:2"}),
    );
    assert_eq!(
        wire(&result(more).expect("fit").error),
        r#"{"code":"A","message":"x"}"#
    );
}

#[test]
fn d1_a_delivery_names_its_wrong_field() {
    let read = |value| Delivery::from_value(value).map_err(|error| error.to_string());
    let message = json!({"role": "user", "content": "a"});
    let artifact = json!({"name": "a", "reference": {"uri": "b:c"}});
    let value = json!({"deliveryId": "1", "message": message, "artifacts": [artifact]});
    assert_eq!(
        wire(&read(value.clone()).expect("a delivery")),
        value.to_string()
    );
    for (value, expected) in [
        (
            json!({"message": message}),
            "invalid call: deliveryId is required",
        ),
        (
            json!({"deliveryId": "1", "message": {"role": "user"}}),
            "invalid call: message.content is required",
        ),
        (
            json!({"deliveryId": "1", "message": message, "sink": "x"}),
            "invalid call: unknown field `sink`",
        ),
        (
            json!({"deliveryId": "1", "message": message, "artifacts": [{"name": " "}]}),
            "invalid call: artifacts[0].name must be a non-empty string",
        ),
        (
            json!({"deliveryId": "1", "message": message, "artifacts": null}),
            "invalid call: artifacts must be an array",
        ),
    ] {
        assert_eq!(read(value), Err(expected.to_owned()));
    }
}

#[test]
fn d1_a_receipt_answers_the_delivery_that_was_sent() {
    let sent = DeliveryId::new("1").expect("an id");
    let receipt = |id: &str, status, error| OutputReceipt {
        delivery_id: id.to_owned(),
        status,
        artifacts: None,
        error,
        metadata: None,
    };
    let accepted = receipt("1", ReceiptStatus::Accepted, None);
    assert_eq!(accepted.check(&sent), Ok(()));
    assert_eq!(wire(&accepted), r#"{"deliveryId":"1","status":"accepted"}"#);
    let other = receipt("2", ReceiptStatus::Accepted, None);
    assert_eq!(other.check(&sent), Err(ReceiptError::OtherDelivery));
    for status in [ReceiptStatus::Rejected, ReceiptStatus::Unknown] {
        let bare = receipt("1", status, None).check(&sent);
        assert_eq!(bare, Err(ReceiptError::ErrorRequired { status }));
        assert_eq!(receipt("1", status, Some(failure())).check(&sent), Ok(()));
    }
}

#[test]
fn t1_a_definition_has_its_wire_form_and_its_limits() {
    let definition = |description: usize, schema: usize| ToolDefinition {
        name: ToolName::new("a").expect("a name"),
        description: Some("x".repeat(description)),
        input_schema: json!({"$comment": "x".repeat(schema)})
            .as_object()
            .cloned()
            .unwrap_or_default(),
        output_schema: None,
        effects: vec![Effect::Read, Effect::Network],
        requires_approval: false,
    };
    let expected = r#"{"name":"a","description":"x","inputSchema":{"$comment":"x"},"effects":["read","network"],"requiresApproval":false}"#;
    assert_eq!(wire(&definition(1, 1)), expected);
    assert_eq!(definition(4096, 65_000).check(), Ok(()));
    assert!(definition(4097, 0).check().is_err());
    assert!(definition(0, 65_536).check().is_err());
}

/// Every error with its code, its HTTP status, and whether it is a refusal.
fn errors() -> Vec<(CallError, &'static str, u16, bool)> {
    let reason = || "x".to_owned();
    let name = reason;
    let node = "INTERACTION.OUTPUT";
    let ended = |status, code| CallError::Ended {
        status,
        failure: Failure::new(code, "it ended").expect("a fit error"),
    };
    let refusals = [
        (
            CallError::InvalidCall { reason: reason() },
            "INVALID_CALL",
            400,
        ),
        (
            CallError::InvalidArguments { problems: vec![] },
            "INVALID_ARGUMENTS",
            400,
        ),
        (CallError::denied("tool", "spin"), "PERMISSION_DENIED", 403),
        (CallError::UnknownTool { name: name() }, "UNKNOWN_TOOL", 404),
        (
            CallError::UnknownServer { name: name() },
            "UNKNOWN_SERVER",
            404,
        ),
        (CallError::NotInjected { node }, "NOT_INJECTED", 404),
        (CallError::QueueFull { limit: 4 }, "QUEUE_FULL", 429),
        (CallError::Closed, "CLOSED", 503),
    ];
    let others = [
        (
            CallError::InvalidResult { reason: reason() },
            "INVALID_RESULT",
            502,
        ),
        (
            CallError::InvalidReceipt { reason: reason() },
            "INVALID_RECEIPT",
            502,
        ),
        (
            CallError::ExecutorFault { reason: reason() },
            "EXECUTOR_FAULT",
            502,
        ),
        (CallError::SecretInResult, "SECRET_IN_RESULT", 502),
        (CallError::HostFault { reason: reason() }, "HOST_FAULT", 500),
        (
            ended(Status::Timeout, "LIMIT_DEADLINE"),
            "LIMIT_DEADLINE",
            504,
        ),
        (ended(Status::Cancelled, "CANCELLED"), "CANCELLED", 499),
    ];
    let refusals = refusals.map(|(error, code, status)| (error, code, status, true));
    let others = others.map(|(error, code, status)| (error, code, status, false));
    refusals.into_iter().chain(others).collect()
}

#[test]
fn e_every_error_has_its_code_status_and_exit() {
    for (error, code, status, is_refusal) in errors() {
        let seen = (error.code(), error.http_status(), error.is_refusal());
        assert_eq!(seen, (code, status, is_refusal));
        assert_eq!(error.to_failure().code(), code);
        assert_eq!(check_message(error.to_failure().message()), Ok(()));
        let text = error.to_string();
        assert!(!text.ends_with('.') && !text.is_empty(), "{text}");
    }
}

#[test]
fn e_a_denial_says_what_would_permit_it() {
    let text = "permission denied: tool:spin; permit it with --allow tool=spin";
    let denied = CallError::denied("tool", "spin");
    assert_eq!(denied.to_string(), text);
    assert_eq!(denied.to_failure().message(), text);
}

#[test]
fn e_problems_of_arguments_are_listed_as_far_as_they_fit() {
    let problem = |pointer: &str, reason: &str| Problem {
        pointer: pointer.to_owned(),
        reason: reason.to_owned(),
    };
    let problems = vec![
        problem("/paths/0", "must be a string"),
        problem("", "unknown field `x`"),
    ];
    let error = CallError::InvalidArguments { problems };
    let expected = "invalid arguments: #/paths/0: must be a string; unknown field `x`";
    assert_eq!(error.to_failure().message(), expected);

    let problems = vec![problem("/a", "is required"); 1000];
    let failure = CallError::InvalidArguments { problems }.to_failure();
    assert!(
        failure.message().ends_with(" more"),
        "{}",
        failure.message()
    );
    let hostile = problem(&"/é".repeat(10_000), "password=hunter2");
    let problems = vec![hostile; 3];
    let failure = CallError::InvalidArguments { problems }.to_failure();
    assert_eq!(check_message(failure.message()), Ok(()));
    assert!(!failure.message().contains("hunter2"));
}
