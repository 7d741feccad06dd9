//! What a run is given: the runtime, and the ports that an embedder may fill.
//!
//! Deliberately absent: what keeps a journal, and who does an agent's work.

use std::fmt;

use serde_json::Value;
use tidegate_contract::{CallError, Failure, JsonObject};
use tokio_util::sync::CancellationToken;

use super::place::Place;
use super::run::Progress;
use crate::runtime::{InvokeOptions, Runtime};
use crate::tool::BoxFuture;

/// Everything around one run of a flow.
pub struct Surroundings<'a> {
    /// Runs the steps of nodes.
    pub runtime: &'a Runtime,
    /// Who runs the flow, and the token that ends it.
    pub options: InvokeOptions,
    /// Does the steps of agents; without it such a step is `NOT_INJECTED`.
    pub agents: Option<&'a dyn Agents>,
    /// Keeps what steps came to; without it nothing is kept.
    pub journal: Option<&'a dyn Journal>,
    /// Is told about each step.
    pub progress: &'a mut (dyn Progress + Send),
}

impl<'a> Surroundings<'a> {
    /// A run over a runtime alone: no agents, nothing kept.
    pub fn new(
        runtime: &'a Runtime,
        options: InvokeOptions,
        progress: &'a mut (dyn Progress + Send),
    ) -> Self {
        Self {
            runtime,
            options,
            agents: None,
            journal: None,
            progress,
        }
    }
}

impl fmt::Debug for Surroundings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings")
            .field("runtime", &self.runtime)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Does the steps that are given to agents.
pub trait Agents: Send + Sync {
    /// Does one step. After a restart a step that had started and not ended is given again, also when
    /// `cancel` is cancelled already: its open attempt is then there to be closed.
    ///
    /// # Errors
    ///
    /// [`CallError`] when the step was not done at all. An end that the agent itself came to, good or
    /// bad, is an [`AgentEnd`].
    fn run<'a>(
        &'a self,
        step: AgentStep<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<AgentEnd, CallError>>;
}

/// One step for an agent.
#[derive(Debug)]
pub struct AgentStep<'a> {
    /// Where in the run, unlike any other step and alike after a restart.
    pub place: &'a Place,
    /// The step's name.
    pub name: &'a str,
    /// The fanout lanes that it runs in, outermost first; empty outside of fanouts.
    pub lanes: &'a [u32],
    /// Who does it.
    pub agent: &'a str,
    /// The evaluated `in`, without `$step_meta`.
    pub input: Value,
    /// `$step_meta.inline`, empty where there is none.
    pub meta: JsonObject,
}

/// How an agent's step ended.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEnd {
    /// With this output.
    Passed(Value),
    /// The step fails with this value.
    Blocked(Value),
    /// Without an output; the flow goes on.
    Skipped,
    /// The step fails.
    Failed(Failure),
}

/// Keeps what steps came to, so that a run that was killed goes on where it stood.
///
/// A run with the same flow and input asks for each place before it does anything there. What has
/// ended is not done again. What had started and not ended is, for a tool, an MCP call and a
/// delivery, of unknown outcome, and not done again either; an agent is given its step again.
///
/// A call that was refused or given up before it began is kept as ended like that, and starts again
/// with the next run: there [`started`](Journal::started) follows [`ended`](Journal::ended).
///
/// A graph or fanout whose outcome hangs on what ended first keeps the outcome at its own place.
pub trait Journal: Send + Sync {
    /// What is kept of a place; `None` for one that was never reached.
    ///
    /// # Errors
    ///
    /// [`CallError`] ends the run.
    fn recall<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, Result<Option<Kept>, CallError>>;

    /// Keeps that a step starts. Once this returns, a crash does not undo it.
    ///
    /// # Errors
    ///
    /// [`CallError`] ends the run; the step is not run.
    fn started<'a>(&'a self, place: &'a Place) -> BoxFuture<'a, Result<(), CallError>>;

    /// Keeps how it ended. The value is the flow's own business and comes back by
    /// [`recall`](Self::recall) as it was.
    ///
    /// # Errors
    ///
    /// [`CallError`] ends the run.
    fn ended<'a>(
        &'a self,
        place: &'a Place,
        end: &'a Value,
    ) -> BoxFuture<'a, Result<(), CallError>>;
}

/// What a journal knows of a place.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// It started, and no more is known.
    Started,
    /// It ended so.
    Ended(Value),
}
