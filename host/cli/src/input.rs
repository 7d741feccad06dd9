//! What comes in on stdin: one bounded document.

use std::io::Read as _;

use anyhow::Context as _;
use tidegate_contract::json::{self, JsonBounds};
use tidegate_contract::{CallError, Limits, Value};

/// What may stand around the largest arguments: an id, a name, punctuation.
const ENVELOPE_BYTES: usize = 64 * 1024;

/// Reads stdin as text, up to the largest arguments and a little more.
///
/// # Errors
///
/// It can't be read or is not UTF-8.
pub(crate) fn text() -> anyhow::Result<String> {
    let limit_bytes = u64::try_from(bounds().bytes).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    std::io::stdin()
        .take(limit_bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .context("can't read stdin")?;
    String::from_utf8(bytes).context("stdin is not UTF-8")
}

/// Reads stdin as one JSON document.
///
/// # Errors
///
/// It can't be read, or is not one document within the bounds.
pub(crate) fn document() -> anyhow::Result<Value> {
    json::parse(&text()?, &bounds()).map_err(|error| {
        let reason = format!("stdin must be one JSON document: {error}");
        CallError::InvalidCall { reason }.into()
    })
}

/// The bounds of one document.
pub(crate) fn bounds() -> JsonBounds {
    let bytes = usize::try_from(Limits::MAXIMUM.arguments_bytes).unwrap_or(usize::MAX);
    JsonBounds {
        bytes: bytes.saturating_add(ENVELOPE_BYTES),
        ..JsonBounds::default()
    }
}
