//! `tidegate run`: a flow file from the shell (SPEC L3).

use std::time::Instant;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tidegate::InvokeOptions;
use tidegate::flow::{Flow, FlowError, Node, Progress, Step, StepEnd};
use tidegate_contract::JsonObject;
use tidegate_contract::json::{self, JsonBounds};

use crate::cli::RunArguments;
use crate::refusal::{self, Exit, Form};
use crate::{interrupt, plugins, print, yaml};

/// Runs the command.
pub(crate) async fn run(arguments: &RunArguments) -> Exit {
    let form = Form::of(arguments.json);
    let (flow, input, host) = match prepare(arguments).await {
        Ok(prepared) => prepared,
        Err(error) => return refusal::usage(&error, form),
    };
    let options = InvokeOptions {
        cancel: interrupt::token(),
        ..InvokeOptions::default()
    };
    if arguments.dry_run {
        return rehearse(&flow, input, &host, &options, form);
    }
    let mut progress = Steps {
        started: Instant::now(),
        made: 0,
    };
    let ended = flow
        .run(&host.runtime, input, &options, &mut progress)
        .await;
    host.runtime.close().await;
    // Where a sink prints to stdout, stdout is the sink's alone.
    let form = if host.prints { Form::Text } else { form };
    let exit = match ended {
        Ok((result, context)) => {
            show(result, context, arguments, host.prints);
            Exit::Success
        }
        Err(FlowError::Call { source, .. }) => refusal::report(&source, form),
        Err(error) => refusal::usage(&error.into(), form),
    };
    match exit {
        // Steps before the refused one have had their effects.
        Exit::Refused if progress.made > 0 => Exit::Failed,
        Exit::Success if options.cancel.is_cancelled() => Exit::Failed,
        exit => exit,
    }
}

/// Shows the steps in place of running them; the first is checked, since only its input is known.
fn rehearse(
    flow: &Flow,
    input: JsonObject,
    host: &plugins::Host,
    options: &InvokeOptions,
    form: Form,
) -> Exit {
    let steps = steps(&flow.flow);
    let context = flow.context(input);
    if let Some(first) = steps.first() {
        let options = InvokeOptions {
            sink: first.sink.clone(),
            ..options.clone()
        };
        let input = match first.r#in.evaluate(&context) {
            Ok(input) => input,
            Err(error) => {
                let error = anyhow::Error::new(error);
                let step = format!("step `{}`", first.name.as_str());
                return refusal::usage(&error.context(step), form);
            }
        };
        if let Err(error) = host.runtime.check(first.node, input, &options) {
            return refusal::report(&error, form);
        }
    }
    let node = |step: &&Step| json!({"name": step.name.as_str(), "node": step.node.as_str()});
    let would = json!({"run": flow.id, "steps": steps.iter().map(node).collect::<Vec<_>>()});
    let line = |step: &&Step| format!("run {} ({})", step.name.as_str(), step.node);
    let lines: Vec<String> = steps.iter().map(line).collect();
    host.plan.show(&would, &lines, form)
}

/// The steps of a flow in the order in which they run.
fn steps(node: &Node) -> Vec<&Step> {
    match node {
        Node::Step(step) => vec![step],
        Node::Seq(nodes) => nodes.iter().flat_map(steps).collect(),
    }
}

async fn prepare(arguments: &RunArguments) -> anyhow::Result<(Flow, JsonObject, plugins::Host)> {
    let flow: Flow = yaml::read(&arguments.flow)?;
    let input = match arguments.input.as_deref() {
        None => JsonObject::new(),
        Some(text) => match json::parse(text, &JsonBounds::default()).context("--input")? {
            Value::Object(input) => input,
            _ => bail!("--input must be a JSON object"),
        },
    };
    let host = plugins::host(&arguments.plugins).await?;
    Ok((flow, input, host))
}

/// A declared result goes to stdout, or to stderr beside a sink that prints.
fn show(result: Option<Value>, context: Value, arguments: &RunArguments, sink_prints: bool) {
    let shown = match (result, arguments.json) {
        (Some(result), _) => result,
        (None, true) => context,
        (None, false) => return,
    };
    if sink_prints {
        print::warning(&shown.to_string());
    } else {
        print::json(&shown);
    }
}

/// One line for each step, on stderr.
struct Steps {
    started: Instant,
    /// Steps that gave an output.
    made: u32,
}

impl Progress for Steps {
    fn started(&mut self, _step: &Step) {
        self.started = Instant::now();
    }

    fn ended(&mut self, step: &Step, end: StepEnd<'_>) {
        let milliseconds = self.started.elapsed().as_millis();
        let name = step.name.as_str();
        let word = match end {
            StepEnd::Output(output) => {
                self.made = self.made.saturating_add(1);
                output
                    .get("status")
                    .and_then(Value::as_str)
                    .unwrap_or("done")
            }
            StepEnd::Error(error) => error.code(),
        };
        print::warning(&format!("{name}: {word} ({milliseconds} ms)"));
    }
}
