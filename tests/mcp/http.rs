//! Servers over HTTP: what is sent to them, and what of their answers is taken (SPEC M4; OU08, MC09).

use http::HeaderMap;
use serde_json::{Value, json};
use tidegate::{Injection, McpBlob, McpRegistry, McpToolResult, Network, Runtime, Secret};
use tidegate_contract::{Content, NetworkGrant, NetworkRule, Part, Reference};
use tidegate_mcp::{
    ConnectSettings, Era, HttpEndpoint, HttpServer, MessageBounds, Sealed, StartError,
};

use super::scripted::{Scripted, ask, invoke, over};
use crate::support::server::{Answer, Request, Server};

pub(super) fn endpoint(url: &str) -> HttpEndpoint {
    let origin: String = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
    let mut grant = NetworkGrant::default();
    grant.insert(NetworkRule::new(&origin).unwrap());
    HttpEndpoint {
        url: url.to_owned(),
        grant,
        headers: HeaderMap::new(),
        injections: Vec::new(),
    }
}

pub(super) fn runtime(endpoint: HttpEndpoint, settings: ConnectSettings) -> Runtime {
    let server = HttpServer::new("files", endpoint, &Network::default(), settings).unwrap();
    let servers = McpRegistry::default();
    drop(servers.register("files", server).unwrap());
    over(&servers, &["mcp=files"])
}

pub(super) fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap_or_default()
}

/// Answers the handshake, and lets `call` answer `tools/call`.
fn legacy(call: impl Fn(&Request, &Value) -> Answer + Send + Sync + 'static) -> Server {
    Server::start(move |request| {
        let message = body(request);
        let id = message["id"].clone();
        match message["method"].as_str() {
            Some("initialize") => Answer::json(&json!({"jsonrpc": "2.0", "id": id, "result": {
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "x", "version": "1"}}}))
            .header("mcp-session-id", "s-1"),
            Some("tools/call") => call(request, &id),
            Some("server/discover") => Answer::status(400),
            _ => Answer::status(202),
        }
    })
}

pub(super) fn said(id: &Value, text: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"content": [{"type": "text", "text": text}]}})
}

fn events(stream: String) -> Answer {
    Answer::ok(stream).header("content-type", "text/event-stream")
}

pub(super) async fn call(runtime: &Runtime) -> Value {
    let mut answer = ask(runtime, invoke("read", &json!({}))).await.unwrap();
    answer["result"].take()
}

#[tokio::test]
async fn m4_a_server_of_the_era_before_is_greeted_and_its_session_kept() {
    let server = legacy(|request, id| {
        assert_eq!(request.header("mcp-session-id"), Some("s-1"));
        assert_eq!(request.header("mcp-protocol-version"), Some("2025-11-25"));
        assert_eq!(request.header("x-plain"), Some("yes"));
        Answer::json(&said(id, "hello"))
    });
    let mut endpoint = endpoint(&format!("{}/mcp?a=b", server.origin()));
    endpoint.headers.insert("x-plain", "yes".parse().unwrap());
    let runtime = runtime(endpoint, ConnectSettings::default());
    assert_eq!(call(&runtime).await["content"], "hello");
    assert_eq!(call(&runtime).await["content"], "hello");
}

