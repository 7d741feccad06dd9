//! The outcomes that the tools share, and the one kind of argument they read.

use serde_json::Value;

use crate::bindings::tidegate::plugin::types::{Content, Failure, Outcome, Status};

/// A success that says this text.
pub(crate) fn text(text: String) -> Outcome {
    Outcome {
        content: Some(Content::Text(text)),
        ..empty_success()
    }
}

/// A success that carries this JSON as structured content.
pub(crate) fn structured(json: String) -> Outcome {
    Outcome {
        structured_content: Some(json),
        ..empty_success()
    }
}

/// A failure with this code and message.
pub(crate) fn failed(code: &str, message: &str) -> Outcome {
    let error = Failure {
        code: code.to_owned(),
        message: message.to_owned(),
        retryable: None,
    };
    Outcome {
        status: Status::Failed,
        error: Some(error),
        ..empty_success()
    }
}

/// The number under `key` in the arguments, or `default` without one.
pub(crate) fn number(arguments: &str, key: &str, default: usize) -> usize {
    serde_json::from_str::<Value>(arguments)
        .ok()
        .and_then(|arguments| arguments.get(key)?.as_u64())
        .and_then(|number| usize::try_from(number).ok())
        .unwrap_or(default)
}

fn empty_success() -> Outcome {
    Outcome {
        status: Status::Success,
        content: None,
        structured_content: None,
        references: Vec::new(),
        error: None,
        metadata: None,
    }
}
