//! The figures of `cargo xtask figures`: ours beside the floor, in one run, with ratios.
//!
//! The floor is bare wasmtime doing the least that a fresh instance costs: a store, an instantiation
//! from the same pool settings, one typed call of the same tool with the same arguments, and the
//! drop. Both run the `probe` guest's `echo` on the calling thread; batches alternate, so that both
//! see the same machine. What each figure means stands in `docs/performance.md`.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark stops at the first thing that is not as it should be, and prints"
)]

mod act;
mod commands;
mod ends;
mod floor;
mod large;
mod mcp_stdio;
mod memory;
mod network;
mod ours;
mod samples;
mod serve;
mod start;
mod times;
mod tools;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Instant;

use tidegate::{Engine, EngineSettings};
use tidegate_sandbox::ambient;
use tidegate_sandbox::command::launcher;

use floor::Floor;
use ours::{Ours, load};
use samples::{at_least, at_most, compare, head, ms, plain, process_cpu, us};

/// Arguments of `echo` with this many bytes.
fn arguments(bytes: usize) -> String {
    let around = r#"{"value":""}"#.len();
    format!(r#"{{"value":"{}"}}"#, "0".repeat(bytes - around))
}

fn main() -> ExitCode {
    // Native commands are started through this very program.
    if ambient::first_argument_is(launcher::ARGUMENT) {
        return launcher::main();
    }
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/dist/probe.wasm");
    let bytes = std::fs::read(guest).expect("run `cargo xtask guests` first");
    // `cargo bench --bench figures -- serve` takes these alone.
    let named: Vec<String> = std::env::args()
        .skip(1)
        .filter(|name| !name.starts_with('-'))
        .collect();
    let is_wanted = |name: &str| named.is_empty() || named.iter().any(|named| named == name);
    head();
    if is_wanted("calls") {
        fresh_call(&bytes);
        payloads(&bytes);
        let ours = Ours::new(bytes.clone(), &arguments(64));
        threads(&ours, &Floor::new(&bytes, &arguments(64)));
        at_once(&ours);
        times::times();
        loading(&bytes);
        memory::memory(&bytes);
    }
    let sections: [(&str, &dyn Fn()); 7] = [
        ("start", &|| start::start(&bytes)),
        ("network", &network::network),
        ("serve", &serve::serve),
        ("mcp_stdio", &mcp_stdio::mcp_stdio),
        ("commands", &commands::commands),
        ("ends", &ends::ends),
        ("large", &large::large),
    ];
    for (name, section) in sections {
        if is_wanted(name) {
            section();
        }
    }
    // A part of `commands`, for who works on it.
    if named.iter().any(|named| named == "small_commands") {
        commands::small_commands();
    }
    ExitCode::SUCCESS
}

fn fresh_call(bytes: &[u8]) {
    let floor = Floor::new(bytes, &arguments(64));
    let ours = Ours::new(bytes.to_vec(), &arguments(64));
    let [least, call] = compare([&mut || floor.call(), &mut || ours.call()]);
    plain(
        "floor: fresh instance, bare wasmtime, thread CPU",
        &us(least.thread),
    );
    plain(
        "ACT.TOOL: fresh instance, limits, schema, thread CPU",
        &us(call.thread),
    );
    at_most(
        "ACT.TOOL to floor, thread CPU",
        call.thread / least.thread,
        1.2,
    );
    plain("ACT.TOOL, wall", &us(call.wall));
    let [hop] = compare([&mut || ours.call_by_a_hop()]);
    plain(
        "ACT.TOOL by a hop to a guest thread and back, CPU",
        &us(hop.cpu),
    );
    plain(
        "ACT.TOOL by a hop to a guest thread and back, wall",
        &us(hop.wall),
    );
}

fn payloads(bytes: &[u8]) {
    for (name, size) in [("64 KiB", 64 * 1024), ("1 MiB", 1024 * 1024)] {
        let floor = Floor::new(bytes, &arguments(size));
        let ours = Ours::new(bytes.to_vec(), &arguments(size));
        let (mut least, mut call) = (f64::MAX, f64::MAX);
        // Few calls: one of 1 MiB takes milliseconds.
        for _ in 0..20 {
            least = least.min(seconds(|| floor.call()));
            call = call.min(seconds(|| ours.call()));
        }
        plain(&format!("floor, {name} of arguments, CPU"), &us(least));
        plain(&format!("ACT.TOOL, {name} of arguments, CPU"), &us(call));
    }
}

fn seconds(call: impl FnOnce()) -> f64 {
    let start = process_cpu();
    call();
    process_cpu().saturating_sub(start).as_secs_f64()
}

/// Calls a second of some threads that do nothing else.
fn rate(call: &(dyn Fn() + Sync), threads: usize) -> f64 {
    const CALLS: u32 = 5_000;
    let start = Barrier::new(threads + 1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    (0..CALLS).for_each(|_| call());
                })
            })
            .collect();
        start.wait();
        let started = Instant::now();
        for worker in workers {
            worker.join().unwrap();
        }
        f64::from(CALLS) * f64::from(u32::try_from(threads).unwrap())
            / started.elapsed().as_secs_f64()
    })
}

fn threads(ours: &Ours, floor: &Floor) {
    let calls: [&(dyn Fn() + Sync); 2] = [&|| floor.call(), &|| ours.call()];
    let mut best = [[0.0, 0.0]; 2];
    // The best of several, in turn: another process on the second core would look like a lack of scaling.
    for _ in 0..8 {
        for (best, call) in best.iter_mut().zip(calls) {
            for (best, threads) in best.iter_mut().zip([1, 2]) {
                *best = f64::max(*best, rate(call, threads));
            }
        }
    }
    let [floor, [one, two]] = best;
    plain("calls a second, 1 thread", &format!("{one:.0}"));
    plain("calls a second, 2 threads", &format!("{two:.0}"));
    plain(
        "floor: 1 to 2 threads",
        &format!("{:.2} x", floor[1] / floor[0]),
    );
    at_least("1 to 2 threads", two / one, 1.8);
}

/// A thousand calls at once from one thread that serves them all.
fn at_once(ours: &Ours) {
    const CALLS: usize = 1_000;
    let started = Instant::now();
    let answered = ours.at_once(CALLS);
    let took = started.elapsed().as_secs_f64();
    plain("1,000 calls at once: answered", &answered.to_string());
    plain("1,000 calls at once: all of them took", &ms(took));
}

/// A plugin compiled, and the same from the cache.
fn loading(bytes: &[u8]) {
    let folder = tempfile::TempDir::new().unwrap();
    let threads = tokio::runtime::Runtime::new().unwrap();
    let engine = || {
        let cache = ambient::open_cache(folder.path()).unwrap();
        Engine::new(EngineSettings {
            cache: Some(cache),
            ..EngineSettings::default()
        })
        .unwrap()
    };
    let one = |engine: &Engine, bytes: Vec<u8>| {
        drop(threads.block_on(load(engine, "probe", bytes)));
    };
    let first = engine();
    plain(
        "load: compiled, CPU",
        &ms(seconds(|| one(&first, bytes.to_vec()))),
    );
    plain(
        "load: from the cache, CPU",
        &ms(seconds(|| one(&first, bytes.to_vec()))),
    );
}
