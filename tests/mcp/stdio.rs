//! Servers that are programs: what they send in the place of messages, and how they end (CASES MC05,
//! MC06, MC07, MC10, OU07, OU08, OU09, OU12, EX04, IO10).

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tidegate::{InvokeOptions, McpRegistry, Node, Runtime};
use tidegate_contract::CallError;
use tidegate_mcp::{ConnectSettings, Era, MessageBounds, StdioServer};
use tidegate_sandbox::{ChildProgram, SandboxError};

use super::scripted::{ask, over};
use crate::support::root;

/// A server that runs one of `tests/mcp/peers`.
pub(super) fn peer(
    flags: &[&str],
    environment: &[(&str, &str)],
    settings: ConnectSettings,
) -> StdioServer {
    let script = root().join("tests/mcp/peers/raw.py");
    let script = script.canonicalize().unwrap().display().to_string();
    let arguments = std::iter::once(script).chain(flags.iter().map(|flag| (*flag).to_owned()));
    let environment: Vec<(String, String)> = environment
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let found = ChildProgram::find("python3", Path::new("."), arguments.collect(), &environment);
    let program = found.expect("these tests need python3");
    StdioServer::new("files", program, settings).unwrap()
}

pub(super) fn runtime(server: &StdioServer) -> Runtime {
    let servers = McpRegistry::default();
    drop(servers.register("files", server.clone()).unwrap());
    over(&servers, &["mcp=files"])
}

pub(super) fn plain() -> (StdioServer, Runtime) {
    let server = peer(&[], &[], ConnectSettings::default());
    let runtime = runtime(&server);
    (server, runtime)
}

pub(super) fn input(tool: &str, arguments: &Value) -> Value {
    super::scripted::invoke(tool, arguments)
}

pub(super) async fn call(runtime: &Runtime, tool: &str, arguments: Value) -> Value {
    let mut answer = ask(runtime, input(tool, &arguments)).await.unwrap();
    answer["result"].take()
}

pub(super) async fn lives(runtime: &Runtime) {
    let said = call(runtime, "echo", json!({"text": "still here"})).await;
    assert_eq!(said["content"], "still here", "{said}");
}

#[tokio::test]
async fn m4_both_eras_of_the_protocol_are_spoken() {
    for (flags, era) in [
        (&["--stateless"][..], Era::Ask),
        (&["--stateless"], Era::Stateless),
        (&[], Era::Ask),
        (&[], Era::Handshake),
        (&["--dies-of-discover"], Era::Ask),
    ] {
        let settings = ConnectSettings {
            era,
            ..ConnectSettings::default()
        };
        let server = peer(flags, &[("LISTING", "pages")], settings);
        let runtime = runtime(&server);
        let found = ask(&runtime, json!({"operation": "discover"}))
            .await
            .unwrap();
        let names: Vec<&str> = found["capabilities"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["t0", "t1", "t2", "t3", "t4"], "{flags:?}");
        lives(&runtime).await;
        server.close().await;
    }
}

#[tokio::test]
async fn m2_a_tool_without_a_schema_fails_the_discovery() {
    let server = peer(&[], &[("LISTING", "no-schema")], ConnectSettings::default());
    let runtime = runtime(&server);
    let failed = ask(&runtime, json!({"operation": "discover"})).await;
    assert_eq!(failed.unwrap_err().code(), "INVALID_RESULT");
    lives(&runtime).await;
}

#[tokio::test]
async fn ou07_a_lone_surrogate_fails_one_call_and_the_connection_lives() {
    let (_server, runtime) = plain();
    for tool in [
        "surrogate",
        "low_surrogate",
        "duplicate",
        "large_integer",
        "infinite",
    ] {
        let failed = call(&runtime, tool, json!({})).await;
        assert_eq!(failed["status"], "failed", "{tool}: {failed}");
        assert_eq!(failed["error"]["code"], "MCP_PROTOCOL_ERROR", "{tool}");
        lives(&runtime).await;
    }
    let kept = call(&runtime, "integers", json!({})).await;
    assert_eq!(
        kept["structuredContent"]["n"], 9_007_199_254_740_993_i64,
        "OU12"
    );
}

#[tokio::test]
async fn ou08_separators_of_unicode_end_no_line() {
    let (_server, runtime) = plain();
    let said = call(&runtime, "separators", json!({})).await;
    assert_eq!(said["content"], "before\u{2028}after, a\u{85}b, \u{2029}");
}

