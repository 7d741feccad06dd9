//! Keeps the secrets of a plugin's requests out of what the plugin says (SPEC S7): an answer may echo
//! the header that the host added.

use tidegate_contract::{CallError, Content, Failure, JsonObject, Part, Reference, ToolOutcome};
use tidegate_sandbox::Secret;

/// Throws away what a guest said where it holds a secret; `holds` looks at all of its texts.
pub(crate) fn withhold<T>(
    secrets: &[Secret],
    said: Result<T, CallError>,
    holds: impl Fn(&Secret, &T) -> bool,
) -> Result<T, CallError> {
    let held = secrets.iter().any(|secret| match &said {
        Ok(value) => holds(secret, value),
        Err(error) => secret.is_in(&error.to_string()),
    });
    if held {
        return Err(CallError::SecretInResult);
    }
    said
}

/// Whether an outcome holds a secret: looked at in place, since it can be large.
pub(crate) fn is_in_outcome(secret: &Secret, outcome: &ToolOutcome) -> bool {
    let in_reference = |reference: &Reference| {
        let texts = [
            Some(&reference.uri),
            reference.media_type.as_ref(),
            reference.digest.as_ref(),
        ];
        texts.into_iter().flatten().any(|text| secret.is_in(text))
    };
    let in_content = |content: &Content| match content {
        Content::Text(text) => secret.is_in(text),
        Content::Json(value) => secret.is_in_value(value),
        Content::Parts(parts) => parts.iter().any(|part| match part {
            Part::Text { text } => secret.is_in(text),
            Part::Json { data } => secret.is_in_value(data),
            Part::Reference { reference } => in_reference(reference),
        }),
    };
    let in_error = |error: &Failure| secret.is_in(error.code()) || secret.is_in(error.message());
    let in_metadata = |metadata: &JsonObject| {
        let mut fields = metadata.iter();
        fields.any(|(key, value)| secret.is_in(key) || secret.is_in_value(value))
    };
    outcome.content.as_ref().is_some_and(in_content)
        || outcome
            .structured_content
            .as_ref()
            .is_some_and(|value| secret.is_in_value(value))
        || outcome.references.iter().flatten().any(in_reference)
        || outcome.error.as_ref().is_some_and(in_error)
        || outcome.metadata.as_ref().is_some_and(in_metadata)
}

/// A text for the operator's log, without the secrets.
pub(crate) fn redacted(secrets: &[Secret], text: String) -> String {
    secrets
        .iter()
        .fold(text, |text, secret| secret.redact(&text))
}

/// Whether bytes that a guest hands over hold one of them.
pub(crate) fn is_in_bytes(secrets: &[Secret], bytes: &[u8]) -> bool {
    secrets.iter().any(|secret| secret.is_in_bytes(bytes))
}
