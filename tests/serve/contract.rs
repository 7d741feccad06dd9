//! What the worker I/O contract says, seen from outside: a file for each of its sections, a test for
//! each of its statements.

mod fetch;
mod files;
mod out;
mod structured;
mod twin;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::client::{Answer, Request};
use super::house::{As, Claimed, House, step};

/// A blueprint of these nodes, one after the other, that shows its whole context as its result.
fn flow(nodes: &[Value], agents: &Value) -> Value {
    json!({"id": "flow", "flow": {"seq": nodes}, "result": {"$path": "$"}, "agents": agents})
}

/// A step of the agent of its name.
fn ask(name: &str, input: &str) -> Value {
    step(name, name, json!(input))
}

impl House {
    /// Claims a step, takes the answer to its submit, and follows the run to its end.
    fn submitted(&self, agent: &str, body: &str) -> Answer {
        let claimed = self.claim(agent);
        self.post(&claimed, "submit", body)
    }

    fn payload(&self, claimed: &Claimed) -> Value {
        self.get(claimed, "prompt").is(200, "").json()
    }

    /// Sends a launch as the operator.
    fn try_launch(&self, launch: &Value) -> Answer {
        self.ask(As::Operator, Request::post("/v1/flows").json(launch))
    }

    /// A folder of a run's task, as placements usually put it.
    fn folder(&self, run: &str) -> PathBuf {
        let task = self.view(run)["task"].as_str().unwrap().to_owned();
        self.work.path().join(format!("workspace/tasks/{task}/ctx"))
    }

    fn file(&self, run: &str, name: &str) -> Option<String> {
        fs::read_to_string(self.folder(run).join(name)).ok()
    }
}
