//! Flows as embedders run them: a tool that acts by a closure, and what progress was told.

use serde_json::{Value, json};
use tidegate::flow::{Flow, FlowError, Place, Progress, Step, StepEnd, Surroundings};
use tidegate::{
    BoxFuture, CallContext, CancellationToken, InvokeOptions, Runtime, RuntimeOptions, Tool,
    ToolRegistry,
};
use tidegate_contract::{CallError, JsonObject, ToolCall, ToolDefinition, ToolOutcome};

use super::native::native;
use crate::support::Fixture;

pub(crate) type Outcome = Result<ToolOutcome, CallError>;

/// A tool that is given the call's id and acts by a closure.
pub(crate) struct Acting<F> {
    definition: ToolDefinition,
    act: F,
}

pub(crate) fn acting<F>(name: &str, act: F) -> Acting<F>
where
    F: Fn(String) -> BoxFuture<'static, Outcome> + Send + Sync,
{
    let definition = native(name, |_, _| panic!("never run"))
        .definition()
        .clone();
    Acting { definition, act }
}

impl<F> Tool for Acting<F>
where
    F: Fn(String) -> BoxFuture<'static, Outcome> + Send + Sync,
{
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn execute<'a>(
        &'a self,
        call: &'a ToolCall,
        _context: &'a CallContext,
    ) -> BoxFuture<'a, Outcome> {
        (self.act)(call.id.as_str().to_owned())
    }
}

/// A runtime over some tools, each permitted, with so many calls at once.
pub(crate) fn runtime_of(tools: &ToolRegistry, concurrency: Option<u32>) -> Runtime {
    Runtime::new(RuntimeOptions {
        sandbox: Fixture::new(&[]).grant,
        tools: tools.clone(),
        concurrency,
        ..RuntimeOptions::default()
    })
    .unwrap()
}

/// A flow as a file holds it.
pub(crate) fn flow_of(flow: Value) -> Flow {
    serde_json::from_value(flow).unwrap()
}

/// A step that calls a tool without arguments; the call's id is the step's name.
pub(crate) fn calling(name: &str, tool: &str, after: &[&str]) -> Value {
    json!({
        "name": name, "node": "INTERACTION.ACT.TOOL", "after": after,
        "in": {"call": {"id": name, "name": tool, "arguments": {}}},
    })
}

/// What a run told: `+name` for a start, `-name: status` or the error's code for an end.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) lines: Vec<String>,
    /// Cancelled when as many steps have ended.
    pub(crate) cancel_after: Option<(usize, CancellationToken)>,
}

impl Progress for Told {
    fn started(&mut self, step: &Step, _place: &Place) {
        self.lines.push(format!("+{}", step.name.as_str()));
    }

    fn ended(&mut self, step: &Step, _place: &Place, end: StepEnd<'_>) {
        let word = match end {
            StepEnd::Output(output) => output["status"].as_str().unwrap_or("passed").to_owned(),
            StepEnd::Skipped => "skipped".to_owned(),
            StepEnd::Blocked(_) => "blocked".to_owned(),
            StepEnd::Failed(failure) => failure.code().to_owned(),
            StepEnd::Error(error) => error.code().to_owned(),
        };
        self.lines.push(format!("-{}: {word}", step.name.as_str()));
        let ended = self
            .lines
            .iter()
            .filter(|line| line.starts_with('-'))
            .count();
        if let Some((after, token)) = &self.cancel_after
            && ended == *after
        {
            token.cancel();
        }
    }
}

/// What a run came to, and what it told.
pub(crate) async fn run_told(
    flow: &Flow,
    runtime: &Runtime,
    mut told: Told,
) -> (Result<Value, FlowError>, Vec<String>) {
    let cancel = told.cancel_after.as_ref().map(|(_, token)| token.clone());
    let options = InvokeOptions {
        cancel: cancel.unwrap_or_default(),
        ..InvokeOptions::default()
    };
    let around = Surroundings::new(runtime, options, &mut told);
    let ended = flow.run(JsonObject::new(), around).await;
    (ended.map(|(_, context)| context), told.lines)
}

/// An error with its causes in one line.
pub(crate) fn shown(error: &FlowError) -> String {
    let mut line = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        line = format!("{line}: {cause}");
        source = cause.source();
    }
    line
}
