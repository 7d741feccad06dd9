//! SIGINT: the first cancels and drains, the second quits at once (SPEC L5).

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{command, root};

/// The bit of SIGINT in the kernel's masks.
const SIGINT_MASK: u64 = 1 << (2 - 1);

/// Starts a call of a misbehaving tool.
fn start(tool: &str, arguments: &str) -> Child {
    let allow = format!("tool={tool}");
    let plugin = "guests/dist/misbehave.wasm";
    let call = [
        "call", tool, arguments, "--plugin", plugin, "--allow", &allow, "--json",
    ];
    started(&call)
}

/// Starts the command and returns once an interrupt would be caught.
fn started(arguments: &[&str]) -> Child {
    let mut child = command(&root(), arguments, &[]).spawn().unwrap();
    drop(child.stdin.take());
    let start = Instant::now();
    while !catches_interrupts(child.id()) {
        if start.elapsed() > Duration::from_mins(1) || child.try_wait().unwrap().is_some() {
            child.kill().unwrap();
            panic!("it ended, or never caught interrupts");
        }
        thread::yield_now();
    }
    child
}

fn catches_interrupts(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = u64::from_str_radix(caught.unwrap_or("0").trim(), 16).unwrap();
    caught & SIGINT_MASK != 0
}

fn interrupt(child: &Child) {
    let process = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
}

/// The exit code; a child that does not end is killed and fails the test.
fn exit(mut child: Child) -> Option<i32> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if start.elapsed() > Duration::from_mins(1) {
            child.kill().unwrap();
            panic!("the interrupted command hangs");
        }
        thread::yield_now();
    }
}

#[test]
fn l5_the_first_interrupt_cancels_the_call_and_exits_1() {
    for tool in ["spin", "sleep"] {
        let mut child = start(tool, "{}");
        interrupt(&child);
        let mut stdout = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut stdout)
            .unwrap();
        assert_eq!(exit(child), Some(1), "{tool}");
        let document: serde_json::Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(document["error"]["code"], "CANCELLED", "{tool}: {document}");
    }
}

/// The result does not fit the pipe and nobody reads it, so the command can't end by itself.
#[test]
fn l5_the_second_interrupt_quits_at_once_with_130() {
    let mut child = start("huge_result", r#"{"bytes":1000000}"#);
    let mut first = [0];
    // What is read here is the start of the result: the call is over and the printing hangs.
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut first).unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    interrupt(&child);
    let mut said = String::new();
    stderr.read_line(&mut said).unwrap();
    assert!(said.contains("again"), "{said}");
    interrupt(&child);
    assert_eq!(exit(child), Some(130));
}

#[test]
fn l5_an_interrupted_check_exits_1_without_a_report() {
    let mut child = started(&["check", "guests/dist/misbehave.wasm"]);
    interrupt(&child);
    let mut stdout = String::new();
    let mut printed = child.stdout.take().unwrap();
    printed.read_to_string(&mut stdout).unwrap();
    assert_eq!(exit(child), Some(1));
    assert_eq!(stdout, "");
}
