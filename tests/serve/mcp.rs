//! `POST /mcp`: the permitted tools for an MCP client over HTTP (SPEC M5, X7; CASES MC11).

mod clients;
mod conformance;

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Answer, Request};
use super::service::Service;
use crate::support::root;

fn post(service: &Service, token: &str, message: &Value) -> Answer {
    let request = Request::post("/mcp")
        .bearer(token)
        .field("Accept", "application/json, text/event-stream")
        .field("MCP-Protocol-Version", "2025-11-25");
    service.send(&request.json(message))
}

#[test]
fn m5_a_client_lists_and_calls_tools_over_http() {
    let service = Service::start(&["--allow", "plugin=read-text"]);
    fs::write(service.folder.path().join("note.txt"), "hello\n").unwrap();
    let token = service.token();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }});
    let hello = post(&service, &token, &hello).is(200, "").json();
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25", "{hello}");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let list = post(&service, &token, &list).is(200, "").json();
    assert_eq!(list["result"]["tools"][0]["name"], "read_text", "{list}");
    let call = |path: &str| {
        let params = json!({"name": "read_text", "arguments": {"path": path}});
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
    };
    let called = post(&service, &token, &call("note.txt")).is(200, "").json();
    assert_eq!(
        called["result"]["content"][0]["text"], "hello\n",
        "{called}"
    );
    let failed = post(&service, &token, &call("absent")).is(200, "").json();
    assert_eq!(failed["result"]["isError"], true, "{failed}");
}

#[test]
fn mc11_only_a_tokens_holder_under_a_known_host_is_served() {
    let service = Service::start(&["--allow", "plugin=read-text"]);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let bare = Request::post("/mcp").json(&list);
    service.send(&bare).is(401, "UNAUTHORIZED");
    let token = service.token();
    for (name, value, code) in [
        ("Host", "evil.example", "FOREIGN_HOST"),
        ("Host", "127.0.0.1.evil.example", "FOREIGN_HOST"),
        ("Origin", "http://evil.example", "FOREIGN_ORIGIN"),
    ] {
        let request = Request::post("/mcp").bearer(&token).field(name, value);
        service.send(&request.json(&list)).is(403, code);
    }
    let plain = Request::post("/mcp").bearer(&token).body("{}");
    service.send(&plain).is(415, "UNSUPPORTED_MEDIA_TYPE");
    service
        .send(&Request::get("/mcp").bearer(&token))
        .is(405, "METHOD_NOT_ALLOWED");
}

/// A call of the tool that never ends, in an era.
fn spinning(token: &str, version: &str) -> Request {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut params = json!({"name": "spin", "arguments": {}});
    let mut request = Request::post("/mcp")
        .bearer(token)
        .field("Accept", "application/json, text/event-stream")
        .field("MCP-Protocol-Version", version);
    if version == "2026-07-28" {
        params["_meta"] = meta;
        request = request.field("Mcp-Method", "tools/call");
        request = request.field("Mcp-Name", "spin");
    }
    request.json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
}

#[test]
fn x3_a_client_over_http_that_goes_away_cancels_its_call_in_both_eras() {
    let plugin = root().join("guests/dist/misbehave.wasm");
    let plugin = plugin.canonicalize().unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let audit = folder.path().join("audit");
    let mut options = vec!["--plugin", plugin.to_str().unwrap(), "--allow", "tool=spin"];
    options.extend([
        "--limit",
        "cpu_ms=3600000",
        "--limit",
        "deadline_ms=3600000",
    ]);
    options.extend(["--audit", audit.to_str().unwrap()]);
    let service = Service::start(&options);
    let wait_for = |what: &str, times: usize| {
        let start = Instant::now();
        loop {
            let text = fs::read_to_string(&audit).unwrap_or_default();
            if text.matches(what).count() == times {
                return;
            }
            assert!(start.elapsed() < Duration::from_mins(1), "{what}: {text}");
            std::thread::yield_now();
        }
    };
    for (at, version) in ["2025-11-25", "2026-07-28"].into_iter().enumerate() {
        let mut connection = service.connect();
        connection.start(&spinning(&service.token(), version));
        wait_for("\"permission\"", at + 1);
        drop(connection);
        wait_for("CANCELLED", at + 1);
    }
}
