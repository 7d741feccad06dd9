//! `POST /v1/calls`: results, refusals by their numbers, and callers that go away.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Request;
use super::service::Service;
use crate::support::root;

fn misbehaving(allow: &[&str]) -> Service {
    let plugin = root().join("guests/dist/misbehave.wasm");
    let plugin = plugin.canonicalize().unwrap();
    let mut options = vec!["--plugin", plugin.to_str().unwrap()];
    for allow in allow {
        options.extend(["--allow", allow]);
    }
    Service::start(&options)
}

#[test]
fn l3_a_call_answers_its_result_whatever_its_status() {
    let service = Service::start(&["--allow", "plugin=read-text"]);
    fs::write(service.folder.path().join("note.txt"), "h\u{e9}llo\n").unwrap();
    let arguments = json!({"path": "note.txt"});
    let call = json!({"id": "c-1", "name": "read_text", "arguments": arguments});
    let result = service.call(&call).is(200, "").json();
    assert_eq!(
        result,
        json!({"callId": "c-1", "source": "read_text", "status": "success", "content": "h\u{e9}llo\n"})
    );
    let call = json!({"name": "read_text", "arguments": {"path": "absent"}});
    let result = service.call(&call).is(200, "").json();
    assert_eq!(result["status"], "failed", "{result}");
    let (one, other) = (service.call(&call).json(), service.call(&call).json());
    assert_ne!(one["callId"], other["callId"], "an id is made for each");
}

#[test]
fn e_each_refusal_has_its_number() {
    let service = misbehaving(&["tool=spin", "tool=panic", "tool=unsafe_error"]);
    for (call, status, code) in [
        (json!({"name": "spin"}), 400, "INVALID_CALL"),
        (json!({"arguments": {}}), 400, "INVALID_CALL"),
        (json!([]), 400, "INVALID_CALL"),
        (
            json!({"name": "spin", "arguments": {}, "more": 1}),
            400,
            "INVALID_CALL",
        ),
        (json!({"name": "a b", "arguments": {}}), 400, "INVALID_CALL"),
        (
            json!({"name": "spin", "arguments": []}),
            400,
            "INVALID_ARGUMENTS",
        ),
        (
            json!({"name": "sleep", "arguments": {}}),
            403,
            "PERMISSION_DENIED",
        ),
        (
            json!({"name": "nothing", "arguments": {}}),
            403,
            "PERMISSION_DENIED",
        ),
    ] {
        let answer = service.call(&call);
        answer.is(status, code);
    }
    let result = service.call(&json!({"name": "panic", "arguments": {}}));
    assert_eq!(result.is(200, "").json()["error"]["code"], "TOOL_TRAPPED");
    let broken = service.call(&json!({"name": "unsafe_error", "arguments": {}}));
    broken.is(502, "INVALID_RESULT");
    let open = misbehaving(&["tool=nothing"]);
    let unknown = open.call(&json!({"name": "nothing", "arguments": {}}));
    unknown.is(404, "UNKNOWN_TOOL");
}

#[test]
fn x2_a_call_that_finds_no_room_is_429() {
    let plugin = root().join("guests/dist/misbehave.wasm");
    let plugin = plugin.canonicalize().unwrap();
    let mut options = vec!["-vv", "--plugin", plugin.to_str().unwrap()];
    options.extend(["--allow", "tool=spin"]);
    for limit in [
        "queue=0",
        "concurrency=1",
        "cpu_ms=3600000",
        "deadline_ms=3600000",
    ] {
        options.extend(["--limit", limit]);
    }
    let service = Service::start(&options);
    let call = json!({"name": "spin", "arguments": {}});
    let request = Request::post("/v1/calls").bearer(&service.token());
    let mut running = service.connect();
    running.start(&request.json(&call));
    assert!(service.says("instantiate: done"), "{}", service.said());
    let answer = service.call(&call);
    assert_eq!(answer.is(429, "QUEUE_FULL").field("retry-after"), Some("1"));
}

#[test]
fn c1_io10_what_is_no_bounded_json_is_400_and_another_type_415() {
    let service = Service::start(&[]);
    let call = Request::post("/v1/calls").bearer(&service.token());
    let json = call.clone().field("Content-Type", "application/json");
    for body in [
        "",
        "{",
        "{\"name\":\"a\",\"name\":\"b\",\"arguments\":{}}",
        "{\"name\":\"a\",\"arguments\":{\"n\":18446744073709551616}}",
        &"[".repeat(128),
        &"[".repeat(100_000),
    ] {
        let answer = service.send(&json.clone().body(body));
        answer.is(400, "INVALID_CALL");
    }
    let answer = service.send(&json.clone().body([0x22, 0xff, 0x22]));
    answer.is(400, "INVALID_CALL");
    for other in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonx",
        "",
    ] {
        let answer = service.send(&call.clone().field("Content-Type", other).body("{}"));
        answer.is(415, "UNSUPPORTED_MEDIA_TYPE");
    }
    service
        .send(&call.body("{}"))
        .is(415, "UNSUPPORTED_MEDIA_TYPE");
    let packed = json.clone().field("Content-Encoding", "gzip").body("{}");
    service.send(&packed).is(415, "UNSUPPORTED_MEDIA_TYPE");
    let query = Request::post("/v1/calls?token=cap_TEST123").bearer(&service.token());
    service
        .send(&query.json(&json!({})))
        .is(400, "INVALID_REQUEST");
}

#[test]
fn c8_a_document_is_bounded_at_its_limit() {
    let service = Service::configured("serve: { limits: { document_bytes: 1000 } }", &[]);
    let call = Request::post("/v1/calls").bearer(&service.token());
    let call = call.field("Content-Type", "application/json");
    for (size, status, code) in [
        (999, 400, "INVALID_CALL"),
        (1000, 400, "INVALID_CALL"),
        (1001, 413, "BODY_TOO_LARGE"),
    ] {
        let body = format!("{:>size$}", "{}");
        service.send(&call.clone().body(&body)).is(status, code);
        let chunks = format!(
            "1\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
            " ",
            size - 1,
            body.split_at(1).1
        );
        let chunked = call
            .clone()
            .field("Transfer-Encoding", "chunked")
            .body(chunks);
        service.send(&chunked).is(status, code);
    }
}

#[test]
fn x3_a_caller_that_goes_away_cancels_its_call() {
    let plugin = root()
        .join("guests/dist/misbehave.wasm")
        .canonicalize()
        .unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let audit = folder.path().join("audit");
    let service = Service::start(&[
        "--plugin",
        plugin.to_str().unwrap(),
        "--allow",
        "tool=spin",
        "--limit",
        "cpu_ms=3600000",
        "--limit",
        "deadline_ms=3600000",
        "--audit",
        audit.to_str().unwrap(),
    ]);
    let mut connection = service.connect();
    let call = json!({"name": "spin", "arguments": {}});
    let request = Request::post("/v1/calls")
        .bearer(&service.token())
        .json(&call);
    connection.start(&request);
    let lines = |what: &str| -> Vec<Value> {
        let text = fs::read_to_string(&audit).unwrap_or_default();
        let lines = text.lines().filter(|line| line.contains(what));
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let start = Instant::now();
    while lines("\"permission\"").is_empty() {
        assert!(
            start.elapsed() < Duration::from_mins(1),
            "{:?}",
            fs::read_to_string(&audit)
        );
        std::thread::yield_now();
    }
    drop(connection);
    while lines("CANCELLED").is_empty() {
        assert!(
            start.elapsed() < Duration::from_mins(1),
            "{:?}",
            fs::read_to_string(&audit)
        );
        std::thread::yield_now();
    }
}
