//! A command component seen as a tool: its definition, its arguments, and its outcome (SPEC T7).
//!
//! The outcome has the shape of the carried commands' (SPEC R4). Deliberately absent: how it runs.

use serde_json::{Value, json};
use tidegate_contract::json::{self, JsonBounds};
use tidegate_contract::text::BoundedText;
use tidegate_contract::{
    CallError, Content, Failure, JsonObject, Problem, Status, ToolDefinition, ToolName, ToolOutcome,
};

/// Most arguments of one run.
const ARGUMENTS: usize = 1_024;

/// What one run is given.
pub(crate) struct Arguments {
    pub(crate) args: Vec<String>,
    pub(crate) stdin: String,
}

/// The tool, called as the plugin is; `None` where that is no tool's name.
pub(crate) fn definition(plugin: &str) -> Option<ToolDefinition> {
    Some(ToolDefinition {
        name: ToolName::new(plugin).ok()?,
        description: Some(format!(
            "Runs the command `{plugin}` once and gives back what it printed."
        )),
        input_schema: object(json!({
            "type": "object",
            "properties": {
                "args": {
                    "type": "array", "items": { "type": "string" }, "maxItems": ARGUMENTS,
                    "description": "Each reaches the command as it is.",
                },
                "stdin": { "type": "string", "description": "Its standard input; empty by default." },
            },
            "additionalProperties": false,
        })),
        output_schema: Some(object(output_schema())),
        effects: Vec::new(),
        requires_approval: false,
    })
}

fn output_schema() -> Value {
    let text = json!({ "type": "string" });
    let count = json!({ "type": "integer", "minimum": 1 });
    json!({
        "type": "object",
        "properties": {
            "command": text,
            "args": { "type": "array", "items": text },
            "stdout": text,
            "stderr": text,
            "exitCode": { "type": "integer", "minimum": 0, "maximum": 255 },
            "truncated": { "type": "boolean" },
            "stdoutOmittedBytes": count,
            "stderrOmittedBytes": count,
        },
        "required": ["command", "args", "stdout", "stderr", "exitCode", "truncated"],
        "additionalProperties": false,
    })
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// Reads the arguments of a call, whether or not a schema was asked before.
///
/// # Errors
///
/// The first thing that is wrong; nothing runs then.
pub(crate) fn read(text: &str) -> Result<Arguments, Problem> {
    let problem = |pointer: String, reason: &str| Problem {
        pointer,
        reason: reason.to_owned(),
    };
    let parsed = json::parse(text, &JsonBounds::default())
        .map_err(|error| problem(String::new(), &error.to_string()))?;
    let Value::Object(mut fields) = parsed else {
        return Err(problem(String::new(), "expected an object"));
    };
    let args = match fields.remove("args") {
        None => Vec::new(),
        Some(Value::Array(args)) if args.len() <= ARGUMENTS => args,
        Some(_) => {
            return Err(problem(
                "/args".to_owned(),
                "expected a list of at most 1,024 strings",
            ));
        }
    };
    let argument = |(index, value): (usize, Value)| match value {
        // A C program would see another argument than the one that was checked.
        Value::String(text) if !text.contains('\0') => Ok(text),
        _ => Err(problem(
            format!("/args/{index}"),
            "expected a string without NUL",
        )),
    };
    let args = args
        .into_iter()
        .enumerate()
        .map(argument)
        .collect::<Result<_, _>>()?;
    let stdin = match fields.remove("stdin") {
        None => String::new(),
        Some(Value::String(text)) => text,
        Some(_) => return Err(problem("/stdin".to_owned(), "expected a string")),
    };
    match fields.keys().next() {
        None => Ok(Arguments { args, stdin }),
        Some(key) => {
            let key: String = key.chars().filter(|c| !c.is_control()).take(64).collect();
            Err(problem(String::new(), &format!("unknown field `{key}`")))
        }
    }
}

/// What a run that ended came to.
///
/// # Errors
///
/// [`CallError::HostFault`] only if the host's own words were unfit.
pub(crate) fn outcome(
    command: &str,
    args: &[String],
    exit_code: u8,
    [stdout, stderr]: [BoundedText; 2],
) -> Result<ToolOutcome, CallError> {
    let omitted = [stdout.omitted_bytes(), stderr.omitted_bytes()];
    let mut structured = json!({
        "command": command,
        "args": args,
        "stdout": stdout.text(),
        "stderr": stderr.text(),
        "exitCode": exit_code,
        "truncated": omitted.iter().any(|bytes| *bytes > 0),
    });
    if let Value::Object(fields) = &mut structured {
        for (key, bytes) in ["stdoutOmittedBytes", "stderrOmittedBytes"]
            .into_iter()
            .zip(omitted)
        {
            if bytes > 0 {
                fields.insert(key.to_owned(), bytes.into());
            }
        }
    }
    let mut outcome = ToolOutcome::data(structured);
    outcome.content = Some(Content::Text(stdout.text().to_owned()));
    if exit_code != 0 {
        let message = format!("the command ended with exit code {exit_code}");
        let failure = Failure::new("COMMAND_EXIT_NONZERO", message);
        outcome.status = Status::Failed;
        outcome.error = Some(failure.map_err(|error| CallError::HostFault {
            reason: error.to_string(),
        })?);
    }
    Ok(outcome)
}
