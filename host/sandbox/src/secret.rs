//! Secrets that the host adds to requests, and that no plugin ever holds (SPEC S7).
//!
//! Deliberately absent: where they come from. A value is shown by nothing in here, and its bytes are
//! wiped when the last handle to it is dropped; the copy in a request on its way out is not.

use std::fmt;
use std::sync::Arc;

use http::header::{HeaderName, HeaderValue};
use tidegate_contract::Value;
use tidegate_contract::origin::normal_origin;
use zeroize::Zeroizing;

use crate::error::SandboxError;

/// The shortest value, in bytes: a shorter one would be found in innocent results.
pub const SHORTEST_BYTES: usize = 8;

/// The longest value, in bytes.
pub const LONGEST_BYTES: usize = 16 * 1024;

/// One secret value. Cloning gives another handle to the same one.
#[derive(Clone)]
pub struct Secret(Arc<Zeroizing<String>>);

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret([secret])")
    }
}

impl Secret {
    /// Takes a value of [`SHORTEST_BYTES`] to [`LONGEST_BYTES`] visible ASCII characters.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Secret`] for another; the error does not show it.
    pub fn new(value: String) -> Result<Self, SandboxError> {
        let value = Zeroizing::new(value);
        let refuse = |reason| Err(SandboxError::Secret { reason });
        if value.len() < SHORTEST_BYTES {
            return refuse("it is shorter than 8 bytes");
        }
        if value.len() > LONGEST_BYTES {
            return refuse("it is longer than 16 KiB");
        }
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return refuse("it has a space, a control character or a letter outside of ASCII");
        }
        Ok(Self(Arc::new(value)))
    }

    /// The value itself, for what is as trusted as the operator: a program that is started with it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether a text holds the value as it is. What was encoded is not recognised.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        text.contains(self.0.as_str()) || self.is_cut_in(text)
    }

    /// Whether bytes hold the value as it is, be they text or not.
    #[must_use]
    pub fn is_in_bytes(&self, bytes: &[u8]) -> bool {
        // A value is ASCII: it stands within one stretch of text.
        bytes.utf8_chunks().any(|chunk| self.is_in(chunk.valid()))
    }

    /// Whether a text ends with the start of the value: a bound may have cut the rest.
    fn is_cut_in(&self, text: &str) -> bool {
        let mut starts = (SHORTEST_BYTES..self.0.len()).filter_map(|length| self.0.get(..length));
        starts.any(|start| text.ends_with(start))
    }

    /// Whether a text in a value, or one of its keys, holds the secret.
    #[must_use]
    pub fn is_in_value(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.is_in(text),
            Value::Array(items) => items.iter().any(|item| self.is_in_value(item)),
            Value::Object(fields) => fields
                .iter()
                .any(|(key, value)| self.is_in(key) || self.is_in_value(value)),
            Value::Null | Value::Bool(_) => false,
            // Digits alone can be a secret too.
            Value::Number(number) => self.is_in(&number.to_string()),
        }
    }

    /// The text with `[secret]` in the place of the value.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        text.replace(self.0.as_str(), "[secret]")
    }
}

/// A header that the host adds to each request of one plugin to one origin.
#[derive(Clone, Debug)]
pub struct Injection {
    origin: String,
    header: HeaderName,
    secret: Secret,
    value: HeaderValue,
}

impl Injection {
    /// Adds `header: PREFIX SECRET` to requests for `origin`; the prefix is put before the value as it
    /// stands, such as `Bearer ` with its space.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Injection`], which says what is not right.
    pub fn new(
        origin: &str,
        header: &str,
        prefix: &str,
        secret: Secret,
    ) -> Result<Self, SandboxError> {
        let refuse = |reason| SandboxError::Injection { reason };
        let origin = normal_origin(origin).map_err(|_syntax| refuse("its origin is not exact"))?;
        let header = HeaderName::try_from(header)
            .ok()
            .filter(|name| !OWN_HEADERS.contains(&name.as_str()))
            .ok_or(refuse("its header is none that can be added"))?;
        let text = Zeroizing::new(format!("{prefix}{}", secret.0.as_str()));
        let mut value = HeaderValue::try_from(text.as_str())
            .map_err(|_syntax| refuse("its prefix can't stand in a header"))?;
        value.set_sensitive(true);
        Ok(Self {
            origin,
            header,
            secret,
            value,
        })
    }

    /// Where it is sent to, and nowhere else; normalised.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The value that is added.
    #[must_use]
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    pub(crate) fn header(&self) -> &HeaderName {
        &self.header
    }

    pub(crate) fn value(&self) -> HeaderValue {
        self.value.clone()
    }
}

/// Headers that frame or route a message.
const OWN_HEADERS: [&str; 12] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "proxy-connection",
];
