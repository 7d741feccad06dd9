//! The audit trail: one event for each decision and each call (SPEC X7).
//!
//! What was said stays out of it: sizes and digests stand for arguments and results. Deliberately
//! absent: where events go, and when they happened. That is the log's, which has a clock.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use tidegate_contract::{
    CallError, Delivery, ExternalResult, Failure, OutputReceipt, ReceiptStatus, Tenant, ToolCall,
};
use tidegate_engine::{WorkEnd, digest};

use crate::registry::Prepared;

/// Whose call an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject<'a> {
    /// The tenant.
    pub tenant: &'a str,
    /// The call's id, as the caller named it.
    pub call_id: &'a str,
    /// The tool.
    pub tool: &'a str,
}

/// How a call or delivery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended<'a> {
    /// The status of the result or receipt; absent when no valid one came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'a str>,
    /// The code of the failure or error; absent on success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'a str>,
    /// Whether it was refused before anything ran.
    pub refused: bool,
    /// Microseconds it waited for room; absent when it was refused before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited_us: Option<u64>,
    /// Microseconds from the request to the end, waiting included.
    pub took_us: u64,
}

/// One decision, or one call. Digests are SHA-256 in lower-case hex.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(
    tag = "event",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum AuditEvent<'a> {
    /// A config file was found in the working folder; only a trusted one may reach out of it.
    Trust {
        /// The file.
        path: &'a str,
        /// Its digest.
        digest: &'a str,
        /// Whether it is trusted.
        trusted: bool,
    },
    /// A plugin was loaded.
    Plugin {
        /// The operator's name for it.
        plugin: &'a str,
        /// The component's digest.
        digest: &'a str,
        /// Whether it had to be compiled: it was not in the cache, or what was there was no good.
        compiled: bool,
    },
    /// A caller asked for a tool.
    Permission {
        /// Whose call it is.
        #[serde(flatten)]
        of: Subject<'a>,
        /// The decision.
        allowed: bool,
        /// The kind of grant that decided.
        kind: &'a str,
        /// The name under that kind.
        name: &'a str,
    },
    /// A running plugin reached for what it was not granted.
    Denial {
        /// Whose call it is.
        #[serde(flatten)]
        of: Subject<'a>,
        /// What was denied, as `kind:name`.
        denied: &'a str,
    },
    /// A call passed a limit.
    Limit {
        /// Whose call it is.
        #[serde(flatten)]
        of: Subject<'a>,
        /// The limit's code, such as `LIMIT_MEMORY`.
        code: &'a str,
    },
    /// A call ended, or was refused.
    Call {
        /// Whose call it was.
        #[serde(flatten)]
        of: Subject<'a>,
        /// The digest of the tool's component; absent for a Rust type and before registration.
        #[serde(skip_serializing_if = "Option::is_none")]
        plugin_digest: Option<&'a str>,
        /// The digest of what the tool was granted, as JSON.
        #[serde(skip_serializing_if = "Option::is_none")]
        grant_digest: Option<&'a str>,
        /// Bytes of the arguments.
        arguments_bytes: usize,
        /// The digest of the arguments' text.
        arguments_digest: &'a str,
        /// Bytes of the result as JSON; 0 without one.
        result_bytes: usize,
        /// How it ended.
        #[serde(flatten)]
        ended: Ended<'a>,
    },
    /// A delivery ended, or was refused.
    Delivery {
        /// The tenant.
        tenant: &'a str,
        /// The delivery's id.
        delivery_id: &'a str,
        /// The chosen sink, or the only one; absent where neither is.
        #[serde(skip_serializing_if = "Option::is_none")]
        sink: Option<&'a str>,
        /// Bytes of the message as JSON; 0 when the delivery was refused.
        message_bytes: usize,
        /// What the sink reached for and was not granted, each as `kind:name`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        denied: Vec<&'a str>,
        /// How it ended.
        #[serde(flatten)]
        ended: Ended<'a>,
    },
    /// A worker component did a step, or was refused one.
    Step {
        /// The tenant.
        tenant: &'a str,
        /// The task of the step.
        task_id: &'a str,
        /// Which attempt of the step it was.
        attempt: u32,
        /// The worker.
        worker: &'a str,
        /// The digest of its component; absent where there is no such worker.
        #[serde(skip_serializing_if = "Option::is_none")]
        plugin_digest: Option<&'a str>,
        /// How it ended.
        #[serde(flatten)]
        ended: Ended<'a>,
    },
}

