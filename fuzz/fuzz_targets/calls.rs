//! Series of calls with cancels and deadlines at any moment, against the real engine and runtime.
//!
//! Held: no part of the host panics; every call is answered exactly once, within its deadline and a
//! little, by a status that its own cancel and deadline allow; after each series a plain call
//! succeeds, in an instance that nothing was left in.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;
use tidegate::contract::grant::parse_allow;
use tidegate::contract::{
    CallError, CallId, Content, Document, ExternalResult, Grant, JsonBounds, JsonObject, Limits,
    Status, ToolCall, ToolName,
};
use tidegate::{
    CancellationToken, ComponentTool, Engine, EngineSettings, Handles, InvokeOptions, PluginSource,
    Runtime, RuntimeOptions, ToolRegistry, Workspace,
};

/// Calls of one series. More would only wait for slots longer.
const CALLS: usize = 12;

/// Fewer than [`CALLS`], so that calls wait, and some are cancelled while they do.
const SLOTS: u32 = 4;

/// The longest that one call may take: its deadline, what the runtime grants it to end by itself,
/// and a machine that is busy with other things.
const LONGEST: Duration = Duration::from_secs(10);

#[derive(Arbitrary, Debug)]
struct Step {
    tool: Tool,
    /// Cancelled after that many hundreds of microseconds.
    cancel: Option<u8>,
    /// Time to run, in milliseconds.
    deadline_ms: u8,
    /// How long the next step waits, in hundreds of microseconds.
    pause: u8,
}

#[derive(Arbitrary, Debug)]
enum Tool {
    Counter,
    Spin,
    Sleep,
    Grow,
    Handles,
    Streams,
    Random { bytes: u32 },
    FloodStdout { bytes: u16 },
    FloodStderr { bytes: u16 },
    HugeResult { bytes: u32 },
    DeepJson { depth: u16 },
    Liar,
    UnsafeError,
    Panic,
    Recurse,
    Exit { code: bool },
    Read { path: String },
    List { path: String },
    Absent,
}

impl Tool {
    fn call(&self) -> (&'static str, serde_json::Value) {
        use serde_json::json;
        match self {
            Self::Counter => ("counter", json!({})),
            Self::Spin => ("spin", json!({})),
            Self::Sleep => ("sleep", json!({})),
            Self::Grow => ("grow", json!({})),
            Self::Handles => ("handles", json!({})),
            Self::Streams => ("streams", json!({})),
            Self::Random { bytes } => ("random", json!({ "bytes": bytes })),
            Self::FloodStdout { bytes } => ("flood_stdout", json!({ "bytes": bytes })),
            Self::FloodStderr { bytes } => ("flood_stderr", json!({ "bytes": bytes })),
            Self::HugeResult { bytes } => ("huge_result", json!({ "bytes": bytes % 4_000_000 })),
            Self::DeepJson { depth } => ("deep_json", json!({ "depth": depth })),
            Self::Liar => ("liar", json!({})),
            Self::UnsafeError => ("unsafe_error", json!({})),
            Self::Panic => ("panic", json!({})),
            Self::Recurse => ("recurse", json!({})),
            Self::Exit { code } => ("exit", json!({ "code": u8::from(*code) })),
            Self::Read { path } => ("probe_fs", json!({ "op": "read", "path": path })),
            Self::List { path } => ("probe_fs", json!({ "op": "list", "path": path })),
            Self::Absent => ("absent", json!({})),
        }
    }
}

fuzz_target!(|steps: Vec<Step>| {
    let host = host();
    host.tokio.block_on(async {
        let mut answers = Vec::new();
        for (index, step) in steps.iter().take(CALLS).enumerate() {
            answers.push((step, tokio::spawn(one(&host.runtime, index, step))));
            tokio::time::sleep(Duration::from_micros(u64::from(step.pause) * 100)).await;
        }
        for (step, answer) in answers {
            answered(step, answer.await.expect("no call panics"));
        }
        let (tool, arguments) = Tool::Counter.call();
        let options = InvokeOptions::default();
        let plain = host
            .runtime
            .act_tool(call(99, tool, arguments), options)
            .await;
        let plain = plain.expect("a plain call succeeds after any series");
        assert_eq!(plain.status, Status::Success, "{plain:?}");
        assert_eq!(
            plain.content,
            Some(Content::Text("1".to_owned())),
            "a fresh instance"
        );
    });
});