#[tokio::test]
async fn ou09_failures_of_a_real_server_keep_their_kinds() {
    let (_server, runtime) = plain();
    let failed = call(&runtime, "locked", json!({})).await;
    assert_eq!(failed["error"]["code"], "MCP_TOOL_ERROR");
    assert_eq!(failed["content"], "locked");
    let refused = call(&runtime, "refuse", json!({})).await;
    assert_eq!(refused["error"]["code"], "MCP_PROTOCOL_ERROR");
    assert!(
        refused["error"]["message"]
            .as_str()
            .unwrap()
            .contains("-32602")
    );
    assert!(!refused.to_string().contains("passwd"), "{refused}");
    let own = call(&runtime, "own_error", json!({})).await;
    assert_eq!(
        own["error"],
        json!({"code": "NO_ROOM", "message": "There is no room"})
    );
}

#[tokio::test]
async fn ou09_a_server_that_dies_during_a_call_leaves_the_outcome_unknown_and_is_started_again() {
    let (_server, runtime) = plain();
    for tool in ["crash", "half_crash"] {
        let unknown = call(&runtime, tool, json!({})).await;
        assert_eq!(unknown["status"], "unknown", "{tool}: {unknown}");
        assert_eq!(unknown["error"]["code"], "OUTCOME_UNKNOWN");
        lives(&runtime).await;
    }
}

#[tokio::test]
async fn mc05_a_line_is_bounded_to_the_byte() {
    // The line is all but the text: 69 bytes, with an id of one digit.
    let settings = ConnectSettings {
        messages: MessageBounds {
            message_bytes: 1_000,
        },
        ..ConnectSettings::default()
    };
    let server = peer(&[], &[], settings);
    let runtime = runtime(&server);
    let around =
        r#"{"jsonrpc":"2.0","id":9,"result":{"content":[{"type":"text","text":""}]}}"#.len();
    lives(&runtime).await;
    for (bytes, fits) in [(999, true), (1_000, true), (1_001, false)] {
        let said = call(&runtime, "long", json!({"bytes": bytes - around})).await;
        let expected = if fits { "success" } else { "failed" };
        assert_eq!(said["status"], expected, "{bytes}: {said}");
        if !fits {
            assert_eq!(said["error"]["code"], "LIMIT_RESULT");
        }
        lives(&runtime).await;
    }
}

#[tokio::test]
async fn mc05_a_flood_without_an_end_is_not_held_and_harms_no_other_server() {
    let settings = ConnectSettings {
        messages: MessageBounds {
            message_bytes: 1 << 20,
        },
        ..ConnectSettings::default()
    };
    let (flooding, quiet) = (peer(&[], &[], settings), peer(&[], &[], settings));
    let servers = McpRegistry::default();
    drop(servers.register("files", flooding).unwrap());
    drop(servers.register("quiet", quiet).unwrap());
    let runtime = over(&servers, &["mcp=*"]);
    // 8 MiB are skipped, and the answer after them is taken.
    let after = call(&runtime, "endless", json!({"pieces": 128})).await;
    assert_eq!(after["content"], "after", "{after}");
    // 64 MiB end the connection.
    let before = resident_kib();
    let unknown = call(&runtime, "endless", json!({"pieces": 1_024})).await;
    assert_eq!(unknown["error"]["code"], "OUTCOME_UNKNOWN", "{unknown}");
    assert!(resident_kib() < before + 48 * 1024, "the flood was held");
    let mut other = input("echo", &json!({"text": "calm"}));
    other["server"] = json!("quiet");
    let said = ask(&runtime, other).await.unwrap();
    assert_eq!(said["result"]["content"], "calm");
    lives(&runtime).await;
}

pub(super) fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn mc06_banners_and_bad_bytes_are_skipped() {
    let (_server, runtime) = plain();
    let said = call(&runtime, "banners", json!({})).await;
    assert_eq!(said["status"], "success", "{said}");
    lives(&runtime).await;
}

