//! The operator's settings for the sink, from the plugin's config. Values may be confidential: no
//! reason repeats one.

use std::ops::RangeInclusive;
use std::time::Duration;

use exchange::Url;
use serde_json::{Map, Value};

/// How long an exchange may take: the range, and when not told.
const TIMEOUT_MS: (RangeInclusive<u64>, u64) = (1..=2_147_483_647, 30_000);

/// What the sink itself, or the host's connection, has to say.
const RESERVED: [&str; 14] = [
    "connection",
    "content-length",
    "content-type",
    "expect",
    "host",
    "http2-settings",
    "idempotency-key",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Where deliveries go, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) url: Url,
    /// Names and values to send besides the sink's own.
    pub(crate) headers: Vec<(String, String)>,
    /// For the whole exchange.
    pub(crate) timeout: Duration,
}

impl Settings {
    /// Reads the config, a JSON object with a `url`.
    ///
    /// # Errors
    /// Which key is wrong and what was expected, in one line.
    pub(crate) fn read(config: &str) -> Result<Self, String> {
        let Ok(Value::Object(mut left)) = serde_json::from_str(config) else {
            return Err("the config of the webhook must be a JSON object".to_owned());
        };
        let settings = Self {
            url: url(&mut left)?,
            headers: headers(&mut left)?,
            timeout: timeout(&mut left)?,
        };
        if left.is_empty() {
            Ok(settings)
        } else {
            let known = "there are url, headers, timeout_ms";
            Err(format!("config: it has a key that is no setting; {known}"))
        }
    }
}

fn url(left: &mut Map<String, Value>) -> Result<Url, String> {
    match left.remove("url") {
        None => Err("config: `url` is required".to_owned()),
        Some(Value::String(text)) => {
            Url::parse(&text).map_err(|wrong| format!("config: `url` {}", wrong.reason()))
        }
        Some(_) => Err("config: `url` must be a string".to_owned()),
    }
}

fn headers(left: &mut Map<String, Value>) -> Result<Vec<(String, String)>, String> {
    let headers = match left.remove("headers") {
        None => return Ok(Vec::new()),
        Some(Value::Object(headers)) => headers,
        Some(_) => return Err("config: `headers` must be an object of strings".to_owned()),
    };
    let header = |(name, value): (String, Value)| match value {
        Value::String(value) => {
            check_header(&name, &value).map_err(|reason| format!("config: `headers` {reason}"))?;
            Ok((name, value))
        }
        _ => Err("config: `headers` must be an object of strings".to_owned()),
    };
    headers.into_iter().map(header).collect()
}

/// A name is a token, and a value is visible ASCII with spaces and tabs between (RFC 9110, sections
/// 5.1 and 5.5).
fn check_header(name: &str, value: &str) -> Result<(), &'static str> {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_token) {
        return Err("must have names that HTTP allows");
    }
    if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
        return Err("must not have one that the sink or the connection sets");
    }
    let is_text = |byte: u8| byte.is_ascii_graphic() || byte == b' ' || byte == b'\t';
    if value.bytes().all(is_text) && value.trim() == value {
        Ok(())
    } else {
        Err("must have values of visible ASCII, without line breaks")
    }
}

fn timeout(left: &mut Map<String, Value>) -> Result<Duration, String> {
    let (range, default) = TIMEOUT_MS;
    let timeout_ms = match left.remove("timeout_ms") {
        None => default,
        Some(value) => value
            .as_u64()
            .filter(|number| range.contains(number))
            .ok_or("config: `timeout_ms` must be a whole number from 1 to 2147483647")?,
    };
    Ok(Duration::from_millis(timeout_ms))
}

#[cfg(test)]
mod tests;
