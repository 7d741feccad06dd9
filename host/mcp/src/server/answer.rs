//! What a call came to, as the protocol answers it.
//!
//! Every status but success is marked as an error, and its code stands in the text. Structured content
//! stands in its field, and in the text only where there would be none.

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock, ErrorCode, MetaObject};
use serde_json::json;
use tidegate_contract::{CallError, ExternalResult, JsonObject, Value};

use super::refused;

pub(super) fn of(end: Result<ExternalResult, CallError>) -> Result<CallToolResponse, ErrorData> {
    match end.and_then(tidegate::observe) {
        Ok(observation) => {
            let mut result = tidegate::protocol::mcp(&observation);
            say_once(&mut result);
            let result = typed(result);
            let result =
                result.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            Ok(CallToolResponse::Complete(result))
        }
        // The protocol has an error of its own for it.
        Err(error @ CallError::UnknownTool { .. }) => {
            Err(refused(ErrorCode::INVALID_PARAMS, &error))
        }
        Err(error) => {
            let failure = error.to_failure();
            let text = format!("{}: {}", failure.code(), failure.message());
            let mut meta = JsonObject::new();
            meta.insert("tidegate/error".to_owned(), json!(failure));
            let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
            result.meta = Some(MetaObject(meta));
            Ok(CallToolResponse::Complete(result))
        }
    }
}

/// Takes the text of the structured content out, where other text is left.
fn say_once(result: &mut Value) {
    let Some(structured) = result.get("structuredContent").map(Value::to_string) else {
        return;
    };
    let Some(Value::Array(blocks)) = result.get_mut("content") else {
        return;
    };
    let is_same = |block: &Value| block.get("text").and_then(Value::as_str) == Some(&structured);
    if let Some(last) = blocks.iter().rposition(is_same)
        && blocks.len() > 1
    {
        blocks.remove(last);
    }
}

/// The result as the SDK has it, moved and not read again: most of it can be long.
fn typed(result: Value) -> serde_json::Result<CallToolResult> {
    let mut typed = CallToolResult::default();
    let Value::Object(fields) = result else {
        return serde_json::from_value(result);
    };
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("content", Value::Array(blocks)) => {
                typed.content = blocks.into_iter().map(block).collect::<Result<_, _>>()?;
            }
            ("structuredContent", value) => typed.structured_content = Some(value),
            ("isError", value) => typed.is_error = value.as_bool(),
            ("_meta", Value::Object(meta)) => typed.meta = Some(MetaObject(meta)),
            _ => {}
        }
    }
    Ok(typed)
}

fn block(mut block: Value) -> serde_json::Result<ContentBlock> {
    let is_text =
        |block: &JsonObject| block.len() == 2 && block.get("type") == Some(&json!("text"));
    let text = block.as_object_mut().filter(|block| is_text(block));
    match text
        .and_then(|block| block.get_mut("text"))
        .map(Value::take)
    {
        Some(Value::String(text)) => Ok(ContentBlock::text(text)),
        _ => serde_json::from_value(block),
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::ResultType;

    use super::*;

    #[test]
    fn m5_a_result_is_what_the_sdk_makes_of_it() {
        let text = json!({"type": "text", "text": "t"});
        let link =
            json!({"type": "resource_link", "uri": "artifact:1", "name": "n", "mimeType": "a/b"});
        for result in [
            json!({"content": [text, link], "isError": false}),
            json!({"content": [], "structuredContent": {"a": [1]}, "isError": true, "_meta": {"tidegate/status": "failed"}}),
        ] {
            let own = typed(result.clone()).unwrap();
            let mut theirs: CallToolResult = serde_json::from_value(result).unwrap();
            theirs.result_type = Some(ResultType::COMPLETE);
            assert_eq!(own, theirs);
        }
    }
}
