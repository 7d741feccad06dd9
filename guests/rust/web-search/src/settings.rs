//! The operator's settings for the tool, from the plugin's config (SPEC W2).

use std::ops::RangeInclusive;
use std::time::Duration;

use exchange::Url;
use serde_json::{Map, Value};

use crate::provider::Provider;

/// What each number may be, and what it is when the operator says nothing.
const TIMEOUT_MS: (RangeInclusive<u32>, u32) = (1..=2_147_483_647, 30_000);
const MAX_RESPONSE_BYTES: (RangeInclusive<u32>, u32) = (1..=16_777_216, 1_048_576);

/// Where Brave's API is.
const BRAVE_ORIGIN: &str = "https://api.search.brave.com";

/// Whom to ask, and how much answer to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) provider: Provider,
    /// The provider's server, which the host must have granted.
    pub(crate) origin: Url,
    /// For the whole exchange.
    pub(crate) timeout: Duration,
    /// Of the answer's body, after decoding.
    pub(crate) max_response_bytes: usize,
}

impl Settings {
    /// Reads the config, a JSON object in which every key may be absent; `searxng` needs an origin.
    ///
    /// # Errors
    /// Which key is wrong and what was expected, in one line.
    pub(crate) fn read(config: &str) -> Result<Self, String> {
        let Ok(Value::Object(mut left)) = serde_json::from_str(config) else {
            return Err("the config of web_search must be a JSON object".to_owned());
        };
        let provider = provider(&mut left)?;
        let settings = Self {
            provider,
            origin: origin(&mut left, provider)?,
            timeout: Duration::from_millis(number(&mut left, "timeout_ms", &TIMEOUT_MS)?.into()),
            max_response_bytes: usize::try_from(number(
                &mut left,
                "max_response_bytes",
                &MAX_RESPONSE_BYTES,
            )?)
            .unwrap_or(usize::MAX),
        };
        match left.keys().next() {
            None => Ok(settings),
            Some(key) => Err(unknown(key)),
        }
    }
}

fn provider(left: &mut Map<String, Value>) -> Result<Provider, String> {
    match left.remove("provider") {
        None => Ok(Provider::Brave),
        Some(Value::String(text)) if text == "brave" => Ok(Provider::Brave),
        Some(Value::String(text)) if text == "searxng" => Ok(Provider::Searxng),
        Some(_) => Err("config: `provider` must be `brave` or `searxng`".to_owned()),
    }
}

fn origin(left: &mut Map<String, Value>, provider: Provider) -> Result<Url, String> {
    let text = match (left.remove("origin"), provider) {
        (Some(Value::String(text)), _) => text,
        (None, Provider::Brave) => BRAVE_ORIGIN.to_owned(),
        (None, Provider::Searxng) => {
            return Err("config: `origin` is required with the provider `searxng`".to_owned());
        }
        (Some(_), _) => return Err("config: `origin` must be a string".to_owned()),
    };
    match Url::parse(&text) {
        Ok(url) if url.is_origin() && !text.contains('#') => Ok(url),
        Ok(_) => Err("config: `origin` must have no path, query or fragment".to_owned()),
        Err(wrong) => Err(format!("config: `origin` {}", wrong.reason())),
    }
}

fn number(
    left: &mut Map<String, Value>,
    key: &str,
    (range, default): &(RangeInclusive<u32>, u32),
) -> Result<u32, String> {
    let Some(value) = left.remove(key) else {
        return Ok(*default);
    };
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    number
        .filter(|number| range.contains(number))
        .ok_or_else(|| {
            let (start, end) = (range.start(), range.end());
            format!("config: `{key}` must be a whole number from {start} to {end}")
        })
}

/// A key is named only where it looks like one, since the text may be shown to anyone.
fn unknown(key: &str) -> String {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let named = if (1..=32).contains(&key.len()) && key.bytes().all(is_letter) {
        format!("`{key}` is no setting")
    } else {
        "it has a key that is no setting".to_owned()
    };
    format!("config: {named}; there are provider, origin, timeout_ms, max_response_bytes")
}

#[cfg(test)]
mod tests;