#[tokio::test]
async fn m4_a_stateless_server_is_asked_with_the_headers_of_its_era() {
    let server = Server::start(|request| {
        let message = body(request);
        let id = message["id"].clone();
        assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(request.header("mcp-method"), message["method"].as_str());
        if message["method"] == "server/discover" {
            Answer::json(&json!({"jsonrpc": "2.0", "id": id, "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}}))
        } else {
            assert_eq!(request.header("mcp-name"), Some("read"));
            Answer::json(&said(&id, "stateless"))
        }
    });
    let runtime = runtime(endpoint(&server.origin()), ConnectSettings::default());
    assert_eq!(call(&runtime).await["content"], "stateless");
}

/// A stateless server with one tool, whose `region` it wants in a header as well.
fn wanting_a_header() -> Server {
    Server::start(|request| {
        let message = body(request);
        let id = message["id"].clone();
        let result = match message["method"].as_str() {
            Some("server/discover") => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
            }),
            Some("tools/list") => {
                let region = json!({"type": "string", "x-mcp-header": "Region"});
                let tool = |name: &str, property: &Value| {
                    let schema = json!({"type": "object", "properties": {"region": property}});
                    json!({"name": name, "inputSchema": schema})
                };
                let wrong = json!({"type": "array", "x-mcp-header": "Region"});
                let tools = [tool("read", &region), tool("wrong", &wrong)];
                json!({"tools": tools, "ttlMs": 0, "cacheScope": "private"})
            }
            _ if request.header("mcp-param-region") != Some("west") => {
                let error = json!({"code": -32020, "message": "Mcp-Param-Region"});
                let error = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
                return Answer::raw(format!(
                    "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\
                     Content-Length: {}\r\n\r\n{error}",
                    error.len()
                ));
            }
            _ => return Answer::json(&said(&id, "hello")),
        };
        Answer::json(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
    })
}

#[tokio::test]
async fn m4_a_parameter_that_a_server_wants_in_a_header_is_there_too() {
    let server = wanting_a_header();
    let runtime = runtime(endpoint(&server.origin()), ConnectSettings::default());
    let ask_for = async |region: &str| {
        let asked = ask(&runtime, invoke("read", &json!({"region": region})));
        asked.await.unwrap()["result"].take()
    };
    assert_eq!(ask_for("west").await["content"], "hello");
    assert_eq!(ask_for("west").await["content"], "hello");
    let failed = ask_for("east").await;
    assert_eq!(failed["error"]["code"], "MCP_PROTOCOL_ERROR", "{failed}");
    let asked: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.header("mcp-method").unwrap().to_owned())
        .collect();
    let expected = [
        "server/discover",
        // Refused; then learned, and sent again; then known.
        "tools/call",
        "tools/list",
        "tools/call",
        "tools/call",
        // Refused with the header: once more, and no more.
        "tools/call",
        "tools/list",
        "tools/call",
    ];
    assert_eq!(asked, expected);
    let found = ask(&runtime, json!({"operation": "discover"}))
        .await
        .unwrap();
    let tools = found["capabilities"].as_array().unwrap();
    assert_eq!(
        tools.len(),
        1,
        "a tool that is marked wrongly is left out: {found}"
    );
}

#[tokio::test]
async fn m4_a_server_of_the_era_before_may_mean_anything_by_the_same_number() {
    let server = legacy(|_, id| {
        let error = json!({"code": -32020, "message": "done, and then failed"});
        Answer::json(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
    });
    let runtime = runtime(endpoint(&server.origin()), ConnectSettings::default());
    let failed = call(&runtime).await;
    assert_eq!(failed["error"]["code"], "MCP_PROTOCOL_ERROR", "{failed}");
    let requests = server.requests();
    let calls = requests
        .iter()
        .filter(|request| body(request)["method"] == "tools/call");
    assert_eq!(calls.count(), 1, "it is not sent again");
}

#[tokio::test]
async fn ou08_events_are_taken_whole_and_the_answer_among_them_ends_the_call() {
    let server = legacy(|_, id| {
        let note = json!({"jsonrpc": "2.0", "method": "notifications/message",
                          "params": {"level": "info", "data": "x"}});
        let text = said(id, "before\u{2028}after, a\u{85}b").to_string();
        events(format!(
            ": hi\n\nevent: message\r\ndata: {note}\r\n\r\nid: 4\ndata: {text}\n\n"
        ))
        .hang()
    });
    let runtime = runtime(endpoint(&server.origin()), ConnectSettings::default());
    assert_eq!(
        call(&runtime).await["content"],
        "before\u{2028}after, a\u{85}b"
    );
}

type Script = Box<dyn Fn(&Value) -> Answer + Send + Sync>;

#[tokio::test]
async fn ou09_what_is_no_answer_fails_the_one_call() {
    let settings = ConnectSettings {
        messages: MessageBounds {
            message_bytes: 4_096,
        },
        era: Era::Handshake,
        ..ConnectSettings::default()
    };
    let surrogate = |id: &Value| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"x\ud83d"}}]}}}}"#
        )
    };
    let scripts: Vec<(Script, &str)> = vec![
        (Box::new(|_| Answer::status(500)), "MCP_PROTOCOL_ERROR"),
        (Box::new(|_| Answer::status(401)), "MCP_PROTOCOL_ERROR"),
        (
            Box::new(|_| Answer::redirect(307, "http://127.0.0.1:1/")),
            "MCP_PROTOCOL_ERROR",
        ),
        (
            Box::new(|_| Answer::ok("hello").header("content-type", "text/html")),
            "MCP_PROTOCOL_ERROR",
        ),
        (
            Box::new(move |id| {
                Answer::ok(surrogate(id)).header("content-type", "application/json")
            }),
            "MCP_PROTOCOL_ERROR",
        ),
        (
            Box::new(move |id| events(format!("data: {}\n\n", surrogate(id)))),
            "MCP_PROTOCOL_ERROR",
        ),
        (
            Box::new(|id| Answer::json(&said(id, &"x".repeat(5_000)))),
            "LIMIT_RESULT",
        ),
        (
            Box::new(|id| events(format!("data: {}\n\n", said(id, &"x".repeat(5_000))))),
            "LIMIT_RESULT",
        ),
        (
            Box::new(|_| events("data: {}\n".to_owned()).close()),
            "OUTCOME_UNKNOWN",
        ),
        (
            Box::new(|_| Answer::raw("HTTP/1.1 2").cut()),
            "OUTCOME_UNKNOWN",
        ),
    ];
    for (at, (script, code)) in scripts.into_iter().enumerate() {
        let server = legacy(move |_, id| script(id));
        let runtime = runtime(endpoint(&server.origin()), settings);
        let failed = call(&runtime).await;
        assert_eq!(failed["error"]["code"], code, "{at}: {failed}");
    }
}

