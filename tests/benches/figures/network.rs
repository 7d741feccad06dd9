//! A call with one HTTP request on loopback beside the same request by a plain client.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::json;
use tidegate::{
    CancellationToken, ComponentTool, Engine, EngineSettings, Handles, InvokeOptions, PluginSource,
    Runtime, RuntimeOptions, ToolRegistry, Workspace,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::json::JsonBounds;
use tidegate_contract::{CallId, Document, JsonObject, Limits, Status, ToolCall, ToolName};

use crate::samples::{ms, ms_at_most, percentile, plain, us};

/// Requests of each kind; the middle one counts.
const REQUESTS: usize = 1_001;

/// Calls that are given up.
const CANCELLED: usize = 100;

/// What the server answers with.
const BODY_BYTES: usize = 1_024;

/// All figures.
pub(crate) fn network() {
    let server = Server::start();
    let origin = format!("http://127.0.0.1:{}", server.port);
    let ours = Ours::new(&origin);
    let threads = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let plain_client: Client<_, Empty<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let uri: http::Uri = format!("{origin}/").parse().unwrap();
    let ask = || {
        let asked = async {
            let answer = plain_client.get(uri.clone()).await.unwrap();
            answer.into_body().collect().await.unwrap().to_bytes()
        };
        assert_eq!(threads.block_on(asked).len(), BODY_BYTES);
    };
    let (mut least, mut call) = (Vec::new(), Vec::new());
    for round in 0..=REQUESTS {
        let (one, other) = (seconds(ask), seconds(|| ours.call()));
        // The first opens the connections.
        if round > 0 {
            least.push(one);
            call.push(other);
        }
    }
    least.sort_by(f64::total_cmp);
    call.sort_by(f64::total_cmp);
    let (least, call) = (percentile(&least, 50), percentile(&call, 50));
    plain(
        "one HTTP request, 1 KiB back: plain client, wall",
        &us(least),
    );
    plain("one HTTP request, 1 KiB back: ACT.TOOL, wall", &us(call));
    plain(
        "one HTTP request: ACT.TOOL to plain client",
        &format!("{:.2} x", call / least),
    );
    let opened = server.connections.load(Ordering::Relaxed);
    plain("connections that both opened together", &opened.to_string());
    given_up(&server, &origin);
}

/// How long after a caller gave up the connection of a half-read body is closed.
fn given_up(server: &Server, origin: &str) {
    let ours = Ours::new(origin);
    let mut closed: Vec<f64> = (0..CANCELLED)
        .map(|_| {
            let cancel = CancellationToken::new();
            let options = InvokeOptions {
                cancel: cancel.clone(),
                ..InvokeOptions::default()
            };
            thread::scope(|scope| {
                let call = scope.spawn(|| ours.act("/half", options));
                server.half.recv().unwrap();
                let asked = Instant::now();
                cancel.cancel();
                let closed = server.half.recv().unwrap();
                assert_eq!(call.join().unwrap(), Status::Cancelled);
                closed.saturating_duration_since(asked).as_secs_f64()
            })
        })
        .collect();
    closed.sort_by(f64::total_cmp);
    plain(
        "a body given up half-way: connection closed, median",
        &ms(percentile(&closed, 50)),
    );
    ms_at_most(
        "a body given up half-way: connection closed, 99 of 100",
        percentile(&closed, 99),
        0.1,
    );
}

fn seconds(call: impl FnOnce()) -> f64 {
    let start = Instant::now();
    call();
    start.elapsed().as_secs_f64()
}

/// The probe's `http` under a grant of one origin.
struct Ours {
    runtime: Runtime,
    authority: String,
    _threads: tokio::runtime::Runtime,
}

impl Ours {
    fn new(origin: &str) -> Self {
        let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/dist/probe.wasm");
        let mut grant = Grant::default();
        parse_allow("tool=http", &mut grant).unwrap();
        parse_allow(&format!("network={origin}"), &mut grant).unwrap();
        let workspace = Workspace::open(Path::new(".")).unwrap();
        let engine = Engine::new(EngineSettings::default()).unwrap();
        let threads = tokio::runtime::Runtime::new().unwrap();
        let source = PluginSource {
            name: "probe".to_owned(),
            bytes: std::fs::read(guest).unwrap(),
            handles: Handles::open(&grant, &workspace).unwrap(),
            limits: Limits::default(),
            config: JsonObject::new(),
        };
        let plugin = threads.block_on(engine.load(source)).unwrap();
        let tools = ToolRegistry::new();
        for tool in ComponentTool::all(&plugin, "").unwrap() {
            drop(tools.register(tool).unwrap());
        }
        let runtime = Runtime::new(RuntimeOptions {
            sandbox: grant,
            tools,
            engine: Some(engine),
            ..RuntimeOptions::default()
        })
        .unwrap();
        Self {
            runtime,
            authority: origin.strip_prefix("http://").unwrap().to_owned(),
            _threads: threads,
        }
    }

    fn call(&self) {
        let ended = self.act("/", InvokeOptions::default());
        assert_eq!(ended, Status::Success);
    }

    fn act(&self, path: &str, options: InvokeOptions) -> Status {
        let arguments = json!({"scheme": "http", "authority": self.authority, "path": path});
        let call = ToolCall {
            id: CallId::new("figure").unwrap(),
            name: ToolName::new("http").unwrap(),
            arguments: Document::from_value(arguments, &JsonBounds::default()).unwrap(),
        };
        let blocking = self.runtime.blocking().unwrap();
        blocking.act_tool(call, options).unwrap().status
    }
}

/// Answers every request on every connection with the same bytes. Its threads end with the process.
struct Server {
    port: u16,
    connections: Arc<AtomicUsize>,
    /// When half of a body was sent, and when its connection was closed, in turn.
    half: mpsc::Receiver<Instant>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let (moments, half) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::Relaxed);
                let moments = moments.clone();
                thread::spawn(move || serve(stream, &moments));
            }
        });
        Self {
            port,
            connections,
            half,
        }
    }
}

fn serve(mut stream: TcpStream, moments: &mpsc::Sender<Instant>) {
    let body = "b".repeat(BODY_BYTES);
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {BODY_BYTES}\r\n\r\n{body}");
    stream.set_nodelay(true).unwrap();
    let mut buffer = [0; 4096];
    let mut asked = Vec::new();
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        asked.extend_from_slice(buffer.get(..length).unwrap_or_default());
        if asked.ends_with(b"\r\n\r\n") {
            if asked.starts_with(b"GET /half") {
                let (half, _rest) = answer.split_at(answer.len() - BODY_BYTES / 2);
                stream.write_all(half.as_bytes()).unwrap();
                // Time to arrive, so that the rest of the body is what is waited for.
                thread::sleep(Duration::from_millis(20));
                moments.send(Instant::now()).unwrap();
                while matches!(stream.read(&mut buffer), Ok(1..)) {}
                moments.send(Instant::now()).unwrap();
                return;
            }
            asked.clear();
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }
}
