//! Runs over a fresh database and a fresh folder, with a runtime that has one Rust tool: `count`, which
//! counts its calls by their ids and can be made to wait.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate::{
    BoxFuture, CallContext, Caller, CancellationToken, Runtime, RuntimeOptions, Tool, ToolRegistry,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::{CallError, Tenant, ToolCall, ToolDefinition, ToolName, ToolOutcome};
use tidegate_sandbox::ambient;
use tidegate_worker::error::WorkerError;
use tidegate_worker::payload::Payload;
use tidegate_worker::runs::{Claimed, LaunchRequest, RunBounds, RunView, Runs, RunsSettings};
use tidegate_worker::service::{self, Accepted, BODY_BYTES, Service, Submit};
use tidegate_worker::store::{Event, SqliteStore};
use tidegate_worker::token::Credential;
use tidegate_worker::work_roots::WorkRoots;

/// Longer than any test waits for a claim.
const WAIT_MS: u64 = 30_000;

pub(crate) struct Shop {
    pub(crate) runs: Runs,
    pub(crate) service: Arc<Service>,
    pub(crate) counter: Counter,
    pub(crate) state: TempDir,
    work: TempDir,
    runtime: Runtime,
    pub(crate) bounds: RunBounds,
}

/// How often the tool was called with each id.
#[derive(Clone, Default)]
pub(crate) struct Counter {
    calls: Arc<Mutex<BTreeMap<String, usize>>>,
    /// While somebody holds it, calls wait.
    pub(crate) gate: Arc<tokio::sync::Mutex<()>>,
}

impl Counter {
    pub(crate) fn calls(&self) -> Vec<(String, usize)> {
        let calls = self.calls.lock().unwrap();
        calls
            .iter()
            .map(|(id, count)| (id.clone(), *count))
            .collect()
    }

    /// Returns once a call has begun.
    pub(crate) async fn begun(&self) {
        while self.calls.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    }
}

struct Count(ToolDefinition, Counter);

impl Tool for Count {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn execute<'a>(
        &'a self,
        call: &'a ToolCall,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutcome, CallError>> {
        Box::pin(async move {
            let id = call.id.as_str().to_owned();
            assert_ne!(id, "panic", "as it was asked");
            *self.1.calls.lock().unwrap().entry(id.clone()).or_default() += 1;
            drop(self.1.gate.lock().await);
            Ok(ToolOutcome::text(format!("counted {id}")))
        })
    }
}

pub(crate) fn runtime(options: RuntimeOptions) -> (Runtime, Counter) {
    let counter = Counter::default();
    let definition = ToolDefinition {
        name: ToolName::new("count").unwrap(),
        description: None,
        input_schema: json!({"type": "object"}).as_object().unwrap().clone(),
        output_schema: None,
        effects: vec![],
        requires_approval: false,
    };
    let tools = ToolRegistry::new();
    let registered = tools.register(Count(definition, counter.clone())).unwrap();
    drop(registered);
    let mut sandbox = Grant::default();
    parse_allow("tool=*", &mut sandbox).unwrap();
    let options = RuntimeOptions {
        tools,
        sandbox,
        ..options
    };
    (Runtime::new(options).unwrap(), counter)
}

/// A step that calls the tool.
pub(crate) fn count(name: &str) -> Value {
    json!({"step": {"name": name, "node": "INTERACTION.ACT.TOOL",
        "in": {"call": {"id": name, "name": "count", "arguments": {}}}}})
}

/// A step of an agent of the same name.
pub(crate) fn ask(name: &str, input: Value) -> Value {
    let mut node = json!({"step": {"name": name, "agent": name}});
    node["step"]["in"] = input;
    node
}

pub(crate) fn me() -> Caller {
    Caller::default()
}

pub(crate) fn tenant() -> Tenant {
    Tenant::default()
}

impl Shop {
    pub(crate) fn new() -> Self {
        Self::over(runtime(RuntimeOptions::default()))
    }

    pub(crate) fn over(runtime: (Runtime, Counter)) -> Self {
        Self::bounded(runtime, RunBounds::default())
    }

