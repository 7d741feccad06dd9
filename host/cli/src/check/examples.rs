//! The author's own calls: a file of JSON lines, `{"tool", "arguments", "expect"?}`.

use std::path::Path;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use tidegate_contract::nearest::nearest;
use tidegate_contract::{JsonBounds, JsonObject, ToolDefinition, Value, json};
use tidegate_sandbox::ambient;

/// Largest file, and most lines of it.
const FILE_BYTES: u64 = 16 * 1024 * 1024;
const LINES: usize = 1_000;

/// One call that an author gives.
#[derive(Debug)]
pub(super) struct Example {
    pub(super) tool: String,
    pub(super) arguments: Value,
    pub(super) expect: Expected,
    /// Its line in the file, from 1.
    pub(super) line: usize,
}

/// How a call is to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Expected {
    /// The arguments are not refused, however the call ends.
    #[default]
    Taken,
    Success,
    Failed,
    Refused,
}

/// One line as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    tool: String,
    arguments: JsonObject,
    #[serde(default)]
    expect: Expected,
}

/// Reads a file of examples for these tools.
///
/// # Errors
///
/// It can't be read; a line is not as it should be; a tool is none of them.
pub(super) fn read(path: &Path, tools: &[ToolDefinition]) -> anyhow::Result<Vec<Example>> {
    let bytes = ambient::read_file(path, FILE_BYTES)?;
    let text =
        String::from_utf8(bytes).with_context(|| format!("{}: not UTF-8", path.display()))?;
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let mut examples = Vec::new();
    for (at, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let place = || format!("{}:{}", path.display(), at + 1);
        if examples.len() == LINES {
            bail!("{}: more than {LINES} examples", place());
        }
        let value = json::parse(line, &JsonBounds::default()).with_context(place)?;
        let line: Line = serde_json::from_value(value).with_context(place)?;
        let arguments = Value::Object(line.arguments);
        // A number may be longer as the host writes it.
        json::check(&arguments, &JsonBounds::default()).with_context(place)?;
        if !names.contains(&line.tool.as_str()) {
            let meant = nearest(&line.tool, &names)
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            bail!(
                "{}: the component has no tool `{}`{meant}",
                place(),
                line.tool.escape_debug()
            );
        }
        examples.push(Example {
            tool: line.tool,
            arguments,
            expect: line.expect,
            line: at + 1,
        });
    }
    Ok(examples)
}
