//! The outcomes that the tools share.

use serde_json::{Value, json};

use crate::bindings::tidegate::plugin::types::{Content, Failure, Outcome, Status};

/// A success that reports what the host answered: `ok`, an error's name, or a text that was read.
pub(crate) fn reported(text: &str) -> Outcome {
    Outcome {
        content: Some(Content::Text(text.to_owned())),
        ..empty_success()
    }
}

/// The same, with details.
pub(crate) fn detailed(text: &str, details: &Value) -> Outcome {
    Outcome {
        structured_content: Some(details.to_string()),
        ..reported(text)
    }
}

/// A success that carries this JSON, as it is, and no text.
pub(crate) fn structured(json: String) -> Outcome {
    Outcome {
        structured_content: Some(json),
        ..empty_success()
    }
}

/// A failed outcome, for wrong use of this plugin.
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

/// A failure that the host answered with, as a report: its code, and all of it as details.
pub(crate) fn refused(failure: &Failure) -> Outcome {
    let details = json!({
        "code": failure.code,
        "message": failure.message,
        "retryable": failure.retryable,
    });
    detailed(&failure.code, &details)
}

/// A success that says nothing, which a host does not accept.
pub(crate) fn empty_success() -> Outcome {
    Outcome {
        status: Status::Success,
        content: None,
        structured_content: None,
        references: Vec::new(),
        error: None,
        metadata: None,
    }
}
