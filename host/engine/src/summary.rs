//! What the cache keeps of a component beside its code, so that a plugin can be listed and checked
//! before its code is mapped.
//!
//! It stands for the answer that the component gave when it was compiled: the contract says that
//! the answer is always the same.

use serde_json::json;
use tidegate_contract::json::{JsonBounds, parse};
use tidegate_contract::{Effect, JsonObject, ToolDefinition, ToolName, Value};

use crate::admission::Need;
use crate::plugin::Plugin;

/// What a component offers beside tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offers {
    pub(crate) sink: bool,
    pub(crate) worker: bool,
    /// It is a command: its one tool has the plugin's name, which is the operator's.
    pub(crate) command: bool,
    /// The check that all of its tools' input schemas have passed; 0 for none. It is its caller's.
    pub(crate) schemas: u32,
}

impl Plugin {
    /// What [`keep_checked`](Self::keep_checked) kept of this component; 0 when nothing.
    #[must_use]
    pub fn checked(&self) -> u32 {
        self.0.offers.schemas
    }

    /// Keeps with the component that its tools' input schemas have passed a check of whoever loads it,
    /// which need not be made at each start. Does nothing without a cache.
    pub fn keep_checked(&self, check: u32) {
        let Some(cache) = &self.0.engine.cache else {
            return;
        };
        let known = self.0.summary();
        let offers = Offers {
            schemas: check,
            ..known.offers
        };
        let checked = Summary { offers, ..known };
        cache.store_summary(self.digest(), &checked);
    }
}

/// What a component is and needs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) definitions: Vec<ToolDefinition>,
    pub(crate) offers: Offers,
    /// What one call takes of the engine's pool.
    pub(crate) need: Need,
}

/// Largest summary: a thousand tools with schemas of the usual size.
pub(crate) const SUMMARY_BYTES: usize = 16 * 1024 * 1024;

impl Summary {
    pub(crate) fn text(&self) -> String {
        json!({
            "tools": self.definitions,
            "sink": self.offers.sink,
            "command": self.offers.command,
            "worker": self.offers.worker,
            "schemas": self.offers.schemas,
            "memories": self.need.memories,
            "tables": self.need.tables,
        })
        .to_string()
    }

    /// Reads one back; `None` for anything else than what [`text`](Self::text) writes.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let bounds = JsonBounds {
            bytes: SUMMARY_BYTES,
            // The definitions stand in an array in an object.
            depth: JsonBounds::default().depth.saturating_add(3),
        };
        let Value::Object(mut summary) = parse(text, &bounds).ok()? else {
            return None;
        };
        let number = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let Value::Array(tools) = summary.remove("tools")? else {
            return None;
        };
        Some(Self {
            definitions: tools.into_iter().map(definition).collect::<Option<_>>()?,
            offers: Offers {
                sink: summary.get("sink")?.as_bool()?,
                worker: summary.get("worker")?.as_bool()?,
                command: summary.get("command")?.as_bool()?,
                schemas: number(summary.get("schemas")?)?,
            },
            need: Need {
                calls: 1,
                memories: number(summary.get("memories")?)?,
                tables: number(summary.get("tables")?)?,
            },
        })
    }
}

fn definition(value: Value) -> Option<ToolDefinition> {
    let Value::Object(mut fields) = value else {
        return None;
    };
    let text = |value: Value| value.as_str().map(str::to_owned);
    let description = match fields.remove("description") {
        None => None,
        Some(description) => Some(text(description)?),
    };
    let output_schema = match fields.remove("outputSchema") {
        None => None,
        Some(schema) => Some(object(schema)?),
    };
    let effects = fields.remove("effects")?;
    Some(ToolDefinition {
        name: ToolName::new(text(fields.remove("name")?)?).ok()?,
        description,
        input_schema: object(fields.remove("inputSchema")?)?,
        output_schema,
        effects: serde_json::from_value::<Vec<Effect>>(effects).ok()?,
        requires_approval: fields.remove("requiresApproval")?.as_bool()?,
    })
}

fn object(value: Value) -> Option<JsonObject> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> Summary {
        let schema = |text: &str| serde_json::from_str(text).unwrap();
        let tool = |name: &str, output_schema| ToolDefinition {
            name: ToolName::new(name).unwrap(),
            description: Some("Does \u{2028} it".to_owned()),
            input_schema: schema(r#"{"type": "object", "properties": {"b": {}, "a": {}}}"#),
            output_schema,
            effects: vec![Effect::Read, Effect::Network],
            requires_approval: true,
        };
        Summary {
            definitions: vec![
                tool("one", None),
                ToolDefinition {
                    description: None,
                    effects: vec![],
                    ..tool("two", Some(schema("{}")))
                },
            ],
            offers: Offers {
                sink: true,
                worker: true,
                command: false,
                schemas: 7,
            },
            need: Need {
                calls: 1,
                memories: 2,
                tables: 3,
            },
        }
    }

    #[test]
    fn l6_a_summary_comes_back_as_it_was_and_nothing_else_does() {
        let text = summary().text();
        assert_eq!(Summary::read(&text), Some(summary()));
        let broken = [
            "",
            "{}",
            "[]",
            text.trim_start_matches('{'),
            &text.replace("\"sink\":true", "\"sink\":1"),
            // What was written before there were workers.
            &text.replace(",\"worker\":true", ""),
            // What was written before schemas were checked once.
            &text.replace(",\"schemas\":7", ""),
            &text.replace("\"read\"", "\"fly\""),
            &text.replace("\"one\"", "\"o/ne\""),
            &text.replace("\"memories\":2", "\"memories\":-2"),
        ];
        for text in broken {
            assert_eq!(Summary::read(text), None, "{text}");
        }
    }
}
