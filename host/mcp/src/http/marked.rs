//! Parameters that a server wants to see in headers as well: the properties that a tool's schema marks
//! with `x-mcp-header` (MCP 2026-07-28, streamable HTTP: custom headers from tool parameters).
//!
//! They are learned from the lists that pass. A tool whose marks break the protocol's rules is taken out
//! of its list, as the protocol demands. Deliberately absent: the checks of a server, which are the
//! SDK's.

use std::collections::HashMap;

use http::{HeaderName, HeaderValue};
use rmcp::model::{CallToolRequestParams, Tool};
use tidegate_contract::{JsonObject, Value};

use crate::client::base64;

/// The keyword of a schema.
const MARK: &str = "x-mcp-header";

/// What the name of a header starts with.
const PREFIX: &str = "mcp-param-";

/// Marked tools of one server that are known at a time.
const TOOLS: usize = 1_000;

/// Marked parameters of one tool.
const PARAMETERS: usize = 32;

/// One marked parameter.
#[derive(Debug, PartialEq, Eq)]
struct Parameter {
    /// The names of the properties that lead to it.
    path: Vec<String>,
    header: HeaderName,
}

/// The marked parameters of one server's tools.
#[derive(Debug, Default)]
pub(super) struct Marked(HashMap<String, Vec<Parameter>>);

impl Marked {
    /// Learns what a page says, and takes out the tools that can't be called.
    pub(super) fn learn(&mut self, tools: &mut Vec<Tool>) {
        tools.retain(|tool| match parameters(&tool.input_schema) {
            Ok(parameters) => {
                let name = tool.name.as_ref();
                if parameters.is_empty() {
                    self.0.remove(name);
                } else if self.0.len() < TOOLS || self.0.contains_key(name) {
                    self.0.insert(name.to_owned(), parameters);
                }
                true
            }
            Err(reason) => {
                tracing::warn!(reason, "a tool of an MCP server marks parameters wrongly");
                false
            }
        });
    }

    pub(super) fn has(&self, tool: &str) -> bool {
        self.0.contains_key(tool)
    }

    /// The headers of a call. A parameter that is absent or null has none.
    pub(super) fn headers(&self, call: &CallToolRequestParams) -> Vec<(HeaderName, HeaderValue)> {
        let (Some(parameters), Some(arguments)) = (self.0.get(call.name.as_ref()), &call.arguments)
        else {
            return Vec::new();
        };
        let header = |parameter: &Parameter| {
            let value = HeaderValue::from_str(&written(parameter.value(arguments)?)?).ok()?;
            Some((parameter.header.clone(), value))
        };
        parameters.iter().filter_map(header).collect()
    }
}

impl Parameter {
    fn value<'a>(&self, arguments: &'a JsonObject) -> Option<&'a Value> {
        let (first, rest) = self.path.split_first()?;
        let inner = |value: &'a Value, name: &String| value.get(name);
        rest.iter().try_fold(arguments.get(first)?, inner)
    }
}

/// A value as a header says it: itself, or in base64 where it would not come through as it is.
fn written(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim_matches(' ') == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    if is_plain {
        return Some(text);
    }
    Some(format!("=?base64?{}?=", base64::encode(text.as_bytes())))
}

/// The marked parameters of a schema; why it can't be used, where the marks are not as they must be.
fn parameters(schema: &JsonObject) -> Result<Vec<Parameter>, &'static str> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    Ok(found)
}

fn collect(
    schema: &JsonObject,
    path: &mut Vec<String>,
    found: &mut Vec<Parameter>,
) -> Result<(), &'static str> {
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            (MARK, name) => found.push(parameter(name, schema, path)?),
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    if let Value::Object(property) = property {
                        path.push(name.clone());
                        collect(property, path, found)?;
                        path.pop();
                    }
                }
            }
            (keyword, value) if has_mark(keyword, value) => {
                return Err("a mark stands where no property leads to");
            }
            _ => {}
        }
    }
    let names = || found.iter().map(|parameter| &parameter.header);
    if names()
        .enumerate()
        .any(|(at, name)| names().take(at).any(|other| other == name))
    {
        return Err("two marks have one name");
    }
    if found.len() > PARAMETERS {
        return Err("too many parameters are marked");
    }
    Ok(())
}

fn parameter(
    name: &Value,
    schema: &JsonObject,
    path: &[String],
) -> Result<Parameter, &'static str> {
    if path.is_empty() {
        return Err("a mark stands on the arguments as a whole");
    }
    let name = name.as_str().filter(|name| !name.is_empty());
    let header = name.and_then(|name| format!("{PREFIX}{name}").parse().ok());
    let kind = schema.get("type").and_then(Value::as_str);
    if !matches!(kind, Some("string" | "integer" | "boolean")) {
        return Err("a marked parameter is no text, integer or boolean");
    }
    Ok(Parameter {
        path: path.to_vec(),
        header: header.ok_or("a mark is no name of a header")?,
    })
}

