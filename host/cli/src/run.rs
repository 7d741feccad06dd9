//! `tidegate run`: a flow file from the shell (SPEC L3).

mod written;

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tidegate::InvokeOptions;
use tidegate::flow::{
    Flow, FlowError, FlowProblem, Known, Node, Place, Progress, Step, StepEnd, Surroundings, Work,
};
use tidegate_contract::JsonObject;
use tidegate_contract::json::{self, JsonBounds};

use crate::cli::RunArguments;
use crate::refusal::{self, Exit, Form};
use crate::{plugins, print, yaml};

/// Runs the command.
pub(crate) async fn run(arguments: &RunArguments) -> Exit {
    let form = Form::of(arguments.json);
    let (flow, input) = match prepare(arguments) {
        Ok(prepared) => prepared,
        Err(error) => return refusal::usage(&error, form),
    };
    let (host, cancel) = match plugins::started(&arguments.plugins).await {
        Ok(started) => started,
        Err(error) => return refusal::usage(&error, form),
    };
    let options = InvokeOptions {
        cancel,
        ..InvokeOptions::default()
    };
    if arguments.dry_run {
        let exit = rehearse(&flow, input, &host, &options, form);
        host.close().await;
        return exit;
    }
    let mut progress = Steps {
        flow: &flow,
        started: HashMap::new(),
        made: 0,
    };
    let cancel = options.cancel.clone();
    let around = Surroundings::new(&host.runtime, options, &mut progress);
    let ended = flow.run(input, around).await;
    host.close().await;
    // Where a sink prints to stdout, stdout is the sink's alone.
    let form = if host.prints { Form::Text } else { form };
    let exit = match ended {
        Ok((result, context)) => {
            show(result, context, arguments, host.prints);
            Exit::Success
        }
        Err(FlowError::Call { source, .. }) => refusal::report(&source, form),
        Err(error) => misfit(&error, form),
    };
    match exit {
        // Steps before the refused one have had their effects.
        Exit::Refused if progress.made > 0 => Exit::Failed,
        Exit::Success if cancel.is_cancelled() => Exit::Failed,
        exit => exit,
    }
}

/// Reports that the flow ended by itself, in no call.
fn misfit(error: &FlowError, form: Form) -> Exit {
    let failure = error.to_failure();
    let (code, message) = (failure.code(), failure.message());
    print::warning(&format!("error: {code}: {message}"));
    if form == Form::Json {
        print::json(&json!({"error": {"code": code, "message": message}}));
    }
    Exit::Refused
}

/// Shows the steps in place of running them; the first is checked, since only its input is known.
/// Inside a loop not even that is: its context comes with the iteration.
fn rehearse(
    flow: &Flow,
    input: JsonObject,
    host: &plugins::Host,
    options: &InvokeOptions,
    form: Form,
) -> Exit {
    let steps = flow.flow.steps();
    let context = flow.context(input);
    if let Some(first) = first(&flow.flow)
        && let Work::Node(node) = first.work
    {
        let options = InvokeOptions {
            sink: first.sink.clone(),
            ..options.clone()
        };
        let input = match first.r#in.evaluate(&context, flow.limits.gathered_bytes) {
            Ok(input) => input,
            Err(error) => {
                let error = anyhow::Error::new(error);
                let step = format!("step `{}`", first.name.as_str());
                return refusal::usage(&error.context(step), form);
            }
        };
        if let Err(error) = host.runtime.check(node, input, &options) {
            return refusal::report(&error, form);
        }
    }
    let node = |step: &&Step| match &step.work {
        Work::Node(node) => json!({"name": step.name.as_str(), "node": node.as_str()}),
        Work::Agent(agent) => json!({"name": step.name.as_str(), "agent": agent.as_str()}),
    };
    let would = json!({"run": flow.id, "steps": steps.iter().map(node).collect::<Vec<_>>()});
    let line = |step: &&Step| format!("run {} ({})", step.name.as_str(), step.work.as_str());
    let lines: Vec<String> = steps.iter().map(line).collect();
    host.plan.show(&would, &lines, form)
}

/// The step that runs first, unless that is for a loop to say.
fn first(node: &Node) -> Option<&Step> {
    match node {
        Node::Step(step) => Some(step),
        Node::Seq(nodes) => first(nodes.first()?),
        Node::Graph(nodes) => nodes.iter().find(|step| step.after.is_empty()),
        Node::Try(attempt) => first(&attempt.body),
        Node::Loop(_) | Node::Branch(_) | Node::Fanout(_) | Node::Assign(_) => None,
    }
}

