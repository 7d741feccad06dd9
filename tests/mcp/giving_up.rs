//! Servers that are programs, given up: they ask or are told without reading, are late, or have left
//! their process group (CASES MC05, EX05; SPEC M2).

use std::path::Path;

use serde_json::{Value, json};
use tidegate::{InvokeOptions, McpRegistry, McpSettings, Node};
use tidegate_contract::Limits;
use tidegate_mcp::ConnectSettings;

use super::scripted::over;
use super::stdio::{call, input, lives, peer, plain, resident_kib, runtime};

#[tokio::test]
async fn mc05_a_server_that_asks_without_reading_is_given_up() {
    let (_server, runtime) = plain();
    for method in ["ping", "roots/list"] {
        // More than its pipe holds of answers: it never reads one.
        let flood = json!({"times": 100_000, "method": method});
        let before = resident_kib();
        let unknown = call(&runtime, "pings", flood).await;
        assert_eq!(unknown["error"]["code"], "OUTCOME_UNKNOWN", "{unknown}");
        assert!(resident_kib() < before + 32 * 1024, "the flood was held");
        lives(&runtime).await;
    }
}

#[tokio::test]
async fn mc05_a_server_that_stops_reading_is_given_up() {
    let server = peer(&[], &[], ConnectSettings::default());
    // The call that nobody hears waits for the end of the connection, not for its own deadline.
    let limits = Limits {
        deadline_ms: Limits::MAXIMUM.deadline_ms,
        ..Limits::default()
    };
    let servers = McpRegistry::new(McpSettings {
        limits,
        ..McpSettings::default()
    })
    .unwrap();
    drop(servers.register("files", server.clone()).unwrap());
    let runtime = over(&servers, &["mcp=files"]);
    lives(&runtime).await;
    let deaf = tokio::spawn({
        let runtime = runtime.clone();
        async move { call(&runtime, "deaf", json!({})).await }
    });
    let large = json!({"text": "x".repeat(900_000)});
    let mut given_up = 0;
    // Each call is given up by its caller, and would leave its line behind.
    while !deaf.is_finished() {
        assert!(given_up < 2_000, "the server is not given up");
        given_up += 1;
        let options = InvokeOptions {
            deadline_ms: Some(1),
            ..InvokeOptions::default()
        };
        let ended = runtime.invoke(Node::ActMcp, input("echo", &large), options);
        drop(ended.await.unwrap());
    }
    let unknown = deaf.await.unwrap();
    assert_eq!(unknown["error"]["code"], "OUTCOME_UNKNOWN", "{unknown}");
    lives(&runtime).await;
}

#[tokio::test]
async fn m2_a_discovery_that_passes_its_deadline_is_taken_back() {
    let server = peer(&[], &[("LISTING", "late")], ConnectSettings::default());
    let runtime = runtime(&server);
    lives(&runtime).await;
    let options = InvokeOptions {
        deadline_ms: Some(50),
        ..InvokeOptions::default()
    };
    let discover = json!({"operation": "discover"});
    let late = runtime.invoke(Node::ActMcp, discover, options).await;
    assert_eq!(late.unwrap_err().code(), "LIMIT_DEADLINE");
    let mut said = Value::Null;
    for _ in 0..1_000 {
        said = call(&runtime, "given_up", json!({})).await["content"].take();
        if said == "1" {
            break;
        }
    }
    assert_eq!(said, "1", "the server was told");
}

#[tokio::test]
async fn ex05_a_server_that_left_its_process_group_is_ended_without_waiting_for_it() {
    let (server, runtime) = plain();
    let said = call(&runtime, "leave", json!({})).await;
    let pid = said["content"].as_str().unwrap().to_owned();
    let (dropped, waiting) = std::sync::mpsc::channel();
    // Not a task: a drop that blocks would hold up the end of the test as well.
    let threads = tokio::runtime::Handle::current();
    std::thread::spawn(move || {
        let _entered = threads.enter();
        drop((runtime, server));
        dropped.send(()).unwrap();
    });
    let ended = waiting.recv_timeout(std::time::Duration::from_secs(20));
    assert!(ended.is_ok(), "the drop waits for a process that lives");
    for _ in 0..2_000 {
        if !Path::new("/proc").join(&pid).exists() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("{pid} is still there");
}
