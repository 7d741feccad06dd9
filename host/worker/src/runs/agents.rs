//! The steps of a run that are given to agents: each is an attempt, done outside by whoever claims it,
//! or inside by a worker component.
//!
//! A step follows its newest attempt: where a re-kick takes the place of one, the step waits for the
//! next. After a start an open attempt outside goes on as it was. One inside was interrupted: where its
//! agent is repeatable a new one takes its place, else it has failed, since what it did is not known.

use std::sync::Arc;

use serde_json::json;
use tidegate::flow::{AgentEnd, AgentStep, Agents};
use tidegate::{BoxFuture, Caller, CancellationToken};
use tidegate_contract::failure::host_failure;
use tidegate_contract::{CallError, Failure, Status};

use super::inside::Inside;
use super::{Shared, host_fault};
use crate::attempt::State;
use crate::blueprint::Blueprint;
use crate::error::WorkerError;
use crate::service::Outcome;
use crate::step::StepKey;
use crate::store::{AttemptId, NewAttempt, Reach};

/// Does the agents' steps of one run.
#[derive(Debug)]
pub(super) struct Dispatcher {
    pub(super) shared: Arc<Shared>,
    pub(super) run: String,
    pub(super) blueprint: Arc<Blueprint>,
    pub(super) caller: Caller,
}

impl Agents for Dispatcher {
    fn run<'a>(
        &'a self,
        step: AgentStep<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<AgentEnd, CallError>> {
        Box::pin(async move {
            let outcome = self.follow(step, cancel).await.map_err(refusal)?;
            match outcome {
                Some(outcome) => Ok(end(outcome)),
                None => Err(cancelled()),
            }
        })
    }
}

impl Dispatcher {
    /// What the step's attempts came to; `None` where it is cancelled.
    async fn follow(
        &self,
        step: AgentStep<'_>,
        cancel: &CancellationToken,
    ) -> Result<Option<Outcome>, WorkerError> {
        let place = step.place.as_str();
        let agent = self.blueprint.agent(step.agent);
        let is_repeatable = agent.is_some_and(|agent| agent.repeatable);
        let worker = agent.and_then(|agent| agent.worker.as_deref());
        let found = self.shared.store.attempt_at(&self.run, place)?;
        if cancel.is_cancelled() {
            if let Some(found) = found {
                self.give_up(found.id).await?;
            }
            return Ok(None);
        }
        let is_interrupted = worker.is_some() && found.as_ref().is_some_and(|a| a.state.is_open());
        let mut attempt = match found {
            Some(found) if !is_interrupted => found.id,
            Some(found) if !is_repeatable => self.interrupted(found.id).await?,
            Some(_) | None => self.dispatch(&step, worker.is_some()).await?,
        };
        loop {
            let ended = async {
                match worker {
                    None => self.shared.service.settled(attempt).await,
                    Some(worker) => self.inside(worker, attempt, cancel).await,
                }
            };
            let outcome = tokio::select! {
                biased;
                outcome = ended => outcome?,
                () = cancel.cancelled() => {
                    self.give_up(attempt).await?;
                    return Ok(None);
                }
            };
            if outcome != Outcome::Closed(State::Superseded) {
                return Ok(Some(outcome));
            }
            match self.shared.store.attempt_at(&self.run, place)? {
                Some(newest) if newest.id != attempt => attempt = newest.id,
                _ => return Ok(Some(outcome)),
            }
        }
    }

    async fn dispatch(
        &self,
        step: &AgentStep<'_>,
        is_inside: bool,
    ) -> Result<AttemptId, WorkerError> {
        let order = self
            .blueprint
            .order(step.agent, step.input.clone(), &step.meta)?;
        let new = NewAttempt {
            run: self.run.clone(),
            step: StepKey::new(step.name, step.lanes)?,
            agent: step.agent.to_owned(),
            order,
            place: Some(step.place.as_str().to_owned()),
            reach: if is_inside {
                Reach::Inside
            } else {
                Reach::Waiting
            },
            credentials: Vec::new(),
            expires_ms: u64::MAX,
        };
        let started = json!({"step": step.name, "place": step.place.as_str()});
        let kept = self.shared.store.dispatch_soon(new, started).await?;
        self.shared.service.dispatched(&kept, &self.run);
        if !is_inside {
            let agent = (self.caller.tenant.clone(), step.agent.to_owned());
            self.shared.service.waiting().agents.ring(&agent);
        }
        Ok(kept.id)
    }

    async fn inside(
        &self,
        worker: &str,
        attempt: AttemptId,
        cancel: &CancellationToken,
    ) -> Result<Outcome, WorkerError> {
        let inside = Inside {
            shared: &self.shared,
            caller: &self.caller,
            attempt,
        };
        inside.run(worker, cancel).await
    }

    /// Closes an attempt whose worker was at it when the host stopped.
    async fn interrupted(&self, attempt: AttemptId) -> Result<AttemptId, WorkerError> {
        let reason = "the host stopped while the worker was at it; what it had done is not known";
        let failure = host_failure("OUTCOME_UNKNOWN", reason.to_owned());
        let service = Arc::clone(&self.shared.service);
        let fail = move || service.fail(attempt, &failure);
        self.shared.blocking(fail).await??;
        Ok(attempt)
    }

    /// Closes an attempt that nobody waits for any more.
    async fn give_up(&self, attempt: AttemptId) -> Result<(), WorkerError> {
        self.shared.store.cancel_soon(attempt).await?;
        self.shared.service.waiting().runs.ring(&self.run);
        Ok(())
    }
}

fn end(outcome: Outcome) -> AgentEnd {
    let failed = |code, message: &str| AgentEnd::Failed(host_failure(code, message.to_owned()));
    match outcome {
        Outcome::Passed(value) => AgentEnd::Passed(value),
        Outcome::Blocked(value) => AgentEnd::Blocked(value),
        Outcome::Skipped => AgentEnd::Skipped,
        Outcome::Failed(failure) => AgentEnd::Failed(failure),
        Outcome::Closed(State::Expired) => failed(
            "ATTEMPT_EXPIRED",
            "the attempt's time ran out before a submit",
        ),
        Outcome::Closed(_) | Outcome::Open => failed("ATTEMPT_CLOSED", "the attempt was closed"),
    }
}

fn cancelled() -> CallError {
    CallError::Ended {
        status: Status::Cancelled,
        failure: Failure::cancelled(),
    }
}

/// A step that could not be given to anyone.
fn refusal(error: WorkerError) -> CallError {
    match error {
        WorkerError::Store(error) => host_fault(&error),
        // The run has ended in between.
        WorkerError::NotFound => cancelled(),
        WorkerError::Closed => CallError::Closed,
        other => CallError::InvalidCall {
            reason: other.to_string(),
        },
    }
}