/// Takes the events of an audit trail. Called on the call's path, so it must not wait for long.
pub trait AuditLog: Send + Sync {
    /// Takes one event.
    fn record(&self, event: &AuditEvent<'_>);
}

/// Where a runtime's events go. Cloning gives another handle to the same log.
#[derive(Clone)]
pub struct Audit(Arc<dyn AuditLog>);

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Audit")
    }
}

impl Audit {
    /// Sends events to a log.
    #[must_use]
    pub fn to(log: impl AuditLog + 'static) -> Self {
        Self(Arc::new(log))
    }

    /// Records one event.
    pub fn record(&self, event: &AuditEvent<'_>) {
        self.0.record(event);
    }

    /// Records the decision on a call, and gives what its end is recorded with.
    pub(crate) fn decided<'a>(
        &'a self,
        call: &'a ToolCall,
        tenant: &'a Tenant,
        prepared: Result<&Prepared, &CallError>,
        started: Instant,
    ) -> CallTrail<'a> {
        let of = Subject {
            tenant: tenant.as_str(),
            call_id: call.id.as_str(),
            tool: call.name.as_str(),
        };
        let (allowed, kind, name) = match prepared {
            Err(CallError::PermissionDenied { kind, name, .. }) => (false, *kind, name.as_str()),
            _ => (true, "tool", of.tool),
        };
        self.record(&AuditEvent::Permission {
            of,
            allowed,
            kind,
            name,
        });
        let tool = prepared.ok().map(Prepared::tool);
        CallTrail {
            audit: self,
            of,
            started,
            arguments: call.arguments.text(),
            plugin_digest: tool.and_then(|tool| tool.digest().map(str::to_owned)),
            grant_digest: tool.and_then(|tool| {
                let grant = serde_json::to_vec(tool.grant()?).ok()?;
                Some(digest(&grant))
            }),
            recorded: false,
        }
    }

    /// As [`decided`](Self::decided), of a call of an MCP server's tool.
    pub(crate) fn decided_mcp<'a>(
        &'a self,
        (tool, call): (&'a str, &'a ToolCall),
        tenant: &'a Tenant,
        refused: Option<&CallError>,
        started: Instant,
    ) -> CallTrail<'a> {
        let of = Subject {
            tenant: tenant.as_str(),
            call_id: call.id.as_str(),
            tool,
        };
        let server = tool.rsplit_once(':').map_or(tool, |(server, _tool)| server);
        self.record(&AuditEvent::Permission {
            of,
            allowed: !matches!(refused, Some(CallError::PermissionDenied { .. })),
            kind: "mcp",
            name: server,
        });
        CallTrail {
            audit: self,
            of,
            started,
            arguments: call.arguments.text(),
            plugin_digest: None,
            grant_digest: None,
            recorded: false,
        }
    }

    /// Records the end of a delivery.
    pub(crate) fn delivered(
        &self,
        tenant: &Tenant,
        (delivery, sink): (&Delivery, Option<&str>),
        (started, waited): (Instant, Option<Duration>),
        end: &Result<OutputReceipt, CallError>,
    ) {
        let (status, code) = match end {
            Ok(receipt) => (
                Some(match receipt.status {
                    ReceiptStatus::Accepted => "accepted",
                    ReceiptStatus::Rejected => "rejected",
                    ReceiptStatus::Unknown => "unknown",
                }),
                receipt.error.as_ref().map(Failure::code),
            ),
            Err(error) => (None, Some(error.code())),
        };
        let refused = end.as_ref().is_err_and(CallError::is_refusal);
        // A refused message may be too deep to be written.
        let message_bytes = if refused { 0 } else { bytes(&delivery.message) };
        self.record(&AuditEvent::Delivery {
            tenant: tenant.as_str(),
            delivery_id: delivery.delivery_id.as_str(),
            sink,
            message_bytes,
            denied: end.iter().flat_map(OutputReceipt::denied).collect(),
            ended: Ended {
                status,
                code,
                refused,
                waited_us: waited.map(microseconds),
                took_us: microseconds(started.elapsed()),
            },
        });
    }

    /// Records the end of a worker's step.
    pub(crate) fn worked(
        &self,
        step: &Step<'_>,
        waited: Option<Duration>,
        end: &Result<WorkEnd, CallError>,
    ) {
        let (status, code) = match end {
            Ok(WorkEnd::Value(_)) => (Some("success"), None),
            Ok(WorkEnd::Ended { status, failure }) => (Some(status.as_str()), Some(failure.code())),
            Err(error) => (None, Some(error.code())),
        };
        self.record(&AuditEvent::Step {
            tenant: step.tenant.as_str(),
            task_id: step.task_id,
            attempt: step.attempt,
            worker: step.worker,
            plugin_digest: step.plugin_digest,
            ended: Ended {
                status,
                code,
                refused: end.as_ref().is_err_and(CallError::is_refusal),
                waited_us: waited.map(microseconds),
                took_us: microseconds(step.started.elapsed()),
            },
        });
    }
}

