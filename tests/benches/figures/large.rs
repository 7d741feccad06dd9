//! A large guest: `table`, which is `CPython` with its library in one component of 18 MB.
//!
//! The floor is bare wasmtime again: a fresh instance and one `validate` of the same arguments, which
//! reads JSON in Python and touches nothing of the host. Ours is the same by a whole call that `validate`
//! refuses. A call that runs, over a small file, has a goal of its own: 5 ms, or 1.5 times the floor where
//! that is more.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tidegate::{
    ComponentTool, Engine, EngineSettings, Handles, InvokeOptions, PluginSource, Runtime,
    RuntimeOptions, ToolRegistry, Workspace,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::json::JsonBounds;
use tidegate_contract::{CallId, Document, JsonObject, Limits, Status, ToolCall, ToolName};
use tidegate_sandbox::ambient;

use crate::floor::Floor;
use crate::memory::anonymous_kib;
use crate::samples::{at_most, ms, ms_at_most, percentile, plain};

const TOOL: &str = "table_query";

/// What `validate` refuses: an empty segment, of which the schema knows nothing.
const REFUSED: &str = r#"{"path":"a//b","aggregate":[{"op":"count"}]}"#;

/// What runs.
const COUNT: &str = r#"{"path":"rows.csv","aggregate":[{"op":"count"}]}"#;

/// Calls of which the median is taken.
const CALLS: usize = 200;

/// Calls, one after the other, of which the largest counts for the figure of memory.
const WATCHED: usize = 200;

/// All figures, where the guest is built.
pub(crate) fn large() {
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/dist/table.wasm");
    let Ok(bytes) = fs::read(guest) else {
        plain("large guest: not built, so not measured", "");
        return;
    };
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("rows.csv"), "a,b\n1,2\n3,4\n").unwrap();
    let size = format!("{} KB", bytes.len() / 1_000);
    plain("large guest: size", &size);
    let cache = TempDir::new().unwrap();
    let compiled = Large::new(&bytes, folder.path(), cache.path());
    plain(
        "large guest: first load, compiled, wall",
        &ms(compiled.took),
    );
    let ready = Large::new(&bytes, folder.path(), cache.path());
    ms_at_most("large guest: ready from the cache, wall", ready.took, 0.05);
    drop(compiled);
    calls(&ready, &Floor::of_validate(&bytes, TOOL, REFUSED));
    live(&ready);
}

/// A runtime over the guest, and how long it took to be there.
struct Large {
    runtime: Runtime,
    took: f64,
}

impl Large {
    fn new(bytes: &[u8], folder: &Path, cache: &Path) -> Self {
        let threads = tokio::runtime::Runtime::new().unwrap();
        let mut sandbox = Grant::default();
        for allow in ["tool=*", "read"] {
            parse_allow(allow, &mut sandbox).unwrap();
        }
        let workspace = Workspace::open(folder).unwrap();
        let source = PluginSource {
            name: "table".to_owned(),
            bytes: bytes.to_vec(),
            handles: Handles::open(&sandbox, &workspace).unwrap(),
            limits: Limits::default(),
            config: JsonObject::new(),
        };
        let started = Instant::now();
        let engine = Engine::new(EngineSettings {
            cache: Some(ambient::open_cache(cache).unwrap()),
            ..EngineSettings::default()
        })
        .unwrap();
        let plugin = threads.block_on(engine.load(source)).unwrap();
        let took = started.elapsed().as_secs_f64();
        let tools = ToolRegistry::new();
        for tool in ComponentTool::all(&plugin, "").unwrap() {
            drop(tools.register(tool).unwrap());
        }
        let options = RuntimeOptions {
            sandbox,
            tools,
            engine: Some(engine),
            ..RuntimeOptions::default()
        };
        let runtime = Runtime::new(options).unwrap();
        Self { runtime, took }
    }

    /// One call on the calling thread; whether it succeeded.
    fn call(&self, arguments: &str) -> bool {
        let blocking = self.runtime.blocking().unwrap();
        let result = blocking.act_tool(call_with(arguments), InvokeOptions::default());
        result.is_ok_and(|result| result.status == Status::Success)
    }
}

fn call_with(arguments: &str) -> ToolCall {
    ToolCall {
        id: CallId::new("call-1").unwrap(),
        name: ToolName::new(TOOL).unwrap(),
        arguments: Document::parse(arguments.to_owned(), &JsonBounds::default()).unwrap(),
    }
}

fn calls(ours: &Large, floor: &Floor) {
    assert!(!ours.call(REFUSED), "`validate` refuses it");
    assert!(ours.call(COUNT), "it runs");
    let (mut least, mut refused, mut ran) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..CALLS {
        least.push(seconds(|| floor.validate()));
        refused.push(seconds(|| assert!(!ours.call(REFUSED))));
        ran.push(seconds(|| assert!(ours.call(COUNT))));
    }
    let [least, refused, ran] = [least, refused, ran].map(|mut taken| {
        taken.sort_by(f64::total_cmp);
        percentile(&taken, 50)
    });
    plain(
        "large guest: floor, fresh instance and `validate`, wall",
        &ms(least),
    );
    plain(
        "large guest: the same as a call of ours, wall",
        &ms(refused),
    );
    at_most("large guest: ours to floor", refused / least, 1.5);
    let goal = (least * 1.5).max(0.005);
    ms_at_most("large guest: a call that reads a file, wall", ran, goal);
}

/// What one live call takes beyond what its slot keeps: the most that the process grew by while calls ran,
/// one at a time. It is looked at from outside, so that this is a lower bound.
fn live(ours: &Large) {
    let before = anonymous_kib();
    let most = thread::scope(|scope| {
        let (working, ended) = mpsc::channel::<()>();
        let watching = scope.spawn(move || {
            let mut most = 0;
            let tick = Duration::from_micros(100);
            while ended.recv_timeout(tick) == Err(RecvTimeoutError::Timeout) {
                most = most.max(anonymous_kib());
            }
            most
        });
        for _ in 0..WATCHED {
            assert!(ours.call(COUNT));
        }
        drop(working);
        watching.join().unwrap()
    });
    let grown = most.saturating_sub(before);
    plain(
        "large guest: a live call, anonymous memory, at least",
        &format!("{grown} KiB"),
    );
}

fn seconds(call: impl FnOnce()) -> f64 {
    let started = Instant::now();
    call();
    started.elapsed().as_secs_f64()
}
