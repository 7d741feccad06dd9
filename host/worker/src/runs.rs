//! Runs: flows whose steps, attempts and ends outlive the process (SPEC I10 to I12).
//!
//! A launch is checked wholly before anything of it is kept. Then a task runs its flow, with the store
//! for a journal; what is left open by a stop goes on at the next start. Deliberately absent: HTTP,
//! and whose token may call what.

mod agents;
mod claims;
mod drive;
mod events;
mod inside;
mod journal;
mod keep;
mod launch;
mod places;
mod plan;
mod retention;
mod view;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidegate::{Caller, CancellationToken, Runtime};
use tidegate_contract::{CallError, Tenant};
use tidegate_sandbox::ambient;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::blueprint::causes;
use crate::error::{StoreError, WorkerError};
use crate::part::{AUDIT, PartName};
use crate::service::Service;
use crate::step::StepKey;
use crate::store::{Files, Run, RunStatus, SqliteStore};
use crate::work_roots::WorkRoots;
use plan::Plan;

pub use claims::{Claimed, WAIT_MS};
pub use events::Events;
pub use launch::LaunchRequest;
pub(crate) use places::check_lanes;
pub use retention::RunBounds;
pub use view::{AttemptView, RunView, StepView};

/// What runs are made of.
#[derive(Debug)]
pub struct RunsSettings {
    /// What is kept.
    pub store: Arc<SqliteStore>,
    /// What workers are served by: over the same store.
    pub service: Arc<Service>,
    /// What runs the steps that are no agent's, and the worker components.
    pub runtime: Runtime,
    /// The folders that launches of each tenant may name.
    pub work_roots: WorkRoots,
    /// Where workers find the service, for example `http://127.0.0.1:7420`.
    pub base_url: String,
    /// How many runs there may be.
    pub bounds: RunBounds,
}

/// The runs of one host. Cloning gives another handle to the same; dropping the last one stops all
/// that runs, as a stop of the process would.
#[derive(Clone, Debug)]
pub struct Runs {
    shared: Arc<Shared>,
    tasks: Arc<Tasks>,
}

/// What tasks and handles share.
struct Shared {
    store: Arc<SqliteStore>,
    service: Arc<Service>,
    runtime: Runtime,
    work_roots: WorkRoots,
    base_url: String,
    bounds: RunBounds,
    handle: Handle,
    /// Ends each run that goes on here.
    running: Mutex<HashMap<String, CancellationToken>>,
    closing: CancellationToken,
    /// Rung when something new may run out of time.
    expiry: Notify,
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, .. } = self;
        write!(formatter, "Shared {{ service: {service:?}, .. }}")
    }
}

/// The owner of all tasks.
#[derive(Debug)]
struct Tasks {
    handle: Handle,
    set: Mutex<JoinSet<()>>,
}

/// A run that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Its task.
    pub task: String,
    /// Its id.
    pub run: String,
}

impl Runs {
    /// Opens the runs of a store. Call [`resume`](Self::resume) before workers are let in.
    ///
    /// # Errors
    ///
    /// `Closed` outside of a tokio runtime.
    pub fn open(settings: RunsSettings) -> Result<Self, WorkerError> {
        let handle = Handle::try_current().map_err(|_outside| WorkerError::Closed)?;
        let shared = Arc::new(Shared {
            store: settings.store,
            service: settings.service,
            runtime: settings.runtime,
            work_roots: settings.work_roots,
            base_url: settings.base_url,
            bounds: settings.bounds,
            handle: handle.clone(),
            running: Mutex::default(),
            closing: CancellationToken::new(),
            expiry: Notify::new(),
        });
        let tasks = Tasks {
            handle,
            set: Mutex::default(),
        };
        tasks.spawn(keep::expire(Arc::clone(&shared)));
        Ok(Self {
            shared,
            tasks: Arc::new(tasks),
        })
    }

    /// Starts a run for a caller. It is kept before this returns; its flow runs in a task.
    ///
    /// # Errors
    ///
    /// `InvalidRequest`, naming the place, when something of it can't be; `TooManyRuns`; `Closed`;
    /// else `Store`. Nothing is kept then.
    pub fn launch(&self, caller: &Caller, request: LaunchRequest) -> Result<Launched, WorkerError> {
        if self.shared.closing.is_cancelled() {
            return Err(WorkerError::Closed);
        }
        request.check()?;
        self.shared.has_workers(&request)?;
        let run = Run {
            id: format!("R-{}", ambient::random_id()),
            tenant: caller.tenant.clone(),
            task: format!("T-{}", ambient::random_id()),
            launch: request.launch(),
        };
        let root = self.shared.root(&run)?;
        Service::check_launch(&run, root.as_ref())?;
        let plan = Plan {
            blueprint: request.blueprint,
            init_ctx: request.init_ctx,
            caller: Caller {
                run: Some(run.id.as_str().into()),
                ..caller.clone()
            },
        };
        // Before anybody else can find it in the store.
        let token = self.shared.runs_here(&run.id).unwrap_or_default();
        let open_runs = self.shared.bounds.open_runs;
        if let Err(error) = self.shared.store.begin_run(&run, plan.text(), open_runs) {
            self.shared.running().remove(&run.id);
            return Err(error.into());
        }
        if let Some(root) = root {
            self.shared.service.attach(&run.id, root);
        }
        let launched = Launched {
            task: run.task,
            run: run.id,
        };
        self.start(launched.run.clone(), plan, token);
        Ok(launched)
    }

