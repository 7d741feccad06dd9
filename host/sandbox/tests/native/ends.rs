//! How a run ends, and what is left of it.

use std::cell::Cell;
use std::fs;
use std::time::{Duration, Instant};

use tidegate_sandbox::command::{Limits, Options, OutputBounds};
use tidegate_sandbox::error::CommandError;

use crate::setup::{LONG, Place, command, is_running, options, soon};

/// A time to sleep that no other process of the machine has as an argument.
fn nap(of: u32) -> String {
    format!("300.{:09}{of}", std::process::id())
}

#[test]
fn exit_codes_and_signals_are_told() {
    let place = Place::new(&[]);
    let check = |script: &str, code: u8| assert_eq!(place.sh(script).0, code, "{script}");
    check("exit 0", 0);
    check("exit 7", 7);
    check("exit 255", 255);
    check("kill -TERM $$", 128 + 15);
    check("kill -KILL $$", 128 + 9);
    check("kill -ABRT $$", 128 + 6);
    check("exec 1>&- 2>&-; exit 3", 3);
}

#[test]
fn output_is_bounded_by_bytes_and_lines() {
    let mut place = Place::new(&[]);
    let check = |place: &Place, stdout: &[u8], omitted: u64| {
        let output = place.run("sh", &["-c", "printf 'a\\nb\\nc — d\\n'; printf 12345 >&2"]);
        let output = output.unwrap();
        assert_eq!(
            (&output.stdout[..], output.stdout_omitted),
            (stdout, omitted)
        );
        output
    };
    let all = "a\nb\nc — d\n".as_bytes();
    let output = check(&place, all, 0);
    assert_eq!(
        (output.stderr.as_slice(), output.stderr_omitted),
        (&b"12345"[..], 0)
    );
    place.bounds.stdout_lines = 2;
    check(&place, b"a\nb\n", 8);
    place.bounds = OutputBounds {
        stdout_bytes: 8,
        stderr_bytes: 4,
        stdout_lines: 9,
    };
    let output = check(&place, b"a\nb\nc ", 6);
    assert_eq!(
        (output.stderr.as_slice(), output.stderr_omitted),
        (&b"1234"[..], 1)
    );
    place.bounds = OutputBounds::default();
    check(&place, b"", 12);
}

#[test]
fn ex02_at_the_deadline_the_whole_group_is_gone() {
    let place = Place::new(&[]);
    let nap = nap(2);
    let was_running = Cell::new(false);
    let look = || {
        was_running.set(was_running.get() || is_running(&nap));
        false
    };
    let start = Instant::now();
    let script = format!("sleep {nap} & (sleep {nap} &) ; sleep {nap}");
    let ended = place.run_until("sh", &["-c", &script], Duration::from_secs(1), &look);
    assert!(matches!(ended, Err(CommandError::Deadline)), "{ended:?}");
    assert!(start.elapsed() <= Duration::from_secs(3));
    assert!(was_running.get());
    assert!(soon(|| !is_running(&nap)));
}

#[test]
fn ex05_a_cancel_ends_the_run_at_once() {
    let place = Place::new(&[]);
    let nap = nap(5);
    let cancelled = Cell::new(None);
    let cancel = || {
        if cancelled.get().is_none() && is_running(&nap) {
            cancelled.set(Some(Instant::now()));
        }
        cancelled.get().is_some()
    };
    let script = format!("sleep {nap} & while :; do :; done");
    let ended = place.run_until("sh", &["-c", &script], LONG, &cancel);
    let took = cancelled.get().unwrap().elapsed();
    assert!(matches!(ended, Err(CommandError::Cancelled)), "{ended:?}");
    assert!(took <= Duration::from_millis(100), "{took:?}");
    assert!(soon(|| !is_running(&nap)));
}

#[test]
fn what_is_cancelled_or_late_before_it_starts_does_not_start() {
    let place = Place::new(&[]);
    let ended = place.run_until("sh", &["-c", "exit 0"], LONG, &|| true);
    assert!(matches!(ended, Err(CommandError::Cancelled)), "{ended:?}");
    let ended = place.run_until("sh", &["-c", "exit 0"], Duration::ZERO, &|| false);
    assert!(matches!(ended, Err(CommandError::Deadline)), "{ended:?}");
}

