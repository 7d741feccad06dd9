//! A final body: whether it can complete its attempt, and what follows once it is kept.

use tokio::sync::oneshot;

use super::waiting::Settling;
use super::{Accepted, Caller, Service};
use crate::attempt::{Admitted, State, SubmitDigest};
use crate::error::{StoreError, WorkerError};
use crate::file_body;
use crate::fold;
use crate::projection::CheckPolicy;
use crate::store::{Access, Admission, Attempt, Reading, Submission};
use crate::token::{Credential, Verb};
use crate::verdict::{Ending, VERDICT_PART};

/// The largest body that is read and digested on a thread that must not block.
const BRIEF_BYTES: usize = 16 * 1024;

/// A final body with what the request says beside it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Submit<'a> {
    /// The body, as it was sent.
    pub body: &'a [u8],
    /// The value of `ok`.
    pub ok: Option<&'a str>,
    /// The value of `verdict`.
    pub verdict: Option<&'a str>,
}

/// A submit that may be kept.
struct Checked {
    /// What is to be kept; `None` where the same was kept before.
    submission: Option<Submission>,
    /// The state that it leads to.
    state: State,
    warnings: Vec<String>,
    settling: Settling,
}

impl Service {
    /// Completes the attempt. It answers once the submit is durable and its files are in place; the
    /// same submit again is answered alike.
    ///
    /// # Errors
    ///
    /// As [`artifact`](Self::artifact), `InvalidRequest`, `SubmitConflict`, and `NotJson`. All but
    /// `ProjectionRefused` and `Store` leave the attempt as it was.
    pub fn submit(&self, caller: Caller<'_>, submit: Submit<'_>) -> Result<Accepted, WorkerError> {
        let (access, admission) = self.enter(caller)?;
        let checked = self.check(&admission, submit, caller.now_ms)?;
        let admitted = match &checked.submission {
            // The same submit may have come in between: the store's word counts.
            Some(submission) => self.store.submit(access, caller.now_ms, submission)?,
            None => Admitted::Again,
        };
        let warnings = self.place(&admission.attempt, (checked.state, admitted))?;
        drop(checked.settling);
        Ok(Accepted {
            warnings: checked.warnings.into_iter().chain(warnings).collect(),
        })
    }

    /// The same for a task that must not block its thread, where nothing but the commit takes long;
    /// else `None`. The submit is kept whether or not this is waited for.
    pub async fn submit_here(
        &self,
        caller: Caller<'_>,
        submit: Submit<'_>,
    ) -> Option<Result<Accepted, WorkerError>> {
        let access = Access::Credential(Credential::parse(caller.credential)?.digest());
        let admission = self.store.glance(access).ok()??;
        if !self.is_brief(&admission.attempt, submit.body) {
            return None;
        }
        Some(
            self.keep_here((access, &admission), submit, caller.now_ms)
                .await,
        )
    }

    /// Whether neither files nor parts have a say in a submit.
    fn is_brief(&self, attempt: &Attempt, body: &[u8]) -> bool {
        body.len() <= BRIEF_BYTES
            && attempt.order.contract.is_none()
            && attempt.run.launch.check_policy != CheckPolicy::Strict
            && self.root(&attempt.run.id).is_none()
            && !std::str::from_utf8(body).is_ok_and(|text| file_body::named(text).is_some())
    }

    async fn keep_here(
        &self,
        (access, admission): (Access, &Admission),
        submit: Submit<'_>,
        now_ms: u64,
    ) -> Result<Accepted, WorkerError> {
        let Checked {
            submission,
            state,
            mut warnings,
            settling,
        } = self.check(admission, submit, now_ms)?;
        let admitted = match submission {
            None => Admitted::Again,
            Some(submission) => {
                let (answer, answered) = oneshot::channel();
                let done = move |admitted| {
                    // There is no file to wait for.
                    drop(settling);
                    drop(answer.send(admitted));
                };
                self.store
                    .submit_here(access, now_ms, submission, Box::new(done));
                answered.await.map_err(|_closed| StoreError::Closed)??
            }
        };
        warnings.extend(self.place(&admission.attempt, (state, admitted))?);
        Ok(Accepted { warnings })
    }

    /// Whether a submit can be kept; from here on the attempt settles.
    fn check(
        &self,
        Admission { standing, attempt }: &Admission,
        submit: Submit<'_>,
        now_ms: u64,
    ) -> Result<Checked, WorkerError> {
        let ending = match Ending::of_request(submit.ok, submit.verdict) {
            Ok(ending) => ending,
            Err(error) => {
                // Whoever may not submit at all is told that first.
                standing.admit(Verb::Submit, now_ms)?;
                return Err(error);
            }
        };
        let digest = SubmitDigest::of(submit.body, ending);
        let admitted = standing.admit_submit(digest, now_ms)?;
        let settling = self.waiting.settle(attempt.id, &attempt.run.id);
        let mut checked = Checked {
            submission: None,
            state: ending.state(),
            warnings: Vec::new(),
            settling,
        };
        if admitted == Admitted::First {
            let body = self.text(attempt, submit.body)?;
            checked
                .warnings
                .extend(self.check_body(attempt, ending, &body)?);
            checked.submission = Some(Submission {
                body,
                ending,
                digest,
                reading: Reading::Ordered,
            });
        }
        Ok(checked)
    }

    /// Writes the files of a submit that is kept; what its operator should know.
    fn place(
        &self,
        attempt: &Attempt,
        (state, admitted): (State, Admitted),
    ) -> Result<Option<String>, WorkerError> {
        match self.project(attempt, state)? {
            Some(reason) => self.lacking(attempt, admitted, &reason),
            None => Ok(None),
        }
    }

    /// Whether a body can complete the attempt; answers what its operator should know.
    fn check_body(
        &self,
        attempt: &Attempt,
        ending: Ending,
        body: &str,
    ) -> Result<Option<String>, WorkerError> {
        self.check_contract(attempt, ending, body)?;
        let folded = fold::read_body(&attempt.agent, &attempt.order.submit_format, body)?;
        Ok(folded.warning)
    }

    pub(super) fn check_contract(
        &self,
        attempt: &Attempt,
        ending: Ending,
        body: &str,
    ) -> Result<(), WorkerError> {
        let Some(contract) = &attempt.order.contract else {
            return Ok(());
        };
        let parts = self.store.parts(attempt.id)?;
        let verdict = parts
            .iter()
            .find(|part| part.name.as_str() == VERDICT_PART)
            .map(|part| part.text.as_str());
        contract.check_submit(ending, body, verdict)
    }
}
