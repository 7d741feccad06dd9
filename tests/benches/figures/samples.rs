//! Batches of calls, timed, and the line that a figure is printed on.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Calls of one batch.
const CALLS: u32 = 2_000;

/// Batches of each; they alternate, so that all see the same machine.
const ROUNDS: usize = 20;

/// Medians per call, in seconds: CPU of the whole process, of the calling thread, and wall time.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) cpu: f64,
    /// CPU of the calling thread alone.
    pub(crate) thread: f64,
    pub(crate) wall: f64,
}

/// Measures several ways to make a call in turn.
pub(crate) fn compare<const N: usize>(mut calls: [&mut dyn FnMut(); N]) -> [Cost; N] {
    let mut samples: [Vec<Cost>; N] = std::array::from_fn(|_| Vec::new());
    for round in 0..=ROUNDS {
        for (call, samples) in calls.iter_mut().zip(&mut samples) {
            let cost = batch(&mut **call);
            // The first round warms caches and the pool.
            if round > 0 {
                samples.push(cost);
            }
        }
    }
    samples.map(|samples| Cost {
        cpu: median(&samples, |cost| cost.cpu),
        thread: median(&samples, |cost| cost.thread),
        wall: median(&samples, |cost| cost.wall),
    })
}

fn batch(call: &mut dyn FnMut()) -> Cost {
    let (cpu, thread, wall) = (process_cpu(), thread_cpu(), Instant::now());
    for _ in 0..CALLS {
        call();
    }
    Cost {
        cpu: (process_cpu().saturating_sub(cpu) / CALLS).as_secs_f64(),
        thread: (thread_cpu().saturating_sub(thread) / CALLS).as_secs_f64(),
        wall: (wall.elapsed() / CALLS).as_secs_f64(),
    }
}

fn median(samples: &[Cost], pick: fn(&Cost) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(pick).collect();
    values.sort_by(f64::total_cmp);
    percentile(&values, 50)
}

/// The value below which so many of a hundred sorted ones are.
pub(crate) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted.get(sorted.len() * percent / 100).copied().unwrap()
}

/// CPU time of all threads of this process.
pub(crate) fn process_cpu() -> Duration {
    cpu(ClockId::ProcessCPUTime)
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    cpu(ClockId::ThreadCPUTime)
}

fn cpu(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(
        time.tv_sec.try_into().unwrap(),
        time.tv_nsec.try_into().unwrap(),
    )
}

/// The head of the table.
pub(crate) fn head() {
    println!("{:<58} {:>10}  {:>8}  result", "figure", "value", "goal");
}

/// A figure without a goal.
pub(crate) fn plain(figure: &str, value: &str) {
    println!("{figure:<58} {value:>10}  {:>8}", "-");
}

/// A ratio that must not be over its goal.
pub(crate) fn at_most(figure: &str, ratio: f64, goal: f64) {
    judged(figure, &times(ratio), &times(goal), ratio <= goal);
}

/// A ratio that must reach its goal.
pub(crate) fn at_least(figure: &str, ratio: f64, goal: f64) {
    judged(figure, &times(ratio), &times(goal), ratio >= goal);
}

/// A time in seconds that must not be over its goal.
pub(crate) fn ms_at_most(figure: &str, seconds: f64, goal: f64) {
    judged(figure, &ms(seconds), &ms(goal), seconds <= goal);
}

/// A short time in seconds that must not be over its goal.
pub(crate) fn us_at_most(figure: &str, seconds: f64, goal: f64) {
    judged(figure, &us(seconds), &us(goal), seconds <= goal);
}

/// How many a second there must be at least.
pub(crate) fn rate_at_least(figure: &str, rate: f64, goal: f64) {
    judged(
        figure,
        &format!("{rate:.0}"),
        &format!("{goal:.0}"),
        rate >= goal,
    );
}

/// Memory that must not be over its goal.
pub(crate) fn kib_at_most(figure: &str, kib: u64, goal: u64) {
    let shown = |kib: u64| format!("{kib} KiB");
    judged(figure, &shown(kib), &shown(goal), kib <= goal);
}

fn judged(figure: &str, value: &str, goal: &str, met: bool) {
    let result = if met { "MET" } else { "MISSED" };
    println!("{figure:<58} {value:>10}  {goal:>8}  {result}");
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2} x")
}

/// Seconds as microseconds.
pub(crate) fn us(seconds: f64) -> String {
    format!("{:.2} us", seconds * 1e6)
}

/// Seconds as milliseconds.
pub(crate) fn ms(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}
