//! Observations as the tool-result messages of other protocols (SPEC O3): `OpenAI` chat and responses,
//! Anthropic messages, MCP.
//!
//! Pure functions that can't fail. The id of the call is kept as it is. A status other than
//! `success` is the protocol's error flag where it has one, and words in any case: whatever the
//! message says, a failure's text starts with `status: CODE: message`. Nothing to read is said in
//! words. Deliberately absent: sending, and the metadata of the call, which is the host's.

mod words;

use serde_json::{Value, json};
use tidegate_contract::{JsonObject, Observation, Reference, Status};

use words::Word;

/// The `tool` message of `OpenAI`'s chat completions: `{role, tool_call_id, content}`.
///
/// The content is one string, which every compatible server takes; parts stand in it one after the
/// other, each from a line of its own. There is no error flag: a failure is told by its words.
///
/// ```
/// use tidegate::contract::{CallId, ExternalResult, ToolOutcome};
///
/// let id = CallId::new("call_1")?;
/// let result = ExternalResult::new(&id, "lookup", ToolOutcome::text("found"));
/// let message = tidegate::protocol::openai_chat(&tidegate::observe(result)?);
/// assert_eq!(message["tool_call_id"], "call_1");
/// assert_eq!(message["content"], "found");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn openai_chat(observation: &Observation) -> Value {
    json!({
        "role": "tool",
        "tool_call_id": observation.call_id,
        "content": words::text(observation),
    })
}

/// The `function_call_output` item of `OpenAI`'s responses: `{type, call_id, output}`.
///
/// The output is the same string as in [`openai_chat`]. `status` is left out: it tells how far the
/// item was written, not how the call ended.
#[must_use]
pub fn openai_responses(observation: &Observation) -> Value {
    json!({
        "type": "function_call_output",
        "call_id": observation.call_id,
        "output": words::text(observation),
    })
}

/// The `tool_result` block of Anthropic's messages: `{type, tool_use_id, content, is_error}`.
///
/// The content is text blocks, one for each part. Blank ones are left out, since the protocol takes
/// none; when nothing else is there, one says so.
#[must_use]
pub fn anthropic(observation: &Observation) -> Value {
    let texts = words::all(observation).into_iter().map(Word::into_text);
    let mut texts: Vec<String> = texts.filter(|text| !text.trim().is_empty()).collect();
    if texts.is_empty() {
        texts.push(words::only_white_space(observation));
    }
    let blocks: Vec<Value> = texts.iter().map(|text| text_block(text)).collect();
    json!({
        "type": "tool_result",
        "tool_use_id": observation.call_id,
        "content": blocks,
        "is_error": is_error(observation),
    })
}

/// The result of MCP's `tools/call`: `{content, structuredContent?, isError, _meta}`.
///
/// References are `resource_link` blocks. `structuredContent` is there when it is a JSON object, as
/// the protocol demands; any other value stands in the content alone, as text. The protocol pairs
/// answers by the id of the JSON-RPC message, so `_meta` keeps the call's own id, with the source,
/// the status and the error, which tell a timeout from a failure.
#[must_use]
pub fn mcp(observation: &Observation) -> Value {
    let blocks: Vec<Value> = words::all(observation)
        .into_iter()
        .map(|word| match word {
            Word::Text(text) => text_block(&text),
            Word::Reference(reference) => resource_link(&reference),
        })
        .collect();
    let mut result = JsonObject::new();
    result.insert("content".to_owned(), Value::Array(blocks));
    if let Some(object @ Value::Object(_)) = &observation.structured_content {
        result.insert("structuredContent".to_owned(), object.clone());
    }
    result.insert("isError".to_owned(), Value::Bool(is_error(observation)));
    let mut meta = JsonObject::new();
    meta.insert("tidegate/callId".to_owned(), json!(observation.call_id));
    meta.insert("tidegate/source".to_owned(), json!(observation.source));
    meta.insert(
        "tidegate/status".to_owned(),
        json!(observation.status.as_str()),
    );
    if let Some(error) = &observation.error {
        meta.insert("tidegate/error".to_owned(), json!(error));
    }
    result.insert("_meta".to_owned(), Value::Object(meta));
    Value::Object(result)
}

fn is_error(observation: &Observation) -> bool {
    observation.status != Status::Success
}

fn text_block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// A link needs a name; a reference has none, so the uri stands for it.
fn resource_link(reference: &Reference) -> Value {
    let mut link = JsonObject::new();
    link.insert("type".to_owned(), json!("resource_link"));
    link.insert("uri".to_owned(), json!(reference.uri));
    link.insert("name".to_owned(), json!(reference.uri));
    if let Some(media_type) = &reference.media_type {
        link.insert("mimeType".to_owned(), json!(media_type));
    }
    if let Some(digest) = &reference.digest {
        link.insert("_meta".to_owned(), json!({ "tidegate/digest": digest }));
    }
    Value::Object(link)
}
