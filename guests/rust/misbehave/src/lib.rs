//! One tool for each way in which a plugin can misbehave, for tests of a host.
//!
//! No tool here asks for a grant, and each takes an object of arguments; those that read one say
//! so in their description. What a host should do about them is written in its tests, not here.

use bindings::exports::tidegate::plugin::tools::{Guest, Problem};
use bindings::tidegate::plugin::types::{Outcome, ToolCall, ToolDefinition};

mod answers;
mod bindings;
mod floods;
mod outcome;
mod resources;
mod traps;

/// One tool: its name, what it does in one sentence, and the code.
struct Tool {
    name: &'static str,
    description: &'static str,
    run: fn(&str) -> Outcome,
}

const fn tool(name: &'static str, description: &'static str, run: fn(&str) -> Outcome) -> Tool {
    Tool {
        name,
        description,
        run,
    }
}

const TOOLS: &[Tool] = &[
    tool("spin", "Computes for ever.", resources::spin),
    tool("sleep", "Waits an hour in one host call.", resources::sleep),
    tool(
        "grow",
        "Takes memory and writes to it until there is none, then traps.",
        resources::grow,
    ),
    tool(
        "handles",
        "Makes host handles without end, or `count` pollables, and keeps them.",
        resources::handles,
    ),
    tool(
        "streams",
        "Makes host handles without end, or `count` output streams, and keeps them.",
        resources::streams,
    ),
    tool(
        "random",
        "Asks for 1 GiB of random bytes, or `bytes` of them, at once.",
        resources::random,
    ),
    tool(
        "flood_stdout",
        "Writes 64,000,000 bytes, or `bytes` of them, to standard output in pieces of 64.",
        floods::stdout,
    ),
    tool(
        "flood_stderr",
        "Writes 64,000,000 bytes, or `bytes` of them, to standard error in pieces of 64.",
        floods::stderr,
    ),
    tool(
        "huge_result",
        "Returns 2 MiB of text, or `bytes` of it.",
        answers::huge_result,
    ),
    tool(
        "deep_json",
        "Returns 100,000 nested arrays, or `depth` of them.",
        answers::deep_json,
    ),
    tool(
        "liar",
        "Claims to answer another call of another tool.",
        answers::liar,
    ),
    tool(
        "unsafe_error",
        "Fails with a secret and a path in its message.",
        answers::unsafe_error,
    ),
    tool(
        "counter",
        "Counts its runs in a static, which should always be the first.",
        answers::counter,
    ),
    tool("panic", "Panics.", traps::panic),
    tool(
        "recurse",
        "Calls itself until the stack is full.",
        traps::recurse,
    ),
    tool(
        "exit",
        "Ends the process with code 0, or `code` 1.",
        traps::exit,
    ),
];

const INPUT_SCHEMA: &str = r#"{"type":"object"}"#;

struct Misbehave;

bindings::export!(Misbehave with_types_in bindings);

impl Guest for Misbehave {
    fn definitions() -> Vec<ToolDefinition> {
        TOOLS.iter().map(definition).collect()
    }

    fn validate(_name: String, _arguments: String) -> Result<(), Vec<Problem>> {
        Ok(())
    }

    fn execute(call: ToolCall) -> Outcome {
        match TOOLS.iter().find(|tool| tool.name == call.name) {
            Some(tool) => (tool.run)(&call.arguments),
            None => outcome::failed("UNKNOWN_TOOL", "this plugin has no tool of that name"),
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
