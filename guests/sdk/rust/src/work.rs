//! Workers: one step of a flow, done inside the host.

use serde_json::{Map, Value};

use crate::bindings::worker::exports::tidegate::plugin::worker::{Guest, Invocation};
use crate::{Failure, parts};

/// Does steps of flows: what [`export_worker`](crate::export_worker) takes.
pub trait Worker {
    /// Does the step and gives its value.
    ///
    /// # Errors
    ///
    /// Why there is none; the attempt fails then.
    fn run(invocation: Invocation) -> Result<Value, Failure>;
}

impl<T: Worker> Guest for T {
    fn run(invocation: Invocation) -> Result<String, Failure> {
        <T as Worker>::run(invocation).map(|value| value.to_string())
    }
}

impl Invocation {
    /// What the worker may know: the object `context`.
    pub fn known(&self) -> Map<String, Value> {
        serde_json::from_str(&self.context).unwrap_or_default()
    }
}

/// Stages one named part of the running attempt; the last text of a name counts.
///
/// # Errors
///
/// What is wrong with the name or the content.
pub fn stage(name: &str, text: &str) -> Result<(), Failure> {
    parts::stage(name, text.as_bytes())
}
