//! The soak of `cargo xtask soak`: 100,000 calls one after the other and 100,000 at once, one in a
//! hundred of them hostile. It fails when a result is wrong, or when memory, descriptors or threads
//! are left behind.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a soak stops at the first thing that is not as it should be, and prints"
)]

use std::path::Path;
use std::time::Instant;

use tidegate::{
    ComponentTool, Engine, EngineSettings, Handles, InvokeOptions, PluginSource, Runtime,
    RuntimeOptions, ToolRegistry,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::{CallId, Document, JsonObject, Limits, Status, ToolCall, ToolName};

const CALLS: usize = 100_000;

/// One call in so many is hostile.
const HOSTILE: usize = 100;

/// Calls on the way at once in the second half: many times the slots, within the queue.
const AT_ONCE: usize = 1_000;

/// Growth of resident memory that counts as none, in percent.
const GROWTH_PERCENT: u64 = 5;

/// What must happen to each hostile tool.
const ENDS: [(&str, &str); 7] = [
    ("spin", "LIMIT_DEADLINE"),
    ("sleep", "LIMIT_DEADLINE"),
    ("grow", "LIMIT_MEMORY"),
    ("handles", "LIMIT_HANDLES"),
    ("random", "LIMIT_HOST_ALLOCATION"),
    ("panic", "TOOL_TRAPPED"),
    ("huge_result", "LIMIT_RESULT"),
];

/// Milliseconds a looping or waiting tool gets.
const HOSTILE_DEADLINE_MS: u64 = 20;

fn main() {
    let threads = tokio::runtime::Runtime::new().unwrap();
    let runtime = threads.block_on(runtime());
    // A slot keeps up to 1 MiB of what a call touched, for the next. Growth is counted from when every
    // slot has had every hostile tool.
    for _ in 0..3 {
        hostile(&threads, &runtime);
    }
    concurrent(&threads, &runtime, CALLS / 10);
    let before = Held::now();
    println!("after the first calls: {before:?}");
    let started = Instant::now();
    sequential(&threads, &runtime, CALLS);
    report("one after the other", started, &before);
    let started = Instant::now();
    concurrent(&threads, &runtime, CALLS);
    report("at once", started, &before);
    println!("nothing was left behind");
}

fn report(how: &str, started: Instant, before: &Held) {
    let held = Held::now();
    println!("{CALLS} calls {how}, {:.1?}: {held:?}", started.elapsed());
    held.check(before);
}

async fn runtime() -> Runtime {
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/dist/misbehave.wasm");
    let engine = Engine::new(EngineSettings::default()).unwrap();
    let source = PluginSource {
        name: "misbehave".to_owned(),
        bytes: std::fs::read(guest).expect("run `cargo xtask guests` first"),
        handles: Handles::default(),
        limits: Limits::default(),
        config: JsonObject::new(),
    };
    let plugin = engine.load(source).await.unwrap();
    let tools = ToolRegistry::new();
    for tool in ComponentTool::all(&plugin, "").unwrap() {
        drop(tools.register(tool).unwrap());
    }
    let mut sandbox = Grant::default();
    parse_allow("tool=*", &mut sandbox).unwrap();
    Runtime::new(RuntimeOptions {
        sandbox,
        tools,
        engine: Some(engine),
        ..RuntimeOptions::default()
    })
    .unwrap()
}

/// Every hostile tool on every slot, as far as the pool spreads them.
fn hostile(threads: &tokio::runtime::Runtime, runtime: &Runtime) {
    threads.block_on(async {
        for tool in 0..ENDS.len() {
            let mut running = tokio::task::JoinSet::new();
            for _ in 0..2 * tidegate_engine::DEFAULT_SLOTS {
                let runtime = runtime.clone();
                running.spawn(async move { one(&runtime, tool * HOSTILE).await });
            }
            running.join_all().await;
        }
    });
}

fn sequential(threads: &tokio::runtime::Runtime, runtime: &Runtime, calls: usize) {
    threads.block_on(async {
        for number in 0..calls {
            one(runtime, number).await;
        }
    });
}

fn concurrent(threads: &tokio::runtime::Runtime, runtime: &Runtime, calls: usize) {
    threads.block_on(async {
        let mut running = tokio::task::JoinSet::new();
        for number in 0..calls {
            if running.len() == AT_ONCE {
                running.join_next().await.unwrap().unwrap();
            }
            let runtime = runtime.clone();
            running.spawn(async move { one(&runtime, number).await });
        }
        running.join_all().await;
    });
}

/// One call, and whether its end is the right one.
async fn one(runtime: &Runtime, number: usize) {
    let hostile = number
        .is_multiple_of(HOSTILE)
        .then(|| ENDS.get(number / HOSTILE % ENDS.len()))
        .flatten();
    let name = hostile.map_or("counter", |(tool, _)| tool);
    let call = ToolCall {
        id: CallId::new(format!("soak-{number}")).unwrap(),
        name: ToolName::new(name).unwrap(),
        arguments: Document::empty_object(),
    };
    // Waiting counts too, so that a looping call which waited for its turn ends the same way.
    let deadline_ms = matches!(name, "spin" | "sleep").then_some(HOSTILE_DEADLINE_MS);
    let options = InvokeOptions {
        deadline_ms,
        ..InvokeOptions::default()
    };
    let code = match runtime.act_tool(call, options).await {
        Ok(result) => {
            let Some(failure) = result.error else {
                assert_eq!(result.status, Status::Success);
                let json = serde_json::to_value(&result.content).unwrap();
                assert_eq!(json, "1", "call {number} saw another one's state");
                return assert!(hostile.is_none(), "{name} succeeded");
            };
            failure.code().to_owned()
        }
        Err(error) => error.code().to_owned(),
    };
    assert_eq!(
        Some(code.as_str()),
        hostile.map(|(_, code)| *code),
        "{name}, call {number}"
    );
}

/// What the process holds.
#[derive(Debug)]
struct Held {
    resident_kib: u64,
    descriptors: usize,
    threads: u64,
}

impl Held {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let number = |key: &str| {
            let line = status.lines().find(|line| line.starts_with(key)).unwrap();
            let number = line.split_whitespace().nth(1).unwrap();
            number.parse().unwrap()
        };
        Self {
            resident_kib: number("VmRSS:"),
            descriptors: std::fs::read_dir("/proc/self/fd").unwrap().count(),
            threads: number("Threads:"),
        }
    }

    fn check(&self, before: &Self) {
        let most_kib = before.resident_kib * (100 + GROWTH_PERCENT) / 100;
        assert!(self.resident_kib <= most_kib, "memory grew");
        assert!(
            self.descriptors <= before.descriptors,
            "descriptors are left"
        );
        assert!(self.threads <= before.threads, "threads are left");
    }
}