/// One call and how long it took.
type Answer = (usize, Duration, Result<ExternalResult, CallError>);

fn one(runtime: &Runtime, index: usize, step: &Step) -> impl Future<Output = Answer> + use<> {
    let runtime = runtime.clone();
    let (tool, arguments) = step.tool.call();
    let call = call(index, tool, arguments);
    let (cancel, deadline_ms) = (step.cancel, u64::from(step.deadline_ms).max(1));
    async move {
        let token = CancellationToken::new();
        let options = InvokeOptions {
            cancel: token.clone(),
            deadline_ms: Some(deadline_ms),
            ..InvokeOptions::default()
        };
        let start = Instant::now();
        let giving_up = async {
            match cancel {
                Some(after) => {
                    tokio::time::sleep(Duration::from_micros(u64::from(after) * 100)).await;
                    token.cancel();
                    std::future::pending().await
                }
                None => std::future::pending().await,
            }
        };
        let answer = tokio::select! {
            answer = runtime.act_tool(call, options) => answer,
            () = giving_up => unreachable!("it waits for ever"),
        };
        (index, start.elapsed(), answer)
    }
}

fn answered(step: &Step, (index, elapsed, answer): Answer) {
    assert!(elapsed < LONGEST, "{step:?} took {elapsed:?}");
    match answer {
        Ok(result) => {
            assert_eq!(result.call_id, format!("call-{index}"));
            assert_eq!(result.source, step.tool.call().0);
            assert_eq!(result.check(&JsonBounds::default()), Ok(()), "{step:?}");
            if result.status == Status::Cancelled {
                assert!(step.cancel.is_some(), "{step:?} was not cancelled");
            }
        }
        Err(error) => {
            assert_ne!(error.code(), "HOST_FAULT", "{step:?}: {error}");
            if error.code() == "CANCELLED" {
                assert!(step.cancel.is_some(), "{step:?} was not cancelled");
            }
        }
    }
}

fn call(index: usize, tool: &str, arguments: serde_json::Value) -> ToolCall {
    ToolCall {
        id: CallId::new(format!("call-{index}")).expect("an id"),
        name: ToolName::new(tool).expect("a name"),
        arguments: Document::from_value(arguments, &JsonBounds::default()).expect("small"),
    }
}

struct Host {
    tokio: tokio::runtime::Runtime,
    runtime: Runtime,
    _workspace: TempDir,
}

fn host() -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| {
        let tokio = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_time()
            .build()
            .expect("threads");
        let workspace = TempDir::new().expect("a folder");
        std::fs::write(workspace.path().join("a.txt"), "keep").expect("a file");
        let runtime = tokio.block_on(load(workspace.path()));
        Host {
            tokio,
            runtime,
            _workspace: workspace,
        }
    })
}

async fn load(workspace: &Path) -> Runtime {
    let engine = Engine::new(EngineSettings {
        slots: SLOTS,
        cache: None,
    })
    .expect("an engine");
    let mut grant = Grant::default();
    for allow in ["tool=*", "read"] {
        parse_allow(allow, &mut grant).expect("a grant");
    }
    let mut limits = Limits::default();
    for (name, value) in [
        ("cpu_ms", 100),
        ("memory_bytes", 16 * 1024 * 1024),
        ("handles", 500),
    ] {
        limits.set(name, value).expect("a limit");
    }
    let workspace = Workspace::open(workspace).expect("a workspace");
    let tools = ToolRegistry::new();
    for (name, prefix) in [("misbehave", ""), ("probe", "probe_")] {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../guests/dist/{name}.wasm"));
        let bytes = std::fs::read(&path).expect("built by `cargo xtask guests`");
        let source = PluginSource {
            name: name.to_owned(),
            bytes,
            handles: Handles::open(&grant, &workspace).expect("handles"),
            limits,
            config: JsonObject::new(),
        };
        let plugin = engine.load(source).await.expect("a plugin");
        for tool in ComponentTool::all(&plugin, prefix).expect("tools") {
            drop(tools.register(tool).expect("a new name"));
        }
    }
    Runtime::new(RuntimeOptions {
        sandbox: grant,
        tools,
        queue: 8,
        engine: Some(engine),
        ..RuntimeOptions::default()
    })
    .expect("a runtime")
}
