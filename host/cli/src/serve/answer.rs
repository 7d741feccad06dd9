//! Successful answers: a document, a text, or nothing but the number.

use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use http::header::{self, HeaderValue};
use serde::Serialize;

use super::refused::Refused;

/// The type of documents.
pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The type of texts.
pub(super) const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// A document.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Result<Response, Refused> {
    let document = serde_json::to_vec(value).map_err(|error| {
        tracing::error!(%error, "an answer can't be written");
        Refused::fault("the answer can't be written")
    })?;
    let mut response = Response::new(Body::from(document));
    *response.status_mut() = status;
    Ok(with_type(response, JSON))
}

/// Bytes of a text.
pub(super) fn text(bytes: impl Into<Body>) -> Response {
    with_type(Response::new(bytes.into()), TEXT)
}

/// The number alone.
pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Says what the body is, that nobody is to guess otherwise, and that nobody is to keep it.
pub(super) fn with_type(mut response: Response, media_type: HeaderValue) -> Response {
    let fields = response.headers_mut();
    fields.insert(header::CONTENT_TYPE, media_type);
    let sure = HeaderValue::from_static("nosniff");
    fields.insert(header::X_CONTENT_TYPE_OPTIONS, sure);
    let own = HeaderValue::from_static("no-store");
    fields.entry(header::CACHE_CONTROL).or_insert(own);
    response
}
