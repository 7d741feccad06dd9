//! A service over a fresh database, with one run whose files stand in a fresh folder.

use std::sync::Arc;

use cap_std::fs::Dir;
use tempfile::TempDir;
use tidegate_contract::Tenant;
use tidegate_sandbox::ambient;
use tidegate_worker::content::{Body, Conditions};
use tidegate_worker::error::WorkerError;
use tidegate_worker::service::{
    Accepted, BODY_BYTES, Caller, Dispatch, Dispatched, Outcome, Service, Submit,
};
use tidegate_worker::step::StepKey;
use tidegate_worker::store::{Launch, Order, Run, SqliteStore};

/// A moment long after 1970.
pub(crate) const NOW: u64 = 1_800_000_000_000;

pub(crate) struct House {
    pub(crate) service: Service,
    pub(crate) state: TempDir,
    work: TempDir,
}

pub(crate) fn run(id: &str, launch: Launch) -> Run {
    Run {
        id: id.to_owned(),
        tenant: Tenant::default(),
        task: "T-1".to_owned(),
        launch,
    }
}

pub(crate) fn step(text: &str) -> StepKey {
    StepKey::parse(text).unwrap()
}

impl House {
    /// With the run `R-1`, started like this.
    pub(crate) fn with(launch: Launch) -> Self {
        let state = tempfile::tempdir().unwrap();
        let work = tempfile::tempdir().unwrap();
        let service = service(&state);
        let house = Self {
            service,
            state,
            work,
        };
        let root = house.root();
        house
            .service
            .launch(&run("R-1", launch), Some(root))
            .unwrap();
        house
    }

    pub(crate) fn new() -> Self {
        Self::with(Launch::default())
    }

    /// The same after a stop: the database and the folder are opened again.
    pub(crate) fn started_again(self) -> Self {
        let Self {
            service: before,
            state,
            work,
        } = self;
        drop(before);
        let service = service(&state);
        Self {
            service,
            state,
            work,
        }
    }

    pub(crate) fn root(&self) -> Dir {
        ambient::open_folder(self.work.path()).unwrap()
    }

    /// A file of the task's folder.
    pub(crate) fn file(&self, name: &str) -> Option<String> {
        let path = format!("workspace/tasks/T-1/ctx/{name}");
        self.root().read_to_string(path).ok()
    }

    pub(crate) fn dispatch(&self, at: &str) -> Dispatched {
        self.dispatch_with(at, Order::default())
    }

    pub(crate) fn dispatch_with(&self, at: &str, order: Order) -> Dispatched {
        self.dispatch_in("R-1", at, order)
    }

    pub(crate) fn dispatch_in(&self, run: &str, at: &str, order: Order) -> Dispatched {
        let dispatch = Dispatch {
            run: run.to_owned(),
            step: step(at),
            agent: "agent".to_owned(),
            order,
        };
        self.service.dispatch(dispatch, NOW).unwrap()
    }

    /// A step that passes with this body.
    pub(crate) fn done(&self, at: &str, body: &str) {
        let dispatched = self.dispatch(at);
        self.submit(&dispatched, body).unwrap();
    }

    pub(crate) fn submit(&self, at: &Dispatched, body: &str) -> Result<Accepted, WorkerError> {
        self.submit_as(at, body, None)
    }

    pub(crate) fn submit_as(
        &self,
        at: &Dispatched,
        body: &str,
        verdict: Option<&str>,
    ) -> Result<Accepted, WorkerError> {
        let submit = Submit {
            body: body.as_bytes(),
            ok: None,
            verdict,
        };
        self.service.submit(caller(at), submit)
    }

    pub(crate) fn stage(
        &self,
        at: &Dispatched,
        name: &str,
        text: &str,
    ) -> Result<Accepted, WorkerError> {
        self.service.artifact(caller(at), name, text.as_bytes())
    }

    pub(crate) fn outcome(&self, at: &Dispatched) -> Outcome {
        self.service.outcome(at.attempt).unwrap()
    }

    /// The whole text of an output, as another step sees it.
    pub(crate) fn content(
        &self,
        at: &Dispatched,
        of: &str,
        part: Option<&str>,
    ) -> Result<String, WorkerError> {
        let served = self
            .service
            .content(caller(at), of, part, Conditions::default())?;
        let Body::Whole(bytes) = served.body else {
            panic!("{served:?}");
        };
        Ok(String::from_utf8(bytes).unwrap())
    }
}

fn service(state: &TempDir) -> Service {
    let store = SqliteStore::open(state.path()).unwrap();
    Service::new(Arc::new(store), BODY_BYTES)
}

/// The worker of an attempt, by its handle.
pub(crate) fn caller(dispatched: &Dispatched) -> Caller<'_> {
    Caller {
        credential: dispatched.handle.reveal(),
        peer: "127.0.0.1",
        now_ms: NOW,
    }
}

pub(crate) fn code<T: std::fmt::Debug>(answer: Result<T, WorkerError>) -> &'static str {
    answer.map_or_else(|error| error.code(), |_| "ok")
}
