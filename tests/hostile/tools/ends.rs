//! Time runs out, or the caller gives up, while a command computes (CASES EX05; SPEC X3).
//!
//! Whether a thread goes on is seen in the CPU time of the whole process, so each test runs itself
//! again in a process where nothing else runs.

use std::env;
use std::fmt::Write as _;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tidegate::{CancellationToken, InvokeOptions, Runtime};

use crate::differential::random::Random;
use crate::support::{Answer, Fixture, ask, call, commands, engine};

/// Set in the process that a test starts for itself.
const ALONE_VARIABLE: &str = "TIDEGATE_TEST_ALONE";

/// How long an ended call may take past its end (CASES EX05 has 1.5 s from a call's start).
const LATE: Duration = Duration::from_secs(1);

/// Whether this process runs this test alone. If not, it has been run so, and has passed.
fn is_alone(test: &str) -> bool {
    if env::var_os(ALONE_VARIABLE).is_some() {
        return true;
    }
    let output = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            &format!("hostile::tools::ends::{test}"),
            "--nocapture",
        ])
        .env(ALONE_VARIABLE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("1 passed"), "{said}{errors}");
    false
}

/// CPU time of this process so far.
fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    let nanoseconds = u32::try_from(now.tv_nsec).unwrap();
    Duration::new(u64::try_from(now.tv_sec).unwrap(), nanoseconds)
}

/// Waits until a tenth of a second takes next to no CPU time; fails where it never comes.
fn becomes_idle() {
    let start = Instant::now();
    loop {
        let before = cpu();
        thread::sleep(Duration::from_millis(100));
        let used = cpu().saturating_sub(before);
        if used < Duration::from_millis(20) {
            return;
        }
        assert!(
            start.elapsed() < Duration::from_secs(2),
            "still computes: {used:?}"
        );
    }
}

/// Work of some hundred milliseconds and more for each of three tools, and a runtime for it.
fn busy() -> (Fixture, Vec<(&'static str, Value)>) {
    let fixture = commands().limit("memory_bytes", 256 << 20);
    let mut random = Random::new(1);
    let mut lines = String::new();
    for _ in 0..65_536 {
        writeln!(lines, "{:016x}", random.next()).unwrap();
    }
    fixture.write("large", lines.repeat(62));
    let line = lines.replace('\n', "").repeat(4) + "\n";
    fixture.write("long-lines", line.repeat(16));
    for number in 0..20_000 {
        fixture.write(&format!("many/{:02}/{number}", number % 64), "a line\n");
    }
    // The pattern has so many states that they never all fit into its cache.
    let work = vec![
        ("sort", json!({"path": "large"})),
        (
            "grep",
            json!({"pattern": "[13579bdf].\\{16\\}[g-z]", "paths": ["long-lines"]}),
        ),
        (
            "grep",
            json!({"pattern": "nowhere", "paths": ["many"], "recursive": true}),
        ),
    ];
    (fixture, work)
}

/// The call was ended, and nothing of it goes on.
fn ended(answer: &Answer, [status, code]: [&str; 2], late: Duration) {
    assert_eq!(
        [&*answer.status, &*answer.code],
        [status, code],
        "{answer:?}"
    );
    assert!(late < LATE, "{late:?}");
    assert_eq!(answer.stdout, "");
    becomes_idle();
}

/// The next call of the same runtime works.
fn goes_on(tools: &Runtime) {
    ask(tools, "ls", json!({}))
        .unwrap()
        .is(0, "large\nlong-lines\nmany\n", "");
}

#[test]
fn ex05_a_deadline_ends_commands_that_compute_and_their_threads() {
    if !is_alone("ex05_a_deadline_ends_commands_that_compute_and_their_threads") {
        return;
    }
    let (fixture, work) = busy();
    let tools = fixture.tools();
    goes_on(&tools);
    let deadline = Duration::from_millis(100);
    for (tool, arguments) in work {
        let options = InvokeOptions {
            deadline_ms: Some(u64::try_from(deadline.as_millis()).unwrap()),
            ..InvokeOptions::default()
        };
        let start = Instant::now();
        let made = engine().block_on(tools.act_tool(call(tool, arguments), options));
        let answer = Answer::new(&made.unwrap());
        let took = start.elapsed();
        assert!(took >= deadline, "{took:?}");
        ended(
            &answer,
            ["timeout", "LIMIT_DEADLINE"],
            took.saturating_sub(deadline),
        );
        goes_on(&tools);
    }
}

#[test]
fn ex05_a_cancel_ends_commands_that_compute_and_their_threads() {
    if !is_alone("ex05_a_cancel_ends_commands_that_compute_and_their_threads") {
        return;
    }
    let (fixture, work) = busy();
    let tools = fixture.tools();
    goes_on(&tools);
    for (tool, arguments) in work {
        let cancel = CancellationToken::new();
        let options = InvokeOptions {
            cancel: cancel.clone(),
            ..InvokeOptions::default()
        };
        // Gives up once the command has computed for some time.
        let before = cpu();
        let giving_up = thread::spawn(move || {
            while cpu().saturating_sub(before) < Duration::from_millis(80) {
                thread::sleep(Duration::from_millis(1));
            }
            cancel.cancel();
            Instant::now()
        });
        let made = engine().block_on(tools.act_tool(call(tool, arguments), options));
        let answer = Answer::new(&made.unwrap());
        let end = Instant::now();
        let late = end.saturating_duration_since(giving_up.join().unwrap());
        ended(&answer, ["cancelled", "CANCELLED"], late);
        goes_on(&tools);
    }
}
