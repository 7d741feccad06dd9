//! One attempt that is done inside of the host, by a worker component (SPEC I9, GAP 13).

use std::sync::Arc;

use serde_json::Value;
use tidegate::{Caller, CancellationToken, Invocation, InvokeOptions, Parts, WorkEnd};
use tidegate_contract::{CallError, Failure};
use tidegate_sandbox::ambient;

use super::Shared;
use crate::error::WorkerError;
use crate::payload::Payload;
use crate::service::{Outcome, Service};
use crate::store::AttemptId;

/// The attempt, and for whom it is done.
pub(super) struct Inside<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) caller: &'a Caller,
    pub(super) attempt: AttemptId,
}

/// Takes what the worker stages, under the rules of what comes from outside.
struct Staging {
    service: Arc<Service>,
    attempt: AttemptId,
}

impl Parts for Staging {
    fn stage(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        let now_ms = ambient::now_ms();
        let staged = self
            .service
            .stage_inside(self.attempt, name, content, now_ms);
        let accepted = staged.map_err(|error| error.to_failure())?;
        warn(&accepted.warnings);
        Ok(())
    }
}

fn warn(warnings: &[String]) {
    for warning in warnings {
        tracing::warn!("{warning}");
    }
}

impl Inside<'_> {
    /// Has the worker do the attempt; another end of it, such as a re-kick, ends the worker.
    pub(super) async fn run(
        &self,
        worker: &str,
        cancel: &CancellationToken,
    ) -> Result<Outcome, WorkerError> {
        let service = &self.shared.service;
        let before = service.outcome(self.attempt)?;
        if before != Outcome::Open {
            // It ended before the host was stopped.
            return Ok(before);
        }
        let worked = self.work(worker, cancel);
        tokio::select! {
            biased;
            failure = worked => {
                if let Some(failure) = failure? {
                    self.fail(failure).await?;
                }
                service.outcome(self.attempt)
            }
            over = service.settled(self.attempt) => over,
        }
    }

    /// Runs the worker and keeps its value; answers why there is none.
    async fn work(
        &self,
        worker: &str,
        cancel: &CancellationToken,
    ) -> Result<Option<Failure>, WorkerError> {
        let service = &self.shared.service;
        let attempt = service.attempt(self.attempt)?;
        // Earlier values come through the step's own input: no pointers here.
        let payload = Payload::of(&attempt, &[]);
        let system = attempt.order.system;
        let invocation = Invocation {
            task_id: payload.task_id,
            attempt: payload.attempt,
            agent: payload.agent,
            system: (!system.is_empty()).then_some(system),
            prompt: payload.prompt,
            context: payload.context,
        };
        let parts = Arc::new(Staging {
            service: Arc::clone(service),
            attempt: self.attempt,
        });
        let options = InvokeOptions {
            caller: self.caller.clone(),
            cancel: cancel.clone(),
            ..InvokeOptions::default()
        };
        let runtime = &self.shared.runtime;
        match runtime.work(worker, invocation, parts, options).await {
            Ok(WorkEnd::Value(value)) => self.submit(value).await,
            Ok(WorkEnd::Ended { failure, .. }) => Ok(Some(failure)),
            // The host stops: the step has come to nothing, and goes on after the next start.
            Err(CallError::Closed) => Err(WorkerError::Closed),
            Err(error) => Ok(Some(error.to_failure())),
        }
    }

    async fn submit(&self, value: Value) -> Result<Option<Failure>, WorkerError> {
        let (service, attempt) = (Arc::clone(&self.shared.service), self.attempt);
        let submit = move || service.submit_inside(attempt, &value, ambient::now_ms());
        let submitted = self.shared.blocking(submit).await?;
        match submitted {
            Ok(accepted) => {
                warn(&accepted.warnings);
                Ok(None)
            }
            // Something else has ended it.
            Err(WorkerError::Gone | WorkerError::SubmitConflict) => Ok(None),
            Err(WorkerError::Store(error)) => Err(WorkerError::Store(error)),
            Err(refused) => Ok(Some(refused.to_failure())),
        }
    }

    async fn fail(&self, failure: Failure) -> Result<(), WorkerError> {
        let (service, attempt) = (Arc::clone(&self.shared.service), self.attempt);
        let fail = move || service.fail(attempt, &failure);
        self.shared.blocking(fail).await?
    }
}
