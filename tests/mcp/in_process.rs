//! The server in process: a tool whose code panics, callers told by the transport, the service that a
//! door mounts (CASES MC11).

use std::io::{self, Write as _};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tidegate::{
    BoxFuture, CallContext, Caller, CancellationToken, Runtime, RuntimeOptions, Tool, ToolRegistry,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::{CallError, ToolCall, ToolDefinition, ToolName, ToolOutcome};
use tidegate_mcp::{HttpSettings, LineOutput, McpHttpService, McpServer, ServerSettings};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::runtime::Handle;

/// Panics when it is told to; else says whose call it was.
struct Fragile(ToolDefinition);

impl Tool for Fragile {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn execute<'a>(
        &'a self,
        call: &'a ToolCall,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutcome, CallError>> {
        Box::pin(async move {
            assert!(call.arguments.text() == "{}", "as it was told");
            Ok(ToolOutcome::text(context.tenant.as_str()))
        })
    }
}

fn server() -> McpServer {
    let tools = ToolRegistry::new();
    for name in ["fragile", "other"] {
        let definition = ToolDefinition {
            name: ToolName::new(name).unwrap(),
            description: None,
            input_schema: serde_json::from_str("{}").unwrap(),
            output_schema: None,
            effects: vec![],
            requires_approval: false,
        };
        drop(tools.register(Fragile(definition)).unwrap());
    }
    let mut sandbox = Grant::default();
    parse_allow("tool=*", &mut sandbox).unwrap();
    let runtime = Runtime::new(RuntimeOptions {
        sandbox,
        tools,
        ..RuntimeOptions::default()
    });
    McpServer::new(
        runtime.unwrap(),
        ServerSettings::default(),
        Handle::current(),
    )
}

/// Written by a thread of the server's.
struct Output(std::os::unix::net::UnixStream);

impl LineOutput for Output {
    fn write(&self, line: &[u8]) -> io::Result<()> {
        (&self.0).write_all(line)
    }
}

#[tokio::test]
async fn m5_a_panic_on_the_path_of_a_call_is_answered() {
    let (mut writing, input) = tokio::io::duplex(1 << 16);
    let (output, reading) = std::os::unix::net::UnixStream::pair().unwrap();
    let server = server();
    let serving = tokio::spawn(async move {
        server
            .serve_lines(input, Output(output), CancellationToken::new())
            .await
    });
    reading.set_nonblocking(true).unwrap();
    let reading = UnixStream::from_std(reading).unwrap();
    let mut answers = BufReader::new(reading).lines();
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}}});
    let call = |id: u64, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
               "params": {"name": "fragile", "arguments": arguments}})
    };
    for message in [
        initialize,
        call(1, json!({"panic": true})),
        call(2, json!({})),
    ] {
        writing
            .write_all(format!("{message}\n").as_bytes())
            .await
            .unwrap();
        let answer = answers.next_line().await.unwrap().unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["id"], message["id"], "{answer}");
        let said = &answer["result"]["content"][0]["text"];
        match message["id"].as_u64() {
            Some(1) => {
                assert_eq!(answer["result"]["isError"], true, "{answer}");
                assert!(said.as_str().unwrap().starts_with("HOST_FAULT"), "{answer}");
            }
            Some(2) => assert_eq!(said, "default"),
            _ => {}
        }
    }
    writing.shutdown().await.unwrap();
    assert_eq!(serving.await.unwrap(), Ok(()));
}

/// One request to the service: its status and its body.
async fn post(service: &McpHttpService, headers: &[(&str, &str)], body: &str) -> (u16, Value) {
    let mut request = Request::post("http://127.0.0.1:7420/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request
        .body(Full::new(Bytes::from(body.to_owned())))
        .unwrap();
    request.extensions_mut().insert(Caller::default());
    let response = service.handle(request).await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

#[tokio::test]
async fn mc11_another_host_or_origin_is_refused_before_a_tool_runs() {
    let service = server().over_http(HttpSettings {
        allowed_origins: vec!["http://app.example:80".to_owned()],
        ..HttpSettings::default()
    });
    let version = ("mcp-protocol-version", "2025-11-25");
    for (host, origin, status) in [
        ("127.0.0.1:7420", None, 200),
        ("localhost", None, 200),
        ("127.0.0.1:7420", Some("http://app.example"), 200),
        ("evil.example", None, 403),
        ("127.0.0.1.evil.example", None, 403),
        ("127.0.0.1:7420", Some("http://evil.example"), 403),
        ("127.0.0.1:7420", Some("null"), 403),
        ("localhost", Some("http://localhost"), 403),
    ] {
        let mut headers = vec![version, ("host", host)];
        headers.extend(origin.map(|origin| ("origin", origin)));
        let (answered, body) = post(&service, &headers, LIST).await;
        assert_eq!(answered, status, "{host} {origin:?}: {body}");
        let listed = body["result"]["tools"].as_array().map(Vec::len);
        assert_eq!(listed, (status == 200).then_some(2), "{body}");
    }
}

#[tokio::test]
async fn mc11_another_host_or_origin_is_refused_before_its_body_is_read() {
    let service = server().over_http(HttpSettings::default());
    for (host, origin) in [
        ("evil.example", None),
        ("localhost", Some("http://evil.example")),
    ] {
        let mut headers = vec![("host", host)];
        headers.extend(origin.map(|origin| ("origin", origin)));
        let (status, said) = post(&service, &headers, "{").await;
        assert_eq!(status, 403, "{host}: {said}");
        let mut request = Request::post("/mcp").header("host", host);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        // It never ends.
        let body = Full::new(Bytes::from("{")).with_trailers(std::future::pending());
        let mut request = request.body(body).unwrap();
        request.extensions_mut().insert(Caller::default());
        let response = service.handle(request).await;
        assert_eq!(response.status(), 403, "{host}");
    }
}

#[tokio::test]
async fn m5_a_door_that_does_not_say_who_calls_serves_nothing() {
    let service = server().over_http(HttpSettings::default());
    for (host, status) in [("localhost", 500), ("evil.example", 403)] {
        let request = Request::post("/mcp")
            .header("host", host)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .body(Full::new(Bytes::from(LIST)))
            .unwrap();
        let response = service.handle(request).await;
        assert_eq!(response.status(), status);
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(
            !String::from_utf8_lossy(&body).contains("fragile"),
            "{body:?}"
        );
    }
}

#[tokio::test]
async fn m5_a_request_over_http_is_checked_and_knows_its_caller() {
    let service = server().over_http(HttpSettings::default());
    let headers = [
        ("mcp-protocol-version", "2025-11-25"),
        ("host", "localhost"),
    ];
    let twice = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","id":2}"#;
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for (body, status) in [
        (twice, 400),
        (deep.as_str(), 400),
        ("{", 400),
        ("\u{0}", 400),
    ] {
        let (answered, said) = post(&service, &headers, body).await;
        assert_eq!(answered, status, "{said}");
        assert_eq!(said["error"]["code"], -32700);
    }
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(5 << 20));
    assert_eq!(post(&service, &headers, &large).await.0, 413);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                      "params": {"name": "other", "arguments": {}}});
    let mut request = Request::post("http://localhost/mcp")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("host", "localhost")
        .body(Full::new(Bytes::from(call.to_string())))
        .unwrap();
    let mut grant = Grant::default();
    parse_allow("tool=other", &mut grant).unwrap();
    request.extensions_mut().insert(Caller {
        tenant: tidegate_contract::Tenant::new("acme").unwrap(),
        grant: Some(grant.into()),
        ..Caller::default()
    });
    let response = service.handle(request).await;
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let answer: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "acme", "{answer}");
}
