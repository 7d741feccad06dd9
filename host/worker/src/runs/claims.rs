//! Handing attempts to workers outside: each waits until somebody asks for it, and is handed out once
//! (SPEC I12).

use std::time::Duration;

use serde::Serialize;
use tidegate::CancellationToken;
use tidegate_contract::Tenant;
use tidegate_sandbox::ambient;

use super::Runs;
use crate::blueprint::is_agent_name;
use crate::error::WorkerError;
use crate::token::{Credential, Form};

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
        let now_ms = ambient::now_ms();
        let asked = (tenant, agent);
        let store = &self.shared.store;
        let Some(id) = store.claim(asked, handle.digest(), now_ms).await? else {
            return Ok(None);
        };
        let attempt = self.shared.service.attempt(id)?;
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
