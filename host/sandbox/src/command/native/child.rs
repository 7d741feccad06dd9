//! Watching a command: both pipes are read at the same time, and its process group is ended with it
//! (CASES EX02, EX05, EX06, OU11).

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::fault;
use super::launch::READY;
use crate::command::{Bounded, CommandOutput, OutputBounds, Surroundings};
use crate::error::CommandError;

/// How often the caller is asked whether it has cancelled: half of what a cancel may take.
const TICK: Duration = Duration::from_millis(5);

/// How long a killed command is waited for, so that with a tick it stays under 10 ms. One with much
/// memory to give back, or that the kernel holds, takes longer; it is reaped before a later run.
const REAP: Duration = Duration::from_millis(4);

/// What is read at once: as much as a pipe holds by default.
const READ_BYTES: usize = 64 * 1024;

/// Most of the launcher's report that is kept, in bytes: one line of text.
const REPORT_BYTES: u32 = 1024;

/// A started launcher, soon the command. Dropping it kills the group.
pub(super) struct Running<'a> {
    /// None once it has been reaped: then its number may be another process's.
    child: Option<Child>,
    group: Pid,
    exit: OwnedFd,
    stdout: Stream,
    stderr: Stream,
    report: Stream,
    leftovers: &'a Mutex<Vec<Child>>,
}

/// One thing that the host reads from.
struct Stream {
    /// None at its end.
    from: Option<OwnedFd>,
    into: Bounded,
}

impl<'a> Running<'a> {
    /// Takes over a started launcher and the host's end of its socket.
    pub(super) fn new(
        mut child: Child,
        host: OwnedFd,
        bounds: OutputBounds,
        leftovers: &'a Mutex<Vec<Child>>,
    ) -> Result<Self, CommandError> {
        let lines = Bounded::lines(bounds.stdout_bytes, bounds.stdout_lines);
        let stdout = Stream::new(child.stdout.take().map(OwnedFd::from), lines);
        let bytes = Bounded::bytes(bounds.stderr_bytes);
        let stderr = Stream::new(child.stderr.take().map(OwnedFd::from), bytes);
        let group = Pid::from_child(&child);
        // The child has not been waited for, so the number is still its own.
        let exit = match pidfd_open(group, PidfdFlags::empty()) {
            Ok(exit) => exit,
            Err(error) => {
                kill(group);
                drop(child.wait());
                return Err(fault("watch the command")(error.into()));
            }
        };
        Ok(Self {
            child: Some(child),
            group,
            exit,
            stdout,
            stderr,
            report: Stream::new(Some(host), Bounded::bytes(REPORT_BYTES)),
            leftovers,
        })
    }

    /// Reads until the command ends, then ends what it has left behind.
    pub(super) fn finish(
        mut self,
        around: &Surroundings<'_>,
    ) -> Result<CommandOutput, CommandError> {
        let mut buffer = vec![0; READ_BYTES];
        while !self.read(&mut buffer, around)? {}
        // First the group: then what is in the pipes is the rest.
        kill(self.group);
        let drained = self.drain(&mut buffer);
        drained.map_err(fault("read the command's output"))?;
        let status = match self.child.take() {
            Some(mut child) => child.wait().map_err(fault("reap the command"))?,
            None => return Err(fault("reap the command")(Errno::CHILD.into())),
        };
        let report = std::mem::replace(&mut self.report.into, Bounded::bytes(0));
        check_report(&report.finish().0).map_err(fault("run the command"))?;
        let stdout = std::mem::replace(&mut self.stdout.into, Bounded::bytes(0));
        let stderr = std::mem::replace(&mut self.stderr.into, Bounded::bytes(0));
        let (stdout, stdout_omitted) = stdout.finish();
        let (stderr, stderr_omitted) = stderr.finish();
        Ok(CommandOutput {
            exit_code: exit_code(status),
            stdout,
            stderr,
            stdout_omitted,
            stderr_omitted,
        })
    }