    /// Takes up every run that a stop left open: its files are made again, and its flow goes on where
    /// it stood. From here on ended runs are removed that the bounds do not keep. Answers how many
    /// were taken up.
    ///
    /// # Errors
    ///
    /// `Store`.
    pub async fn resume(&self) -> Result<usize, WorkerError> {
        let shared = Arc::clone(&self.shared);
        let plans = self.shared.blocking(move || shared.take_up()).await??;
        let count = plans.len();
        for (run, plan, token) in plans {
            self.start(run, plan, token);
        }
        let shared = Arc::clone(&self.shared);
        self.tasks.spawn(retention::keep_within(shared));
        Ok(count)
    }

    /// Gives a run up: it has ended when this returns, its attempts are closed and its credentials
    /// dead. A run that had ended stays as it is. Answers how it stands.
    ///
    /// # Errors
    ///
    /// `NotFound` when the tenant has no such run; else `Store`.
    pub fn cancel(&self, tenant: &Tenant, run: &str) -> Result<RunStatus, WorkerError> {
        let record = self.shared.store.record(tenant, run)?;
        let closed =
            self.shared
                .store
                .finish_run(run, RunStatus::Cancelled, (None, Files::Unsynced))?;
        let Some(closed) = closed else {
            return Ok(self.shared.store.record(tenant, run)?.status);
        };
        self.shared.service.ended(&record.run.id, &closed);
        if let Some(token) = self.shared.running().remove(run) {
            token.cancel();
        }
        Ok(RunStatus::Cancelled)
    }

    /// How a run stands.
    ///
    /// # Errors
    ///
    /// `NotFound` when the tenant has no such run; else `Store`.
    pub fn status(&self, tenant: &Tenant, run: &str) -> Result<RunStatus, WorkerError> {
        Ok(self.shared.store.record(tenant, run)?.status)
    }

    /// Starts new attempts in the place of open ones, with new credentials; the old ones are dead. Of
    /// one step, or of all that are done outside. Answers how many.
    ///
    /// # Errors
    ///
    /// `NotFound` when the tenant has no such run, or the step no open attempt; `Gone` when the run has
    /// ended; `InvalidRequest` for what is no step's name; else `Store`.
    pub fn rekick(
        &self,
        tenant: &Tenant,
        run: &str,
        step: Option<&str>,
    ) -> Result<usize, WorkerError> {
        let record = self.shared.store.record(tenant, run)?;
        if record.status != RunStatus::Running {
            return Err(WorkerError::Gone);
        }
        let key = step.map(StepKey::parse).transpose()?;
        let kicked = self.shared.store.rekick(run, key)?;
        for (kept, agent) in &kicked {
            self.shared.service.dispatched(kept, run);
            if let Some(agent) = agent {
                let agent = (tenant.clone(), agent.clone());
                self.shared.service.waiting().agents.ring(&agent);
            }
        }
        if kicked.is_empty() && step.is_some() {
            return Err(WorkerError::NotFound);
        }
        Ok(kicked.len())
    }

    /// Keeps what an auditor says of a step, as the part `audit:<step>`, or `audit:<step>:<name>`. The
    /// workers of later steps find it beside the step's own output; it is never part of the step's
    /// value.
    ///
    /// # Errors
    ///
    /// `NotFound` when the tenant has no such run, or the run no such step; `Gone` when the run has
    /// ended; `InvalidPartName`, `TooLarge`, `NotText`; else `Store`.
    pub fn audit(
        &self,
        tenant: &Tenant,
        run: &str,
        step: &str,
        (name, body): (Option<&str>, &[u8]),
    ) -> Result<(), WorkerError> {
        let record = self.shared.store.record(tenant, run)?;
        let step = StepKey::parse(step).map_err(|_malformed| WorkerError::NotFound)?;
        let attempts = self.shared.store.attempt_records(run)?;
        if !attempts.iter().any(|attempt| attempt.step == step) {
            return Err(WorkerError::NotFound);
        }
        if record.status != RunStatus::Running {
            return Err(WorkerError::Gone);
        }
        let text = self.shared.service.audit_text(body)?;
        let name = match name {
            None => format!("{AUDIT}{step}"),
            Some(name) => format!("{AUDIT}{step}:{name}"),
        };
        let name = PartName::parse(&name)?;
        let step = step.to_string();
        self.shared.store.audit((run, &step), name.as_str(), text)?;
        self.shared.service.waiting().runs.ring(&run.to_owned());
        Ok(())
    }

    /// Takes nothing new, lets what the host itself is at come to its end, and leaves the runs where
    /// they stand then: they go on after the next start.
    pub async fn close(&self) {
        self.shared.closing.cancel();
        let mut tasks = {
            let mut set = self
                .tasks
                .set
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *set)
        };
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!("a run's task did not end by itself: {error}");
            }
        }
    }

    fn start(&self, run: String, plan: Plan, token: CancellationToken) {
        let shared = Arc::clone(&self.shared);
        self.tasks.spawn(drive::drive(shared, run, plan, token));
    }
}

impl Tasks {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut set = self.set.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(ended) = set.try_join_next() {
            if let Err(error) = ended {
                tracing::error!("a run's task did not end by itself: {error}");
            }
        }
        // The set is the owner: it ends the task when it is dropped.
        drop(set.spawn_on(task, &self.handle));
    }
}

impl Shared {
    fn running(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a run goes on here and gives the token that ends it; `None` where it was noted
    /// before.
    fn runs_here(&self, run: &str) -> Option<CancellationToken> {
        let mut running = self.running();
        if running.contains_key(run) {
            return None;
        }
        let token = CancellationToken::new();
        running.insert(run.to_owned(), token.clone());
        Some(token)
    }

    /// Runs what blocks its thread on one that may.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkerError> {
        let done = self.handle.spawn_blocking(work).await;
        done.map_err(|error| WorkerError::Store(StoreError::Database(Box::new(error))))
    }
}

fn host_fault(error: &StoreError) -> CallError {
    CallError::HostFault {
        reason: causes(error),
    }
}
