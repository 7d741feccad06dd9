//! Keeps the secrets of a plugin's requests out of what the plugin says (SPEC S7): an answer may echo
//! the header that the host added.

use tidegate_contract::{CallError, Value};
use tidegate_sandbox::Secret;

/// Throws away what a guest said where it holds a secret; `read` gives all of its texts.
pub(crate) fn withhold<T>(
    secrets: &[Secret],
    said: Result<T, CallError>,
    read: impl FnOnce(&T) -> serde_json::Result<Value>,
) -> Result<T, CallError> {
    if secrets.is_empty() {
        return said;
    }
    let holds = match &said {
        Ok(value) => match read(value) {
            Ok(value) => secrets.iter().any(|secret| secret.is_in_value(&value)),
            Err(_unreadable) => true,
        },
        Err(error) => {
            let text = error.to_string();
            secrets.iter().any(|secret| secret.is_in(&text))
        }
    };
    if holds {
        return Err(CallError::SecretInResult);
    }
    said
}

/// A text for the operator's log, without the secrets.
pub(crate) fn redacted(secrets: &[Secret], text: String) -> String {
    secrets
        .iter()
        .fold(text, |text, secret| secret.redact(&text))
}
