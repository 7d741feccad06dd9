//! `large`: outcomes of the size that is asked for, in each of their fields.

use serde_json::{Value, json};

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::types::{Content, Outcome, Part, Reference};
use crate::outcome::{empty_success, failed};

pub(crate) const DESCRIPTION: &str = "Returns {text} bytes of text, of {word} again and again; or \
    {json} bytes of JSON as content; or {parts} parts of 100 bytes; beside {structured} bytes of \
    structured content, {references} references and {metadata} bytes of metadata; as a failure with \
    {failed: true}.";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut outcome = empty_success();
    if arguments.flag("failed") {
        outcome = failed("LARGE", "as it was asked");
    }
    if let Some(bytes) = size(arguments, "text") {
        outcome.content = Some(Content::Text(text(arguments, bytes)));
    }
    if let Some(bytes) = size(arguments, "json") {
        // A lone string would be a text.
        let item = json_text(bytes.saturating_sub(2));
        outcome.content = Some(Content::Json(format!("[{item}]")));
    }
    if let Some(count) = size(arguments, "parts") {
        let part = |at: usize| Part::Text(format!("{at:0>100}"));
        outcome.content = Some(Content::Parts((0..count).map(part).collect()));
    }
    if let Some(bytes) = size(arguments, "structured") {
        outcome.structured_content = Some(json_text(bytes));
    }
    let reference = |at: usize| Reference {
        uri: format!("kept:{at}"),
        media_type: None,
        digest: None,
    };
    let references = arguments.size("references", 0);
    outcome.references = (0..references).map(reference).collect();
    if let Some(bytes) = size(arguments, "metadata") {
        outcome.metadata = Some(json!({ "filler": "m".repeat(bytes) }).to_string());
    }
    outcome
}

fn size(arguments: &Arguments, key: &str) -> Option<usize> {
    let size = arguments.optional_number(key)?;
    usize::try_from(size).ok()
}

/// So many bytes of a word; what is left over at the end is dots.
fn text(arguments: &Arguments, bytes: usize) -> String {
    let word = arguments.text("word", "x");
    let mut text = word.repeat(bytes.checked_div(word.len()).unwrap_or_default());
    text.push_str(&".".repeat(bytes.saturating_sub(text.len())));
    text
}

/// A JSON string of so many bytes, its quotes among them.
pub(crate) fn json_text(bytes: usize) -> String {
    Value::from("j".repeat(bytes.saturating_sub(2))).to_string()
}
