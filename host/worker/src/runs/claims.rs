//! Handing attempts to workers outside: each waits until somebody asks for it, and is handed out once
//! (SPEC I12). Whose operator goes away before it has its handle waits again.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tidegate::CancellationToken;
use tidegate_contract::Tenant;
use tidegate_sandbox::ambient;

use super::{Runs, Shared};
use crate::blueprint::is_agent_name;
use crate::error::{StoreError, WorkerError};
use crate::store::AttemptId;
use crate::token::{Credential, CredentialDigest, Form};

/// The longest that a claim may wait.
pub const WAIT_MS: u64 = 60_000;

/// What an operator passes on to a worker: where its work is, and nothing of the work itself.
#[derive(Debug)]
pub struct Claimed {
    /// The task.
    pub task: String,
    /// The run.
    pub run: String,
    /// The step, with its lanes.
    pub step: String,
    /// Which attempt of the step, from 1.
    pub attempt: u32,
    /// Who is to do it.
    pub agent: String,
    /// The credential, whose text is nowhere else.
    pub handle: Credential,
    /// When it ends, in milliseconds since 1970.
    pub expires_ms: u64,
    /// Where the worker finds the service.
    pub base_url: String,
}

/// The same as it goes over the wire.
#[derive(Debug, Serialize)]
struct Wire<'a> {
    task: &'a str,
    run: &'a str,
    step: &'a str,
    attempt: u32,
    agent: &'a str,
    handle: &'a str,
    expires_ms: u64,
    base_url: &'a str,
}

impl Claimed {
    /// The answer, as JSON: the one text that holds the handle.
    ///
    /// # Errors
    ///
    /// As a serializer may say; texts and numbers can always be written.
    pub fn reveal(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&Wire {
            task: &self.task,
            run: &self.run,
            step: &self.step,
            attempt: self.attempt,
            agent: &self.agent,
            handle: self.handle.reveal(),
            expires_ms: self.expires_ms,
            base_url: &self.base_url,
        })
    }
}

impl Runs {
    /// Takes the oldest attempt of a tenant's runs that waits for an agent; `None` when none came
    /// within `wait_ms`, which is at most [`WAIT_MS`].
    ///
    /// # Errors
    ///
    /// `InvalidRequest` for a name that no agent has, or a longer wait; else `Store`.
    pub async fn claim(
        &self,
        tenant: &Tenant,
        agent: &str,
        wait_ms: u64,
        cancel: &CancellationToken,
    ) -> Result<Option<Claimed>, WorkerError> {
        let invalid = |reason: String| WorkerError::InvalidRequest { reason };
        if !is_agent_name(agent) {
            let names = "`agent` must be 1 to 64 of letters, digits, `_` and `-`";
            return Err(invalid(names.to_owned()));
        }
        if wait_ms > WAIT_MS {
            return Err(invalid(format!("`wait_ms` must be from 0 to {WAIT_MS}")));
        }
        let until = tokio::time::Instant::now() + Duration::from_millis(wait_ms);
        let asked = (tenant.clone(), agent.to_owned());
        let mut bell = self.shared.service.waiting().agents.listen(&asked);
        loop {
            if self.shared.closing.is_cancelled() {
                return Ok(None);
            }
            if let Some(claimed) = self.claim_now(tenant, agent).await? {
                return Ok(Some(claimed));
            }
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Ok(None),
                () = self.shared.closing.cancelled() => return Ok(None),
                rung = bell.changed() => if rung.is_err() { return Ok(None) },
                () = tokio::time::sleep_until(until) => return Ok(None),
            }
        }
    }

    async fn claim_now(
        &self,
        tenant: &Tenant,
        agent: &str,
    ) -> Result<Option<Claimed>, WorkerError> {
        let handle = Credential::mint(Form::Handle);
        let (digest, now_ms) = (handle.digest(), ambient::now_ms());
        let shared = Arc::clone(&self.shared);
        let asked = (tenant.clone(), agent.to_owned());
        // A task of its own: what is claimed is held by something, whether or not this goes on.
        let claim = self.shared.handle.spawn(async move {
            let (tenant, agent) = &asked;
            let found = shared.store.claim((tenant, agent), digest, now_ms).await?;
            Ok::<_, StoreError>(found.map(|attempt| Held {
                shared,
                asked,
                claim: Some((attempt, digest)),
            }))
        });
        let held = claim
            .await
            .map_err(|error| StoreError::Database(Box::new(error)))??;
        let Some(mut held) = held else {
            return Ok(None);
        };
        let Some((id, _)) = held.claim else {
            return Ok(None);
        };
        let attempt = self.shared.service.attempt(id)?;
        held.claim = None;
        self.shared.service.waiting().runs.ring(&attempt.run.id);
        self.shared.expiry.notify_one();
        Ok(Some(Claimed {
            task: attempt.run.task,
            run: attempt.run.id,
            step: attempt.step.to_string(),
            attempt: attempt.number,
            expires_ms: now_ms.saturating_add(attempt.order.lifetime_ms()),
            agent: attempt.agent,
            handle,
            base_url: self.shared.base_url.clone(),
        }))
    }
}

/// A claim that nobody has taken yet. Dropped before, its attempt waits again.
struct Held {
    shared: Arc<Shared>,
    /// The tenant and the agent that it is of.
    asked: (Tenant, String),
    /// The attempt, and the credential that nobody will have.
    claim: Option<(AttemptId, CredentialDigest)>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some((attempt, digest)) = self.claim.take() else {
            return;
        };
        let (shared, asked) = (Arc::clone(&self.shared), self.asked.clone());
        let back = async move {
            match shared.store.put_back(attempt, digest).await {
                Ok(Some(run)) => {
                    shared.service.waiting().agents.ring(&asked);
                    shared.service.waiting().runs.ring(&run);
                }
                Ok(None) => {}
                Err(error) => tracing::error!("a claim could not be put back: {error}"),
            }
        };
        drop(self.shared.handle.spawn(back));
    }
}
