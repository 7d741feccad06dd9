//! Every way a call ends without a result: its code, its HTTP status and its public text.
//!
//! Three owners: the caller (fix the call), the plugin (it broke the contract), the host (our
//! fault). A business failure is no error: it is a result whose status is not `success`.

use crate::failure::{Failure, MESSAGE_CHARACTERS, host_failure};
use crate::json::JsonError;
use crate::result::Status;
use crate::shape::ShapeError;
use crate::tool::Problem;

/// Why a call has no result. Each variant is what the caller can do about it.
///
/// Source: SPEC E.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The call is malformed: send another one.
    #[error("invalid call: {reason}")]
    InvalidCall {
        /// What is wrong with which field.
        reason: String,
    },
    /// The tool does not take these arguments: change them.
    #[error("invalid arguments: {}", list(problems, usize::MAX))]
    InvalidArguments {
        /// What is wrong where.
        problems: Vec<Problem>,
    },
    /// The caller's sandbox does not permit it: ask for the grant in `hint`.
    #[error("permission denied: {kind}:{name}{}", after_semicolon(hint))]
    PermissionDenied {
        /// The kind of grant, for example `tool`.
        kind: &'static str,
        /// What would have to be granted.
        name: String,
        /// What would permit it, in words; may be empty.
        hint: String,
    },
    /// No tool has this name.
    #[error("unknown tool: {name}")]
    UnknownTool {
        /// The name in the call.
        name: String,
    },
    /// No MCP server has this name.
    #[error("unknown MCP server: {name}")]
    UnknownServer {
        /// The name in the call.
        name: String,
    },
    /// The runtime was made without what this node needs.
    #[error("{node} is not injected in this runtime")]
    NotInjected {
        /// The node, for example `INTERACTION.ACT.MCP`.
        node: &'static str,
    },
    /// Too many calls are waiting: try later.
    #[error("the queue of {limit} waiting calls is full")]
    QueueFull {
        /// How many calls may wait.
        limit: usize,
    },
    /// The runtime takes no new calls.
    #[error("the runtime is closed")]
    Closed,
    /// The plugin's answer breaks the contract; effects are unknown.
    #[error("invalid result: {reason}")]
    InvalidResult {
        /// What is wrong with it.
        reason: String,
    },
    /// The sink's receipt proves nothing; the delivery is unknown.
    #[error("invalid receipt: {reason}")]
    InvalidReceipt {
        /// What is wrong with it.
        reason: String,
    },
    /// The command executor failed; effects are unknown.
    #[error("executor fault: {reason}")]
    ExecutorFault {
        /// What happened.
        reason: String,
    },
    /// A result held a secret that the host keeps, so it was thrown away.
    #[error("the result held a secret")]
    SecretInResult,
    /// The host itself failed.
    #[error("host fault: {reason}")]
    HostFault {
        /// What happened, for the log.
        reason: String,
    },
    /// The call was cancelled or timed out before execute started; waiting counts.
    #[error("{}: {}", status.as_str(), failure.message())]
    Ended {
        /// `cancelled` or `timeout`.
        status: Status,
        /// The code and the public text.
        failure: Failure,
    },
}

impl CallError {
    /// A denial with the `--allow` line that would permit it.
    #[must_use]
    pub fn denied(kind: &'static str, name: impl Into<String>) -> Self {
        let name = name.into();
        let hint = match name.as_str() {
            "" => format!("permit it with --allow {kind}"),
            name => format!("permit it with --allow {kind}={name}"),
        };
        Self::PermissionDenied { kind, name, hint }
    }

