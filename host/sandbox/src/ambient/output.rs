//! What a program prints that the operator named, for a secret.
#![expect(
    clippy::disallowed_methods,
    reason = "a part of the door through which ambient authority becomes handles"
)]

use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How long a program may take to print a secret.
const OUTPUT_WITHIN: Duration = Duration::from_mins(1);

/// What a program prints, at most `limit_bytes` and two more, so that more can be told from enough.
///
/// # Errors
///
/// It can't be started, fails, or takes longer than a minute, after which it and what it started are
/// ended.
pub fn output_of(program: &str, arguments: &[String], limit_bytes: usize) -> io::Result<Vec<u8>> {
    let until = Instant::now() + OUTPUT_WITHIN;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let printed = read_aside(child.stdout.take(), limit_bytes.saturating_add(2));
    let bytes = printed.recv_timeout(until.saturating_duration_since(Instant::now()));
    let end = match bytes {
        Ok(Ok(bytes)) if bytes.len() > limit_bytes.saturating_add(1) => Ok(bytes),
        Ok(Ok(bytes)) => loop {
            match child.try_wait()? {
                Some(status) if status.success() => return Ok(bytes),
                Some(status) => return Err(io::Error::other(format!("it failed: {status}"))),
                None if Instant::now() >= until => break Err(io::ErrorKind::TimedOut.into()),
                None => thread::sleep(Duration::from_millis(10)),
            }
        },
        Ok(Err(error)) => Err(error),
        Err(_late) => Err(io::ErrorKind::TimedOut.into()),
    };
    match kill_process_group(Pid::from_child(&child), Signal::KILL) {
        // The group may have ended in the meantime.
        Ok(()) | Err(_) => {}
    }
    child.wait()?;
    end
}

/// Reads a pipe to its end on a thread of its own, or to so many bytes.
fn read_aside(pipe: Option<ChildStdout>, most_bytes: usize) -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (sender, read) = mpsc::channel();
    if let Some(pipe) = pipe {
        let most = u64::try_from(most_bytes).unwrap_or(u64::MAX);
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let end = pipe.take(most).read_to_end(&mut bytes);
            // Nobody waits any more after the time for it.
            drop(sender.send(end.map(|_length| bytes)));
        });
    }
    read
}
