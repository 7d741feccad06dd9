//! Outcomes and failures, made in one line each.

use serde::Serialize;

use crate::{Content, Failure, Outcome, Reference, Status};

impl Outcome {
    /// A success that says a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: Some(Content::Text(text.into())),
            ..Self::empty(Status::Success)
        }
    }

    /// A success that is data. What can't be JSON, such as a map whose keys are no texts, is a failure.
    pub fn data(data: &impl Serialize) -> Self {
        match serde_json::to_string(data) {
            Ok(json) => Self {
                structured_content: Some(json),
                ..Self::empty(Status::Success)
            },
            Err(_not_json) => Failure::new("NOT_JSON", "the result has no JSON").into(),
        }
    }

    /// The same with a text to read beside the data.
    #[must_use]
    pub fn with_text(self, text: impl Into<String>) -> Self {
        let content = Some(Content::Text(text.into()));
        Self { content, ..self }
    }

    /// The same with a pointer to something kept elsewhere.
    #[must_use]
    pub fn with_reference(mut self, reference: Reference) -> Self {
        self.references.push(reference);
        self
    }

    /// The tool stopped because the caller no longer wants it.
    pub fn cancelled() -> Self {
        Self {
            error: Some(Failure::new("CANCELLED", "the caller gave up on the call")),
            ..Self::empty(Status::Cancelled)
        }
    }

    /// Nobody knows whether the effect happened. The message is fit for anyone.
    pub fn unknown(message: &str) -> Self {
        Self {
            error: Some(Failure::new("OUTCOME_UNKNOWN", message)),
            ..Self::empty(Status::Unknown)
        }
    }

    fn empty(status: Status) -> Self {
        Self {
            status,
            content: None,
            structured_content: None,
            references: Vec::new(),
            error: None,
            metadata: None,
        }
    }
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        Self {
            error: Some(failure),
            ..Self::empty(Status::Failed)
        }
    }
}

impl Failure {
    /// A failure in words that are fit for anyone: one line that quotes no path, no text of a file
    /// and no error of a library. The code is your own, such as `NOT_FOUND`.
    pub fn new(code: &str, message: &str) -> Self {
        Self {
            code: code.to_owned(),
            message: message.to_owned(),
            retryable: None,
        }
    }

    /// The same, and the call could succeed later, or not.
    #[must_use]
    pub fn retryable(self, retryable: Retryable) -> Self {
        let retryable = Some(matches!(retryable, Retryable::Later));
        Self { retryable, ..self }
    }
}

/// Whether the same call could succeed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retryable {
    /// It could.
    Later,
    /// It never will.
    Never,
}