    /// Waits for a tick at most and reads what is there; true when the command has ended.
    fn read(&mut self, buffer: &mut [u8], around: &Surroundings<'_>) -> Result<bool, CommandError> {
        if (around.cancelled)() {
            return Err(CommandError::Cancelled);
        }
        let left = around.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(CommandError::Deadline);
        }
        let streams = [&mut self.stdout, &mut self.stderr, &mut self.report];
        let read = read_ready(self.exit.as_fd(), streams, left.min(TICK), buffer);
        read.map_err(fault("read the command's output"))
    }

    /// Reads what the pipes hold now. Another process may hold them open, so the end of them is not
    /// waited for.
    fn drain(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        for stream in [&mut self.stdout, &mut self.stderr, &mut self.report] {
            let Some(from) = &stream.from else {
                continue;
            };
            let mut left = rustix::io::ioctl_fionread(from)?;
            while left > 0 && stream.from.is_some() {
                left = left.saturating_sub(stream.read(buffer)?);
            }
        }
        Ok(())
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        kill(self.group);
        let ended = wait_until(&mut [readable(&self.exit)], REAP);
        if !ended.is_ok_and(|ready| ready > 0) || matches!(child.try_wait(), Ok(None)) {
            lock(self.leftovers).push(child);
        }
    }
}

/// Reaps what has died since it was killed.
pub(super) fn reap(leftovers: &Mutex<Vec<Child>>) {
    lock(leftovers).retain_mut(|child| matches!(child.try_wait(), Ok(None)));
}

fn lock(leftovers: &Mutex<Vec<Child>>) -> MutexGuard<'_, Vec<Child>> {
    leftovers.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stream {
    fn new(from: Option<OwnedFd>, into: Bounded) -> Self {
        Self { from, into }
    }

    /// Reads once; the caller knows that it won't wait. Gives how many bytes came.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<u64> {
        let Some(from) = &self.from else {
            return Ok(0);
        };
        let read = match rustix::io::read(from, &mut *buffer) {
            Ok(read) => read,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(0),
            // The launcher had not read all of its orders when it ended.
            Err(Errno::CONNRESET) => 0,
            Err(error) => return Err(error.into()),
        };
        match buffer.get(..read) {
            Some(bytes) if read > 0 => self.into.push(bytes),
            _ => self.from = None,
        }
        Ok(u64::try_from(read).unwrap_or(u64::MAX))
    }
}

/// Waits for the command's end or for anything to read, and reads it; true at the command's end.
fn read_ready(
    exit: BorrowedFd<'_>,
    streams: [&mut Stream; 3],
    longest: Duration,
    buffer: &mut [u8],
) -> io::Result<bool> {
    let open = streams.iter().filter_map(|stream| stream.from.as_ref());
    let mut waited: Vec<_> = open
        .map(readable)
        .chain([PollFd::new(&exit, PollFlags::IN)])
        .collect();
    wait_until(&mut waited, longest)?;
    let mut ready: Vec<bool> = waited.iter().map(|fd| !fd.revents().is_empty()).collect();
    let ended = ready.pop().unwrap_or_default();
    let open = streams.into_iter().filter(|stream| stream.from.is_some());
    for (stream, _) in open.zip(ready).filter(|(_, ready)| *ready) {
        stream.read(buffer)?;
    }
    Ok(ended)
}

fn readable(fd: &OwnedFd) -> PollFd<'_> {
    PollFd::new(fd, PollFlags::IN)
}

/// How many are ready in the end; a signal to the host ends the wait as time does.
fn wait_until(waited: &mut [PollFd<'_>], longest: Duration) -> io::Result<usize> {
    let longest = Timespec::try_from(longest).map_err(io::Error::other)?;
    match poll(waited, Some(&longest)) {
        Err(Errno::INTR) => Ok(0),
        ready => Ok(ready?),
    }
}

fn kill(group: Pid) {
    if kill_process_group(group, Signal::KILL).is_err() {
        // All that can go wrong is that nobody is left in it.
    }
}

fn check_report(report: &[u8]) -> io::Result<()> {
    let text = match report.split_first() {
        Some((&READY, [])) => return Ok(()),
        Some((&READY, text)) => text,
        Some(_) => report,
        None => b"the launcher died",
    };
    Err(io::Error::other(String::from_utf8_lossy(text)))
}

/// A signal's number counts from 128, as in a shell.
fn exit_code(status: ExitStatus) -> u8 {
    let signal = || status.signal().map(|signal| signal.saturating_add(128));
    let code = status.code().or_else(signal);
    code.and_then(|code| u8::try_from(code).ok())
        .unwrap_or(u8::MAX)
}
