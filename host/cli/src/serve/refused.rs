//! Every answer that is no success: its number, and its code and words as one JSON document.
//!
//! What stands in it may be shown to whoever asked. Deliberately absent: what was asked.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{self, HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};
use serde_json::json;
use tidegate_contract::failure::host_failure;
use tidegate_contract::{CallError, Failure};
use tidegate_worker::error::WorkerError;

use super::answer;

/// How long to wait where nothing better is known.
const RETRY_AFTER_MS: u64 = 1_000;

/// A request that was refused, or that came to nothing.
#[derive(Debug)]
pub(super) struct Refused {
    status: StatusCode,
    failure: Failure,
    /// Header fields that go with the number.
    fields: Box<HeaderMap>,
}

impl Refused {
    /// A refusal in the door's own words.
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self::of(status, host_failure(code, message.into()))
    }

    /// The request can't be understood, or holds what the route does not take.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_REQUEST", message)
    }

    /// The credential is missing, malformed, unknown or expired.
    pub(super) fn unauthorized() -> Self {
        WorkerError::Unauthorized.into()
    }

    /// The credential's role does not have the verb.
    pub(super) fn forbidden() -> Self {
        WorkerError::Forbidden.into()
    }

    /// Our own fault; what it was is in the log.
    pub(super) fn fault(message: &'static str) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "HOST_FAULT", message)
    }

    /// There is no such thing, or not for this caller.
    pub(super) fn not_found() -> Self {
        WorkerError::NotFound.into()
    }

    /// The service is stopping, or took too long.
    pub(super) fn unavailable(code: &'static str, message: &'static str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.fields.insert(name, value);
        self
    }

    fn of(status: StatusCode, failure: Failure) -> Self {
        let refused = Self {
            status,
            failure,
            fields: Box::default(),
        };
        match status {
            StatusCode::UNAUTHORIZED => {
                let scheme = HeaderValue::from_static("Bearer");
                refused.with(header::WWW_AUTHENTICATE, scheme)
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                refused.after(RETRY_AFTER_MS)
            }
            _ => refused,
        }
    }

    fn after(self, wait_ms: u64) -> Self {
        self.with(header::RETRY_AFTER, wait_ms.div_ceil(1_000).into())
    }
}

impl Refused {
    fn document(&self) -> String {
        let failure = &self.failure;
        let error = json!({"code": failure.code(), "message": failure.message()});
        json!({ "error": error }).to_string()
    }

    /// The refusal as a connection's only answer, whatever it asks.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let document = self.document();
        let mut bytes = format!(
            "HTTP/1.1 {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n",
            self.status,
            document.len()
        )
        .into_bytes();
        for (name, value) in &*self.fields {
            let parts: [&[u8]; 4] = [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"];
            bytes.extend(parts.concat());
        }
        bytes.extend([b"\r\n", document.as_bytes()].concat());
        bytes
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let document = self.document();
        let mut response = Response::new(Body::from(document));
        *response.status_mut() = self.status;
        *response.headers_mut() = *self.fields;
        answer::with_type(response, answer::JSON)
    }
}

/// A number that our own errors hold; they hold none that is not one.
fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

impl From<WorkerError> for Refused {
    fn from(error: WorkerError) -> Self {
        let refused = Self::of(status(error.status()), error.to_failure());
        match error {
            WorkerError::Throttled { retry_after_ms } => refused.after(retry_after_ms),
            WorkerError::RangeNotSatisfiable { size_bytes } => {
                match HeaderValue::try_from(format!("bytes */{size_bytes}")) {
                    Ok(whole) => refused.with(header::CONTENT_RANGE, whole),
                    Err(_never_for_digits) => refused,
                }
            }
            WorkerError::Store(source) => {
                let cause: &dyn std::error::Error = &source;
                tracing::error!(error = cause, "the worker's store failed");
                refused
            }
            _ => refused,
        }
    }
}

impl From<CallError> for Refused {
    fn from(error: CallError) -> Self {
        if let CallError::HostFault { reason } = &error {
            tracing::error!(%reason, "host fault");
        }
        Self::of(status(error.http_status()), error.to_failure())
    }
}
