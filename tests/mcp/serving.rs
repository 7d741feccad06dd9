//! `tidegate mcp`, asked by a client without an SDK (SPEC M5, L3).

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use crate::support::{binary, command, root, tidegate};

const READ: [&str; 4] = ["--allow", "tool=read_text", "--allow", "read"];

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn m5_the_permitted_tools_are_listed_with_their_schemas_and_hints() {
    let mut client = Client::greeted(&READ);
    let listed = client.ask(1, "tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 1, "{listed}");
    assert_eq!(tools[0]["name"], "read_text");
    assert_eq!(tools[0]["inputSchema"]["type"], "object");
    assert_eq!(tools[0]["annotations"]["readOnlyHint"], true);
    let answer = client.ask(2, "tools/list", &json!({"cursor": "no cursor"}));
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(client.end(), (vec![], Some(0)));
}

#[test]
fn m5_every_status_but_success_is_an_error_with_its_code_in_the_text() {
    let mut client = Client::greeted(&[
        "--plugin",
        "guests/dist/misbehave.wasm",
        "--allow",
        "tool=*",
        "--limit",
        "deadline_ms=300",
        "--allow",
        "read",
    ]);
    client.call(1, "read_text", &json!({"path": "rustfmt.toml"}));
    let read = client.next();
    assert_eq!(read["result"]["isError"], false);
    assert!(text(&read).starts_with("max_width"), "{read}");
    for (tool, arguments, said) in [
        ("read_text", json!({"path": "absent"}), "NOT_FOUND"),
        ("read_text", json!({"path": 1}), "INVALID_ARGUMENTS"),
        ("read_text", json!({}), "INVALID_ARGUMENTS"),
        ("spin", json!({}), "LIMIT_DEADLINE"),
    ] {
        client.call(2, tool, &arguments);
        let failed = client.next();
        assert_eq!(failed["result"]["isError"], true, "{failed}");
        assert!(text(&failed).contains(said), "{failed}");
    }
    client.call(3, "no_such_tool", &json!({}));
    let unknown = client.next();
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    assert_eq!(
        unknown["error"]["data"]["tidegate/error"]["code"],
        "UNKNOWN_TOOL"
    );
}

#[test]
fn m5_what_is_not_permitted_is_denied_whether_it_is_there_or_not() {
    let mut client = Client::greeted(&READ);
    let mut said = Vec::new();
    for tool in ["grep", "no_such_tool"] {
        client.call(1, tool, &json!({}));
        let denied = client.next();
        assert_eq!(denied["result"]["isError"], true, "{denied}");
        said.push(text(&denied).replace(tool, "NAME"));
    }
    assert_eq!(said[0], said[1]);
    assert!(said[0].starts_with("PERMISSION_DENIED"), "{said:?}");
}

#[test]
fn m5_structured_content_stands_in_an_answer_once() {
    let mut client = Client::greeted(&["--allow", "plugin=commands"]);
    client.call(
        1,
        "grep",
        &json!({"pattern": "max_width", "paths": ["rustfmt.toml"]}),
    );
    let found = client.next();
    let result = &found["result"];
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(text(&found), "1:max_width = 100\n");
    assert_eq!(result["structuredContent"]["stdout"], "1:max_width = 100\n");
}

#[test]
fn m5_five_hundred_pipelined_requests_have_five_hundred_answers() {
    let mut client = Client::greeted(&READ);
    let mut lines = String::new();
    for id in 1..=500 {
        // Lines of many lengths, so that reads end anywhere in them.
        let padding = "x".repeat((id * 37) % 301);
        let params = json!({
            "name": "read_text", "arguments": {"path": "rustfmt.toml"}, "_meta": {"pad": padding},
        });
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        lines.extend([request.to_string().as_str(), "\n"]);
    }
    client.raw(lines.as_bytes());
    let (answers, exit) = client.end();
    assert_eq!(exit, Some(0));
    let ids: BTreeSet<u64> = answers
        .iter()
        .map(|answer| answer["id"].as_u64().unwrap())
        .collect();
    assert_eq!((answers.len(), ids.len()), (500, 500));
    for answer in &answers {
        assert!(text(answer).starts_with("max_width"), "{answer}");
    }
}

#[test]
fn m5_a_client_that_uses_one_id_for_all_its_requests_has_all_its_answers() {
    let mut client = Client::greeted(&READ);
    for _ in 0..300 {
        client.call(1, "read_text", &json!({"path": "rustfmt.toml"}));
        let answer = client.next();
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
}

#[test]
fn m5_requests_in_a_file_are_answered_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests");
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "read_text", "arguments": {"path": "rustfmt.toml"}}});
    std::fs::write(&path, format!("{hello}\n{call}\n")).unwrap();
    let arguments = [&["mcp"][..], &READ].concat();
    let output = command(&root(), &arguments, &[])
        .stdin(std::fs::File::open(&path).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 2, "{said}");
    assert_eq!(answers[1]["result"]["isError"], false, "{said}");
    assert!(output.status.success());
}