    /// The stable code, for example `INVALID_CALL`.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Ended { failure, .. } => failure.code(),
            other => other.own_code(),
        }
    }

    /// Whether the call was refused before anything ran: exit code 2 on the command line.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::InvalidCall { .. }
            | Self::InvalidArguments { .. }
            | Self::PermissionDenied { .. }
            | Self::UnknownTool { .. }
            | Self::UnknownServer { .. }
            | Self::NotInjected { .. }
            | Self::QueueFull { .. }
            | Self::Closed => true,
            Self::InvalidResult { .. }
            | Self::InvalidReceipt { .. }
            | Self::ExecutorFault { .. }
            | Self::SecretInResult
            | Self::HostFault { .. }
            | Self::Ended { .. } => false,
        }
    }

    /// The HTTP status of an answer that carries this error.
    #[must_use]
    pub fn http_status(&self) -> u16 {
        match self {
            Self::InvalidCall { .. } | Self::InvalidArguments { .. } => 400,
            Self::PermissionDenied { .. } => 403,
            Self::UnknownTool { .. } | Self::UnknownServer { .. } | Self::NotInjected { .. } => 404,
            Self::QueueFull { .. } => 429,
            Self::HostFault { .. } => 500,
            Self::InvalidResult { .. }
            | Self::InvalidReceipt { .. }
            | Self::ExecutorFault { .. }
            | Self::SecretInResult => 502,
            Self::Closed => 503,
            Self::Ended {
                status: Status::Timeout,
                ..
            } => 504,
            // No status of the standard means "the caller went away"; 499 is what proxies use.
            Self::Ended { .. } => 499,
        }
    }

    /// What may be shown to anyone: the code and a message that passes the rules of public
    /// errors. Problems of arguments are listed as `#/pointer: reason` as far as they fit.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        match self {
            Self::Ended { failure, .. } => failure.clone(),
            Self::InvalidArguments { problems } => {
                let listed = list(problems, MESSAGE_CHARACTERS - 64);
                host_failure(self.own_code(), format!("invalid arguments: {listed}"))
            }
            other => host_failure(other.own_code(), other.to_string()),
        }
    }

    /// The code of every variant that does not bring its own.
    fn own_code(&self) -> &'static str {
        match self {
            Self::InvalidCall { .. } => "INVALID_CALL",
            Self::InvalidArguments { .. } => "INVALID_ARGUMENTS",
            Self::PermissionDenied { .. } => "PERMISSION_DENIED",
            Self::UnknownTool { .. } => "UNKNOWN_TOOL",
            Self::UnknownServer { .. } => "UNKNOWN_SERVER",
            Self::NotInjected { .. } => "NOT_INJECTED",
            Self::QueueFull { .. } => "QUEUE_FULL",
            Self::Closed => "CLOSED",
            Self::InvalidResult { .. } => "INVALID_RESULT",
            Self::InvalidReceipt { .. } => "INVALID_RECEIPT",
            Self::ExecutorFault { .. } => "EXECUTOR_FAULT",
            Self::SecretInResult => "SECRET_IN_RESULT",
            Self::HostFault { .. } => "HOST_FAULT",
            Self::Ended { .. } => "CANCELLED",
        }
    }
}

impl From<ShapeError> for CallError {
    fn from(error: ShapeError) -> Self {
        Self::InvalidCall {
            reason: error.to_string(),
        }
    }
}

impl From<JsonError> for CallError {
    fn from(error: JsonError) -> Self {
        Self::InvalidCall {
            reason: error.to_string(),
        }
    }
}

/// The problems as one line of at most about `room` characters; those that do not fit are
/// counted. A pointer is written in its URI form, `#/a/b`, so that it does not read as a path.
fn list(problems: &[Problem], room: usize) -> String {
    let mut line = String::new();
    let mut used = 0_usize;
    for (index, problem) in problems.iter().enumerate() {
        let Problem { pointer, reason } = problem;
        let separator = if index == 0 { "" } else { "; " };
        let item = match pointer.as_str() {
            "" => format!("{separator}{reason}"),
            _ => format!("{separator}#{pointer}: {reason}"),
        };
        used = used.saturating_add(item.chars().count());
        if used > room && index > 0 {
            let left = problems.len() - index;
            return format!("{line}; and {left} more");
        }
        line.push_str(&item);
    }
    line
}

fn after_semicolon(hint: &str) -> String {
    match hint {
        "" => String::new(),
        hint => format!("; {hint}"),
    }
}