#[tokio::test]
async fn mc05_a_server_that_asks_without_taking_answers_is_given_up() {
    let server = Server::start(|request| {
        let message = body(request);
        let id = message["id"].clone();
        match message["method"].as_str() {
            Some("initialize") => Answer::json(&json!({"jsonrpc": "2.0", "id": id, "result": {
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "x", "version": "1"}}})),
            Some("tools/call") => {
                let pings = (0..17).map(|at| {
                    let ping = json!({"jsonrpc": "2.0", "id": at, "method": "ping"});
                    format!("data: {ping}\n\n")
                });
                events(pings.collect()).hang()
            }
            Some("notifications/initialized") => Answer::status(202),
            // An answer of the host.
            _ => Answer::silence(),
        }
    });
    let settings = ConnectSettings {
        era: Era::Handshake,
        ..ConnectSettings::default()
    };
    let runtime = runtime(endpoint(&server.origin()), settings);
    let unknown = call(&runtime).await;
    assert_eq!(unknown["error"]["code"], "OUTCOME_UNKNOWN", "{unknown}");
}

#[tokio::test]
async fn ou09_a_call_without_a_connection_was_not_sent() {
    let server = legacy(|_, id| Answer::json(&said(id, "hello")).close());
    let settings = ConnectSettings {
        era: Era::Handshake,
        ..ConnectSettings::default()
    };
    let runtime = runtime(endpoint(&server.origin()), settings);
    assert_eq!(call(&runtime).await["content"], "hello");
    // The protocol stays open, and nobody listens any more.
    drop(server);
    let failed = call(&runtime).await;
    assert_eq!(failed["status"], "failed", "{failed}");
    assert_eq!(failed["error"]["code"], "MCP_UNAVAILABLE", "{failed}");
}

