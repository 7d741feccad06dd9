//! A service with a folder to work in, an operator and an observer of one tenant, and an operator of
//! another.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Answer, Request};
use super::service::Service;

/// Whom a test asks as.
#[derive(Clone, Copy, Debug)]
pub(crate) enum As {
    /// An operator of `acme`.
    Operator,
    /// An observer of `acme`.
    Observer,
    /// An operator of `globex`.
    Stranger,
}

const EVERYBODY: [(As, &str, &str); 3] = [
    (As::Operator, "operator", "acme"),
    (As::Observer, "observer", "acme"),
    (As::Stranger, "operator", "globex"),
];

pub(crate) struct House {
    pub(crate) service: Service,
    pub(crate) work: TempDir,
}

/// A worker's dispatch, as it was claimed.
#[derive(Clone, Debug)]
pub(crate) struct Claimed {
    pub(crate) document: Value,
    pub(crate) handle: String,
}

impl As {
    /// The token. What is secret in a test is that it is nowhere shown.
    pub(crate) fn token(self) -> String {
        format!("tg-{self:?}-{}", "0123456789abcdef".repeat(3))
    }
}

/// A step of an agent.
pub(crate) fn step(name: &str, agent: &str, input: Value) -> Value {
    let mut step = json!({"name": name, "agent": agent});
    step["in"] = input;
    json!({ "step": step })
}

/// A blueprint of one step, `plan` of `planner`.
pub(crate) fn one_step() -> Value {
    json!({
        "id": "one",
        "flow": step("plan", "planner", json!("plan it")),
        "result": {"$path": "$.plan"},
        "agents": {"planner": {"system": "You plan."}},
    })
}

impl House {
    pub(crate) fn new() -> Self {
        Self::with("", &[])
    }

    /// One with more settings under `serve`, and more options.
    pub(crate) fn with(settings: &str, options: &[&str]) -> Self {
        let work = TempDir::new().unwrap();
        let folders = (TempDir::new().unwrap(), TempDir::new().unwrap());
        Self::over(settings, options, (work, folders))
    }

    /// One over folders that there are.
    pub(crate) fn over(
        settings: &str,
        options: &[&str],
        (work, (folder, state)): (TempDir, (TempDir, TempDir)),
    ) -> Self {
        let entry = |(who, role, tenant): (As, &str, &str)| {
            let sha256 = tidegate_engine::digest(who.token().as_bytes());
            // Where the operator works nobody else does.
            let roots: &[_] = match who {
                As::Operator => &[work.path()],
                As::Observer | As::Stranger => &[],
            };
            json!({
                "name": format!("{who:?}"), "sha256": sha256, "role": role, "tenant": tenant,
                "work_roots": roots,
            })
        };
        let entries: Vec<Value> = EVERYBODY.into_iter().map(entry).collect();
        let tokens = folder.path().join("tokens.json");
        fs::write(&tokens, json!(entries).to_string()).unwrap();
        fs::set_permissions(&tokens, PermissionsExt::from_mode(0o600)).unwrap();
        let config = format!("serve: {{ tokens: tokens.json {settings} }}");
        let service = Service::over(&config, options, (folder, state));
        Self { service, work }
    }

    /// The same after the process was killed, over the same folders.
    pub(crate) fn restarted(self) -> Self {
        let Self { service, work } = self;
        Self {
            service: service.restarted(),
            work,
        }
    }

    /// Asks as somebody.
    pub(crate) fn ask(&self, who: As, request: Request) -> Answer {
        self.service.send(&request.bearer(&who.token()))
    }

    /// Launches a blueprint with the folder to work in, as the operator; gives the run's id.
    pub(crate) fn launch(&self, blueprint: &Value) -> String {
        let work_dir = self.work.path().to_str().unwrap();
        let launch = json!({"blueprint": blueprint, "work_dir": work_dir});
        let answer = self.ask(As::Operator, Request::post("/v1/flows").json(&launch));
        let launched = answer.is(202, "").json();
        launched["run"].as_str().unwrap().to_owned()
    }

    /// Claims the next dispatch to an agent, which there is or will be.
    pub(crate) fn claim(&self, agent: &str) -> Claimed {
        let path = format!("/v1/dispatch/claim?agent={agent}&wait_ms=60000");
        let answer = self.ask(As::Operator, Request::post(&path));
        let document = answer.is(200, "").json();
        let handle = document["handle"].as_str().unwrap().to_owned();
        Claimed { document, handle }
    }

    pub(crate) fn get(&self, claimed: &Claimed, path: &str) -> Answer {
        let path = format!("/v1/worker/{path}");
        self.service
            .send(&Request::get(&path).bearer(&claimed.handle))
    }

    pub(crate) fn post(&self, claimed: &Claimed, path: &str, body: impl AsRef<[u8]>) -> Answer {
        let path = format!("/v1/worker/{path}");
        let request = Request::post(&path).bearer(&claimed.handle);
        self.service.send(&request.body(body))
    }

    /// How a run stands.
    pub(crate) fn view(&self, run: &str) -> Value {
        let answer = self.ask(As::Operator, Request::get(&format!("/v1/runs/{run}")));
        answer.is(200, "").json()
    }

    /// How a run stands once it has ended.
    pub(crate) fn ended(&self, run: &str) -> Value {
        let events = Request::get(&format!("/v1/runs/{run}/events"));
        // The stream ends with the run.
        self.ask(As::Observer, events).is(200, "");
        self.view(run)
    }
}
