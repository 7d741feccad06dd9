//! Waiting for an attempt, without asking again and again.
//!
//! An attempt is over for its flow once its outcome is durable and its files are in place; in between
//! it is settling, and nobody is told of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_contract::Tenant;
use tokio::sync::watch;

use super::{Outcome, Service};
use crate::bell::Bells;
use crate::error::{StoreError, WorkerError};
use crate::store::AttemptId;

/// What is waited for.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// The end of an attempt.
    pub(crate) attempts: Bells<AttemptId>,
    /// News of a run.
    pub(crate) runs: Bells<String>,
    /// A dispatch to an agent.
    pub(crate) agents: Bells<(Tenant, String)>,
    /// Attempts that settle, and how many submits are at it.
    settling: Mutex<HashMap<AttemptId, usize>>,
}

impl Waiting {
    /// An attempt settles until the answer is dropped.
    pub(super) fn settle(self: &Arc<Self>, attempt: AttemptId, run: &str) -> Settling {
        let mut settling = self.settling.lock().unwrap_or_else(PoisonError::into_inner);
        *settling.entry(attempt).or_default() += 1;
        Settling {
            waiting: Arc::clone(self),
            attempt,
            run: run.to_owned(),
        }
    }

    fn is_settling(&self, attempt: AttemptId) -> bool {
        let settling = self.settling.lock().unwrap_or_else(PoisonError::into_inner);
        settling.contains_key(&attempt)
    }

    /// Tells whoever waits for an attempt, or follows its run.
    pub(super) fn ring(&self, attempt: AttemptId, run: &str) {
        self.attempts.ring(&attempt);
        self.runs.ring(&run.to_owned());
    }
}

/// An attempt that settles.
#[derive(Debug)]
pub(super) struct Settling {
    waiting: Arc<Waiting>,
    attempt: AttemptId,
    run: String,
}

impl Drop for Settling {
    fn drop(&mut self) {
        let waiting = &self.waiting;
        let mut settling = waiting
            .settling
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = settling.get_mut(&self.attempt) {
            *count -= 1;
            if *count == 0 {
                settling.remove(&self.attempt);
            }
        }
        // Before anybody can see that it has settled: who looked in between has heard it.
        waiting.ring(self.attempt, &self.run);
    }
}

impl Service {
    /// What is waited for here.
    pub(crate) fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Waits until an attempt is over and its files are in place.
    ///
    /// # Errors
    ///
    /// `Store`.
    pub async fn settled(&self, attempt: AttemptId) -> Result<Outcome, WorkerError> {
        let mut bell = self.waiting.attempts.listen(&attempt);
        loop {
            bell.mark_unchanged();
            if let Some(outcome) = self.settled_now(attempt, &bell)? {
                return Ok(outcome);
            }
            let rung = bell.changed().await;
            rung.map_err(|_closed| WorkerError::from(StoreError::Closed))?;
        }
    }

    fn settled_now(
        &self,
        attempt: AttemptId,
        bell: &watch::Receiver<()>,
    ) -> Result<Option<Outcome>, WorkerError> {
        if self.waiting.is_settling(attempt) {
            return Ok(None);
        }
        let outcome = self.outcome(attempt)?;
        // What was read may be from the midst of a submit, and a strict policy may have taken it back
        // since; the bell was rung then.
        let is_old = self.waiting.is_settling(attempt) || bell.has_changed().unwrap_or(true);
        Ok(Some(outcome).filter(|outcome| *outcome != Outcome::Open && !is_old))
    }
}
