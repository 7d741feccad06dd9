//! Programs of the operator that the host talks to over their standard streams (CASES EX04).
//!
//! A program is found once and run by the path that was found. It is as trusted as its operator: it
//! runs as the host's user, unconfined. What it does not get is the host's environment (only
//! [`INHERITED`] and what is given by name), its descriptors, and its process group: the group is
//! killed when the handle is dropped, and the program itself wherever it is. What it started and what
//! left the group is not caught.

use std::ffi::OsString;
use std::fmt;
use std::fs::Metadata;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::ambient::{self, child};
use crate::error::{ProgramError, SandboxError};

/// The variables of the host that a child has as well: what programs need to find others and their own
/// files, and to write text. None of them is a place for secrets.
pub const INHERITED: [&str; 6] = ["HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "USER"];

/// How often a child that was asked to end is looked at.
const TICK: Duration = Duration::from_millis(5);

/// How long a child that was killed is looked at: one that the kernel holds for longer is left to it.
const REAP_WITHIN: Duration = Duration::from_secs(10);

/// A program that was found, with all that it is started with.
#[derive(Clone)]
pub struct ChildProgram {
    path: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(OsString, OsString)>,
}

impl fmt::Debug for ChildProgram {
    /// Arguments and values of variables may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildProgram")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl ChildProgram {
    /// Finds a program: a name with a slash is relative to `folder`, another is looked for in the
    /// folders of `PATH`. `environment` is laid over what is inherited.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Command`] when it is not there, can't be executed, or can be written by every
    /// user of the machine; or when a text can't be passed to a program.
    pub fn find(
        name: &str,
        folder: &Path,
        arguments: Vec<String>,
        environment: &[(String, String)],
    ) -> Result<Self, SandboxError> {
        let refused = |reason| SandboxError::Command {
            name: name.to_owned(),
            reason,
        };
        let open = |source| ProgramError::Open {
            path: name.to_owned(),
            source,
        };
        let path = child::find_program(name, folder).map_err(|error| refused(open(error)))?;
        let file = ambient::open_for_reading(&path);
        let metadata = file.and_then(|file| file.metadata());
        let metadata = metadata.map_err(|error| refused(open(error)))?;
        check_program(&metadata).map_err(refused)?;
        let is_unfit = |(name, value): &(String, String)| {
            name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
        };
        if environment.iter().any(is_unfit) || arguments.iter().any(|text| text.contains('\0')) {
            return Err(refused(ProgramError::Unpassable));
        }
        let mut variables = child::variables(&INHERITED);
        for (name, value) in environment {
            variables.retain(|(other, _)| other.as_os_str() != name.as_str());
            variables.push((name.into(), value.into()));
        }
        Ok(Self {
            path,
            arguments,
            environment: variables,
        })
    }

    /// What is run.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts it.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Command`] with what the system said.
    pub fn start(&self) -> Result<(RunningChild, ChildStreams), SandboxError> {
        let started = child::start(&self.path, &self.arguments, &self.environment);
        let failed = |source| SandboxError::Command {
            name: self.path.display().to_string(),
            reason: ProgramError::Open {
                path: self.path.display().to_string(),
                source,
            },
        };
        let mut child = started.map_err(failed)?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let running = RunningChild {
            group: Pid::from_child(&child),
            child: Some(child),
        };
        match streams {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((
                running,
                ChildStreams {
                    stdin: stdin.into(),
                    stdout: stdout.into(),
                    stderr: stderr.into(),
                },
            )),
            _ => Err(failed(std::io::ErrorKind::BrokenPipe.into())),
        }
    }
}

fn check_program(metadata: &Metadata) -> Result<(), ProgramError> {
    if !metadata.is_file() || metadata.mode() & 0o111 == 0 {
        return Err(ProgramError::NotExecutable);
    }
    if metadata.mode() & 0o002 != 0 {
        return Err(ProgramError::Writable);
    }
    Ok(())
}

/// The host's ends of a child's streams.
#[derive(Debug)]
pub struct ChildStreams {
    /// What the child reads.
    pub stdin: OwnedFd,
    /// What it answers.
    pub stdout: OwnedFd,
    /// What it says beside.
    pub stderr: OwnedFd,
}

/// A child that runs. Dropping it kills it and its process group, and waits for neither.
#[derive(Debug)]
pub struct RunningChild {
    /// None once it has been reaped: then its number may be another process's.
    child: Option<Child>,
    group: Pid,
}

impl RunningChild {
    /// Waits for a child whose input was closed to end by itself, and kills it and what it started
    /// when it does not. Blocks the thread.
    pub fn end_within(self, longest: Duration) {
        let until = Instant::now() + longest;
        // It is not reaped by looking, so that its number stays its own until the group is killed.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let runs = || matches!(waitid(WaitId::Pid(self.group), look), Ok(None));
        while runs() && Instant::now() < until {
            sleep(TICK);
        }
        drop(self);
    }
}

impl Drop for RunningChild {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        // Before it is reaped, so that the number is still its own. What it had started may be left
        // although it has ended itself.
        match kill_process_group(self.group, Signal::KILL) {
            // The group may be empty already.
            Ok(()) | Err(_) => {}
        }
        // It may have left its group.
        match child.kill() {
            // It may have ended already.
            Ok(()) | Err(_) => {}
        }
        if let Ok(None) = child.try_wait() {
            let thread = Builder::new().name("reaping".to_owned());
            // Whoever drops it may be driving others. Without a thread it stays a dead entry of the
            // system's table until the host ends.
            drop(thread.spawn(move || reap(child)));
        }
    }
}

fn reap(mut child: Child) {
    let until = Instant::now() + REAP_WITHIN;
    while let Ok(None) = child.try_wait()
        && Instant::now() < until
    {
        sleep(TICK);
    }
}
