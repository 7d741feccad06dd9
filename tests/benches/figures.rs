//! The figures of `cargo xtask figures`: ours beside the floor, in one run, with ratios.
//!
//! The floor is bare wasmtime doing the least that a fresh instance costs: a store, an instantiation
//! from the same pool settings, one typed call of the same tool with the same arguments, and the
//! drop. Both run the `probe` guest's `echo` on the calling thread; batches alternate, so that both
//! see the same machine. A caller whose thread serves others pays a hop to a guest thread as well.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark stops at the first thing that is not as it should be, and prints"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use tidegate::{
    ComponentTool, Engine, EngineSettings, Handles, InvokeOptions, PluginSource, Runtime,
    RuntimeOptions, ToolRegistry,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::json::JsonBounds;
use tidegate_contract::{CallId, Document, JsonObject, Limits, ToolCall, ToolName};
use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig, Store};

use contract::exports::tidegate::plugin::tools::{GuestIndices, ToolCall as WitCall};

/// The plugin contract as the floor calls it.
mod contract {
    wasmtime::component::bindgen!({
        path: "../wit",
        inline: "
            package tidegate:floor;
            world floor { export tidegate:plugin/tools@0.1.0; }
        ",
        world: "tidegate:floor/floor",
    });
}

const ROUNDS: usize = 40;
const CALLS: usize = 250;

fn main() {
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/dist/probe.wasm");
    let bytes = std::fs::read(guest).expect("run `cargo xtask guests` first");
    let floor = Floor::new(&bytes);
    let ours = Ours::new(bytes);

    let (mut floor_times, mut our_times) = (Samples::default(), Samples::default());
    let mut hop_times = Samples::default();
    for round in 0..=ROUNDS {
        let (floor_sample, our_sample) = (measure(|| floor.call()), measure(|| ours.call()));
        let hop_sample = measure(|| ours.call_from_a_thread_that_serves());
        // The first round warms caches and the pool.
        if round > 0 {
            floor_times.push(floor_sample);
            our_times.push(our_sample);
            hop_times.push(hop_sample);
        }
    }

    let (floor_cpu, floor_wall) = floor_times.medians();
    let (our_cpu, our_wall) = our_times.medians();
    let (hop_cpu, hop_wall) = hop_times.medians();
    let ratio = our_cpu / floor_cpu;
    println!("{:<58} {:>10}  {:>8}  result", "figure", "value", "goal");
    line(
        "floor: fresh instance, bare wasmtime, CPU",
        &us(floor_cpu),
        "-",
        "",
    );
    line(
        "ACT.TOOL: fresh instance, all limits, schema check, CPU",
        &us(our_cpu),
        "-",
        "",
    );
    let met = if ratio <= 1.2 { "MET" } else { "MISSED" };
    line(
        "ACT.TOOL to floor, CPU",
        &format!("{ratio:.2} x"),
        "1.20 x",
        met,
    );
    line("floor, wall", &us(floor_wall), "-", "");
    line("ACT.TOOL, wall", &us(our_wall), "-", "");
    line(
        "ACT.TOOL by a hop to a guest thread and back, CPU",
        &us(hop_cpu),
        "-",
        "",
    );
    line(
        "ACT.TOOL by a hop to a guest thread and back, wall",
        &us(hop_wall),
        "-",
        "",
    );
}

fn line(figure: &str, value: &str, goal: &str, result: &str) {
    println!("{figure:<58} {value:>10}  {goal:>8}  {result}");
}

fn us(seconds: f64) -> String {
    format!("{:.2} us", seconds * 1e6)
}

/// CPU of the whole process and wall time per call, in seconds.
struct Sample {
    cpu: f64,
    wall: f64,
}

fn measure(mut call: impl FnMut()) -> Sample {
    let (cpu, wall) = (process_cpu(), Instant::now());
    for _ in 0..CALLS {
        call();
    }
    let calls = u32::try_from(CALLS).unwrap();
    Sample {
        cpu: (process_cpu().saturating_sub(cpu) / calls).as_secs_f64(),
        wall: (wall.elapsed() / calls).as_secs_f64(),
    }
}

fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.try_into().unwrap(),
        time.tv_nsec.try_into().unwrap(),
    )
}

#[derive(Default)]
struct Samples(Vec<Sample>);

impl Samples {
    fn push(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    fn medians(&self) -> (f64, f64) {
        let median = |pick: fn(&Sample) -> f64| {
            let mut values: Vec<f64> = self.0.iter().map(pick).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap()
        };
        (median(|sample| sample.cpu), median(|sample| sample.wall))
    }
}

/// 64 bytes of arguments.
const ARGUMENTS: &str = r#"{"value":"0123456789012345678901234567890123456789012345678"}"#;

struct Floor {
    engine: wasmtime::Engine,
    pre: InstancePre<()>,
    tools: GuestIndices,
    call: WitCall,
}

impl Floor {
    fn new(bytes: &[u8]) -> Self {
        let mut pool = PoolingAllocationConfig::new();
        pool.linear_memory_keep_resident(1024 * 1024)
            .table_keep_resident(8 * 1024)
            .pagemap_scan(Enabled::Auto);
        let mut config = Config::new();
        config
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
            .concurrency_support(false);
        let engine = wasmtime::Engine::new(&config).unwrap();
        let component = Component::from_binary(&engine, bytes).unwrap();
        let mut linker = Linker::new(&engine);
        linker.define_unknown_imports_as_traps(&component).unwrap();
        let pre = linker.instantiate_pre(&component).unwrap();
        let tools = GuestIndices::new(&pre).unwrap();
        let call = WitCall {
            id: "call-1".to_owned(),
            name: "echo".to_owned(),
            arguments: ARGUMENTS.to_owned(),
        };
        Self {
            engine,
            pre,
            tools,
            call,
        }
    }

    fn call(&self) {
        let mut store = Store::new(&self.engine, ());
        let instance = self.pre.instantiate(&mut store).unwrap();
        let tools = self.tools.load(&mut store, &instance).unwrap();
        let outcome = tools.call_execute(&mut store, &self.call).unwrap();
        assert!(outcome.error.is_none());
    }
}

struct Ours {
    threads: tokio::runtime::Runtime,
    runtime: Runtime,
    call: ToolCall,
}

impl Ours {
    fn new(bytes: Vec<u8>) -> Self {
        let threads = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let engine = Engine::new(EngineSettings::default()).unwrap();
        let source = PluginSource {
            name: "probe".to_owned(),
            bytes,
            handles: Handles::default(),
            limits: Limits::default(),
            config: JsonObject::new(),
        };
        let plugin = threads.block_on(engine.load(source)).unwrap();
        let tools = ToolRegistry::new();
        for tool in ComponentTool::all(&plugin, "").unwrap() {
            drop(tools.register(tool).unwrap());
        }
        let mut sandbox = Grant::default();
        parse_allow("tool=echo", &mut sandbox).unwrap();
        let runtime = Runtime::new(RuntimeOptions {
            sandbox,
            tools,
            engine: Some(engine),
            ..RuntimeOptions::default()
        })
        .unwrap();
        let call = ToolCall {
            id: CallId::new("call-1").unwrap(),
            name: ToolName::new("echo").unwrap(),
            arguments: Document::empty_object(),
        };
        Self {
            threads,
            runtime,
            call,
        }
    }

    /// Parsing the arguments is part of a call: a door does it for each.
    fn parsed(&self) -> ToolCall {
        let arguments = Document::parse(ARGUMENTS.to_owned(), &JsonBounds::default()).unwrap();
        ToolCall {
            arguments,
            ..self.call.clone()
        }
    }

    fn call(&self) {
        let blocking = self.runtime.blocking().unwrap();
        let result = blocking.act_tool(self.parsed(), InvokeOptions::default());
        assert_eq!(json!(result.unwrap().status), "success");
    }

    fn call_from_a_thread_that_serves(&self) {
        let call = self
            .runtime
            .act_tool(self.parsed(), InvokeOptions::default());
        let result = self.threads.block_on(call);
        assert_eq!(json!(result.unwrap().status), "success");
    }
}
