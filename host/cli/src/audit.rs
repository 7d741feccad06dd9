//! The audit trail as JSON lines, in a file or on stderr.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tidegate::{Audit, AuditEvent, AuditLog};
use tidegate_sandbox::ambient;

use crate::print;

/// Opens what `--audit` names: a file to append to, or `-` for stderr.
///
/// # Errors
///
/// The file can't be opened or made.
pub(crate) fn open(typed: &Path) -> anyhow::Result<Audit> {
    let file = if typed.as_os_str() == "-" {
        None
    } else {
        Some(Mutex::new(ambient::append_to(typed)?))
    };
    Ok(Audit::to(Lines { file }))
}

/// One line an event.
struct Lines {
    /// `None` is stderr.
    file: Option<Mutex<File>>,
}

/// An event with the moment it was written down.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    /// Milliseconds since 1970-01-01 UTC.
    time_ms: u64,
    #[serde(flatten)]
    event: &'a AuditEvent<'a>,
}

impl AuditLog for Lines {
    fn record(&self, event: &AuditEvent<'_>) {
        let time_ms = ambient::now_ms();
        let mut line = match serde_json::to_string(&Line { time_ms, event }) {
            Ok(line) => line,
            Err(error) => return tracing::error!(%error, "an audit event was lost"),
        };
        let Some(file) = &self.file else {
            return print::warning(&line);
        };
        line.push('\n');
        // One write a line, so that two processes can append to one file.
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(line.as_bytes()) {
            tracing::error!(%error, "an audit event was lost");
        }
    }
}
