//! How exactly calls end, and what two looping tenants do to a third.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tidegate::{Caller, CancellationToken, InvokeOptions};
use tidegate_contract::Tenant;

use crate::ours::Ours;
use crate::samples::{at_most, ms, ms_at_most, percentile, plain};

/// Deadlines that are measured; the worst of them counts.
const DEADLINES: u32 = 200;

/// Milliseconds each of them is long.
const DEADLINE_MS: u64 = 20;

/// Calls of the third tenant.
const CALLS: usize = 2_000;

/// All figures.
pub(crate) fn times() {
    let guest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/dist/misbehave.wasm");
    let bytes = std::fs::read(guest).unwrap();
    let ours = Ours::of(bytes, "{}");
    overshoot(&ours);
    beside_loopers(&ours);
}

fn overshoot(ours: &Ours) {
    let blocking = ours.runtime.blocking().unwrap();
    let mut late: Vec<f64> = (0..DEADLINES)
        .map(|_| {
            let options = InvokeOptions {
                deadline_ms: Some(DEADLINE_MS),
                ..InvokeOptions::default()
            };
            let started = Instant::now();
            let result = blocking.act_tool(ours.call_of("spin"), options).unwrap();
            let took = started.elapsed();
            assert_eq!(json!(result.status), "timeout");
            took.saturating_sub(Duration::from_millis(DEADLINE_MS))
                .as_secs_f64()
        })
        .collect();
    late.sort_by(f64::total_cmp);
    plain(
        "deadline of 20 ms overshot by a loop, median",
        &ms(percentile(&late, 50)),
    );
    let goal = (tidegate_engine::TICK + Duration::from_millis(1)).as_secs_f64();
    ms_at_most(
        "deadline of 20 ms overshot by a loop, 99 of 100",
        percentile(&late, 99),
        goal,
    );
}

fn tenant(name: &str) -> Caller {
    Caller {
        tenant: Tenant::new(name).unwrap(),
        ..Caller::default()
    }
}

/// Wall times of one tenant's calls, one after the other, sorted.
fn calls(ours: &Ours) -> Vec<f64> {
    ours.threads.block_on(async {
        let mut times = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            let options = InvokeOptions {
                caller: tenant("third"),
                ..InvokeOptions::default()
            };
            let started = Instant::now();
            drop(
                ours.runtime
                    .act_tool(ours.call_of("counter"), options)
                    .await,
            );
            times.push(started.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        times
    })
}

fn beside_loopers(ours: &Ours) {
    let p99 = |times: &[f64]| percentile(times, 99);
    drop(calls(ours));
    let idle = p99(&calls(ours));
    let stop = CancellationToken::new();
    let loopers: Vec<_> = ["one", "two"]
        .into_iter()
        .map(|name| {
            let (runtime, call, stop) = (ours.runtime.clone(), ours.call_of("spin"), stop.clone());
            std::thread::spawn(move || {
                let options = InvokeOptions {
                    caller: tenant(name),
                    cancel: stop,
                    ..InvokeOptions::default()
                };
                let blocking = runtime.blocking().unwrap();
                drop(blocking.act_tool(call, options));
            })
        })
        .collect();
    let busy = p99(&calls(ours));
    stop.cancel();
    for looper in loopers {
        looper.join().unwrap();
    }
    plain("a tenant's p99, idle", &ms(idle));
    plain("a tenant's p99 beside two loopers", &ms(busy));
    at_most("p99 beside two loopers to idle", busy / idle, 2.0);
}
