//! Observing: a result becomes what a model reads (SPEC O1, O2). Pure: no retry, no state.

use tidegate_contract::json::JsonBounds;
use tidegate_contract::{
    CallError, Content, ExternalResult, Message, Observation, Part, Role, Status,
};

/// Turns a result into an observation. The message has role `tool` and the result's source as name;
/// everything but the content is kept as it was. A failure is never promoted to success.
///
/// # Errors
///
/// [`CallError::InvalidCall`] when the result breaks C3 or holds malformed parts.
pub fn observe(result: ExternalResult) -> Result<Observation, CallError> {
    let bounds = JsonBounds {
        bytes: usize::MAX,
        ..JsonBounds::default()
    };
    if let Err(error) = result.check(&bounds) {
        result.discard();
        return Err(CallError::InvalidCall {
            reason: error.to_string(),
        });
    }
    let parts = parts(&result)?;
    let message = Message {
        role: Role::Tool,
        content: content(parts, &result),
        name: Some(result.source.clone()),
    };
    let ExternalResult {
        call_id,
        source,
        status,
        content: _,
        structured_content,
        references,
        error,
        metadata,
    } = result;
    Ok(Observation {
        call_id,
        source,
        status,
        message,
        structured_content,
        references,
        error,
        metadata,
    })
}

/// A failure's summary, the content, the structured content, then each reference.
fn parts(result: &ExternalResult) -> Result<Vec<Part>, CallError> {
    let mut parts = Vec::new();
    if result.status != Status::Success {
        let error = result
            .error
            .as_ref()
            .ok_or_else(|| CallError::InvalidCall {
                reason: format!(
                    "result.error is required when status is {}",
                    result.status.as_str()
                ),
            })?;
        let text = format!(
            "{}: {}: {}",
            result.status.as_str(),
            error.code(),
            error.message()
        );
        parts.push(Part::Text { text });
    }
    match &result.content {
        None => {}
        Some(Content::Text(text)) => parts.push(Part::Text { text: text.clone() }),
        Some(Content::Json(value)) => parts.push(Part::Json {
            data: value.clone(),
        }),
        Some(Content::Parts(content)) => {
            content.iter().try_for_each(check)?;
            parts.extend(content.iter().cloned());
        }
    }
    if let Some(data) = &result.structured_content {
        parts.push(Part::Json { data: data.clone() });
    }
    for reference in result.references.iter().flatten() {
        let part = Part::Reference {
            reference: reference.clone(),
        };
        check(&part)?;
        parts.push(part);
    }
    Ok(parts)
}

fn check(part: &Part) -> Result<(), CallError> {
    match part {
        Part::Reference { reference } if reference.uri.is_empty() => Err(CallError::InvalidCall {
            reason: "a reference's uri must not be empty".to_owned(),
        }),
        Part::Text { .. } | Part::Json { .. } | Part::Reference { .. } => Ok(()),
    }
}

/// Exactly one text part is a plain string. Nothing to read is said in words.
fn content(mut parts: Vec<Part>, result: &ExternalResult) -> Content {
    if let [Part::Text { text }] = parts.as_mut_slice() {
        let text = std::mem::take(text);
        return Content::Text(if text.is_empty() {
            nothing_said(result)
        } else {
            text
        });
    }
    if parts.is_empty() {
        Content::Text(nothing_said(result))
    } else {
        Content::Parts(parts)
    }
}

fn nothing_said(result: &ExternalResult) -> String {
    format!(
        "{}: {} returned no content",
        result.status.as_str(),
        result.source
    )
}
