//! A run as its operator sees it: how it stands, and what its agents' steps came to so far.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;
use tidegate_contract::{Failure, Tenant};

use super::Runs;
use crate::error::WorkerError;
use crate::store::{AttemptRecord, Reach, RunStatus};

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunView {
    /// Its id.
    pub run: String,
    /// Its task.
    pub task: String,
    /// How it stands.
    pub status: RunStatus,
    /// When it was started, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<u64>,
    /// What a completed run came to; null where its flow has no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why a failed run failed: `{code, message, failed_step?, verdict_value?}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// The steps of agents, in the order of their first attempts.
    pub steps: Vec<StepView>,
}

/// A step of an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepView {
    /// Its name, with its lanes.
    pub step: String,
    /// Its attempts.
    pub attempts: Vec<AttemptView>,
}

/// An attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttemptView {
    /// Which, from 1.
    pub attempt: u32,
    /// Who does it.
    pub agent: String,
    /// Where it stands, for example `staged`; `waiting` until somebody claims it.
    pub state: &'static str,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

impl Runs {
    /// How a run stands.
    ///
    /// # Errors
    ///
    /// `NotFound` when the tenant has no such run; else `Store`.
    pub fn run(&self, tenant: &Tenant, run: &str) -> Result<RunView, WorkerError> {
        let record = self.shared.store.record(tenant, run)?;
        let mut steps: Vec<StepView> = Vec::new();
        let mut positions: HashMap<String, usize> = HashMap::new();
        for attempt in self.shared.store.attempt_records(run)? {
            let name = attempt.step.to_string();
            let view = AttemptView::of(attempt);
            let known = positions.get(&name).and_then(|&at| steps.get_mut(at));
            if let Some(step) = known {
                step.attempts.push(view);
            } else {
                positions.insert(name.clone(), steps.len());
                steps.push(StepView {
                    step: name,
                    attempts: vec![view],
                });
            }
        }
        let outcome = |of: RunStatus| record.outcome.clone().filter(|_| record.status == of);
        Ok(RunView {
            status: record.status,
            created_ms: record.created_ms,
            ended_ms: record.ended_ms,
            result: outcome(RunStatus::Completed),
            error: outcome(RunStatus::Failed),
            run: record.run.id,
            task: record.run.task,
            steps,
        })
    }
}

impl AttemptView {
    fn of(attempt: AttemptRecord) -> Self {
        let waits = attempt.state.is_open() && attempt.reach == Reach::Waiting;
        Self {
            attempt: attempt.number,
            agent: attempt.agent,
            state: if waits {
                "waiting"
            } else {
                attempt.state.word()
            },
            error: attempt.failure,
        }
    }
}
