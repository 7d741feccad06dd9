//! Batches of calls, timed, and the line that a figure is printed on.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Calls of one batch.
const CALLS: u32 = 250;

/// Batches of each; they alternate, so that all see the same machine.
const ROUNDS: usize = 40;

/// Medians per call, in seconds: CPU of the whole process, and wall time.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) cpu: f64,
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
        wall: median(&samples, |cost| cost.wall),
    })
}

fn batch(call: &mut dyn FnMut()) -> Cost {
    let (cpu, wall) = (process_cpu(), Instant::now());
    for _ in 0..CALLS {
        call();
    }
    Cost {
        cpu: (process_cpu().saturating_sub(cpu) / CALLS).as_secs_f64(),
        wall: (wall.elapsed() / CALLS).as_secs_f64(),
    }
}

fn median(samples: &[Cost], pick: fn(&Cost) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(pick).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap()
}

/// CPU time of all threads of this process.
pub(crate) fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
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
    judged(figure, ratio, goal, ratio <= goal);
}

/// A ratio that must reach its goal.
pub(crate) fn at_least(figure: &str, ratio: f64, goal: f64) {
    judged(figure, ratio, goal, ratio >= goal);
}

fn judged(figure: &str, ratio: f64, goal: f64, met: bool) {
    let (value, goal) = (format!("{ratio:.2} x"), format!("{goal:.2} x"));
    let result = if met { "MET" } else { "MISSED" };
    println!("{figure:<58} {value:>10}  {goal:>8}  {result}");
}

/// Seconds as microseconds.
pub(crate) fn us(seconds: f64) -> String {
    format!("{:.2} us", seconds * 1e6)
}

/// Seconds as milliseconds.
pub(crate) fn ms(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}
