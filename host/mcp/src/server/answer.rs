//! What a call came to, as the protocol answers it.
//!
//! Every status but success is marked as an error, and its code stands in the text. Structured content
//! stands in its field, and in the text only where there would be none.

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ErrorCode, MetaObject, ResultType,
};
use serde_json::json;
use tidegate_contract::{CallError, ExternalResult, JsonObject, Value};

use super::refused;

pub(super) fn of(end: Result<ExternalResult, CallError>) -> Result<CallToolResponse, ErrorData> {
    match end.and_then(tidegate::observe) {
        Ok(observation) => {
            let mut result = tidegate::protocol::mcp(&observation);
            say_once(&mut result);
            let result: Result<CallToolResult, _> = serde_json::from_value(result);
            let mut result =
                result.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
            result.result_type = Some(ResultType::COMPLETE);
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
