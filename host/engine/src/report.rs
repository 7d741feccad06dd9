//! What the host adds to a result's metadata: what the plugin printed, what it was denied, what was
//! dropped of its log. These keys are the host's; a plugin's own of the same name were left out.

use std::sync::PoisonError;

use serde_json::{Value, json};
use tidegate_contract::JsonObject;
use tidegate_contract::text::BoundedText;

use crate::imports::Log;
use crate::store::CallState;

/// Writes what the call left behind into `metadata`; leaves it alone where there is nothing to say.
pub(crate) fn attach(metadata: &mut Option<JsonObject>, state: CallState) {
    let mut refused = state
        .refused_addresses
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let mut denied = state.denials.into_names();
    denied.extend(std::mem::take(&mut *refused).into_names());
    drop(refused);
    let mut set = |key: &str, value: Value| {
        metadata
            .get_or_insert_default()
            .insert(key.to_owned(), value);
    };
    if let Some(text) = printed(&state.stdout.take()) {
        set("stdout", text);
    }
    if let Some(text) = printed(&state.stderr.take()) {
        set("stderr", text);
    }
    if !denied.is_empty() {
        tracing::warn!(
            target: "tidegate::denied",
            plugin = &*state.setup.plugin,
            call_id = &*state.call_id,
            denied = denied.join(", "),
        );
        set("denied", json!(denied));
    }
    if state.log.omitted_lines > 0 || state.log.omitted_bytes > 0 {
        let Log {
            omitted_lines,
            omitted_bytes,
            ..
        } = state.log;
        set(
            "log",
            json!({ "omittedLines": omitted_lines, "omittedBytes": omitted_bytes }),
        );
    }
}

fn printed(text: &BoundedText) -> Option<Value> {
    (!text.is_empty()).then(|| json!({ "text": text.text(), "omittedBytes": text.omitted_bytes() }))
}