#[test]
fn m5_a_client_that_reads_late_loses_nothing_and_is_not_read_from_without_end() {
    let mut client = Client::greeted(&READ);
    let mut slow = Client::greeted(&READ);
    let writer = thread::spawn(move || {
        // The answers are read by a thread of the client, so this one may write at its own pace.
        for id in 1..=3_000 {
            slow.call(id, "read_text", &json!({"path": "rustfmt.toml"}));
        }
        slow.end()
    });
    client.call(1, "read_text", &json!({"path": "rustfmt.toml"}));
    assert!(text(&client.next()).starts_with("max_width"));
    let (answers, exit) = writer.join().unwrap();
    assert_eq!((answers.len(), exit), (3_000, Some(0)));
}

#[test]
fn m5_a_cancelled_call_ends_without_an_answer_and_the_connection_lives() {
    let mut client = Client::greeted(&[
        "--plugin",
        "guests/dist/misbehave.wasm",
        "--allow",
        "tool=spin",
        "--limit",
        "deadline_ms=600000",
        "--limit",
        "cpu_ms=600000",
    ]);
    let started = Instant::now();
    for id in 1..=4 {
        client.call(id, "spin", &json!({}));
    }
    let ping = client.ask(9, "ping", &json!({}));
    assert_eq!(
        ping["result"],
        json!({}),
        "a guest that computes holds up no message"
    );
    for id in 1..=4 {
        let params = json!({"requestId": id, "reason": "enough"});
        client.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params,
        }));
    }
    client.ask(10, "tools/list", &json!({}));
    let (rest, exit) = client.end();
    assert_eq!((rest, exit), (vec![], Some(0)));
    assert!(
        started.elapsed() < Duration::from_mins(1),
        "the calls were not cancelled"
    );
}

#[test]
fn m5_broken_messages_are_answered_where_they_name_their_id() {
    let mut client = Client::greeted(&READ);
    client.raw(b"junk\n\xff\xfe\n[]\n\n\r\n{\n");
    for (line, code) in [
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","method":"ping"}"#,
            -32700,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":18446744073709551616}}"#,
            -32700,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\ud83d"}}"#,
            -32700,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":1}}"#,
            -32602,
        ),
    ] {
        client.raw(format!("{line}\r\n").as_bytes());
        let answer = client.next();
        assert_eq!(answer["id"], 7, "{line}: {answer}");
        let said = answer["error"]["code"].as_i64().unwrap();
        assert_eq!(said, code, "{line}: {answer}");
    }
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":8,"method":"ping","params":{{"a":"{}"}}}}"#,
        "x".repeat(5 << 20)
    );
    client.raw(format!("{long}\n").as_bytes());
    let answer = client.next();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(8), &json!(-32600))
    );
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":9,"method":"ping","params":{}}}"#,
        "[".repeat(100_000)
    );
    client.raw(format!("{deep}\n").as_bytes());
    let answer = client.next();
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(9), &json!(-32700))
    );
    client.ask(10, "tools/list", &json!({}));
    let (rest, exit) = client.end();
    assert_eq!((rest, exit), (vec![], Some(0)));
}