fn prepare(arguments: &RunArguments) -> anyhow::Result<(Flow, JsonObject)> {
    let flow: Flow = yaml::read(&arguments.flow)?;
    let input = match arguments.input.as_deref() {
        None => JsonObject::new(),
        Some(text) => match json::parse(text, &JsonBounds::default()).context("--input")? {
            Value::Object(input) => input,
            _ => bail!("--input must be a JSON object"),
        },
    };
    check(&flow, &input, &arguments.flow)?;
    Ok((flow, input))
}

/// Checks the flow with its input; a problem is named with the place in the file.
fn check(flow: &Flow, input: &JsonObject, file: &Path) -> anyhow::Result<()> {
    let known = Known {
        input: Some(input),
        ..Known::default()
    };
    let Err(found) = flow.check_with(&known) else {
        return Ok(());
    };
    let at = match found.problem {
        FlowProblem::Limit(_) => None,
        _ => written::line_and_column(file, &found.place),
    };
    let file = file.display();
    let place = at.map_or_else(
        || file.to_string(),
        |(line, column)| format!("{file}:{line}:{column}"),
    );
    Err(found).context(place)
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

/// One line for each step, on stderr, when it ends.
struct Steps<'f> {
    flow: &'f Flow,
    /// When the steps that run were started.
    started: HashMap<Place, Instant>,
    /// Steps that were made, whatever they came to.
    made: u32,
}