/// A worker's step before it runs.
pub(crate) struct Step<'a> {
    pub(crate) tenant: &'a Tenant,
    pub(crate) task_id: &'a str,
    pub(crate) attempt: u32,
    pub(crate) worker: &'a str,
    pub(crate) plugin_digest: Option<&'a str>,
    pub(crate) started: Instant,
}

/// What is known of a call before it runs.
pub(crate) struct CallTrail<'a> {
    audit: &'a Audit,
    of: Subject<'a>,
    started: Instant,
    arguments: &'a str,
    plugin_digest: Option<String>,
    grant_digest: Option<String>,
    /// The end is in the log.
    recorded: bool,
}

/// A caller that drops the call's future ends the call.
impl Drop for CallTrail<'_> {
    fn drop(&mut self) {
        if !self.recorded {
            self.record(None, Some("CANCELLED"), false, None);
        }
    }
}

impl CallTrail<'_> {
    /// Records what was denied and limited during the call, then its end.
    pub(crate) fn end(mut self, end: &Result<ExternalResult, CallError>, waited: Option<Duration>) {
        let of = self.of;
        let result = end.as_ref().ok();
        for denied in result.into_iter().flat_map(ExternalResult::denied) {
            self.audit.record(&AuditEvent::Denial { of, denied });
        }
        let code = match end {
            Ok(result) => result.error.as_ref().map(Failure::code),
            Err(error) => Some(error.code()),
        };
        if let Some(code) = code.filter(|code| code.starts_with("LIMIT_")) {
            self.audit.record(&AuditEvent::Limit { of, code });
        }
        let refused = end.as_ref().is_err_and(CallError::is_refusal);
        self.record(result, code, refused, waited);
    }

    fn record(
        &mut self,
        result: Option<&ExternalResult>,
        code: Option<&str>,
        refused: bool,
        waited: Option<Duration>,
    ) {
        self.recorded = true;
        self.audit.record(&AuditEvent::Call {
            of: self.of,
            plugin_digest: self.plugin_digest.as_deref(),
            grant_digest: self.grant_digest.as_deref(),
            arguments_bytes: self.arguments.len(),
            arguments_digest: &digest(self.arguments.as_bytes()),
            result_bytes: result.map_or(0, bytes),
            ended: Ended {
                status: result.map(|result| result.status.as_str()),
                code,
                refused,
                waited_us: waited.map(microseconds),
                took_us: microseconds(self.started.elapsed()),
            },
        });
    }
}

/// The size of a value as JSON. One that can't be written has none.
fn bytes(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(0, |text| text.len())
}

fn microseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
