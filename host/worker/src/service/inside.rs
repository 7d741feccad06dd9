//! The worker that runs inside of the host: what it stages and returns is held to the same rules, and
//! kept and projected in the same way, as what comes from outside (SPEC I9).
//!
//! What it returns is a JSON value already, so that nothing is parsed and nothing names a file in its
//! place.

use serde_json::Value;

use super::{Accepted, Service, utf8};
use crate::attempt::{Admitted, State, SubmitDigest};
use crate::error::WorkerError;
use crate::fold::{SubmitFormat, read_body};
use crate::part::PartName;
use crate::store::{Access, Admission, Attempt, AttemptId, Reading, Submission};
use crate::token::Verb;
use crate::verdict::Ending;

impl Service {
    /// Stages a part for the worker inside; as [`artifact`](Self::artifact), but that a text which
    /// starts with `@file:` is a text.
    ///
    /// # Errors
    ///
    /// As [`artifact`](Self::artifact).
    pub fn stage_inside(
        &self,
        attempt: AttemptId,
        name: &str,
        content: &[u8],
        now_ms: u64,
    ) -> Result<Accepted, WorkerError> {
        let admission = self.inside(attempt)?;
        admission.standing.admit(Verb::Artifact, now_ms)?;
        let name = PartName::parse(name)?;
        self.bounded(content)?;
        let text = utf8(content.to_vec())?;
        let access = Access::Inside(attempt);
        self.stage(access, &admission.attempt, (&name, &text), now_ms)
    }

    /// Completes an attempt with the value that its worker inside returned.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit). What a worker returns is bounded where it runs, so that
    /// `TooLarge` does not occur.
    pub fn submit_inside(
        &self,
        attempt: AttemptId,
        value: &Value,
        now_ms: u64,
    ) -> Result<Accepted, WorkerError> {
        let Admission { standing, attempt } = self.inside(attempt)?;
        let (body, reading) = match value {
            Value::String(text) => (text.clone(), Reading::Text),
            other => (other.to_string(), Reading::Json),
        };
        let digest = SubmitDigest::of(body.as_bytes(), Ending::Pass);
        let mut admitted = standing.admit_submit(digest, now_ms)?;
        let settling = self.waiting.settle(attempt.id, &attempt.run.id);
        let mut warnings = Vec::new();
        if admitted == Admitted::First {
            self.check_contract(&attempt, Ending::Pass, &body)?;
            if reading == Reading::Json {
                // It nests less deep than what is folded around it allows, or is refused now.
                read_body(&attempt.agent, &SubmitFormat::Json, &body)?;
            }
            let submission = Submission {
                body,
                ending: Ending::Pass,
                digest,
                reading,
            };
            let access = Access::Inside(attempt.id);
            admitted = self.store.submit(access, now_ms, &submission)?;
        }
        if let Some(reason) = self.project(&attempt, State::Completed)? {
            warnings.extend(self.lacking(&attempt, admitted, &reason)?);
        }
        drop(settling);
        Ok(Accepted { warnings })
    }

    /// What an auditor sent, as text, under the bound of every body.
    pub(crate) fn audit_text(&self, body: &[u8]) -> Result<String, WorkerError> {
        self.bounded(body)?;
        utf8(body.to_vec())
    }

    /// An attempt as it is kept.
    pub(crate) fn attempt(&self, attempt: AttemptId) -> Result<Attempt, WorkerError> {
        Ok(self.store.attempt(attempt)?)
    }

    fn inside(&self, attempt: AttemptId) -> Result<Admission, WorkerError> {
        let found = self.store.look_up(Access::Inside(attempt))?;
        found.ok_or(WorkerError::NotFound)
    }
}
