//! The server in process: a tool whose code panics, callers told by the transport, the service that a
//! door mounts (CASES MC11).

use std::io::{self, Read as _, Write as _};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tidegate::{
    BoxFuture, CallContext, Caller, CancellationToken, Runtime, RuntimeOptions, Tool, ToolRegistry,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::{CallError, ToolCall, ToolDefinition, ToolName, ToolOutcome};
use tidegate_mcp::{
    HttpSettings, LineInput, LineOutput, McpHttpService, McpServer, ServerSettings,
};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

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

/// Waits until it was opened so many times.
struct Door(ToolDefinition, Semaphore);

impl Tool for Door {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn execute<'a>(
        &'a self,
        call: &'a ToolCall,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutcome, CallError>> {
        Box::pin(async move {
            let arguments: Value = serde_json::from_str(call.arguments.text()).unwrap();
            match arguments["open"].as_u64() {
                Some(times) => self.1.add_permits(usize::try_from(times).unwrap()),
                None => self.1.acquire().await.unwrap().forget(),
            }
            Ok(ToolOutcome::text("through"))
        })
    }
}

fn definition(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: ToolName::new(name).unwrap(),
        description: None,
        input_schema: serde_json::from_str("{}").unwrap(),
        output_schema: None,
        effects: vec![],
        requires_approval: false,
    }
}

fn server() -> McpServer {
    let tools = ToolRegistry::new();
    for name in ["fragile", "other"] {
        drop(tools.register(Fragile(definition(name))).unwrap());
    }
    let door = Door(definition("door"), Semaphore::new(0));
    drop(tools.register(door).unwrap());
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

/// Read by a thread of the server's.
struct Input(io::PipeReader);

impl LineInput for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

/// Written by a thread of the server's.
struct Output(std::os::unix::net::UnixStream);

impl LineOutput for Output {
    fn write(&self, line: &[u8]) -> io::Result<()> {
        (&self.0).write_all(line)
    }
}

/// A client on a connection to a server.
struct Connected {
    writing: io::PipeWriter,
    answers: tokio::io::Lines<BufReader<UnixStream>>,
    serving: JoinHandle<Result<(), String>>,
}

impl Connected {
    /// Connects, and shakes hands.
    async fn to(server: McpServer) -> Self {
        let (input, writing) = io::pipe().unwrap();
        let (output, reading) = std::os::unix::net::UnixStream::pair().unwrap();
        let serving = tokio::spawn(async move {
            server
                .serve_lines(Input(input), Output(output), CancellationToken::new())
                .await
        });
        reading.set_nonblocking(true).unwrap();
        let reading = UnixStream::from_std(reading).unwrap();
        let mut connected = Self {
            writing,
            answers: BufReader::new(reading).lines(),
            serving,
        };
        connected.send(
            &json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"}}}),
        );
        assert_eq!(connected.answer().await["id"], "hello");
        connected.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        connected
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.writing, "{message}").unwrap();
    }

    fn call(&mut self, id: u64, tool: &str, arguments: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                          "params": {"name": tool, "arguments": arguments}}));
    }

    async fn answer(&mut self) -> Value {
        let answer = self.answers.next_line().await.unwrap().unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    async fn end(self) {
        drop(self.writing);
        assert_eq!(self.serving.await.unwrap(), Ok(()));
    }
}

#[tokio::test]
async fn m5_a_panic_on_the_path_of_a_call_is_answered() {
    let mut client = Connected::to(server()).await;
    for _ in 0..20 {
        client.call(1, "fragile", &json!({"panic": true}));
        let answer = client.answer().await;
        assert_eq!(answer["id"], 1);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let said = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(said.starts_with("HOST_FAULT"), "{answer}");
        client.call(2, "fragile", &json!({}));
        let answer = client.answer().await;
        assert_eq!(answer["id"], 2);
        assert_eq!(answer["result"]["content"][0]["text"], "default");
    }
    client.end().await;
}

#[tokio::test]
async fn m5_calls_that_wait_hold_up_no_other() {
    // More than there are threads for a client.
    const WAITING: u64 = 20;
    let mut client = Connected::to(server()).await;
    for id in 0..WAITING {
        client.call(id, "door", &json!({"wait": true}));
    }
    client.call(WAITING, "other", &json!({}));
    assert_eq!(client.answer().await["id"], WAITING);
    client.call(WAITING + 1, "door", &json!({"open": WAITING}));
    let mut answered = Vec::new();
    for _ in 0..=WAITING {
        answered.extend(client.answer().await["id"].as_u64());
    }
    answered.sort_unstable();
    let expected: Vec<u64> = (0..WAITING).chain([WAITING + 1]).collect();
    assert_eq!(answered, expected);
    client.end().await;
}

#[tokio::test]
async fn m5_a_cancelled_call_has_no_answer_and_its_id_is_free_again() {
    let mut client = Connected::to(server()).await;
    for round in 0..20 {
        client.call(7, "door", &json!({"wait": true}));
        // Some calls are still to be started when they are cancelled.
        if round % 2 == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(3)).await;
        }
        client.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                            "params": {"requestId": 7}}),
        );
        client.call(7, "other", &json!({}));
        let answer = client.answer().await;
        assert_eq!(answer["id"], 7);
        assert_eq!(
            answer["result"]["content"][0]["text"], "default",
            "{answer}"
        );
    }
    client.end().await;
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
        assert_eq!(listed, (status == 200).then_some(3), "{body}");
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