    pub(crate) fn bounded((runtime, counter): (Runtime, Counter), bounds: RunBounds) -> Self {
        let (state, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (runs, service) = open((&state, &work), &runtime, bounds);
        Self {
            runs,
            service,
            counter,
            state,
            work,
            runtime,
            bounds,
        }
    }

    /// Stops as a kill would, and does something before the next start.
    pub(crate) async fn killed(self, meanwhile: impl FnOnce(&Service)) -> Self {
        let Self {
            runs,
            service,
            counter,
            state,
            work,
            runtime,
            bounds,
        } = self;
        let gone: Weak<Service> = Arc::downgrade(&service);
        drop((runs, service));
        while gone.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
        let store = Arc::new(SqliteStore::open(state.path()).unwrap());
        meanwhile(&Service::new(store, BODY_BYTES));
        let (runs, service) = open((&state, &work), &runtime, bounds);
        runs.resume().await.unwrap();
        Self {
            runs,
            service,
            counter,
            state,
            work,
            runtime,
            bounds,
        }
    }

    pub(crate) fn work_dir(&self) -> String {
        self.work.path().to_str().unwrap().to_owned()
    }

    /// A file of a task's folder.
    pub(crate) fn file(&self, task: &str, name: &str) -> Option<String> {
        let root = ambient::open_folder(self.work.path()).unwrap();
        let path = format!("workspace/tasks/{task}/ctx/{name}");
        root.read_to_string(path).ok()
    }

    pub(crate) fn remove_files(&self) {
        let root = ambient::open_folder(self.work.path()).unwrap();
        root.remove_dir_all("workspace").unwrap();
    }

    pub(crate) fn try_launch(&self, caller: &Caller, launch: Value) -> Result<String, WorkerError> {
        let request = LaunchRequest::from_value(launch)?;
        Ok(self.runs.launch(caller, request)?.run)
    }

    /// Launches a flow of these nodes, one after the other, with these agents.
    pub(crate) fn launch(&self, nodes: &[Value], agents: &Value) -> String {
        self.launch_as(&me(), nodes, agents)
    }

    pub(crate) fn launch_as(&self, caller: &Caller, nodes: &[Value], agents: &Value) -> String {
        let launch = json!({"blueprint": blueprint(nodes, agents), "work_dir": self.work_dir()});
        self.try_launch(caller, launch).unwrap()
    }

    /// Waits for work.
    pub(crate) async fn claim(&self, agent: &str) -> Claimed {
        let token = CancellationToken::new();
        let claimed = self.runs.claim(&tenant(), agent, WAIT_MS, &token).await;
        claimed.unwrap().unwrap()
    }

    /// Whether there is work now.
    pub(crate) async fn has_work(&self, agent: &str) -> bool {
        let token = CancellationToken::new();
        let claimed = self.runs.claim(&tenant(), agent, 0, &token).await;
        claimed.unwrap().is_some()
    }

    pub(crate) fn prompt(&self, claimed: &Claimed) -> Result<Payload, WorkerError> {
        self.service.prompt(worker(&claimed.handle))
    }

    pub(crate) fn stage(
        &self,
        claimed: &Claimed,
        name: &str,
        text: &str,
    ) -> Result<Accepted, WorkerError> {
        self.service
            .artifact(worker(&claimed.handle), name, text.as_bytes())
    }

    pub(crate) fn submit(&self, claimed: &Claimed, body: &str) -> Result<Accepted, WorkerError> {
        self.submit_as(claimed, body, None)
    }

    pub(crate) fn submit_as(
        &self,
        claimed: &Claimed,
        body: &str,
        verdict: Option<&str>,
    ) -> Result<Accepted, WorkerError> {
        submit(&self.service, &claimed.handle, (body, verdict))
    }

    /// Claims a step and completes it.
    pub(crate) async fn done(&self, agent: &str, body: &str) {
        let claimed = self.claim(agent).await;
        self.submit(&claimed, body).unwrap();
    }

    pub(crate) fn view(&self, run: &str) -> RunView {
        self.runs.run(&tenant(), run).unwrap()
    }

    /// Follows a run to its end.
    pub(crate) async fn ended(&self, run: &str) -> RunView {
        self.events(run, None).await;
        self.view(run)
    }

    /// The events of a run to its end.
    pub(crate) async fn events(&self, run: &str, after: Option<u64>) -> Vec<Event> {
        let mut events = self.runs.events(&tenant(), run, after).unwrap();
        let mut all = Vec::new();
        while let Some(event) = events.next().await.unwrap() {
            all.push(event);
        }
        all
    }

    /// Returns once something has happened in a run.
    pub(crate) async fn until(&self, run: &str, kind: &str) {
        let mut events = self.runs.events(&tenant(), run, None).unwrap();
        while let Some(event) = events.next().await.unwrap() {
            if event.kind == kind {
                return;
            }
        }
        panic!("the run ended without {kind}");
    }
}

fn open(
    (state, work): (&TempDir, &TempDir),
    runtime: &Runtime,
    bounds: RunBounds,
) -> (Runs, Arc<Service>) {
    let store = Arc::new(SqliteStore::open(state.path()).unwrap());
    let of_service: Arc<SqliteStore> = Arc::clone(&store);
    let service = Arc::new(Service::new(of_service, BODY_BYTES));
    let tenants = [tenant(), Tenant::new("other").unwrap()];
    let roots = tenants.map(|tenant| (tenant, work.path().to_owned()));
    let runs = Runs::open(RunsSettings {
        store,
        service: Arc::clone(&service),
        runtime: runtime.clone(),
        work_roots: WorkRoots::open(&roots).unwrap(),
        base_url: "http://127.0.0.1:7420".to_owned(),
        bounds,
    });
    (runs.unwrap(), service)
}

pub(crate) fn blueprint(nodes: &[Value], agents: &Value) -> Value {
    json!({"id": "test", "flow": {"seq": nodes}, "agents": agents, "result": {"$path": "$"}})
}

/// A worker, by its handle.
pub(crate) fn worker(handle: &Credential) -> service::Caller<'_> {
    service::Caller {
        credential: handle.reveal(),
        peer: "127.0.0.1",
        now_ms: ambient::now_ms(),
    }
}

pub(crate) fn submit(
    service: &Service,
    handle: &Credential,
    (body, verdict): (&str, Option<&str>),
) -> Result<Accepted, WorkerError> {
    let submit = Submit {
        body: body.as_bytes(),
        ok: None,
        verdict,
    };
    service.submit(worker(handle), submit)
}
