//! `tidegate call`: one tool call from the shell (SPEC L1).

use std::io::IsTerminal as _;
use std::path::Path;

use anyhow::Context as _;
use serde_json::json;
use tidegate::{InvokeOptions, Node};
use tidegate_contract::json::JsonBounds;
use tidegate_contract::{
    CallError, CallId, Content, Document, ExternalResult, Limits, Part, Problem, Status, ToolCall,
    ToolName,
};
use tidegate_sandbox::ambient;

use crate::cli::CallArguments;
use crate::plugins::Host;
use crate::refusal::{self, Exit, Form};
use crate::{artifacts, input, plugins, print, waiting};

/// Runs the command.
pub(crate) async fn run(arguments: &CallArguments) -> Exit {
    let form = Form::of(arguments.json || arguments.observe);
    let call = match decode(arguments) {
        Ok(call) => call,
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
        let exit = rehearse(&host, &call, &options, form);
        host.close().await;
        return exit;
    }
    let tool = call.name.to_string();
    let ended = host.runtime.act_tool(call, options);
    let ended = shown_waiting(&tool, ended).await;
    host.close().await;
    match ended {
        Ok(result) => show(result, arguments),
        Err(error) => refusal::report(&error, form),
    }
}

/// Shows the call in place of making it, after the checks that need no plugin to run.
fn rehearse(host: &Host, call: &ToolCall, options: &InvokeOptions, form: Form) -> Exit {
    let arguments = call.arguments.value();
    let call_document = json!({"id": call.id, "name": call.name, "arguments": arguments});
    let would = json!({ "call": call_document });
    let step = format!("call {} with {}", call.name, call.arguments.text());
    match host.runtime.check(Node::ActTool, would.clone(), options) {
        Ok(()) => host.plan.show(&would, &[step], form),
        Err(error) => refusal::report(&error, form),
    }
}

/// Waits for a call; after a second on a terminal, says what is being waited for.
async fn shown_waiting<T>(tool: &str, call: impl Future<Output = T>) -> T {
    tokio::pin!(call);
    if let Ok(ended) = tokio::time::timeout(waiting::SILENT, &mut call).await {
        return ended;
    }
    if !std::io::stderr().is_terminal() {
        return call.await;
    }
    let bar = waiting::bar(&format!("{tool} is running"));
    let ended = call.await;
    bar.finish_and_clear();
    ended
}

/// What was typed as a tool call. Arguments are parsed once, here.
fn decode(arguments: &CallArguments) -> anyhow::Result<ToolCall> {
    let id = arguments
        .id
        .clone()
        .unwrap_or_else(|| format!("call-{}", ambient::random_id()));
    let id = CallId::new(id)?;
    let name = ToolName::new(arguments.tool.clone())?;
    let bytes = usize::try_from(Limits::MAXIMUM.arguments_bytes).unwrap_or(usize::MAX);
    let text = argument_text(&arguments.arguments)?;
    let document = Document::parse(
        text,
        &JsonBounds {
            bytes,
            ..JsonBounds::default()
        },
    );
    let arguments = document.map_err(|error| CallError::InvalidArguments {
        problems: vec![Problem {
            pointer: String::new(),
            reason: error.to_string(),
        }],
    })?;
    Ok(ToolCall {
        id,
        name,
        arguments,
    })
}

/// JSON text, `-` for stdin, `@FILE` for a file.
fn argument_text(typed: &str) -> anyhow::Result<String> {
    let limit_bytes = Limits::MAXIMUM.arguments_bytes;
    let bytes = match typed.strip_prefix('@') {
        Some(path) => ambient::read_file(Path::new(path), limit_bytes)?,
        None if typed == "-" => return input::text(),
        None => return Ok(typed.to_owned()),
    };
    String::from_utf8(bytes).context("the arguments are not UTF-8")
}

fn show(result: ExternalResult, arguments: &CallArguments) -> Exit {
    let exit = if result.status == Status::Success {
        Exit::Success
    } else {
        Exit::Failed
    };
    print::denials(result.denied());
    if arguments.json {
        print::json(&result);
        return exit;
    }
    artifacts::tell(&result);
    match tidegate::observe(result) {
        Ok(observation) if arguments.observe => print::json(&observation),
        Ok(observation) => print::text(&text(&observation.message.content)),
        Err(error) => return refusal::report(&error, Form::Text),
    }
    exit
}

/// The text parts, a line each; data and references where there is no text.
fn text(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Json(value) => value.to_string(),
        Content::Parts(parts) => {
            let texts: Vec<String> = parts
                .iter()
                .filter_map(|part| match part {
                    Part::Text { text } => Some(text.clone()),
                    Part::Json { .. } | Part::Reference { .. } => None,
                })
                .collect();
            if texts.is_empty() {
                return parts.iter().map(other).collect::<Vec<_>>().join("\n");
            }
            texts.join("\n")
        }
    }
}

fn other(part: &Part) -> String {
    match part {
        Part::Text { text } => text.clone(),
        Part::Json { data } => data.to_string(),
        Part::Reference { reference } => reference.uri.clone(),
    }
}
