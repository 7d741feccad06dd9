//! One tool for each kind of access to the host, for tests of a host with and without grants; and a
//! worker whose prompt says what it is to do.
//!
//! The tools ask for no effects, so that grants alone decide. Each reports what happened as content
//! text, `ok` or the name of the WASI error, and details as structured content; none traps on a
//! refusal. Interfaces of WASI are called directly, because `std` would fold their errors together.

use bindings::exports::tidegate::plugin::tools::{Guest, Problem};
use bindings::tidegate::plugin::types::{Outcome, ToolCall, ToolDefinition};

use crate::arguments::Arguments;

mod arguments;
mod artifact;
mod bindings;
mod broken;
mod caller;
mod command;
mod fields;
mod file_status;
mod files;
mod http;
mod hunt;
mod large;
mod log;
mod outcome;
mod process;
mod sockets;
mod streams;
mod timestamps;
mod worker;

/// One tool: its name, its arguments in words, and the code.
struct Tool {
    name: &'static str,
    description: &'static str,
    run: fn(&Arguments) -> Outcome,
}

const fn tool(
    name: &'static str,
    description: &'static str,
    run: fn(&Arguments) -> Outcome,
) -> Tool {
    Tool {
        name,
        description,
        run,
    }
}

const TOOLS: &[Tool] = &[
    tool("fs", files::DESCRIPTION, files::run),
    tool("net", sockets::DESCRIPTION, sockets::run),
    tool("http", http::DESCRIPTION, http::run),
    tool("http_many", http::MANY_DESCRIPTION, http::many),
    tool("hunt", hunt::DESCRIPTION, hunt::run),
    tool(
        "fields_from_list",
        "Makes header fields of {count} pairs at once.",
        fields::from_list,
    ),
    tool(
        "fields_keep",
        "Makes {count} header fields and keeps each.",
        fields::keep,
    ),
    tool(
        "fields_grow",
        "Appends up to {count} headers of {bytes} to the same fields, until one is refused.",
        fields::grow,
    ),
    tool(
        "fields_copy",
        "Copies and changes fields of {bytes} {count} times.",
        fields::copy,
    ),
    tool(
        "bodies_keep",
        "Fills the bodies of {count} requests and sends none.",
        fields::bodies,
    ),
    tool(
        "env",
        "Tells environment, arguments and working folder.",
        process::environment,
    ),
    tool("exec", command::DESCRIPTION, command::run),
    tool(
        "file_status",
        "Asks for the status of {path, follow}.",
        file_status::run,
    ),
    tool(
        "artifact",
        "Stores {bytes} or {text} as {media_type}, {times} times; each time another with {apart: true}.",
        artifact::run,
    ),
    tool(
        "context",
        "Tells call id, config, time left and cancellation.",
        caller::context,
    ),
    tool(
        "progress",
        "Reports {steps} steps of {total}, with {note}.",
        caller::progress,
    ),
    tool(
        "sleep",
        "Waits {ms}, or until cancelled with {watch: true}.",
        caller::sleep,
    ),
    tool(
        "log",
        "Logs {lines} lines of {bytes} at {level}, or one of {text}.",
        log::lines,
    ),
    tool(
        "log_huge",
        "Logs one line of {bytes}, 200 MiB when not told.",
        log::huge,
    ),
    tool(
        "error_huge",
        "Fails with a message of {bytes}, 200 MiB when not told.",
        log::error_huge,
    ),
    tool("write_split", streams::DESCRIPTION, streams::write_split),
    tool(
        "echo",
        "Returns {value} as structured content, in the same text.",
        process::echo,
    ),
    tool("large", large::DESCRIPTION, large::run),
    tool("invalid", broken::DESCRIPTION, broken::run),
];

const INPUT_SCHEMA: &str = r#"{"type":"object"}"#;

struct Probe;

bindings::export!(Probe with_types_in bindings);

impl Guest for Probe {
    fn definitions() -> Vec<ToolDefinition> {
        TOOLS.iter().map(definition).collect()
    }

    fn validate(_name: String, _arguments: String) -> Result<(), Vec<Problem>> {
        Ok(())
    }

    fn execute(call: ToolCall) -> Outcome {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == call.name) else {
            return outcome::failed("UNKNOWN_TOOL", "this plugin has no tool of that name");
        };
        match Arguments::parse(call.arguments) {
            Ok(arguments) => (tool.run)(&arguments),
            Err(_syntax) => outcome::failed("INVALID_ARGUMENTS", "the arguments are not JSON"),
        }
    }
}

fn definition(tool: &Tool) -> ToolDefinition {
    ToolDefinition {
        name: tool.name.to_owned(),
        description: Some(tool.description.to_owned()),
        input_schema: INPUT_SCHEMA.to_owned(),
        output_schema: None,
        effects: Vec::new(),
        requires_approval: false,
    }
}