#[tokio::test]
async fn io10_depth_is_bounded_before_anything_is_built() {
    let (_server, runtime) = plain();
    // The object around them is a level too.
    for (depth, status) in [
        (126, "success"),
        (127, "success"),
        (128, "failed"),
        (100_000, "failed"),
    ] {
        let said = call(&runtime, "deep", json!({"depth": depth})).await;
        assert_eq!(said["status"], status, "{depth}");
        lives(&runtime).await;
    }
}

#[tokio::test]
async fn mc10_answers_in_another_order_reach_their_own_calls() {
    let (_server, runtime) = plain();
    let calls = (0..8).map(|at| {
        let runtime = runtime.clone();
        async move {
            let own = format!("run {at}");
            let said = call(&runtime, "hold", json!({"text": own, "together": 8})).await;
            assert_eq!(said["content"], own);
        }
    });
    let running: Vec<_> = calls.map(tokio::spawn).collect();
    for call in running {
        call.await.unwrap();
    }
}

#[tokio::test]
async fn mc07_a_late_answer_to_a_cancelled_call_is_ignored() {
    let (_server, runtime) = plain();
    lives(&runtime).await;
    let options = InvokeOptions::default();
    let cancel = options.cancel.clone();
    let work = runtime.invoke(Node::ActMcp, input("late", &json!({})), options);
    let cancelling = async {
        // The call is on its way: the server has answered one that was sent after it.
        lives(&runtime).await;
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(work, cancelling);
    assert_eq!(ended.unwrap()["result"]["status"], "cancelled");
    lives(&runtime).await;
    let twice = call(&runtime, "twice", json!({})).await;
    assert_eq!(twice["content"], "first");
    lives(&runtime).await;
}

#[tokio::test]
async fn mc07_a_cancel_that_crosses_the_answer_gives_one_outcome() {
    let (_server, runtime) = plain();
    lives(&runtime).await;
    let rounds = std::env::var("TIDEGATE_MCP_ROUNDS").map_or(300, |rounds| rounds.parse().unwrap());
    for round in 0..rounds {
        let options = InvokeOptions::default();
        let cancel = options.cancel.clone();
        let after = f64::from(round % 5_u32) / 2_000.0;
        let race = input("race", &json!({"after": after}));
        let work = runtime.invoke(Node::ActMcp, race, options);
        let cancelling = async {
            tokio::time::sleep(std::time::Duration::from_micros(u64::from(round % 7) * 300)).await;
            cancel.cancel();
        };
        let (ended, ()) = tokio::join!(work, cancelling);
        let status = &ended.unwrap()["result"]["status"];
        assert!(status == "cancelled" || status == "success", "{status}");
    }
    lives(&runtime).await;
}

#[tokio::test]
async fn ex04_a_server_has_the_variables_of_the_list_and_its_own() {
    let server = peer(
        &[],
        &[("GRANTED", "yes"), ("LANG", "C")],
        ConnectSettings::default(),
    );
    let runtime = runtime(&server);
    let said = call(&runtime, "environment", json!({})).await;
    let seen: Value = serde_json::from_str(said["content"].as_str().unwrap()).unwrap();
    let seen = seen.as_object().unwrap();
    assert_eq!(seen["GRANTED"], "yes");
    assert_eq!(seen["LANG"], "C");
    // Cargo sets it for this process; python and its launcher set some of their own.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some() || std::env::vars_os().count() > 6);
    for name in seen.keys() {
        let inherited = tidegate_sandbox::child::INHERITED.contains(&name.as_str());
        let own = ["GRANTED", "LC_CTYPE", "PWD", "SHLVL", "_", "OLDPWD"].contains(&name.as_str())
            || name.contains("PYENV");
        assert!(inherited || own, "{name}");
    }
}

#[tokio::test]
async fn ex05_what_a_server_has_started_ends_with_it() {
    let (server, runtime) = plain();
    let said = call(&runtime, "child", json!({})).await;
    let said = said["content"].as_str().unwrap().to_owned();
    let alive = |pid: &str| Path::new("/proc").join(pid).join("cwd").read_link().is_ok();
    assert!(said.split(' ').all(alive), "{said}");
    runtime.close().await;
    server.close().await;
    for pid in said.split(' ') {
        // A killed process that nobody of ours has to reap may be there for a moment.
        for _ in 0..200 {
            if !alive(pid) {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert!(!alive(pid), "{pid} of {said}");
    }
}

#[tokio::test]
async fn m3_pictures_and_links_of_a_real_server_become_references() {
    let (_server, runtime) = plain();
    let said = call(&runtime, "pictures", json!({})).await;
    let texts: Vec<&str> = said["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["one", "inner", "two"]);
    let uris: Vec<&str> = said["references"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reference| reference["uri"].as_str().unwrap())
        .collect();
    assert_eq!(uris[..2], ["file:///a", "x:t"]);
    assert!(uris[2..].iter().all(|uri| uri.starts_with("urn:sha-256:")));
    assert!(!said.to_string().contains("Zm9v"), "{said}");
}

#[tokio::test]
async fn m1_a_loud_standard_error_and_questions_of_the_server_harm_nothing() {
    let (_server, runtime) = plain();
    let said = call(&runtime, "stderr", json!({"times": 200_000})).await;
    assert_eq!(said["content"], "said");
    let said = call(&runtime, "asks", json!({})).await;
    assert_eq!(said["content"], "asked");
    lives(&runtime).await;
}

#[tokio::test]
async fn ou09_a_server_that_can_not_be_started_was_asked_nothing() {
    let program = ChildProgram::find("false", Path::new("."), Vec::new(), &[]).unwrap();
    let server = StdioServer::new("files", program, ConnectSettings::default()).unwrap();
    let runtime = runtime(&server);
    let failed = call(&runtime, "echo", json!({})).await;
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["error"]["code"], "MCP_UNAVAILABLE");
    let failed: Result<Value, CallError> = ask(&runtime, json!({"operation": "discover"})).await;
    assert_eq!(failed.unwrap_err().code(), "INVALID_RESULT");
}

#[tokio::test]
async fn mc10_calls_at_the_same_time_start_one_server() {
    let (_server, runtime) = plain();
    let pids = Arc::new(std::sync::Mutex::new(std::collections::BTreeSet::new()));
    let running: Vec<_> = (0..6)
        .map(|_| {
            let (runtime, pids) = (runtime.clone(), Arc::clone(&pids));
            tokio::spawn(async move {
                let said = call(&runtime, "child", json!({})).await;
                let said = said["content"].as_str().unwrap().to_owned();
                let server = said.split(' ').next().unwrap().to_owned();
                pids.lock().unwrap().insert(server);
            })
        })
        .collect();
    for call in running {
        call.await.unwrap();
    }
    assert_eq!(pids.lock().unwrap().len(), 1);
}

#[test]
fn m4_a_program_is_found_once_or_refused_at_load() {
    let folder = tempfile::TempDir::new().unwrap();
    let find = |name: &str| ChildProgram::find(name, folder.path(), Vec::new(), &[]);
    let shell = find("sh").unwrap();
    assert!(shell.path().is_absolute());
    assert!(matches!(
        find("no-such-program-here"),
        Err(SandboxError::Command { .. })
    ));
    assert!(find("./absent").is_err());
    std::fs::write(folder.path().join("plain"), "x").unwrap();
    assert!(find("./plain").is_err(), "it can't be executed");
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/bin/sh\n").unwrap();
    let mode = |bits| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(bits)).unwrap();
    };
    mode(0o755);
    assert_eq!(
        find("./script").unwrap().path().file_name().unwrap(),
        "script"
    );
    mode(0o757);
    assert!(find("./script").is_err(), "every user can write to it");
    let nul = |text: &str| ChildProgram::find("sh", folder.path(), vec![text.to_owned()], &[]);
    assert!(nul("a\0b").is_err());
}

#[test]
fn m4_settings_of_a_server_are_bounded() {
    let with = |message_bytes, start_ms| {
        let program = ChildProgram::find("sh", Path::new("."), Vec::new(), &[]).unwrap();
        let settings = ConnectSettings {
            messages: MessageBounds { message_bytes },
            start_ms,
            ..ConnectSettings::default()
        };
        StdioServer::new("files", program, settings).is_ok()
    };
    let most = MessageBounds::MAXIMUM_BYTES;
    for (message_bytes, start_ms, fits) in [
        (0, 1, false),
        (1, 1, true),
        (most - 1, 599_999, true),
        (most, 600_000, true),
        (most + 1, 1, false),
        (1, 0, false),
        (1, 600_001, false),
    ] {
        assert_eq!(
            with(message_bytes, start_ms),
            fits,
            "{message_bytes} {start_ms}"
        );
    }
}
