//! The plugin contract's own imports: context, exec, file status. The others have files of their own:
//! `artifacts.rs`, and `worker.rs` for parts.

use std::path::Path;
use std::time::{Duration, Instant};

use tidegate_contract::failure::host_failure;
use tidegate_contract::limits::{LOG_LINE_BYTES, LOG_LINES};
use tidegate_contract::{Failure, text};
use tidegate_sandbox::command::{CommandRun, OutputBounds};
use tidegate_sandbox::denial::{Denial, Kind};
use tidegate_sandbox::files::{self, Follow, Status};
use tidegate_sandbox::{Access, names};

use crate::bindings::tidegate::plugin::{context, exec, file_status, types};
use crate::command;
use crate::progress::CallProgress;
use crate::saturating::to_u64;
use crate::secrets;
use crate::store::CallState;

/// How many lines a call has logged and how many were dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Log {
    lines: usize,
    pub(crate) omitted_lines: u64,
    /// Bytes cut from lines that were too long, and those of dropped lines.
    pub(crate) omitted_bytes: u64,
}

impl Log {
    fn omit(&mut self, bytes: usize) {
        self.omitted_bytes = self.omitted_bytes.saturating_add(to_u64(bytes));
    }
}

/// Shortest time between two progress reports that are passed on.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

impl context::Host for CallState {
    fn call_id(&mut self) -> wasmtime::Result<String> {
        Ok(self.call_id.to_string())
    }

    fn config(&mut self) -> wasmtime::Result<String> {
        Ok(self.setup.config.to_string())
    }

    fn remaining_ms(&mut self) -> wasmtime::Result<u64> {
        let remaining = self
            .watch
            .deadline()
            .at
            .saturating_duration_since(Instant::now());
        Ok(u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX))
    }

    fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(self.watch.is_cancelled())
    }

    fn progress(&mut self, done: u64, total: Option<u64>, note: String) -> wasmtime::Result<()> {
        let now = Instant::now();
        let soon = |last: Instant| now.duration_since(last) < PROGRESS_INTERVAL;
        if !self.last_progress.is_some_and(soon) {
            self.last_progress = Some(now);
            let (plugin, call_id, note) = (&*self.setup.plugin, &*self.call_id, self.shown(note));
            if let Some(sink) = self.watch.progress() {
                let note = &note;
                sink.report(&CallProgress { done, total, note });
            }
            tracing::info!(target: "tidegate::progress", plugin, call_id, done, total, note);
        }
        Ok(())
    }

    fn log(&mut self, level: context::Level, text: String) -> wasmtime::Result<()> {
        if self.log.lines >= LOG_LINES {
            self.log.omitted_lines = self.log.omitted_lines.saturating_add(1);
            self.log.omit(text.len());
            return Ok(());
        }
        self.log.lines += 1;
        self.log.omit(
            text.len()
                .saturating_sub(text::cut(&text, LOG_LINE_BYTES).len()),
        );
        let (plugin, call_id, text) = (&*self.setup.plugin, &*self.call_id, self.shown(text));
        match level {
            context::Level::Trace => {
                tracing::trace!(target: "tidegate::plugin", plugin, call_id, text);
            }
            context::Level::Debug => {
                tracing::debug!(target: "tidegate::plugin", plugin, call_id, text);
            }
            context::Level::Info => {
                tracing::info!(target: "tidegate::plugin", plugin, call_id, text);
            }
            context::Level::Warn => {
                tracing::warn!(target: "tidegate::plugin", plugin, call_id, text);
            }
            context::Level::Error => {
                tracing::error!(target: "tidegate::plugin", plugin, call_id, text);
            }
        }
        Ok(())
    }
}

impl CallState {
    /// A guest's text as the log shows it.
    fn shown(&self, text: String) -> String {
        one_line(&secrets::redacted(&self.setup.handles.secrets, text))
    }
}

