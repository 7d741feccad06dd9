//! `interaction.web_search`: the bounds of the carried search, and whom it asks (SPEC W2).

use anyhow::bail;
use serde::Deserialize;
use tidegate_contract::origin::normal_origin;
use tidegate_contract::{JsonObject, Limits, Value};

/// Whom the tool asks when nothing else is said.
const BRAVE: &str = "https://api.search.brave.com";

/// What the tool says of a call that was given up.
pub(crate) const CANCELLED: &str = "WEB_SEARCH_CANCELLED";

/// What of an answer may be on its way when the tool stops reading it.
const AHEAD_BYTES: u64 = 1024 * 1024;

/// `interaction.web_search`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WebSearch {
    pub(crate) timeout_ms: Option<u32>,
    pub(crate) max_response_bytes: Option<u32>,
}

impl WebSearch {
    /// The settings of `builtin:web-search`; what is not set is left to it.
    ///
    /// # Errors
    ///
    /// A bound out of its range.
    pub(crate) fn settings(&self) -> anyhow::Result<JsonObject> {
        let bounds = [
            ("timeout_ms", self.timeout_ms, 2_147_483_647),
            ("max_response_bytes", self.max_response_bytes, 16_777_216),
        ];
        let mut settings = JsonObject::new();
        for (name, value, most) in bounds {
            let Some(value) = value else { continue };
            if !(1..=most).contains(&value) {
                bail!("interaction.web_search.{name}: expected 1 to {most}, not {value}");
            }
            settings.insert(name.to_owned(), Value::from(value));
        }
        Ok(settings)
    }
}

/// The origin that the tool asks under these settings.
pub(crate) fn origin(settings: &JsonObject) -> String {
    let origin = settings.get("origin").and_then(Value::as_str);
    let origin = origin.unwrap_or(BRAVE);
    // What is no origin the plugin itself refuses, at its first call.
    normal_origin(origin.strip_suffix('/').unwrap_or(origin)).unwrap_or_else(|_| origin.to_owned())
}

/// Leaves room for the bound that the tool itself counts, unless the operator chose another.
pub(crate) fn make_room(settings: &JsonObject, limits: &mut Limits) {
    let own = settings.get("max_response_bytes").and_then(Value::as_u64);
    let room = own.unwrap_or_default().saturating_add(AHEAD_BYTES);
    if limits.http_response_bytes == Limits::DEFAULT.http_response_bytes {
        let room = room.min(Limits::MAXIMUM.http_response_bytes);
        limits.http_response_bytes = limits.http_response_bytes.max(room);
    }
}
