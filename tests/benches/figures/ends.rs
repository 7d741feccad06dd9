//! How soon a command ends whose caller gave up, or whose time is up.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidegate::{CancellationToken, InvokeOptions};
use tidegate_contract::Status;

use crate::samples::{ms_at_most, percentile};
use crate::tools::{By, Tools};

/// Calls of each kind.
const CALLS: u32 = 20;

/// Files that `grep` searches.
const FILES: usize = 100_000;

/// All figures.
pub(crate) fn ends() {
    let folder = tempfile::TempDir::new().unwrap();
    lay_out(folder.path());
    let tools = Tools::new(folder.path(), By::Component);
    let cases = [
        ("sort of 64 MiB", "sort", json!({"path": "large.txt"})),
        (
            "grep of 100,000 files",
            "grep",
            json!({"pattern": "absent", "paths": ["tree"], "recursive": true}),
        ),
    ];
    for (what, name, arguments) in cases {
        ms_at_most(
            &format!("cancelled {what} ends after, the slowest of {CALLS}"),
            slowest(|after| cancelled(&tools, name, &arguments, after)),
            0.1,
        );
        ms_at_most(
            &format!("timed out {what} ends after, the slowest of {CALLS}"),
            slowest(|after| timed_out(&tools, name, &arguments, after)),
            0.1,
        );
    }
}

/// 64 MiB of lines in no order, and many files.
fn lay_out(folder: &Path) {
    let mut text = String::new();
    let mut number = 1_u32;
    while text.len() < 64 * 1024 * 1024 {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        writeln!(text, "{number:010} some words of a line").unwrap();
    }
    fs::write(folder.join("large.txt"), text).unwrap();
    for number in 0..FILES {
        let below = folder.join(format!("tree/{}", number / 500));
        if number % 500 == 0 {
            fs::create_dir_all(&below).unwrap();
        }
        fs::write(below.join(format!("{number}.txt")), "leaf\n").unwrap();
    }
}

/// Ends calls at moments from 5 to 100 ms after their start; the slowest end, in seconds.
fn slowest(end: impl Fn(Duration) -> f64) -> f64 {
    let mut ends: Vec<f64> = (1..=CALLS)
        .map(|number| end(Duration::from_millis(5) * number))
        .collect();
    ends.sort_by(f64::total_cmp);
    percentile(&ends, 99)
}

fn cancelled(tools: &Tools, name: &str, arguments: &Value, after: Duration) -> f64 {
    let cancel = CancellationToken::new();
    let options = InvokeOptions {
        cancel: cancel.clone(),
        ..InvokeOptions::default()
    };
    thread::scope(|scope| {
        let given_up = scope.spawn(|| {
            thread::sleep(after);
            cancel.cancel();
            Instant::now()
        });
        let status = tools.call_with(name, arguments, options).status;
        let ended = Instant::now();
        assert_eq!(status, Status::Cancelled, "{name} was too fast");
        let asked = given_up.join().unwrap();
        ended.saturating_duration_since(asked).as_secs_f64()
    })
}

fn timed_out(tools: &Tools, name: &str, arguments: &Value, after: Duration) -> f64 {
    let options = InvokeOptions {
        deadline_ms: Some(u64::try_from(after.as_millis()).unwrap()),
        ..InvokeOptions::default()
    };
    let started = Instant::now();
    let status = tools.call_with(name, arguments, options).status;
    assert_eq!(status, Status::Timeout, "{name} was too fast");
    started.elapsed().saturating_sub(after).as_secs_f64()
}
