//! Definitions as the protocol lists them: in the order of their names, page by page.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{ListToolsResult, MetaObject, Tool, ToolAnnotations};
use serde_json::json;
use tidegate_contract::{Effect, JsonObject, ToolDefinition, ToolName, Value};

/// One page. A cursor is the name of the last tool before the page, so that a tool that comes or goes
/// between two pages moves no other.
pub(super) fn page(
    mut tools: Vec<ToolDefinition>,
    cursor: Option<&str>,
    page_tools: usize,
) -> Result<ListToolsResult, ErrorData> {
    if let Some(cursor) = cursor {
        if ToolName::new(cursor).is_err() {
            return Err(ErrorData::invalid_params(
                "the cursor is none of this list",
                None,
            ));
        }
        tools.retain(|tool| tool.name.as_str() > cursor);
    }
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    let is_last = tools.len() <= page_tools;
    tools.truncate(page_tools);
    let next = tools.last().filter(|_| !is_last);
    let next_cursor = next.map(|tool| tool.name.to_string());
    let mut page = ListToolsResult::with_all_items(tools.into_iter().map(listed).collect());
    page.next_cursor = next_cursor;
    Ok(page)
}

pub(super) fn listed(definition: ToolDefinition) -> Tool {
    let ToolDefinition {
        name,
        description,
        input_schema,
        output_schema,
        effects,
        requires_approval,
    } = definition;
    let described = description.map(Cow::Owned);
    let schema = Arc::new(typed(input_schema));
    let mut tool = Tool::new_with_raw(name.to_string(), described, schema)
        .with_annotations(annotations(&effects));
    // The protocol knows structured content that is an object alone.
    let output = output_schema
        .map(typed)
        .filter(|schema| schema.get("type") == Some(&object()));
    if let Some(schema) = output {
        tool = tool.with_raw_output_schema(Arc::new(schema));
    }
    let mut meta = JsonObject::new();
    meta.insert("tidegate/effects".to_owned(), json!(effects));
    meta.insert(
        "tidegate/requiresApproval".to_owned(),
        json!(requires_approval),
    );
    tool.with_meta(MetaObject(meta))
}

fn object() -> Value {
    Value::from("object")
}

/// Clients refuse a whole list for one schema that does not say it is of objects.
fn typed(mut schema: JsonObject) -> JsonObject {
    if !schema.contains_key("type") {
        schema.insert("type".to_owned(), object());
    }
    schema
}

/// What the effects say. They are the plugin's words: hints, as the protocol calls them too.
fn annotations(effects: &[Effect]) -> ToolAnnotations {
    let has = |effect| effects.contains(&effect);
    let changes = has(Effect::Write) || has(Effect::Execute);
    let hints = ToolAnnotations::new()
        .read_only(!changes)
        .open_world(has(Effect::Network));
    if changes {
        hints.destructive(has(Effect::Write))
    } else {
        hints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> ToolDefinition {
        ToolDefinition {
            name: ToolName::new(name).unwrap(),
            description: None,
            input_schema: JsonObject::new(),
            output_schema: None,
            effects: vec![],
            requires_approval: false,
        }
    }

    #[test]
    fn m5_pages_are_in_order_and_miss_nothing() {
        let tools = || ["d", "b", "a", "c", "e"].map(tool).to_vec();
        for size in 1..7 {
            let (mut names, mut cursor) = (Vec::new(), None);
            loop {
                let page = page(tools(), cursor.as_deref(), size).unwrap();
                assert!(page.tools.len() <= size);
                names.extend(page.tools.into_iter().map(|tool| tool.name.into_owned()));
                cursor = page.next_cursor;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(names, ["a", "b", "c", "d", "e"], "{size}");
        }
        assert!(page(tools(), Some("no cursor"), 2).is_err());
        assert_eq!(page(tools(), Some("bb"), 9).unwrap().tools.len(), 3);
    }
}
