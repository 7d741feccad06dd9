//! Running the real `tidegate` binary and measuring it.

use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::host::root;

/// What one run of the command came to.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) exit: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) elapsed: Duration,
    /// Peak resident memory of the process, in KiB.
    pub(crate) peak_kib: u64,
}

impl Output {
    /// Standard output as one JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {:?}; stderr: {}", self.stdout, self.stderr))
    }
}

/// The built binary: `cargo xtask test` builds it before the tests.
pub(crate) fn binary() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let binary = tests.parent().unwrap().parent().unwrap().join("tidegate");
    assert!(
        binary.is_file(),
        "{} is missing: run `cargo build --workspace`",
        binary.display()
    );
    binary
}

/// Runs `tidegate` at the top of the repository.
pub(crate) fn tidegate(arguments: &[&str]) -> Output {
    run(&binary(), &root(), arguments, "")
}

/// Runs `tidegate` in another folder.
pub(crate) fn tidegate_in(folder: &Path, arguments: &[&str]) -> Output {
    run(&binary(), folder, arguments, "")
}

/// Runs a binary in a folder, without any environment but a cache that only the tests use.
pub(crate) fn run(binary: &Path, folder: &Path, arguments: &[&str], input: &str) -> Output {
    finish(
        prepared(Command::new(binary), folder, arguments, &[]),
        input,
    )
}

/// Runs `tidegate` in a folder with more environment variables.
pub(crate) fn tidegate_with(
    folder: &Path,
    arguments: &[&str],
    input: &str,
    environment: &[(&str, &str)],
) -> Output {
    finish(command(folder, arguments, environment), input)
}

/// `tidegate`, not started yet.
pub(crate) fn command(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Command {
    prepared(Command::new(binary()), folder, arguments, environment)
}

fn prepared(
    mut command: Command,
    folder: &Path,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Command {
    command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env(
            "XDG_CACHE_HOME",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("command"),
        )
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// How long a command may take before it counts as hanging: far longer than any does.
const HANGING: Duration = Duration::from_mins(2);

fn finish(mut command: Command, input: &str) -> Output {
    let start = Instant::now();
    let mut child = command.spawn().unwrap();
    // A command that is refused at once does not wait for its input.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    let stdout = reader(child.stdout.take().unwrap());
    let stderr = reader(child.stderr.take().unwrap());
    let mut peak_kib = 0;
    let status = loop {
        peak_kib = peak_of(child.id()).unwrap_or(peak_kib);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > HANGING {
            child.kill().unwrap();
            panic!("the command hangs: {command:?}");
        }
        thread::sleep(Duration::from_millis(2));
    };
    Output {
        exit: status.code().unwrap_or(-1),
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
        elapsed: start.elapsed(),
        peak_kib,
    }
}

fn reader(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        text
    })
}

/// The high-water mark of a process's resident memory.
fn peak_of(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
