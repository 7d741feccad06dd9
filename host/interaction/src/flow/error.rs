//! Why a flow ended early, and what of it a flow itself may see.

use serde_json::{Value, json};
use thiserror::Error;
use tidegate_contract::failure::host_failure;
use tidegate_contract::{CallError, Failure, Status};

use super::FlowProblem;
use super::evaluate::EvaluateError;

/// The code of a blocked step.
const BLOCKED: &str = "BLOCKED";

/// Why a flow ended early.
#[derive(Debug, Error)]
pub enum FlowError {
    /// Nothing ran: the flow itself is wrong.
    #[error("the flow can't run")]
    Invalid(#[source] FlowProblem),
    /// A step's call was refused or gave no valid result, or the caller cancelled before it started.
    #[error("step `{step}` failed")]
    Call {
        /// The step, or the loop that did not go on.
        step: String,
        /// Why.
        #[source]
        source: CallError,
    },
    /// An agent's step was blocked.
    #[error("step `{step}` is blocked")]
    Blocked {
        /// The step.
        step: String,
        /// What it gave.
        value: Value,
    },
    /// An agent's step failed, or a step did in the part of the run that a journal brought back.
    #[error("step `{step}` failed: {}: {}", failure.code(), failure.message())]
    Failed {
        /// The step.
        step: String,
        /// Why.
        failure: Failure,
        /// What it gave, where it was blocked.
        value: Option<Box<Value>>,
    },
    /// An input, an output or an expression does not fit the context.
    #[error("`{step}` does not fit the context")]
    Context {
        /// The step; `result` for the flow's own result; for a loop or fanout its name and the key.
        step: String,
        /// Why.
        #[source]
        source: EvaluateError,
    },
    /// A loop was not done in time.
    #[error("loop `{name}` is not done after max_iterations = {max_iterations}")]
    Iterations {
        /// The loop.
        name: String,
        /// Its bound.
        max_iterations: u32,
    },
    /// A fanout has more items than it may.
    #[error("fanout `{name}` has {items} items, more than max_items = {max_items}")]
    Items {
        /// The fanout.
        name: String,
        /// How many there are.
        items: usize,
        /// Its bound.
        max_items: u32,
    },
    /// No lane of a fanout succeeded, or there was none.
    #[error("no lane of fanout `{name}` succeeded")]
    Lanes {
        /// The fanout.
        name: String,
        /// The error of the first lane.
        #[source]
        first: Option<Box<Self>>,
    },
    /// The journal failed, so the run can't go on.
    #[error("the journal of step `{step}` failed")]
    Journal {
        /// The step, or the node that keeps an outcome.
        step: String,
        /// Why.
        #[source]
        source: CallError,
    },
}

impl FlowError {
    /// A step that did not start, since the caller had cancelled.
    pub(super) fn cancelled(step: &str) -> Self {
        Self::Call {
            step: step.to_owned(),
            source: CallError::Ended {
                status: Status::Cancelled,
                failure: Failure::cancelled(),
            },
        }
    }

    pub(super) fn context(step: &str, source: EvaluateError) -> Self {
        Self::Context {
            step: step.to_owned(),
            source,
        }
    }

    pub(super) fn journal(step: &str, source: CallError) -> Self {
        Self::Journal {
            step: step.to_owned(),
            source,
        }
    }

    /// The step, loop or fanout that it is about; `None` when the flow itself is wrong.
    #[must_use]
    pub fn step(&self) -> Option<&str> {
        match self {
            Self::Invalid(_) => None,
            Self::Call { step, .. }
            | Self::Blocked { step, .. }
            | Self::Failed { step, .. }
            | Self::Context { step, .. }
            | Self::Journal { step, .. } => Some(step),
            Self::Iterations { name, .. } | Self::Items { name, .. } | Self::Lanes { name, .. } => {
                Some(name)
            }
        }
    }

    /// What a blocked step gave.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Blocked { value, .. } => Some(value),
            Self::Failed { value, .. } => value.as_deref(),
            _ => None,
        }
    }

    /// What may be shown to anyone: a stable code and a public message. The codes are those of calls
    /// and agents, and `BLOCKED`, `FLOW_INVALID`, `FLOW_CONTEXT`, `FLOW_ITERATIONS`, `FLOW_ITEMS`,
    /// `FLOW_LANES`.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        match self {
            Self::Call { source, .. } | Self::Journal { source, .. } => source.to_failure(),
            Self::Failed { failure, .. } => failure.clone(),
            Self::Blocked { .. } => host_failure(BLOCKED, self.to_string()),
            Self::Invalid(problem) => {
                host_failure("FLOW_INVALID", format!("{self}: {}", chain(problem)))
            }
            Self::Context { source, .. } => {
                host_failure("FLOW_CONTEXT", format!("{self}: {}", chain(source)))
            }
            Self::Iterations { .. } => host_failure("FLOW_ITERATIONS", self.to_string()),
            Self::Items { .. } => host_failure("FLOW_ITEMS", self.to_string()),
            Self::Lanes { .. } => host_failure("FLOW_LANES", chain(self)),
        }
    }

    /// Whether it says that the caller gave up.
    pub(super) fn is_cancelled(&self) -> bool {
        let Self::Call { source, .. } = self else {
            return false;
        };
        matches!(source, CallError::Ended { status, .. } if *status == Status::Cancelled)
    }

    /// Whether the run is over for reasons of its own, so that nothing in the flow may answer it.
    pub(super) fn is_final(&self) -> bool {
        match self {
            Self::Invalid(_) | Self::Journal { .. } => true,
            Self::Call { source, .. } => matches!(source, CallError::Closed),
            // What of it is left hangs on what else runs at the moment.
            Self::Context { source, .. } => matches!(source, EvaluateError::Context { .. }),
            _ => false,
        }
    }

    /// The error as a flow and a journal see it: `{code, message, step, value?}`.
    pub(super) fn report(&self) -> Value {
        let failure = self.to_failure();
        let mut report = json!({
            "code": failure.code(), "message": failure.message(), "step": self.step(),
        });
        if let (Some(report), Some(value)) = (report.as_object_mut(), self.value()) {
            report.insert("value".to_owned(), value.clone());
        }
        report
    }

    /// Reads what [`report`](Self::report) gave.
    pub(super) fn of_report(report: &Value) -> Option<Self> {
        let step = report.get("step")?.as_str()?.to_owned();
        let failure = Failure::from_value(report).ok()?;
        Some(match report.get("value").cloned() {
            Some(value) if failure.code() == BLOCKED => Self::Blocked { step, value },
            value => Self::Failed {
                step,
                failure,
                value: value.map(Box::new),
            },
        })
    }
}

/// An error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    line
}
