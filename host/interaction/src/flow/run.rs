//! Running a flow: which node comes next, and what it sees. Nothing is undone or repeated.

use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tidegate_contract::{CallError, Failure, JsonObject};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::act::unreadable;
use super::budget::Charge;
use super::error::FlowError;
use super::evaluate::{self, EvaluateError};
use super::expression::Expression;
use super::path::Path;
use super::place::Place;
use super::scope::Scope;
use super::surroundings::{Agents, Journal, Kept, Surroundings};
use super::{Assign, Branch, Catch, Flow, FlowLimits, Known, Loop, Node, Step, Try};
use crate::runtime::{InvokeOptions, Runtime};

/// Told about each step of a run. Several steps may have started before one of them ends; each that
/// has started ends once, also after another's error, unless the run's journal fails.
///
/// What a journal brings back is not told again.
pub trait Progress {
    /// A step starts.
    fn started(&mut self, step: &Step, place: &Place);
    /// A step ended.
    fn ended(&mut self, step: &Step, place: &Place, end: StepEnd<'_>);
}

/// How a step ended.
#[derive(Clone, Copy, Debug)]
pub enum StepEnd<'a> {
    /// With this output, whose `status` may still say that it failed.
    Output(&'a Value),
    /// Without one, as its agent wished.
    Skipped,
    /// Blocked by its agent, with this value.
    Blocked(&'a Value),
    /// Failed by its agent.
    Failed(&'a Failure),
    /// The call was refused or gave no valid result.
    Error(&'a CallError),
}

impl Flow {
    /// Runs the flow and gives back its result and its final context.
    ///
    /// Once the caller has cancelled, no step starts; one that runs ends at once, and its output
    /// says so.
    ///
    /// # Errors
    ///
    /// [`FlowError`], naming the step. Effects of earlier steps stay.
    pub async fn run(
        &self,
        input: JsonObject,
        around: Surroundings<'_>,
    ) -> Result<(Option<Value>, Value), FlowError> {
        self.check_input(&input)?;
        let context = self.context(input);
        let mut charge = Charge::of(self.limits.context_bytes);
        let charged = charge.take(&context, 0);
        charged.map_err(|source| FlowError::context("init", source))?;
        let mut lane = Lane {
            scope: Scope::of(context),
            charge,
            closes: around.journal.is_some() && around.options.cancel.is_cancelled(),
            cancel: around.options.cancel.clone(),
            lanes: Vec::new(),
        };
        let room = around.runtime.room(&around.options);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let run = Run {
            turns: Semaphore::new(room.min(Semaphore::MAX_PERMITS)),
            runtime: around.runtime,
            options: around.options,
            agents: around.agents,
            journal: around.journal,
            limits: self.limits,
            progress: Mutex::new(around.progress),
        };
        run.node(&self.flow, &mut lane, Place::root()).await?;
        let result = self
            .result
            .as_ref()
            .map(|result| run.value("result", result, &lane))
            .transpose()?;
        Ok((result, lane.scope.into_own().into_value()))
    }
}

impl Flow {
    fn check_input(&self, input: &JsonObject) -> Result<(), FlowError> {
        let known = Known {
            input: Some(input),
            contracts: None,
        };
        let checked = self.check_with(&known);
        checked.map_err(|placed| FlowError::Invalid(placed.problem))
    }
}

/// What all lanes of a run share.
pub(super) struct Run<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) options: InvokeOptions,
    pub(super) agents: Option<&'a dyn Agents>,
    pub(super) journal: Option<&'a dyn Journal>,
    pub(super) limits: FlowLimits,
    /// Calls of the run that may be with the runtime at once: as many as it runs. Others wait for them
    /// here, or they would take each other's places in the runtime's queue, of which there may be none.
    pub(super) turns: Semaphore,
    progress: Mutex<&'a mut (dyn Progress + Send)>,
}

/// One line of nodes that come one after the other: the flow itself, or one item of a fanout.
pub(super) struct Lane<'s> {
    pub(super) scope: Scope<'s>,
    /// What the scope's own layer holds.
    pub(super) charge: Charge,
    /// Ends what runs in this lane.
    pub(super) cancel: CancellationToken,
    /// Whether it was cancelled before it began: it only goes where a journal knows the way, so that
    /// what is open there is closed.
    pub(super) closes: bool,
    /// The lanes that it stands in, outermost first, itself the last.
    pub(super) lanes: Vec<u32>,
}

impl<'a> Run<'a> {
    /// Nodes nest, so the future is boxed; how deeply is checked before.
    pub(super) fn node<'b>(
        &'b self,
        node: &'a Node,
        lane: &'b mut Lane<'_>,
        place: Place,
    ) -> Pin<Box<dyn Future<Output = Result<(), FlowError>> + Send + 'b>>
    where
        'a: 'b,
    {
        Box::pin(async move {
            match node {
                // It looks itself, once it knows whether something of it is open.
                Node::Step(_) => tokio::task::yield_now().await,
                _ => self.pause(lane, &format!("the node at {place}")).await?,
            }
            match node {
                Node::Step(step) => {
                    let end = self.act(self.begin(step, lane, place)?).await?;
                    lane.take(step, end)
                }
                Node::Seq(nodes) => {
                    for (at, node) in nodes.iter().enumerate() {
                        self.node(node, lane, place.child(at)).await?;
                    }
                    Ok(())
                }
                Node::Graph(steps) => self.graph(steps, lane, &place).await,
                Node::Loop(inner) => self.iterate(inner, lane, &place).await,
                Node::Branch(branch) => self.branch(branch, lane, &place).await,
                Node::Fanout(fanout) => self.fanout(fanout, lane, &place).await,
                Node::Try(attempt) => self.attempt(attempt, lane, &place).await,
                Node::Assign(Assign(places)) => self.assign(places, lane, &place).await,
            }
        })
    }