impl Progress for Steps<'_> {
    fn started(&mut self, _step: &Step, place: &Place) {
        self.started.insert(place.clone(), Instant::now());
    }

    fn ended(&mut self, step: &Step, place: &Place, end: StepEnd<'_>) {
        let started = self.started.remove(place);
        let milliseconds = started.map_or(0, |started| started.elapsed().as_millis());
        let status = |output: &Value| output.get("status")?.as_str().map(str::to_owned);
        let word = match end {
            StepEnd::Output(output) => status(output).unwrap_or_else(|| "done".to_owned()),
            StepEnd::Skipped => "skipped".to_owned(),
            StepEnd::Blocked(_) => "blocked".to_owned(),
            StepEnd::Failed(failure) => failure.code().to_owned(),
            StepEnd::Error(error) => error.code().to_owned(),
        };
        if !matches!(end, StepEnd::Error(error) if error.is_refusal()) {
            self.made = self.made.saturating_add(1);
        }
        let lanes = self.flow.lanes(place).into_iter();
        let name = step.name.as_str().to_owned();
        let name = lanes.fold(name, |name, lane| format!("{name}[{lane}]"));
        print::warning(&format!("{name}: {word} ({milliseconds} ms)"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tidegate::Node::{ActTool, Observe, Output};
    use tidegate::flow::{
        Assign, Branch, Catch, Expression, Fanout, FlowLimits, Join, Loop, Node, Path, StepName,
        Try,
    };

    use super::*;

    fn expression(value: Value) -> Expression {
        Expression::try_from(value).unwrap()
    }

    #[test]
    fn x4_a_graph_in_rust_is_the_graph_of_the_file() {
        let call = |id: &str, file: &str| {
            let arguments = json!({"path": {"$path": file}});
            json!({"call": {"id": id, "name": "read_text", "arguments": arguments}})
        };
        let content = |name: &str| json!({ "$path": format!("$.{name}.message.content") });
        let steps = [
            Step::new("read_0", ActTool, call("read:0", "$.files[0]")),
            Step::new("read_1", ActTool, call("read:1", "$.files[1]")),
            Step::new(
                "observe_0",
                Observe,
                json!({"result": {"$path": "$.read_0"}}),
            )
            .and_then(|step| step.after(&["read_0"])),
            Step::new(
                "observe_1",
                Observe,
                json!({"result": {"$path": "$.read_1"}}),
            )
            .and_then(|step| step.after(&["read_1"])),
            Step::new(
                "output",
                Output,
                json!({
                    "deliveryId": "read:delivery",
                    "message": {
                        "role": "assistant",
                        "content": [content("observe_0"), content("observe_1")],
                    },
                }),
            )
            .and_then(|step| step.after(&["observe_0", "observe_1"])),
        ];
        let in_rust = Flow {
            id: "read-side-by-side".to_owned(),
            init: json!({"files": ["README.md", "LICENSE"]})
                .as_object()
                .unwrap()
                .clone(),
            flow: Node::Graph(steps.into_iter().map(Result::unwrap).collect()),
            result: None,
            limits: FlowLimits::default(),
        };
        let file: Flow =
            yaml::parse(include_str!("../../../examples/graph.yaml"), "graph").unwrap();
        assert_eq!(file, in_rust);
        assert_eq!(file.check(), Ok(()));
    }

    #[test]
    fn x4_a_loop_in_rust_is_the_loop_of_the_file() {
        let arguments = json!({"path": {"$path": "$.path"}});
        let call = json!({"id": {"$path": "$.id"}, "name": "read_text", "arguments": arguments});
        let message = json!({
            "role": "assistant", "content": {"$path": "$.observe.message.content"},
        });
        let steps = [
            Step::new("read", ActTool, json!({ "call": call })),
            Step::new("observe", Observe, json!({"result": {"$path": "$.read"}}))
                .and_then(|step| step.after(&["read"])),
            Step::new(
                "output",
                Output,
                json!({"deliveryId": {"$path": "$.delivery"}, "message": message}),
            )
            .and_then(|step| step.after(&["observe"])),
        ];
        let in_rust = Node::Loop(Box::new(Loop {
            name: StepName::try_from("file".to_owned()).unwrap(),
            state: expression(json!({"$path": "$.files"})),
            bind: expression(json!({
                "path": {"$path": "$.file.path"},
                "id": {"$path": "$.file.id"},
                "delivery": {"$path": "$.file.delivery"},
            })),
            body: Node::Graph(steps.into_iter().map(Result::unwrap).collect()),
            update: Some(expression(json!({"$path": "$.file.next"}))),
            done: expression(json!({"$eq": [{"$path": "$.file"}, null]})),
            max_iterations: 2,
        }));
        let file: Flow = yaml::parse(include_str!("../../../examples/loop.yaml"), "loop").unwrap();
        assert_eq!(file.flow, in_rust);
        assert_eq!(file.check(), Ok(()));
    }

    fn name(name: &str) -> StepName {
        StepName::try_from(name.to_owned()).unwrap()
    }

    fn assign(places: &[(&str, Value)]) -> Node {
        let places = places
            .iter()
            .map(|(path, value)| (Path::parse(path).unwrap(), expression(value.clone())));
        Node::Assign(Assign(places.collect()))
    }

    #[test]
    fn i11_a_branch_and_assignments_in_rust_are_those_of_the_file() {
        let (used, limit) = (
            json!({"$path": "$.used_bytes"}),
            json!({"$path": "$.limit_bytes"}),
        );
        let cond = json!({"$and": [
            {"$gt": [{"$path": "$.left_bytes"}, 0]}, {"$in": ["draft", {"$path": "$.tags"}]},
        ]});
        let in_rust = Node::Seq(vec![
            assign(&[
                ("$.left_bytes", json!({"$sub": [limit, used]})),
                ("$.share", json!({"$div": [used, limit]})),
            ]),
            Node::Branch(Box::new(Branch {
                cond: expression(cond),
                then: assign(&[("$.verdict", json!("go on"))]),
                r#else: Some(assign(&[("$.verdict", json!("stop"))])),
            })),
        ]);
        let file: Flow =
            yaml::parse(include_str!("../../../examples/decide.yaml"), "decide").unwrap();
        assert_eq!(file.flow, in_rust);
        assert_eq!(file.check(), Ok(()));
    }

    #[test]
    fn i11_a_fanout_in_rust_is_the_fanout_of_the_file() {
        let call = json!({
            "id": "read", "name": "read_text", "arguments": {"path": {"$path": "$.file"}},
        });
        let in_rust = Node::Fanout(Box::new(Fanout {
            name: name("answer"),
            items: expression(json!(["nowhere.txt", "rustfmt.toml"])),
            bind: name("file"),
            index: None,
            body: Node::Seq(vec![
                Node::Step(Box::new(
                    Step::new("read", ActTool, json!({ "call": call })).unwrap(),
                )),
                assign(&[("$.text", json!({"$path": "$.read.content"}))]),
            ]),
            join: Join::Any,
            max_items: 1_000,
            concurrency: None,
        }));
        let file: Flow = yaml::parse(include_str!("../../../examples/race.yaml"), "race").unwrap();
        assert_eq!(file.flow, in_rust);
        assert_eq!(file.check(), Ok(()));
    }

    #[test]
    fn i11_a_try_in_rust_is_the_try_of_the_file() {
        let found = |id: &str, name: &str, arguments: Value| {
            let call = json!({"id": id, "name": name, "arguments": arguments});
            let step = Step::new("found", ActTool, json!({ "call": call }));
            Node::Step(Box::new(step.unwrap()))
        };
        let in_rust = Node::Try(Box::new(Try {
            body: found("search", "web_search", json!({"query": "tides"})),
            catch: Catch {
                r#as: name("error"),
                body: found("read", "read_text", json!({"path": "rustfmt.toml"})),
            },
        }));
        let file: Flow = yaml::parse(include_str!("../../../examples/try.yaml"), "try").unwrap();
        assert_eq!(file.flow, in_rust);
        assert_eq!(file.check(), Ok(()));
    }
}
