//! The audit trail that `--audit` writes (SPEC X7): decisions and calls, never what was said.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Output, guest, tidegate_in};

/// Runs one command in a folder with its audit trail, and gives both.
fn audited(folder: &Path, arguments: &[&str]) -> (Output, Vec<Value>) {
    let file = folder.join("audit.jsonl");
    let output = tidegate_in(folder, &[arguments, &["--audit", "audit.jsonl"]].concat());
    let text = std::fs::read_to_string(file).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    let events = text.lines();
    let events = events.map(|line| serde_json::from_str(line).unwrap());
    (output, events.collect())
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    let of_kind = |event: &&Value| event["event"] == kind;
    events.iter().filter(of_kind).collect()
}

#[test]
fn x7_a_call_leaves_its_decision_and_its_end_and_nothing_of_what_was_said() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("private-name.txt"), "private words").unwrap();
    let arguments = r#"{"path":"private-name.txt"}"#;
    let call = [
        "call",
        "read_text",
        arguments,
        "--id",
        "c-1",
        "--allow",
        "tool=read_text",
        "--allow",
        "read",
    ];
    let (output, events) = audited(folder.path(), &call);
    assert_eq!(output.exit, 0, "{}", output.stderr);
    let permission = of(&events, "permission");
    assert_eq!(permission.len(), 1);
    assert_eq!(permission[0]["allowed"], true);
    let plugin = of(&events, "plugin");
    assert_eq!(plugin[0]["plugin"], "read-text");
    let ended = of(&events, "call");
    assert_eq!(ended.len(), 1, "{events:?}");
    let ended = ended[0];
    for (key, value) in [
        ("tenant", json!("default")),
        ("callId", json!("c-1")),
        ("tool", json!("read_text")),
        ("status", json!("success")),
        ("refused", json!(false)),
        ("argumentsBytes", json!(arguments.len())),
        (
            "argumentsDigest",
            json!(tidegate_engine::digest(arguments.as_bytes())),
        ),
        ("pluginDigest", plugin[0]["digest"].clone()),
    ] {
        assert_eq!(ended[key], value, "{key} of {ended}");
    }
    assert_eq!(ended["grantDigest"].as_str().unwrap().len(), 64);
    assert!(ended["resultBytes"].as_u64().unwrap() > 13);
    assert!(ended["timeMs"].as_u64().unwrap() > 1_700_000_000_000);
    assert!(ended["tookUs"].as_u64() >= ended["waitedUs"].as_u64());
    assert!(!format!("{events:?}").contains("private"), "{events:?}");
}

#[test]
fn x7_refusals_denials_and_limits_are_events() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("misbehave.wasm"), guest("misbehave")).unwrap();
    std::fs::write(folder.path().join("probe.wasm"), guest("probe")).unwrap();

    let (output, events) = audited(folder.path(), &["call", "read_text"]);
    assert_eq!(output.exit, 2);
    let permission = of(&events, "permission")[0];
    assert_eq!(permission["allowed"], false);
    assert_eq!(
        (&permission["kind"], &permission["name"]),
        (&json!("tool"), &json!("read_text"))
    );
    let refused = of(&events, "call")[0];
    assert_eq!(
        (&refused["refused"], &refused["code"]),
        (&json!(true), &json!("PERMISSION_DENIED"))
    );

    // A second command appends to the same file.
    let spin = [
        "call",
        "spin",
        "--plugin",
        "misbehave.wasm",
        "--allow",
        "tool=spin",
        "--limit",
        "deadline_ms=100",
    ];
    let (_, events) = audited(folder.path(), &spin);
    assert_eq!(of(&events, "limit")[0]["code"], "LIMIT_DEADLINE");
    assert_eq!(of(&events, "call").len(), 2);
    assert_eq!(of(&events, "call")[1]["status"], "timeout");

    let connect = [
        "call",
        "net",
        r#"{"op":"tcp_connect","host":"127.0.0.1","port":9}"#,
        "--plugin",
        "probe.wasm",
        "--allow",
        "tool=net",
    ];
    let (_, events) = audited(folder.path(), &connect);
    let denial = of(&events, "denial")[0];
    assert_eq!(denial["tool"], "net", "{denial}");
    let denied = denial["denied"].as_str().unwrap();
    assert!(denied.starts_with("network:"), "{denied}");
}

#[test]
fn x7_a_found_config_file_is_an_event() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("tidegate.yaml"), "sandbox: {}\n").unwrap();
    let (_, events) = audited(folder.path(), &["tools"]);
    let trust = of(&events, "trust")[0];
    assert_eq!(trust["trusted"], false);
    assert_eq!(trust["digest"], tidegate_engine::digest(b"sandbox: {}\n"));
}

#[test]
fn an_audit_file_that_cannot_be_opened_refuses_the_command() {
    let folder = TempDir::new().unwrap();
    let output = tidegate_in(folder.path(), &["tools", "--audit", "not/there/a.jsonl"]);
    assert_eq!(output.exit, 2);
    assert!(
        output.stderr.contains("not/there/a.jsonl"),
        "{}",
        output.stderr
    );
    let output = tidegate_in(folder.path(), &["call", "read_text", "--audit", "-"]);
    assert!(
        output.stderr.contains(r#""event":"permission""#),
        "{}",
        output.stderr
    );
}