#[tokio::test]
async fn s7_a_secret_goes_to_its_origin_and_into_no_result() {
    let secret = Secret::new("swordfish-42".to_owned()).unwrap();
    let server = legacy(|request, id| {
        assert_eq!(request.header("authorization"), Some("Bearer swordfish-42"));
        Answer::json(&said(id, "your key is swordfish-42"))
    });
    let mut endpoint = endpoint(&server.origin());
    let origin = server.origin();
    let injected = Injection::new(&origin, "authorization", "Bearer ", secret.clone());
    endpoint.injections.push(injected.unwrap());
    let settings = ConnectSettings::default();
    let client = HttpServer::new("files", endpoint, &Network::default(), settings).unwrap();
    let servers = McpRegistry::default();
    drop(
        servers
            .register("files", Sealed::new(client, vec![secret]))
            .unwrap(),
    );
    let runtime = over(&servers, &["mcp=files"]);
    let thrown = ask(&runtime, invoke("read", &json!({}))).await.unwrap_err();
    assert_eq!(thrown.code(), "SECRET_IN_RESULT");
    assert!(!thrown.to_string().contains("swordfish"));
}

#[tokio::test]
async fn s7_a_secret_in_the_kind_of_a_reference_or_in_bytes_is_thrown_away() {
    let held = "text/swordfish-42".to_owned();
    let reference = || Reference {
        uri: "urn:x".to_owned(),
        media_type: Some(held.clone()),
        digest: None,
    };
    let part = Part::Reference {
        reference: reference(),
    };
    for (at, result) in [
        McpToolResult {
            references: Some(vec![reference()]),
            ..McpToolResult::default()
        },
        McpToolResult {
            content: Some(Content::Parts(vec![part])),
            ..McpToolResult::default()
        },
        McpToolResult {
            blobs: vec![McpBlob {
                media_type: Some(held.clone()),
                ..McpBlob::default()
            }],
            ..McpToolResult::default()
        },
        McpToolResult {
            blobs: vec![McpBlob {
                bytes: held.clone().into_bytes(),
                ..McpBlob::default()
            }],
            ..McpToolResult::default()
        },
    ]
    .into_iter()
    .enumerate()
    {
        let secret = Secret::new("swordfish-42".to_owned()).unwrap();
        let client = Sealed::new(Scripted::giving(Ok(result)), vec![secret]);
        let servers = McpRegistry::default();
        drop(servers.register("files", client).unwrap());
        let runtime = over(&servers, &["mcp=files"]);
        let thrown = ask(&runtime, invoke("read", &json!({}))).await;
        let thrown = thrown.expect_err(&at.to_string());
        assert_eq!(thrown.code(), "SECRET_IN_RESULT", "{at}");
    }
}

#[tokio::test]
async fn mc09_only_http_and_https_are_asked_and_only_what_is_granted() {
    let refused = |url: &str| {
        let endpoint = HttpEndpoint {
            url: url.to_owned(),
            ..endpoint("http://127.0.0.1:9/")
        };
        HttpServer::new(
            "x",
            endpoint,
            &Network::default(),
            ConnectSettings::default(),
        )
        .err()
    };
    for url in [
        "file:///etc/passwd",
        "a:$(touch pwn)",
        "http://x/%USERPROFILE%&calc",
        "ftp://127.0.0.1:9/",
        "http://user:pass@127.0.0.1:9/",
        "http://127.0.0.1:10/",
        "",
    ] {
        assert!(matches!(refused(url), Some(StartError::Url)), "{url}");
    }
    assert!(refused("http://127.0.0.1:9/mcp").is_none());
    // Nobody listens there.
    let runtime = runtime(endpoint("http://127.0.0.1:9/"), ConnectSettings::default());
    let failed = call(&runtime).await;
    assert_eq!(failed["error"]["code"], "MCP_UNAVAILABLE", "{failed}");
}
