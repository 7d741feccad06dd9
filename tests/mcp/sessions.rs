//! Sessions of servers over HTTP, in the era that has them (SPEC M4).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tidegate::{McpRegistry, Network};
use tidegate_mcp::{ConnectSettings, Era, HttpServer};

use super::http::{body, call, endpoint, runtime, said};
use super::scripted::over;
use crate::support::server::{Answer, Request, Server};

fn settings() -> ConnectSettings {
    ConnectSettings {
        era: Era::Handshake,
        ..ConnectSettings::default()
    }
}

/// A server that counts the sessions that it makes, and lets `call` answer the calls in each.
fn counting(
    call: impl Fn(&str) -> Option<&'static str> + Send + Sync + 'static,
) -> (Server, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let server = Server::start(move |request| {
        let message = body(request);
        let id = message["id"].clone();
        match message["method"].as_str() {
            Some("initialize") => {
                assert_eq!(request.header("mcp-session-id"), None);
                let session = format!("s-{}", count.fetch_add(1, Ordering::SeqCst) + 1);
                Answer::json(&json!({"jsonrpc": "2.0", "id": id, "result": {
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "x", "version": "1"}}}))
                .header("mcp-session-id", &session)
            }
            Some("tools/call") => {
                let session = request.header("mcp-session-id").unwrap();
                match call(session) {
                    Some(text) => Answer::json(&said(&id, text)),
                    None => Answer::status(404),
                }
            }
            _ => Answer::status(202),
        }
    });
    (server, made)
}

#[tokio::test]
async fn m4_a_call_in_a_forgotten_session_is_sent_again_in_a_new_one() {
    let (server, made) = counting(|session| (session != "s-1").then_some("again"));
    let runtime = runtime(endpoint(&server.origin()), settings());
    for _ in 0..3 {
        let found = call(&runtime).await;
        assert_eq!(found["content"], "again", "{found}");
    }
    assert_eq!(made.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn m4_a_server_that_forgets_each_session_is_given_one_new_one_for_a_call() {
    let (server, made) = counting(|_| None);
    let runtime = runtime(endpoint(&server.origin()), settings());
    let failed = call(&runtime).await;
    assert_eq!(failed["status"], "failed", "{failed}");
    assert_eq!(failed["error"]["code"], "MCP_UNAVAILABLE", "{failed}");
    assert_eq!(made.load(Ordering::SeqCst), 2);
}

/// What a server was sent by `DELETE` when its client was closed.
async fn ended(answer: u16, session: Option<&'static str>) -> Vec<Option<String>> {
    let server = Server::start(move |request: &Request| {
        let message = body(request);
        let id = message["id"].clone();
        match (request.method.as_str(), message["method"].as_str()) {
            ("DELETE", _) => Answer::status(answer),
            (_, Some("initialize")) => {
                let hello = Answer::json(&json!({"jsonrpc": "2.0", "id": id, "result": {
                    "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "x", "version": "1"}}}));
                match session {
                    Some(session) => hello.header("mcp-session-id", session),
                    None => hello,
                }
            }
            (_, Some("tools/call")) => Answer::json(&said(&id, "hello")),
            _ => Answer::status(202),
        }
    });
    let endpoint = endpoint(&server.origin());
    let client = HttpServer::new("files", endpoint, &Network::default(), settings()).unwrap();
    let servers = McpRegistry::default();
    drop(servers.register("files", client.clone()).unwrap());
    let runtime = over(&servers, &["mcp=files"]);
    assert_eq!(call(&runtime).await["content"], "hello");
    runtime.close().await;
    client.close().await;
    let requests = server.requests();
    let ends = requests.iter().filter(|request| request.method == "DELETE");
    ends.map(|request| request.header("mcp-session-id").map(str::to_owned))
        .collect()
}

#[tokio::test]
async fn m4_a_session_is_ended_with_its_client_whatever_the_server_thinks_of_it() {
    for answer in [204, 200, 405, 404, 500] {
        let ends = ended(answer, Some("s-1")).await;
        assert_eq!(ends, [Some("s-1".to_owned())], "{answer}");
    }
    assert_eq!(ended(204, None).await, [], "there is no session to end");
}
