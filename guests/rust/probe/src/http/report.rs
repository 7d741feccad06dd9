//! What is told of one request: how far it came, and what there was of an answer.

use serde_json::{Map, Value, json};
use wasip2::http::types::{ErrorCode, Fields, HeaderError};
use wasip2::io::streams::StreamError;

use crate::fields;

/// How much of a body is told, in bytes.
const BODY_BYTES: usize = 64 * 1024;

/// A step that failed, with the name of the error.
pub(crate) struct Fault {
    step: &'static str,
    error: &'static str,
    detail: Option<String>,
}

impl Fault {
    /// A refusal that says nothing more.
    pub(crate) fn refused(step: &'static str) -> impl Fn(()) -> Self {
        move |()| Self {
            step,
            error: "refused",
            detail: None,
        }
    }

    pub(crate) fn header(error: HeaderError) -> Self {
        Self {
            step: "append-header",
            error: fields::error_name(error),
            detail: None,
        }
    }

    pub(crate) fn code(step: &'static str) -> impl Fn(ErrorCode) -> Self {
        move |code| Self {
            step,
            error: exchange::name(&code),
            detail: Some(format!("{code:?}")),
        }
    }

    pub(crate) fn stream(step: &'static str) -> impl Fn(StreamError) -> Self {
        move |error| match error {
            StreamError::Closed => Self {
                step,
                error: "closed",
                detail: None,
            },
            StreamError::LastOperationFailed(error) => {
                match wasip2::http::types::http_error_code(&error) {
                    Some(code) => Self::code(step)(code),
                    None => Self {
                        step,
                        error: "last-operation-failed",
                        detail: Some(error.to_debug_string()),
                    },
                }
            }
        }
    }

    fn json(&self) -> Value {
        json!({ "step": self.step, "error": self.error, "detail": self.detail })
    }
}

/// One request and what there is of its answer.
#[derive(Default)]
pub(crate) struct Report {
    /// Where it ended, if not at its end.
    pub(crate) fault: Option<Fault>,
    /// What was wrong with handing over the request's body.
    pub(crate) body_fault: Option<Fault>,
    pub(crate) status: Option<u16>,
    pub(crate) headers: Vec<(String, String)>,
    /// The start of the body.
    pub(crate) body: Vec<u8>,
    pub(crate) body_bytes: usize,
    pub(crate) trailers: Option<Vec<(String, String)>>,
}

impl Report {
    /// `ok` or the name of the error.
    pub(crate) fn outcome(&self) -> &'static str {
        self.fault.as_ref().map_or("ok", |fault| fault.error)
    }

    /// Counts a piece of the body and keeps it as far as there is room.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.body_bytes += piece.len();
        let room = BODY_BYTES.saturating_sub(self.body.len());
        self.body.extend(piece.iter().take(room));
    }

    /// All that is known, as JSON.
    pub(crate) fn details(&self) -> Value {
        let mut details = Map::new();
        let mut tell = |key: &str, value: Value| details.insert(key.to_owned(), value);
        tell(
            "step",
            json!(self.fault.as_ref().map_or("done", |fault| fault.step)),
        );
        if let Some(fault) = &self.fault {
            tell("error", json!(fault.error));
            tell("detail", json!(fault.detail));
        }
        if let Some(fault) = &self.body_fault {
            tell("bodyError", fault.json());
        }
        if let Some(status) = self.status {
            tell("status", json!(status));
        }
        tell("headers", json!(self.headers));
        tell("body", json!(String::from_utf8_lossy(&self.body)));
        tell("bodyBytes", json!(self.body_bytes));
        if let Some(trailers) = &self.trailers {
            tell("trailers", json!(trailers));
        }
        Value::Object(details)
    }
}

/// Names and values of fields as text.
pub(crate) fn pairs(fields: &Fields) -> Vec<(String, String)> {
    let text = |(name, value): (String, Vec<u8>)| {
        let value = String::from_utf8_lossy(&value).into_owned();
        (name, value)
    };
    fields.entries().into_iter().map(text).collect()
}