    /// Lets others go on, and looks whether the caller still wants more: what waits for nothing must
    /// not keep either away.
    pub(super) async fn pause(&self, lane: &Lane<'_>, name: &str) -> Result<(), FlowError> {
        tokio::task::yield_now().await;
        if lane.cancel.is_cancelled() && !lane.closes {
            return Err(FlowError::cancelled(name));
        }
        Ok(())
    }

    async fn branch(
        &self,
        branch: &'a Branch,
        lane: &mut Lane<'_>,
        place: &Place,
    ) -> Result<(), FlowError> {
        let at = format!("cond of the branch at {place}");
        let cond = self.value(&at, &branch.cond, lane)?;
        let cond = evaluate::boolean("cond", &cond);
        if cond.map_err(|source| FlowError::context(&at, source))? {
            return self.node(&branch.then, lane, place.child(0)).await;
        }
        match &branch.r#else {
            Some(node) => self.node(node, lane, place.child(1)).await,
            None => Ok(()),
        }
    }

    async fn attempt(
        &self,
        attempt: &'a Try,
        lane: &mut Lane<'_>,
        place: &Place,
    ) -> Result<(), FlowError> {
        let mut inner = Lane {
            scope: Scope::over(&lane.scope),
            charge: lane.charge.another(),
            cancel: lane.cancel.clone(),
            closes: lane.closes,
            lanes: lane.lanes.clone(),
        };
        let ended = self.node(&attempt.body, &mut inner, place.child(0)).await;
        let Lane { scope, charge, .. } = inner;
        let own = scope.into_own();
        match ended {
            Ok(()) => {
                let replaced = lane.scope.absorb(own);
                lane.charge.absorb(charge);
                lane.charge.give_back(replaced);
                Ok(())
            }
            Err(error) if error.is_final() || lane.is_cut_by(&error) => Err(error),
            Err(error) => {
                drop((own, charge));
                let Catch { r#as, body } = &attempt.catch;
                lane.write(r#as.as_str(), &Path::key(r#as.as_str()), error.report())?;
                self.node(body, lane, place.child(1)).await
            }
        }
    }

    async fn assign(
        &self,
        places: &[(Path, Expression)],
        lane: &mut Lane<'_>,
        place: &Place,
    ) -> Result<(), FlowError> {
        let at = |path: &Path| format!("{path} of the assign at {place}");
        let mut values = Vec::new();
        for (path, expression) in places {
            self.pause(lane, &at(path)).await?;
            let value = self.value(&at(path), expression, lane)?;
            lane.charge_for(&at(path), path, &value)?;
            values.push((path, value));
        }
        for (path, value) in values {
            lane.put(&at(path), path, value)?;
        }
        Ok(())
    }

    async fn iterate(
        &self,
        inner: &'a Loop,
        lane: &mut Lane<'_>,
        place: &Place,
    ) -> Result<(), FlowError> {
        let name = &lane.named(inner.name.as_str());
        let at = |key: &str| format!("{name}.{key}");
        let out = Path::key(inner.name.as_str());
        let state = self.value(&at("state"), &inner.state, lane)?;
        lane.write(&at("state"), &out, state)?;
        for iteration in 0..inner.max_iterations {
            self.pause(lane, name).await?;
            let bound = self.value(&at("bind"), &inner.bind, lane)?;
            lane.lay_over(&at("bind"), bound)?;
            self.node(&inner.body, lane, place.turn(iteration)).await?;
            if let Some(update) = &inner.update {
                let state = self.value(&at("update"), update, lane)?;
                lane.write(&at("update"), &out, state)?;
            }
            let done = self.value(&at("done"), &inner.done, lane)?;
            let done = evaluate::boolean("done", &done);
            if done.map_err(|source| FlowError::context(&at("done"), source))? {
                return Ok(());
            }
        }
        Err(FlowError::Iterations {
            name: name.clone(),
            max_iterations: inner.max_iterations,
        })
    }

    pub(super) fn progress(&self) -> MutexGuard<'_, &'a mut (dyn Progress + Send)> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn value(
        &self,
        name: &str,
        expression: &Expression,
        lane: &Lane<'_>,
    ) -> Result<Value, FlowError> {
        let value = expression.evaluate_in(&lane.scope, self.limits.gathered_bytes);
        value.map_err(|source| FlowError::context(name, source))
    }

    /// Gives the error that the journal kept of a graph or fanout. Which of several errors came first
    /// hangs on time, and what followed from it must follow again.
    pub(super) async fn failed_before(&self, name: &str, place: &Place) -> Result<(), FlowError> {
        let Some(Kept::Ended(end)) = self.recall(name, place).await? else {
            return Ok(());
        };
        match end.get("error") {
            None => Ok(()),
            Some(report) => Err(FlowError::of_report(report).unwrap_or_else(|| unreadable(name))),
        }
    }

    /// Keeps the error of a graph or fanout and gives it back.
    pub(super) async fn keep_error(
        &self,
        name: &str,
        place: &Place,
        error: FlowError,
        cancel: &CancellationToken,
    ) -> Result<FlowError, FlowError> {
        if let Some(journal) = self.journal
            && !error.is_final()
            && !cancel.is_cancelled()
        {
            let kept = serde_json::json!({ "error": error.report() });
            let ended = journal.ended(place, &kept).await;
            ended.map_err(|source| FlowError::journal(name, source))?;
        }
        Ok(error)
    }
}

impl Lane<'_> {
    /// Whether an error follows from the lane's cancelling. In one that closes, others are what it
    /// came to before.
    pub(super) fn is_cut_by(&self, error: &FlowError) -> bool {
        self.cancel.is_cancelled() && (!self.closes || error.is_cancelled())
    }

    /// A name as errors have it: with the lanes that it stands in, `review[2]`.
    pub(super) fn named(&self, name: &str) -> String {
        named(name, &self.lanes)
    }

    pub(super) fn write(&mut self, name: &str, to: &Path, value: Value) -> Result<(), FlowError> {
        self.charge_for(name, to, &value)?;
        self.put(name, to, value)
    }

    /// Takes what a value needs, before it is written.
    fn charge_for(&mut self, name: &str, to: &Path, value: &Value) -> Result<(), FlowError> {
        let charged = self.charge.take(value, to.bytes());
        charged.map_err(|source| FlowError::context(name, source))
    }

    /// Writes a value that is paid for.
    pub(super) fn put(&mut self, name: &str, to: &Path, value: Value) -> Result<(), FlowError> {
        let written = self.scope.set(to, value);
        let replaced = written.map_err(|source| FlowError::context(name, source.into()))?;
        if let Some(bytes) = replaced {
            self.charge.give_back(bytes.saturating_add(to.bytes()));
        }
        Ok(())
    }

    fn lay_over(&mut self, name: &str, bound: Value) -> Result<(), FlowError> {
        match bound {
            Value::Object(bound) => {
                for (key, value) in bound {
                    self.write(name, &Path::key(&key), value)?;
                }
                Ok(())
            }
            other => {
                let source = EvaluateError::Type {
                    what: "bind",
                    expected: "a mapping",
                    found: evaluate::type_of(&other),
                };
                Err(FlowError::context(name, source))
            }
        }
    }
}

pub(super) fn named(name: &str, lanes: &[u32]) -> String {
    let with = |name: String, lane| format!("{name}[{lane}]");
    lanes.iter().fold(name.to_owned(), with)
}