/// Whether a schema in the value of a keyword has a mark anywhere.
fn has_mark(keyword: &str, value: &Value) -> bool {
    match (keyword, value) {
        // No schemas, whatever they look like.
        ("default" | "const" | "enum" | "examples" | "dependentRequired", _) => false,
        // Schemas by names of any kind.
        (
            "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
            Value::Object(named),
        ) => named.values().any(|schema| has_mark("", schema)),
        (_, Value::Object(schema)) => {
            let mut keywords = schema.iter();
            keywords.any(|(keyword, value)| keyword == MARK || has_mark(keyword, value))
        }
        (_, Value::Array(schemas)) => schemas.iter().any(|schema| has_mark("", schema)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(schema: &Value) -> Tool {
        let schema = schema.as_object().unwrap().clone();
        Tool::new("t", "a tool", std::sync::Arc::new(schema))
    }

    fn learned(schema: &Value) -> Option<Marked> {
        let (mut marked, mut tools) = (Marked::default(), vec![tool(schema)]);
        marked.learn(&mut tools);
        (!tools.is_empty()).then_some(marked)
    }

    fn headers(marked: &Marked, arguments: &Value) -> Vec<(String, String)> {
        let arguments = arguments.as_object().unwrap().clone();
        let call = CallToolRequestParams::new("t").with_arguments(arguments);
        let headers = marked.headers(&call).into_iter();
        headers
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect()
    }

    #[test]
    fn m4_marked_parameters_are_written_as_the_protocol_has_them() {
        let marked = learned(&json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "plain": {"type": "string"},
        }}))
        .unwrap();
        for (value, expected) in [
            (json!("us-west1"), Some("us-west1")),
            (json!(""), Some("")),
            (json!("a b"), Some("a b")),
            (json!(" a"), Some("=?base64?IGE=?=")),
            (json!("a\tb"), Some("=?base64?YQli?=")),
            (json!("a\r\nX-Evil: 1"), Some("=?base64?YQ0KWC1FdmlsOiAx?=")),
            (json!("Zürich"), Some("=?base64?WsO8cmljaA==?=")),
            (
                json!("=?base64?YQ==?="),
                Some("=?base64?PT9iYXNlNjQ/WVE9PT89?="),
            ),
            (json!("=?base64?YQ=="), Some("=?base64?YQ==")),
            (json!(42), Some("42")),
            (json!(true), Some("true")),
            (Value::Null, None),
            (json!(["a"]), None),
        ] {
            let found = headers(&marked, &json!({"region": value, "plain": "x"}));
            let expected = expected.map(|text| ("mcp-param-region".to_owned(), text.to_owned()));
            assert_eq!(found, Vec::from_iter(expected), "{value}");
        }
        assert_eq!(headers(&marked, &json!({})), []);
    }

    #[test]
    fn m4_a_parameter_below_another_is_found_by_its_path() {
        let inner = json!({"type": "integer", "x-mcp-header": "Size"});
        let schema = json!({"properties": {"box": {"properties": {"size": inner}}}});
        let marked = learned(&schema).unwrap();
        let found = headers(&marked, &json!({"box": {"size": 3}, "size": 4}));
        assert_eq!(found, [("mcp-param-size".to_owned(), "3".to_owned())]);
        assert_eq!(headers(&marked, &json!({"box": "size"})), []);
    }

    #[test]
    fn m4_a_tool_with_marks_that_break_the_rules_is_left_out() {
        let good = json!({"type": "string", "x-mcp-header": "Name"});
        let with = |property: Value| json!({"properties": {"p": property}});
        for (schema, is_kept) in [
            (with(good.clone()), true),
            (with(json!({"type": "string", "x-mcp-header": ""})), false),
            (
                with(json!({"type": "string", "x-mcp-header": "a b"})),
                false,
            ),
            (with(json!({"type": "string", "x-mcp-header": 1})), false),
            (with(json!({"type": "number", "x-mcp-header": "N"})), false),
            (with(json!({"x-mcp-header": "N"})), false),
            (json!({"type": "object", "x-mcp-header": "N"}), false),
            (
                json!({"properties": {"a": good, "b": {"type": "string", "x-mcp-header": "NAME"}}}),
                false,
            ),
            (with(json!({"type": "array", "items": good})), false),
            (json!({"anyOf": [{"properties": {"p": good}}]}), false),
            (json!({"$defs": {"d": good}}), false),
            (json!({"$defs": {"x-mcp-header": {"type": "string"}}}), true),
            (with(json!({"enum": [{"x-mcp-header": "N"}]})), true),
            (
                json!({"properties": {"x-mcp-header": {"type": "string"}}}),
                true,
            ),
        ] {
            assert_eq!(learned(&schema).is_some(), is_kept, "{schema}");
        }
    }

    #[test]
    fn m4_as_many_parameters_of_a_tool_are_marked_as_there_is_room_for() {
        for (count, is_kept) in [(31, true), (32, true), (33, false)] {
            let property = |at: usize| {
                let mark = json!({"type": "string", "x-mcp-header": format!("H{at}")});
                (format!("p{at}"), mark)
            };
            let properties: JsonObject = (0..count).map(property).collect();
            let schema = json!({ "properties": properties });
            assert_eq!(learned(&schema).is_some(), is_kept, "{count}");
        }
    }
}
