//! The operator's settings for the tools, from the plugin's config (SPEC R4, R5).

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::whole_number;

/// What each bound may be, and what it is when the operator says nothing.
const MAX_ENTRIES: (RangeInclusive<u32>, u32) = (1..=10_000, 1_000);
const MAX_OUTPUT_BYTES: (RangeInclusive<u32>, u32) = (1..=1_048_576, 65_536);
const MAX_ERROR_BYTES: (RangeInclusive<u32>, u32) = (1..=65_536, 8_192);

/// How much of a command's output is kept, and what `grep` without a match is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Lines of each stream.
    pub(crate) max_entries: u32,
    /// Bytes of standard output.
    pub(crate) max_output_bytes: u32,
    /// Bytes of standard error.
    pub(crate) max_error_bytes: u32,
    pub(crate) no_match: NoMatch,
}

/// What `grep` that found nothing comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoMatch {
    Failed,
    Success,
}

impl Settings {
    /// Reads the config, a JSON object in which every key may be absent.
    ///
    /// # Errors
    /// Which key is wrong and what was expected, in one line.
    pub(crate) fn read(config: &str) -> Result<Self, String> {
        let Ok(Value::Object(mut left)) = serde_json::from_str(config) else {
            return Err("the config of the commands must be a JSON object".to_owned());
        };
        let settings = Self {
            max_entries: bound(&mut left, "max_entries", &MAX_ENTRIES)?,
            max_output_bytes: bound(&mut left, "max_output_bytes", &MAX_OUTPUT_BYTES)?,
            max_error_bytes: bound(&mut left, "max_error_bytes", &MAX_ERROR_BYTES)?,
            no_match: no_match(&mut left)?,
        };
        match left.keys().next() {
            None => Ok(settings),
            Some(key) => Err(unknown(key)),
        }
    }
}

fn bound(
    left: &mut Map<String, Value>,
    key: &str,
    (range, default): &(RangeInclusive<u32>, u32),
) -> Result<u32, String> {
    let Some(value) = left.remove(key) else {
        return Ok(*default);
    };
    whole_number::read(&value, range).map_err(|reason| format!("config: `{key}` {reason}"))
}

fn no_match(left: &mut Map<String, Value>) -> Result<NoMatch, String> {
    match left.remove("no_match") {
        None => Ok(NoMatch::Failed),
        Some(Value::String(text)) if text == "failed" => Ok(NoMatch::Failed),
        Some(Value::String(text)) if text == "success" => Ok(NoMatch::Success),
        Some(_) => Err("config: `no_match` must be `failed` or `success`".to_owned()),
    }
}

/// A key is named only where it looks like one, since the text may be shown to anyone.
fn unknown(key: &str) -> String {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let named = if (1..=32).contains(&key.len()) && key.bytes().all(is_letter) {
        format!("`{key}` is no setting")
    } else {
        "it has a key that is no setting".to_owned()
    };
    format!("config: {named}; there are max_entries, max_output_bytes, max_error_bytes, no_match")
}

#[cfg(test)]
mod tests;
