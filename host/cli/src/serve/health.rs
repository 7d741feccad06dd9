//! What is asked of the service itself: whether it lives, whether it takes work, what it counted, and
//! what its routes are.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use http::header::HeaderValue;
use tidegate_worker::token::Verb;

use super::answer;
use super::door::Door;
use super::refused::Refused;

/// The description of every route; a test compares it with the routes that there are.
pub(super) const OPENAPI: &str = include_str!("../../../../docs/openapi.json");

/// `GET /healthz`: the process answers.
pub(super) async fn live() -> Response {
    let response = answer::text(r#"{"status":"ok"}"#);
    answer::with_type(response, answer::JSON)
}

/// `GET /readyz`: new work is taken.
pub(super) async fn ready(State(door): State<Arc<Door>>) -> Response {
    if door.stopping.is_cancelled() {
        return Refused::unavailable("CLOSED", "the service is stopping").into_response();
    }
    live().await
}

/// `GET /metrics`. Where other machines reach the service, whoever may read runs may read it.
pub(super) async fn metrics(
    State(door): State<Arc<Door>>,
    request: Request,
) -> Result<Response, Refused> {
    if !door.at.ip().is_loopback() {
        door.holder(&request, Verb::Read)?;
    }
    let format = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(answer::with_type(answer::text(door.metrics.text()), format))
}

/// `GET /v1/openapi.json`.
pub(super) async fn openapi() -> Response {
    answer::with_type(answer::text(OPENAPI), answer::JSON)
}
