//! What the checks of one component share: the loaded plugin, the counts, and how a call is made.
//!
//! Each call is one of the engine's, in a fresh instance. The registry is not asked: what it would
//! refuse, the checks refuse by themselves, so that a guest can be seen without the host's own check.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::json;
use tidegate::{CallOptions, CancellationToken, Invocation, Plugin, ProgressSink, RunOn, WorkEnd};
use tidegate_contract::{
    CallError, CallId, Delivery, Document, JsonBounds, Limits, OutputReceipt, Problem,
    ReceiptStatus, Tenant, ToolCall, ToolName, ToolOutcome, Value, text,
};
use tidegate_engine::EndedBy;

use super::findings::{Findings, Subject};
use super::parts::StagedParts;
use super::progress::Progress;
use super::rules;

/// What was asked for, and what came of it so far.
pub(super) struct Bench {
    pub(super) plugin: Plugin,
    pub(super) findings: Findings,
    pub(super) progress: Progress,
    /// Cancelled by an interrupt.
    pub(super) interrupted: CancellationToken,
    pub(super) seed: u64,
    /// How many sets of arguments are made for a tool.
    pub(super) cases: usize,
    /// How many calls were made.
    pub(super) calls: usize,
}

/// What a guest is given.
#[derive(Clone, Debug)]
pub(super) enum Input {
    Arguments(ToolName, Value),
    Delivery(Delivery),
    Invocation(Invocation),
}

impl Input {
    /// It as text, cut to a length that fits on a line.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Arguments(_, arguments) => short(&arguments.to_string()),
            Self::Delivery(delivery) => short(&json!(delivery).to_string()),
            Self::Invocation(asked) => {
                short(&json!({"prompt": asked.prompt, "context": asked.context}).to_string())
            }
        }
    }
}

/// How much of an input is shown, in bytes.
const SHOWN_BYTES: usize = 160;

fn short(whole: &str) -> String {
    match text::cut(whole, SHOWN_BYTES) {
        cut if cut.len() < whole.len() => format!("{cut}… ({} bytes)", whole.len()),
        _ => whole.to_owned(),
    }
}

/// How a call ended, as far as its author is concerned. A receipt and a worker's end are told as
/// outcomes.
#[derive(Debug)]
pub(super) enum End {
    Outcome(Box<ToolOutcome>),
    /// `validate` refused the arguments.
    Refused(Vec<Problem>),
    /// The answer broke the contract.
    Broken(String),
    /// What it asked for was not granted.
    Denied(String),
}

/// One call that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) end: End,
    /// What ended it where the guest did not.
    pub(super) by: Option<EndedBy>,
    pub(super) took: Duration,
}

impl Bench {
    /// Calls the plugin, or the same one under other limits.
    pub(super) async fn call(&mut self, plugin: &Plugin, input: &Input) -> anyhow::Result<Ended> {
        let cancel = self.interrupted.child_token();
        self.call_until(plugin, input, cancel).await
    }

    /// The same with a token that ends it.
    pub(super) async fn call_until(
        &mut self,
        plugin: &Plugin,
        input: &Input,
        cancel: CancellationToken,
    ) -> anyhow::Result<Ended> {
        let (steps, goes_back) = steps();
        let options = self.options(plugin, cancel, steps);
        let started = Instant::now();
        let (subject, end) = match input {
            Input::Arguments(name, arguments) => {
                let call = ToolCall {
                    id: CallId::new(format!("check-{}", self.calls))?,
                    name: name.clone(),
                    arguments: Document::from_value(arguments.clone(), &JsonBounds::default())?,
                };
                let said = plugin.call_tool(name, &call, options).await;
                (Subject::Tool(name.to_string()), end(said)?)
            }
            Input::Delivery(delivery) => {
                let said = plugin.deliver(delivery.clone(), options).await;
                (Subject::Sink, end(said.map(received))?)
            }
            Input::Invocation(asked) => {
                let parts = Arc::new(StagedParts::default());
                let port = Arc::clone(&parts);
                let said = plugin.work(asked.clone(), port, options).await;
                for unfit in parts.unfit() {
                    self.findings
                        .add(&rules::PART_UNFIT, &Subject::Worker, unfit);
                }
                (Subject::Worker, end(said.map(worked))?)
            }
        };
        let took = started.elapsed();
        self.check_interrupt()?;
        if goes_back.load(Ordering::Relaxed) {
            let saw = "`done` was less than in the report before";
            self.findings.add(&rules::PROGRESS_GOES_BACK, &subject, saw);
        }
        let by = ended_by(&end, plugin.limits());
        Ok(Ended { end, by, took })
    }

    /// The options of a call that starts now; it is counted.
    fn options(
        &mut self,
        plugin: &Plugin,
        cancel: CancellationToken,
        progress: ProgressSink,
    ) -> CallOptions {
        self.calls += 1;
        self.progress.step(self.calls);
        CallOptions {
            deadline: plugin.deadline(),
            cancel,
            tenant: Tenant::default(),
            shelf: None,
            run_on: RunOn::GuestThread,
            progress: Some(progress),
        }
    }

    pub(super) fn check_interrupt(&self) -> anyhow::Result<()> {
        if self.interrupted.is_cancelled() {
            bail!("interrupted");
        }
        Ok(())
    }
}

/// Takes reports of progress, and notes when one is less than the one before.
fn steps() -> (ProgressSink, Arc<AtomicBool>) {
    let goes_back = Arc::new(AtomicBool::new(false));
    let (noted, last) = (Arc::clone(&goes_back), AtomicU64::new(0));
    let sink = ProgressSink::new(move |progress| {
        if last.swap(progress.done, Ordering::Relaxed) > progress.done {
            noted.store(true, Ordering::Relaxed);
        }
    });
    (sink, goes_back)
}

fn end(said: Result<ToolOutcome, CallError>) -> anyhow::Result<End> {
    Ok(match said {
        Ok(outcome) => End::Outcome(Box::new(outcome)),
        Err(CallError::InvalidArguments { problems }) => End::Refused(problems),
        Err(CallError::InvalidResult { reason } | CallError::InvalidReceipt { reason }) => {
            End::Broken(reason)
        }
        Err(CallError::Ended { status, failure }) => {
            End::Outcome(Box::new(ToolOutcome::ended(status, failure)))
        }
        Err(denied @ (CallError::PermissionDenied { .. } | CallError::ExecutorFault { .. })) => {
            End::Denied(denied.to_string())
        }
        Err(error) => return Err(error).context("the host could not make a call"),
    })
}

fn ended_by(end: &End, limits: &Limits) -> Option<EndedBy> {
    match end {
        End::Outcome(outcome) => EndedBy::of(outcome.error.as_ref()?, limits),
        End::Refused(_) | End::Broken(_) | End::Denied(_) => None,
    }
}

/// A receipt as an outcome.
fn received(receipt: OutputReceipt) -> ToolOutcome {
    let outcome = match receipt.error {
        Some(error) if receipt.status != ReceiptStatus::Accepted => ToolOutcome::failed(error),
        _ => ToolOutcome::text(receipt.status.as_str()),
    };
    ToolOutcome {
        metadata: receipt.metadata,
        ..outcome
    }
}

/// A worker's end as an outcome.
fn worked(end: WorkEnd) -> ToolOutcome {
    match end {
        WorkEnd::Value(value) => ToolOutcome::data(value),
        WorkEnd::Ended { status, failure } => ToolOutcome::ended(status, failure),
    }
}
