//! Running a flow: each step through the runtime's own checks. Nothing is undone or repeated.

use std::pin::Pin;

use serde_json::Value;
use thiserror::Error;
use tidegate_contract::{CallError, Failure, JsonObject, Status};

use super::evaluate::{self, EvaluateError};
use super::expression::Expression;
use super::path::{Path, PathError};
use super::{Flow, FlowLimits, FlowProblem, Loop, Node, Step};
use crate::runtime::{InvokeOptions, Runtime};

/// Why a flow ended early.
#[derive(Debug, Error)]
pub enum FlowError {
    /// Nothing ran: the flow itself is wrong.
    #[error("the flow can't run")]
    Invalid(#[source] FlowProblem),
    /// A step's call was refused or gave no valid result, or the caller cancelled before it started.
    #[error("step `{step}` failed")]
    Call {
        /// The step, or the loop that did not go on.
        step: String,
        /// Why.
        #[source]
        source: CallError,
    },
    /// An input, an output or a loop's expression does not fit the context.
    #[error("`{step}` does not fit the context")]
    Context {
        /// The step; `result` for the flow's own result; for a loop its name and the key.
        step: String,
        /// Why.
        #[source]
        source: EvaluateError,
    },
    /// A loop was not done in time.
    #[error("loop `{name}` is not done after max_iterations = {max_iterations}")]
    Iterations {
        /// The loop.
        name: String,
        /// Its bound.
        max_iterations: u32,
    },
}

/// Told about each step of a run. In a graph several steps may have started before one of them ends;
/// each that has started ends once, also after another's error.
pub trait Progress {
    /// A step starts.
    fn started(&mut self, step: &Step);
    /// A step ended.
    fn ended(&mut self, step: &Step, end: StepEnd<'_>);
}

/// How a step ended.
#[derive(Clone, Copy, Debug)]
pub enum StepEnd<'a> {
    /// With this output, whose `status` may still say that it failed.
    Output(&'a Value),
    /// Without one; the flow ends.
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
        runtime: &Runtime,
        input: JsonObject,
        options: &InvokeOptions,
        progress: &mut (dyn Progress + Send),
    ) -> Result<(Option<Value>, Value), FlowError> {
        self.check().map_err(FlowError::Invalid)?;
        let mut run = Run {
            runtime,
            options,
            progress,
            limits: self.limits,
            context: self.context(input),
        };
        run.node(&self.flow).await?;
        let result = self
            .result
            .as_ref()
            .map(|result| run.value("result", result))
            .transpose()?;
        Ok((result, run.context))
    }
}

/// One run of a flow.
pub(super) struct Run<'a> {
    runtime: &'a Runtime,
    options: &'a InvokeOptions,
    progress: &'a mut (dyn Progress + Send),
    pub(super) limits: FlowLimits,
    context: Value,
}

impl<'a> Run<'a> {
    /// Nodes nest, so the future is boxed; how deeply is checked before.
    fn node<'b>(
        &'b mut self,
        node: &'a Node,
    ) -> Pin<Box<dyn Future<Output = Result<(), FlowError>> + Send + 'b>>
    where
        'a: 'b,
    {
        Box::pin(async move {
            match node {
                Node::Step(step) => {
                    let end = self.begin(step)?.await;
                    self.end(step, end)
                }
                Node::Seq(nodes) => {
                    for node in nodes {
                        self.node(node).await?;
                    }
                    Ok(())
                }
                Node::Graph(steps) => self.graph(steps).await,
                Node::Loop(inner) => self.iterate(inner).await,
            }
        })
    }

    async fn iterate(&mut self, inner: &'a Loop) -> Result<(), FlowError> {
        let name = inner.name.as_str();
        let at = |key: &str| format!("{name}.{key}");
        let place = Path::key(name);
        let state = self.value(&at("state"), &inner.state)?;
        self.write(&at("state"), &place, state)?;
        for _iteration in 0..inner.max_iterations {
            // A body that waits for nothing must not keep others, or the caller's cancelling, away.
            tokio::task::yield_now().await;
            self.not_cancelled(name)?;
            let bound = self.value(&at("bind"), &inner.bind)?;
            self.lay_over(&at("bind"), bound)?;
            self.node(&inner.body).await?;
            if let Some(update) = &inner.update {
                let state = self.value(&at("update"), update)?;
                self.write(&at("update"), &place, state)?;
            }
            let done = self.value(&at("done"), &inner.done)?;
            let done = evaluate::boolean("done", &done);
            if done.map_err(|source| misfit(&at("done"), source))? {
                return Ok(());
            }
        }
        Err(FlowError::Iterations {
            name: name.to_owned(),
            max_iterations: inner.max_iterations,
        })
    }

    /// Evaluates a step's input and starts its call; the call borrows nothing of the run.
    pub(super) fn begin(
        &mut self,
        step: &'a Step,
    ) -> Result<impl Future<Output = Result<Value, CallError>> + Send + use<'a>, FlowError> {
        let name = step.name.as_str();
        self.not_cancelled(name)?;
        let input = self.value(name, &step.r#in)?;
        let options = InvokeOptions {
            sink: step.sink.clone(),
            ..self.options.clone()
        };
        self.progress.started(step);
        Ok(self.runtime.invoke(step.node, input, options))
    }

    /// Takes what a step's call gave.
    pub(super) fn end(
        &mut self,
        step: &Step,
        end: Result<Value, CallError>,
    ) -> Result<(), FlowError> {
        let name = step.name.as_str();
        match end {
            Ok(output) => {
                self.progress.ended(step, StepEnd::Output(&output));
                self.write(name, &step.place(), output)
            }
            Err(source) => {
                self.progress.ended(step, StepEnd::Error(&source));
                Err(FlowError::Call {
                    step: name.to_owned(),
                    source,
                })
            }
        }
    }

    fn not_cancelled(&self, name: &str) -> Result<(), FlowError> {
        if !self.options.cancel.is_cancelled() {
            return Ok(());
        }
        Err(FlowError::Call {
            step: name.to_owned(),
            source: CallError::Ended {
                status: Status::Cancelled,
                failure: Failure::cancelled(),
            },
        })
    }

    fn value(&self, name: &str, expression: &Expression) -> Result<Value, FlowError> {
        let value = expression.evaluate(&self.context, self.limits.gathered_bytes);
        value.map_err(|source| misfit(name, source))
    }

    fn write(&mut self, name: &str, place: &Path, value: Value) -> Result<(), FlowError> {
        let written = place.set(&mut self.context, value);
        written.map_err(|source: PathError| misfit(name, source.into()))
    }

    fn lay_over(&mut self, name: &str, bound: Value) -> Result<(), FlowError> {
        match (&mut self.context, bound) {
            (Value::Object(context), Value::Object(bound)) => {
                context.extend(bound);
                Ok(())
            }
            (_, other) => {
                let source = EvaluateError::Type {
                    what: "bind",
                    expected: "a mapping",
                    found: evaluate::type_of(&other),
                };
                Err(misfit(name, source))
            }
        }
    }
}

fn misfit(step: &str, source: EvaluateError) -> FlowError {
    FlowError::Context {
        step: step.to_owned(),
        source,
    }
}
