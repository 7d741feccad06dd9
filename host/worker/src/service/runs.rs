//! The operator's side: starting runs, handing attempts out, and what an attempt came to.

use std::sync::PoisonError;

use cap_std::fs::Dir;
use serde_json::Value;
use tidegate_contract::Failure;
use tidegate_contract::failure::host_failure;

use super::Service;
use crate::attempt::State;
use crate::error::WorkerError;
use crate::fold::{self, SubmitFormat};
use crate::part::check_file_name;
use crate::projection::{CheckPolicy, Placement};
use crate::step::StepKey;
use crate::store::{Attempt, AttemptId, Kept, NewAttempt, Order, Reach, Reading, Run};
use crate::token::{Credential, Form};

/// The longest id of a task or a run, which are names of folders.
const ID_BYTES: usize = 128;

/// An attempt to be handed out.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// Its run.
    pub run: String,
    /// Its step.
    pub step: StepKey,
    /// Who is to do it.
    pub agent: String,
    /// What is to be done.
    pub order: Order,
}

/// An attempt that was handed out. The credentials are nowhere else.
#[derive(Debug)]
pub struct Dispatched {
    /// Which.
    pub attempt: AttemptId,
    /// Which attempt of its step, from 1.
    pub number: u32,
    /// Its capability token.
    pub token: Credential,
    /// The short form of the same.
    pub handle: Credential,
    /// When both end, in milliseconds since 1970.
    pub expires_ms: u64,
}

/// What an attempt came to, for the flow that waits for it.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It goes on.
    Open,
    /// The step passes with this value.
    Passed(Value),
    /// The step fails with this value.
    Blocked(Value),
    /// The step leaves no output.
    Skipped,
    /// The step fails without a value.
    Failed(Failure),
    /// It came to nothing of its own: cancelled, expired or superseded.
    Closed(State),
}

impl Service {
    /// Keeps a run and gives it its folder. `root` is the opened form of what the launch names.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` when an id is no short plain name, the placement or the metadata is not
    /// valid, or the policy is strict and there is no folder; `RunExists`; else `Store`.
    pub fn launch(&self, run: &Run, root: Option<Dir>) -> Result<(), WorkerError> {
        Self::check_launch(run, root.as_ref())?;
        self.store.create_run(run)?;
        if let Some(root) = root {
            self.attach(&run.id, root);
        }
        Ok(())
    }

    /// Whether a run can be kept.
    pub(crate) fn check_launch(run: &Run, root: Option<&Dir>) -> Result<(), WorkerError> {
        let invalid = |reason: &str| WorkerError::InvalidRequest {
            reason: reason.to_owned(),
        };
        for id in [&run.task, &run.id] {
            if id.len() > ID_BYTES || check_file_name(id).is_err() {
                return Err(invalid("the ids of a task and a run are short plain names"));
            }
        }
        run.launch.check()?;
        if let Some(template) = &run.launch.placement {
            Placement::parse(template)?;
        }
        if root.is_none() && run.launch.check_policy == CheckPolicy::Strict {
            return Err(invalid(
                "a strict policy needs `work_dir` or `project_root`",
            ));
        }
        Ok(())
    }

    /// Starts an attempt of a step with credentials of its own. Where the step has one already, this
    /// is a re-kick: the old credentials are dead.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` when the order can't be kept, `NotFound` when the run is not there or has
    /// ended; else `Store`.
    pub fn dispatch(&self, dispatch: Dispatch, now_ms: u64) -> Result<Dispatched, WorkerError> {
        dispatch.order.check()?;
        let (token, handle) = (
            Credential::mint(Form::Token),
            Credential::mint(Form::Handle),
        );
        let expires_ms = now_ms.saturating_add(dispatch.order.lifetime_ms());
        let Dispatch {
            run,
            step,
            agent,
            order,
        } = dispatch;
        let kept = self.store.dispatch(&NewAttempt {
            run: run.clone(),
            step,
            agent,
            order,
            place: None,
            reach: Reach::Handed,
            credentials: vec![token.digest(), handle.digest()],
            expires_ms,
        })?;
        self.dispatched(&kept, &run);
        Ok(Dispatched {
            attempt: kept.id,
            number: kept.number,
            token,
            handle,
            expires_ms,
        })
    }