#[test]
fn a_process_that_holds_the_pipe_delays_nothing_and_is_killed() {
    let place = Place::new(&[]);
    let nap = nap(7);
    let start = Instant::now();
    let (code, output, _) = place.sh(&format!("sleep {nap} & echo done; exit 4"));
    assert_eq!((code, output.as_str()), (4, "done\n"));
    assert!(start.elapsed() < Duration::from_secs(30));
    assert!(soon(|| !is_running(&nap)));
}

#[test]
fn no_process_leaves_the_group() {
    let place = Place::new(&[]);
    let nap = nap(8);
    let (code, ..) = place.sh(&format!(
        "setsid sleep {nap} & setsid -f sleep {nap}; exit 5"
    ));
    assert_eq!(code, 5);
    let (.., errors) = place.sh("setsid -w true");
    assert!(errors.contains("Operation not permitted"), "{errors}");
    assert!(soon(|| !is_running(&nap)));
}

#[test]
fn a_process_that_writes_for_ever_is_not_read_for_ever() {
    let mut place = Place::new(&[]);
    place.bounds.stdout_bytes = 4;
    let (code, output, _) = place.sh("echo first; yes & exit 6");
    assert_eq!((code, output.as_str()), (6, "firs"));
}

#[test]
fn ex06_both_pipes_are_read() {
    let place = Place::new(&["/dev/zero"]);
    let script = "head -c 262144 /dev/zero >&2; printf answer";
    let output = place.run("sh", &["-c", script]).unwrap();
    assert_eq!(output.stdout, b"answer");
    assert_eq!(
        (output.stderr.len(), output.stderr_omitted),
        (8192, 262_144 - 8192)
    );
}

#[test]
fn ou11_a_gibibyte_of_errors_is_counted_and_not_kept() {
    let place = Place::new(&["/dev/zero"]);
    let before = peak_kib();
    let script = "head -c 1073741824 /dev/zero >&2; printf x";
    let output = place.run("sh", &["-c", script]).unwrap();
    assert_eq!(
        (output.stdout.as_slice(), output.stdout_omitted),
        (&b"x"[..], 0)
    );
    assert_eq!(
        (output.stderr.len(), output.stderr_omitted),
        (8192, (1 << 30) - 8192)
    );
    let grown = peak_kib() - before;
    assert!(grown < 16 * 1024, "{grown} KiB");
}

/// The most memory that this process ever had, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

#[test]
fn limits_of_resources_are_kept() {
    let limits = Limits {
        cpu_seconds: 1,
        address_space_bytes: 64 << 20,
        open_files: 16,
        ..Limits::default()
    };
    let options = Options {
        limits,
        ..options()
    };
    let mut sh = command("sh", "/bin/sh");
    sh.also.push("/dev/zero".into());
    let place = Place::with(&[sh], options);
    assert_eq!(place.sh("while :; do :; done").0, 128 + 24);
    let (code, _, errors) = place.sh("dd if=/dev/zero of=/dev/null bs=128M count=1");
    assert!(code != 0 && errors.contains("memory"), "{errors}");
    assert_eq!(place.sh("dd if=/dev/zero of=/dev/null bs=1M count=1").0, 0);
    let (code, output, _) = place.sh("ulimit -n; ulimit -f; ulimit -c");
    assert_eq!((code, output.as_str()), (0, "16\n0\n0\n"));
}

#[test]
fn a_launcher_that_is_none_is_a_fault_of_the_executor() {
    for program in ["/nowhere/at/all", "/bin/true", "/bin/cat"] {
        let mut options = options();
        options.launcher.program = program.into();
        let place = Place::with(&[command("sh", "/bin/sh")], options);
        let error = place.run("sh", &["-c", "exit 0"]).unwrap_err();
        assert_eq!(error.code(), "EXECUTOR_FAULT", "{program}");
    }
}

#[test]
fn what_can_not_be_started_is_a_fault_of_the_executor() {
    let place = Place::new(&[]);
    // Longer than the kernel takes as one argument.
    let long = "a".repeat(200_000);
    let error = place.run("sh", &["-c", &long]).unwrap_err();
    assert_eq!(error.code(), "EXECUTOR_FAULT");
}
