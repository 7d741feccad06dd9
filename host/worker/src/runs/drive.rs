//! The task of one run: its flow from where it stands to its end, or to the end of the process.

use std::pin::pin;
use std::sync::Arc;

use cap_std::fs::Dir;
use serde_json::{Value, json};
use tidegate::flow::{FlowError, Surroundings};
use tidegate::{CancellationToken, InvokeOptions};
use tidegate_contract::CallError;
use tidegate_contract::failure::host_failure;
use tidegate_contract::json::{self as strict_json, JsonBounds, MAX_DEPTH};
use tokio::task::JoinSet;

use super::Shared;
use super::agents::Dispatcher;
use super::journal::{Count, RunJournal, UnderWay};
use super::launch::LaunchRequest;
use super::plan::Plan;
use crate::error::WorkerError;
use crate::store::{Files, Run, RunStatus};

/// How large the result of a run may be: what one call may give at most.
const RESULT: JsonBounds = JsonBounds {
    bytes: 16 * 1024 * 1024,
    // Less than what is read back, for what is wrapped around it.
    depth: MAX_DEPTH - 8,
};

/// A run that goes on here: its id, its plan, and what ends it.
pub(super) type TakenUp = (String, Plan, CancellationToken);

/// Runs a flow to its end, unless it is closed before.
pub(super) async fn drive(shared: Arc<Shared>, run: String, plan: Plan, cancel: CancellationToken) {
    let walked = walk(Arc::clone(&shared), run.clone(), plan, cancel);
    let (status, outcome) = match contained(walked).await {
        None => return,
        Some(Ok(result)) => (RunStatus::Completed, result),
        Some(Err(error)) => (RunStatus::Failed, error),
    };
    let (of, finish) = (Arc::clone(&shared), run.clone());
    let finished = shared
        .blocking(move || of.finish(&finish, status, outcome))
        .await;
    if let Ok(Err(error)) | Err(error) = finished {
        // It stays open, and comes to the same end after the next start.
        tracing::error!("the end of a run could not be kept: {error}");
    }
    shared.running().remove(&run);
}

/// What a flow came to: its result or its error; `None` where the run was closed before.
type Walked = Option<Result<Value, Value>>;

/// Walks in a task of its own, so that a panic there, of a tool in this process or of our own, ends
/// this run and nothing else.
async fn contained(walk: impl Future<Output = Walked> + Send + 'static) -> Walked {
    // Dropped with this future, it ends the task.
    let mut task = JoinSet::new();
    drop(task.spawn(walk));
    match task.join_next().await? {
        Ok(walked) => walked,
        // The embedder's threads end: the run goes on after the next start.
        Err(error) if error.is_cancelled() => None,
        Err(error) => {
            tracing::error!("a run's flow did not end by itself: {error}");
            let reason = "the flow ended by a panic".to_owned();
            Some(Err(fault(&CallError::HostFault { reason })))
        }
    }
}

async fn walk(shared: Arc<Shared>, run: String, plan: Plan, cancel: CancellationToken) -> Walked {
    let blueprint = Arc::new(plan.blueprint);
    let count = Count::new();
    let journal = match RunJournal::open(&shared, &run, (&blueprint, count.clone())) {
        Ok(journal) => journal,
        Err(error) => return Some(Err(fault(&error))),
    };
    let agents = Dispatcher {
        shared: Arc::clone(&shared),
        run,
        blueprint: Arc::clone(&blueprint),
        caller: plan.caller.clone(),
    };
    let mut busy = count.listen();
    let mut under_way = UnderWay::of(&blueprint, count);
    let around = Surroundings {
        runtime: &shared.runtime,
        options: InvokeOptions {
            caller: plan.caller,
            cancel,
            ..InvokeOptions::default()
        },
        agents: Some(&agents),
        journal: Some(&journal),
        progress: &mut under_way,
    };
    let closed = async {
        shared.closing.cancelled().await;
        // Nothing starts any more; the sender lives as long as the flow.
        drop(busy.wait_for(|&count| count == 0).await);
    };
    let mut closed = pin!(closed);
    let flow = blueprint.flow().run(plan.init_ctx, around);
    let ended = tokio::select! {
        biased;
        ended = flow => ended,
        () = &mut closed => return None,
    };
    // What a closed service ends is no end of the run.
    match ended {
        Err(FlowError::Call { source, .. } | FlowError::Journal { source, .. })
            if source == CallError::Closed =>
        {
            None
        }
        // A fanout may hide what closed it; what the flow came to by itself is in the journal.
        Err(_) if shared.closing.is_cancelled() => None,
        Ok((result, _context)) => Some(within_bounds(result.unwrap_or(Value::Null))),
        Err(error) => Some(Err(error_of(&error))),
    }
}