    /// Tells whoever waits for what a dispatch took the place of.
    pub(crate) fn dispatched(&self, kept: &Kept, run: &str) {
        self.waiting.runs.ring(&run.to_owned());
        for superseded in &kept.superseded {
            self.waiting.attempts.ring(superseded);
        }
    }

    /// Ends a run, however: open attempts are cancelled, and every credential of it is dead.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is no such run; else `Store`.
    pub fn end(&self, run: &str) -> Result<(), WorkerError> {
        let closed = self.store.end_run(run)?;
        self.ended(run, &closed);
        Ok(())
    }

    /// Forgets what is only there for a run that goes on, and tells whoever waits in it.
    pub(crate) fn ended(&self, run: &str, closed: &[AttemptId]) {
        let mut roots = self.roots.lock().unwrap_or_else(PoisonError::into_inner);
        roots.remove(run);
        drop(roots);
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.remove(run);
        drop(written);
        self.waiting.runs.ring(&run.to_owned());
        for attempt in closed {
            self.waiting.attempts.ring(attempt);
        }
    }

    /// Closes an attempt as failed: its worker inside of the host came to no value.
    pub(crate) fn fail(&self, attempt: AttemptId, failure: &Failure) -> Result<(), WorkerError> {
        self.store.fail(attempt, failure)?;
        let run = self.store.attempt(attempt)?.run.id;
        self.waiting.ring(attempt, &run);
        Ok(())
    }

    /// Closes open attempts whose time has run out, forgets what let workers in, and answers how
    /// many it closed. To be called now and then.
    ///
    /// # Errors
    ///
    /// `Store`.
    pub fn expire(&self, now_ms: u64) -> Result<usize, WorkerError> {
        let expired = self.store.expire(now_ms)?;
        for (attempt, run) in &expired {
            self.waiting.ring(*attempt, run);
        }
        Ok(expired.len())
    }

    /// What an attempt came to. An attempt that was refused and then given up has no value.
    ///
    /// # Errors
    ///
    /// `Store`.
    pub fn outcome(&self, attempt: AttemptId) -> Result<Outcome, WorkerError> {
        let attempt = self.store.attempt(attempt)?;
        Ok(match attempt.state {
            State::Dispatched | State::Staged => Outcome::Open,
            State::Completed => Outcome::Passed(self.value(&attempt)?),
            State::Blocked => Outcome::Blocked(self.value(&attempt)?),
            State::Skipped => Outcome::Skipped,
            State::Failed => Outcome::Failed(attempt.failure.unwrap_or_else(|| {
                host_failure("ATTEMPT_FAILED", "the attempt failed".to_owned())
            })),
            closed @ (State::Cancelled | State::Expired | State::Superseded) => {
                Outcome::Closed(closed)
            }
        })
    }

    fn value(&self, attempt: &Attempt) -> Result<Value, WorkerError> {
        let submission = attempt.submission.as_ref();
        let body = submission.map_or("", |submission| submission.body.as_str());
        let parts: Vec<(String, String)> = self
            .store
            .parts(attempt.id)?
            .into_iter()
            .map(|part| (part.name.as_str().to_owned(), part.text))
            .collect();
        let format = match submission.map(|submission| submission.reading) {
            Some(Reading::Text) => &SubmitFormat::Text,
            Some(Reading::Json) => &SubmitFormat::Json,
            Some(Reading::Ordered) | None => &attempt.order.submit_format,
        };
        Ok(fold::fold(&attempt.agent, format, body, &parts)?.value)
    }
}