#[test]
fn m5_the_stateless_era_is_spoken_without_a_handshake() {
    let mut client = Client::start(&READ);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.ask(1, "server/discover", &json!({"_meta": meta}));
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    let listed = client.ask(2, "tools/list", &json!({"_meta": meta}));
    assert_eq!(
        listed["result"]["tools"][0]["name"], "read_text",
        "{listed}"
    );
    let arguments = json!({"path": "rustfmt.toml"});
    let call = json!({"name": "read_text", "arguments": arguments, "_meta": meta});
    let called = client.ask(3, "tools/call", &call);
    assert!(text(&called).starts_with("max_width"), "{called}");
    assert_eq!(called["result"]["resultType"], "complete");
}

#[test]
fn m5_progress_is_told_before_the_answer_to_a_client_that_asks_for_it() {
    let mut client = Client::greeted(&[
        "--plugin",
        "guests/dist/probe.wasm",
        "--allow",
        "tool=progress",
    ]);
    let arguments = json!({"steps": 5, "total": 5, "note": "step"});
    let call = |meta: Value| json!({"name": "progress", "arguments": arguments, "_meta": meta});
    client.request(1, "tools/call", &call(json!({"progressToken": "p-1"})));
    let mut told = Vec::new();
    let answer = loop {
        let message = client.next();
        if message["method"] != "notifications/progress" {
            break message;
        }
        assert_eq!(message["params"]["progressToken"], "p-1", "{message}");
        told.push(message["params"]["progress"].as_f64().unwrap());
    };
    assert_eq!(answer["id"], 1, "{answer}");
    assert!(
        !told.is_empty() && told.is_sorted_by(|one, other| one < other),
        "{told:?}"
    );
    client.request(2, "tools/call", &call(json!({})));
    assert_eq!(client.next()["id"], 2, "nobody asked for progress");
}

#[test]
fn l5_what_a_plugin_prints_does_not_stand_between_messages() {
    let mut client = Client::greeted(&[
        "--plugin",
        "guests/dist/probe.wasm",
        "--allow",
        "tool=*",
        "--allow",
        "stdout",
    ]);
    let listed = client.ask(1, "tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let prints = tools
        .iter()
        .find(|tool| tool["name"].as_str().unwrap().contains("print"));
    if let Some(tool) = prints {
        client.call(
            2,
            tool["name"].as_str().unwrap(),
            &json!({"stdout": "noise", "text": "noise"}),
        );
        assert_eq!(client.next()["id"], 2);
    }
    let ping = client.ask(3, "ping", &json!({}));
    assert_eq!(ping["result"], json!({}));
}

#[test]
fn l3_a_client_is_told_how_to_start_the_server() {
    let printed = tidegate(&[
        "mcp",
        "--print-client-config",
        "--workspace",
        "examples",
        "--allow",
        "plugin=commands",
        "--limit",
        "deadline_ms=500",
        "--plugin",
        "guests/dist/probe.wasm",
    ]);
    assert_eq!(printed.exit, 0, "{}", printed.stderr);
    let config = printed.json();
    let server = &config["mcpServers"]["tidegate"];
    let top = root().canonicalize().unwrap();
    let at = |path: &str| top.join(path).display().to_string();
    assert_eq!(
        server["command"],
        binary().canonicalize().unwrap().display().to_string()
    );
    let expected = json!([
        "mcp",
        "--workspace",
        at("examples"),
        "--plugin",
        at("guests/dist/probe.wasm"),
        "--allow",
        "plugin=commands",
        "--limit",
        "deadline_ms=500",
    ]);
    assert_eq!(server["args"], expected);
}