/// A guest's text made fit for a log: bounded, and no control character that forges a line.
fn one_line(line: &str) -> String {
    let mut shown = String::new();
    for character in text::cut(line, LOG_LINE_BYTES).chars() {
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

impl exec::Host for CallState {
    fn run(
        &mut self,
        command: String,
        args: Vec<String>,
        bounds: exec::Bounds,
    ) -> wasmtime::Result<Result<exec::Output, types::Failure>> {
        let run = CommandRun {
            command,
            args,
            bounds: OutputBounds {
                stdout_bytes: bounds.stdout_bytes,
                stderr_bytes: bounds.stderr_bytes,
                stdout_lines: bounds.stdout_lines,
            },
        };
        let output = command::run(self, &run)?.map(|output| exec::Output {
            exit_code: output.exit_code,
            stdout: output.stdout,
            stderr: output.stderr,
            stdout_omitted: output.stdout_omitted,
            stderr_omitted: output.stderr_omitted,
        });
        Ok(output.map_err(|failure| public(&failure)))
    }
}

impl file_status::Host for CallState {
    fn get(
        &mut self,
        path: String,
        follow: bool,
    ) -> wasmtime::Result<Result<file_status::Status, types::Failure>> {
        let follow = if follow { Follow::Yes } else { Follow::No };
        let Some((dir, below)) = self.readable(&path) else {
            self.denials.record(Denial::new(Kind::Read, &path));
            let message = "no read grant covers the path".to_owned();
            return Ok(Err(public(&host_failure("PERMISSION_DENIED", message))));
        };
        let below = if below.as_os_str().is_empty() {
            Path::new(".")
        } else {
            below
        };
        let below = names::for_system(below.to_str().unwrap_or_default());
        match files::status(dir, Path::new(&*below), follow) {
            Ok(status) => Ok(Ok(status.into())),
            Err(error) => {
                if error.kind() == std::io::ErrorKind::PermissionDenied {
                    self.denials.record(Denial::new(Kind::Read, &path));
                }
                Ok(Err(public(&host_failure(
                    io_code(error.kind()),
                    io_message(error.kind()),
                ))))
            }
        }
    }
}

fn io_code(kind: std::io::ErrorKind) -> &'static str {
    match kind {
        std::io::ErrorKind::NotFound => "NOT_FOUND",
        std::io::ErrorKind::PermissionDenied => "PERMISSION_DENIED",
        std::io::ErrorKind::NotADirectory => "NOT_A_FOLDER",
        _ => "STATUS_FAILED",
    }
}

fn io_message(kind: std::io::ErrorKind) -> String {
    kind.to_string()
}

impl CallState {
    /// The nearest folder with a read grant that holds `path`, and the path below it.
    fn readable<'a>(&'a self, path: &'a str) -> Option<(&'a std::fs::File, &'a Path)> {
        let path = Path::new(path);
        let path = path.strip_prefix(".").unwrap_or(path);
        self.setup.handles.folders.iter().find_map(|folder| {
            let below = if folder.guest_path == "." {
                path.is_relative().then_some(path)
            } else {
                path.strip_prefix(&folder.guest_path).ok()
            }?;
            (folder.access != Access::Write).then_some((&*folder.dir, below))
        })
    }
}

impl From<Status> for file_status::Status {
    fn from(status: Status) -> Self {
        Self {
            mode: status.mode,
            uid: status.uid,
            gid: status.gid,
            device: status.device,
            inode: status.inode,
            links: status.links,
            size_bytes: status.size_bytes,
            blocks: status.blocks,
            block_size_bytes: u32::try_from(status.block_size_bytes).unwrap_or(u32::MAX),
            accessed_ns: nanoseconds(status.accessed),
            modified_ns: nanoseconds(status.modified),
            changed_ns: nanoseconds(status.changed),
        }
    }
}

/// Nanoseconds since 1970; times past the year 2262 or before 1677 stop at the edge (CASES FS13).
fn nanoseconds((seconds, nanoseconds): (i64, i64)) -> i64 {
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}

impl types::Host for CallState {}

/// A failure as the guest sees it.
pub(crate) fn public(failure: &Failure) -> types::Failure {
    types::Failure {
        code: failure.code().to_owned(),
        message: failure.message().to_owned(),
        retryable: failure.retryable(),
    }
}
