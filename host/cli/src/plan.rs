//! `--dry-run`: what would be granted to each plugin and what would be run, shown and not done.
//!
//! Plugins are loaded for it, and asked for their definitions with nothing granted, as for every
//! command; no tool, sink or step runs.

use serde::Serialize;
use serde_json::json;
use tidegate_contract::{Grant, Limits, Value};

use crate::print;
use crate::refusal::{Exit, Form};

/// What a host was put together from.
#[derive(Debug, Serialize)]
pub(crate) struct Plan {
    pub(crate) sandbox: Grant,
    pub(crate) plugins: Vec<PlannedPlugin>,
}

/// One loaded plugin.
#[derive(Debug, Serialize)]
pub(crate) struct PlannedPlugin {
    pub(crate) name: String,
    pub(crate) digest: String,
    pub(crate) tools: Vec<String>,
    pub(crate) sink: bool,
    pub(crate) grants: Grant,
    pub(crate) limits: Limits,
}

impl Plan {
    /// Shows the plan and what would be run: one JSON document, or text with `steps` line by line.
    pub(crate) fn show(&self, would: &Value, steps: &[String], form: Form) -> Exit {
        match form {
            Form::Json => print::json(&json!({
                "dryRun": true,
                "would": would,
                "sandbox": self.sandbox,
                "plugins": self.plugins,
            })),
            Form::Text => print::text(&self.text(steps)),
        }
        Exit::Success
    }

    fn text(&self, steps: &[String]) -> String {
        let mut lines: Vec<String> = steps.iter().map(|step| format!("would {step}")).collect();
        lines.push("sandbox".to_owned());
        lines.extend(fields(&self.sandbox, "  allow"));
        for plugin in &self.plugins {
            lines.push(format!("plugin {}", plugin.name));
            lines.push(format!("  digest {}", plugin.digest));
            if !plugin.tools.is_empty() {
                lines.push(format!("  tools {}", plugin.tools.join(", ")));
            }
            if plugin.sink {
                lines.push("  sink".to_owned());
            }
            lines.extend(fields(&plugin.grants, "  grant"));
            lines.extend(fields(&plugin.limits, "  limit"));
        }
        lines.join("\n") + "\n"
    }
}

/// Each field of a grant or of limits on a line.
fn fields(value: &impl Serialize, label: &str) -> Vec<String> {
    let Ok(Value::Object(fields)) = serde_json::to_value(value) else {
        return Vec::new();
    };
    let line = |(name, value): (&String, &Value)| {
        let shown = match value {
            Value::Array(items) if items.is_empty() => "none".to_owned(),
            Value::Array(items) => items.iter().map(word).collect::<Vec<_>>().join(", "),
            Value::Bool(false) => "none".to_owned(),
            other => word(other),
        };
        format!("{label} {name}: {shown}")
    };
    fields.iter().map(line).collect()
}

fn word(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
