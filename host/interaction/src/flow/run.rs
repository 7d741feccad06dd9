//! Running a flow: one step after the other, each through the runtime's own checks.

use serde_json::Value;
use thiserror::Error;
use tidegate_contract::{CallError, JsonObject};

use super::path::{Path, PathError};
use super::{Flow, Node, Step};
use crate::runtime::{InvokeOptions, Runtime};

/// Why a flow ended early.
#[derive(Debug, Error)]
pub enum FlowError {
    /// A step's call was refused or gave no valid result.
    #[error("step `{step}` failed")]
    Call {
        /// The step.
        step: String,
        /// Why.
        #[source]
        source: CallError,
    },
    /// A step's input or output does not fit the context.
    #[error("step `{step}` does not fit the context")]
    Context {
        /// The step; `result` for the flow's own result.
        step: String,
        /// Why.
        #[source]
        source: PathError,
    },
}

/// Told about each step of a run.
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
        let mut context = self.context(input);
        let mut ahead = vec![&self.flow];
        while let Some(node) = ahead.pop() {
            match node {
                Node::Seq(nodes) => ahead.extend(nodes.iter().rev()),
                Node::Step(step) => {
                    run_step(step, runtime, &mut context, options, progress).await?;
                }
            }
        }
        let result = self
            .result
            .as_ref()
            .map(|result| result.evaluate(&context))
            .transpose();
        let result = result.map_err(|source| FlowError::Context {
            step: "result".to_owned(),
            source,
        })?;
        Ok((result, context))
    }
}

async fn run_step(
    step: &Step,
    runtime: &Runtime,
    context: &mut Value,
    options: &InvokeOptions,
    progress: &mut (dyn Progress + Send),
) -> Result<(), FlowError> {
    let name = || step.name.as_str().to_owned();
    let input = step
        .r#in
        .evaluate(context)
        .map_err(|source| FlowError::Context {
            step: name(),
            source,
        })?;
    let options = InvokeOptions {
        sink: step.sink.clone(),
        ..options.clone()
    };
    progress.started(step);
    let output = match runtime.invoke(step.node, input, options).await {
        Ok(output) => output,
        Err(source) => {
            progress.ended(step, StepEnd::Error(&source));
            return Err(FlowError::Call {
                step: name(),
                source,
            });
        }
    };
    progress.ended(step, StepEnd::Output(&output));
    let place = step
        .out
        .clone()
        .unwrap_or_else(|| Path::key(step.name.as_str()));
    place
        .set(context, output)
        .map_err(|source| FlowError::Context {
            step: name(),
            source,
        })
}