fn within_bounds(result: Value) -> Result<Value, Value> {
    match strict_json::check(&result, &RESULT) {
        Ok(()) => Ok(result),
        Err(error) => {
            strict_json::discard(result);
            let failure =
                host_failure("FLOW_CONTEXT", format!("the result can't be kept: {error}"));
            Err(json!({"code": failure.code(), "message": failure.message()}))
        }
    }
}

/// `{code, message, failed_step?, verdict_value?}`.
fn error_of(error: &FlowError) -> Value {
    let failure = error.to_failure();
    let mut report = json!({"code": failure.code(), "message": failure.message()});
    if let Some(report) = report.as_object_mut() {
        if let Some(step) = error.step() {
            report.insert("failed_step".to_owned(), step.into());
        }
        if let Some(value) = error.value() {
            report.insert("verdict_value".to_owned(), value.clone());
        }
    }
    report
}

fn fault(error: &CallError) -> Value {
    let failure = error.to_failure();
    json!({"code": failure.code(), "message": failure.message()})
}

impl Shared {
    /// Keeps how a run ended, unless it has ended already.
    fn finish(&self, run: &str, status: RunStatus, outcome: Value) -> Result<(), WorkerError> {
        // Its steps are over, so that no file comes after these.
        let files = self.service.sync(run)?;
        let end = (Some(outcome), files);
        if let Some(closed) = self.store.finish_run(run, status, end)? {
            self.service.ended(run, &closed);
        }
        Ok(())
    }

    /// Whether each worker component that agents name is there.
    pub(super) fn has_workers(&self, request: &LaunchRequest) -> Result<(), WorkerError> {
        for (name, agent) in request.blueprint.agents() {
            if let Some(worker) = &agent.worker
                && !self.runtime.has_worker(worker)
            {
                return Err(WorkerError::InvalidRequest {
                    reason: format!(
                        "`blueprint.agents.{name}.worker`: there is no worker component `{worker}`"
                    ),
                });
            }
        }
        Ok(())
    }

    /// The open folder below which a run's files stand, where its launch names one. Each that it
    /// names must be its tenant's.
    pub(super) fn root(&self, run: &Run) -> Result<Option<Dir>, WorkerError> {
        let open = |key: &str, path: &Option<String>| {
            let open = |path| self.work_roots.folder(&run.tenant, key, path);
            path.as_deref().map(open).transpose()
        };
        let project = open("project_root", &run.launch.project_root)?;
        Ok(open("work_dir", &run.launch.work_dir)?.or(project))
    }

    /// Makes the files of runs again that ended shortly before a crash, or were given up.
    fn restore_ended(&self) -> Result<(), WorkerError> {
        for run in self.store.unsynced_runs()? {
            match self.root(&run) {
                Ok(Some(root)) => self.service.attach(&run.id, root),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!("a run that has ended is without its folder: {error}");
                    continue;
                }
            }
            for warning in self.service.restore(&run)? {
                tracing::warn!("{warning}");
            }
            if self.service.sync(&run.id)? == Files::Synced {
                self.store.synced(&run.id)?;
            }
            self.service.ended(&run.id, &[]);
        }
        Ok(())
    }

    /// The runs that are open in the store, with their folders attached and their files made again. A
    /// run that can't be read ends as failed.
    pub(super) fn take_up(&self) -> Result<Vec<TakenUp>, WorkerError> {
        self.restore_ended()?;
        let mut plans = Vec::new();
        for record in self.store.open_records()? {
            let run = record.run;
            let Some(token) = self.runs_here(&run.id) else {
                continue;
            };
            let plan = record
                .plan
                .and_then(|text| Plan::read(&text, &run.tenant, &run.id));
            let Some(plan) = plan else {
                let reason = "what was kept of the run can't be read".to_owned();
                let error = fault(&CallError::HostFault { reason });
                self.finish(&run.id, RunStatus::Failed, error)?;
                self.running().remove(&run.id);
                continue;
            };
            match self.root(&run) {
                Ok(Some(root)) => self.service.attach(&run.id, root),
                Ok(None) => {}
                Err(error) => tracing::warn!("a run goes on without its folder: {error}"),
            }
            for warning in self.service.restore(&run)? {
                tracing::warn!("{warning}");
            }
            plans.push((run.id, plan, token));
        }
        Ok(plans)
    }
}
