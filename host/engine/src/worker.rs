//! Steps of a flow that a component does (SPEC I9): what it is asked, the parts that it stages, and how
//! it ends.
//!
//! Deliberately absent: what a part may be called, what becomes of it, and the fold. They are the port's,
//! so that a worker in the host and one over HTTP are under the same rules.

use std::sync::Arc;

use tidegate_contract::failure::host_failure;
use tidegate_contract::{CallError, Failure, JsonObject, Status, Value};
use tidegate_sandbox::Shelf;

use crate::artifacts::Keeping;
use crate::bindings::exports::tidegate::plugin::worker;
use crate::bindings::tidegate::plugin::{parts, types};
use crate::call;
use crate::convert::{self, Broken};
use crate::ending::Ending;
use crate::imports::public;
use crate::plugin::{CallOptions, Loaded, Plugin};
use crate::program::Program;
use crate::report;
use crate::secrets;
use crate::store::CallState;
use crate::watch::Watch;

/// What a worker is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocation {
    /// The task that the step belongs to.
    pub task_id: String,
    /// Which attempt of the step this is, from 1.
    pub attempt: u32,
    /// The agent that the step is given to.
    pub agent: String,
    /// The system prompt, if the agent has one.
    pub system: Option<String>,
    /// What to do.
    pub prompt: String,
    /// What the worker may know.
    pub context: JsonObject,
}

/// Takes the parts that a worker stages while it runs.
pub trait Parts: Send + Sync {
    /// Stages one part, in the place of an earlier one of the name. Called on the guest's thread,
    /// which it may block.
    ///
    /// # Errors
    ///
    /// What the worker is told; it goes on and may stage another.
    fn stage(&self, name: &str, content: &[u8]) -> Result<(), Failure>;
}

/// How a worker's step ended.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkEnd {
    /// It has a value.
    Value(Value),
    /// It has none: the worker's own failure, a limit, a trap, or its caller gave up.
    Ended {
        /// `failed`, `timeout` or `cancelled`.
        status: Status,
        /// Why.
        failure: Failure,
    },
}

impl WorkEnd {
    fn failed(failure: Failure) -> Self {
        Self::Ended {
            status: Status::Failed,
            failure,
        }
    }
}

impl Plugin {
    /// Does one step in a fresh instance. What it stages on the way goes to `parts`. Dropping the
    /// future ends the step.
    ///
    /// # Errors
    ///
    /// [`CallError::NotInjected`] when the plugin exports no worker, [`CallError::InvalidResult`] when
    /// it broke the contract. Limits, traps, the deadline and cancellation are ends, not errors.
    pub async fn work(
        &self,
        invocation: Invocation,
        parts: Arc<dyn Parts>,
        mut options: CallOptions,
    ) -> Result<WorkEnd, CallError> {
        let ports = (parts, options.shelf.take());
        let run_on = options.run_on;
        if run_on.is_here() {
            let (_slot, watch) = self.start(options).await?;
            return run_on.hold(|| step(&self.0, invocation, ports, watch));
        }
        let loaded = Arc::clone(&self.0);
        let job = move |watch| step(&loaded, invocation, ports, watch);
        self.on_guest_thread(options, job).await
    }
}

fn step(
    loaded: &Loaded,
    invocation: Invocation,
    (parts, shelf): (Arc<dyn Parts>, Option<Shelf>),
    watch: Watch,
) -> Result<WorkEnd, CallError> {
    let code = loaded.code()?;
    let Some(indices) = code.exports.worker.as_ref() else {
        return Err(CallError::NotInjected { node: "worker" });
    };
    let id = format!("{}/{}", invocation.task_id, invocation.attempt);
    let asked = lowered(invocation)?;
    let limits = call::limits(loaded, &watch);
    let mut store = call::begin(loaded, &id, watch, Program::Tool)?;
    store.data_mut().keeping = Keeping::on(shelf, &limits);
    store.data_mut().parts = Some(parts);
    let end = call::run(loaded, &mut store, |store| {
        let instance = code.pre.instantiate(&mut *store)?;
        let worker = indices.load(&mut *store, &instance)?;
        worker.call_run(store, &asked)
    });
    report::log(store.data());
    drop(store);
    let said = match end {
        Ok(Ok(value)) => convert::value(&value, &limits).map(WorkEnd::Value),
        Ok(Err(failure)) => convert::failure(failure, &limits).map(WorkEnd::failed),
        Err(Ending::Breach(breach)) => Ok(WorkEnd::Ended {
            status: breach.status(),
            failure: breach.failure(&limits),
        }),
        Err(Ending::Trap(failure)) => Ok(WorkEnd::failed(failure)),
        Err(Ending::Host(reason)) => return Err(CallError::HostFault { reason }),
    };
    let end = match said {
        Ok(end) => Ok(end),
        Err(Broken::TooLarge) => Ok(WorkEnd::failed(Failure::result_too_large(
            limits.result_bytes,
        ))),
        Err(Broken::Contract(reason)) => Err(CallError::InvalidResult { reason }),
    };
    secrets::withhold(
        &loaded.setup.handles.secrets,
        end,
        |secret, end| match end {
            WorkEnd::Value(value) => secret.is_in_value(value),
            WorkEnd::Ended { failure, .. } => secret.is_in(failure.message()),
        },
    )
}

fn lowered(invocation: Invocation) -> Result<worker::Invocation, CallError> {
    let context =
        serde_json::to_string(&invocation.context).map_err(|error| CallError::HostFault {
            reason: error.to_string(),
        })?;
    Ok(worker::Invocation {
        task_id: invocation.task_id,
        attempt: invocation.attempt,
        agent: invocation.agent,
        system: invocation.system,
        prompt: invocation.prompt,
        context,
    })
}

impl parts::Host for CallState {
    fn stage(
        &mut self,
        name: String,
        content: Vec<u8>,
    ) -> wasmtime::Result<Result<(), types::Failure>> {
        let Some(parts) = &self.parts else {
            let message = "no attempt is running: parts belong to a worker's step".to_owned();
            return Ok(Err(public(&host_failure("NO_ATTEMPT", message))));
        };
        if secrets::is_in_bytes(&self.setup.handles.secrets, &content) {
            let message = "the part holds a secret".to_owned();
            return Ok(Err(public(&host_failure("SECRET_IN_RESULT", message))));
        }
        let staged = parts.stage(&name, &content);
        Ok(staged.map_err(|failure| public(&failure)))
    }
}
