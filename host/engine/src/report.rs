//! What the host adds to a result's metadata: what the plugin printed, what it was denied, what was
//! dropped of its log. These keys are the host's; a plugin's own of the same name were left out.

use serde_json::{Value, json};
use tidegate_contract::JsonObject;

use crate::imports::Log;
use crate::secrets;
use crate::store::CallState;
use crate::streams::Capture;

/// Writes what the call left behind into `metadata`; leaves it alone where there is nothing to say.
pub(crate) fn attach(metadata: &mut Option<JsonObject>, state: &CallState) {
    let denied = state.denials.names();
    let mut set = |key: &str, value: Value| {
        metadata
            .get_or_insert_default()
            .insert(key.to_owned(), value);
    };
    if let Some(text) = printed(state.stdout.as_ref()) {
        set("stdout", text);
    }
    if let Some(text) = printed(state.stderr.as_ref()) {
        set("stderr", text);
    }
    if !denied.is_empty() {
        set("denied", json!(denied));
    }
    if state.log.omitted_lines > 0 || state.log.omitted_bytes > 0 {
        let Log {
            omitted_lines,
            omitted_bytes,
            ..
        } = &state.log;
        set(
            "log",
            json!({ "omittedLines": omitted_lines, "omittedBytes": omitted_bytes }),
        );
    }
}

/// Says in the log what a call was denied that ended without a result to say it in.
pub(crate) fn log(state: &CallState) {
    let denied = state.denials.names();
    if !denied.is_empty() {
        let (plugin, call_id) = (&*state.setup.plugin, &*state.call_id);
        let denied = secrets::redacted(&state.setup.handles.secrets, denied.join(", "));
        tracing::warn!(plugin, call_id, denied, "denied while it ran");
    }
}

fn printed(stream: Option<&Capture>) -> Option<Value> {
    let text = stream?.take();
    (!text.is_empty()).then(|| json!({ "text": text.text(), "omittedBytes": text.omitted_bytes() }))
}
