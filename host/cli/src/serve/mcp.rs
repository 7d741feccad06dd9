//! `POST /mcp`: the permitted tools for an MCP client, as `POST /v1/calls` makes one call (SPEC M5).
//!
//! Each message stands for itself; the answer is JSON, or events where progress comes before it.
//! Deliberately absent: sessions, and a stream that the server speaks on by itself.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::header::{HOST, HeaderValue, ORIGIN};
use http_body_util::Full;
use tidegate::Runtime;
use tidegate_mcp::{HttpSettings, McpHttpService, McpServer, ServerSettings};
use tidegate_worker::token::Verb;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::body;
use super::door::Door;
use super::refused::Refused;

/// The server behind the route.
pub(super) fn server(runtime: Runtime, cancel: CancellationToken) -> McpHttpService {
    let server = McpServer::new(runtime, ServerSettings::default(), Handle::current());
    server.over_http(HttpSettings {
        cancel,
        ..HttpSettings::default()
    })
}

/// Hands one message of a token's holder to the server.
pub(super) async fn message(
    State(door): State<Arc<Door>>,
    request: Request,
) -> Result<Response, Refused> {
    // A call is made, as by the route for one.
    let holder = door.holder(&request, Verb::Launch)?;
    body::is_json(request.headers())?;
    let (mut head, sent) = request.into_parts();
    let bytes = body::read(sent, door.limits.document_bytes, door.limits.body_ms).await?;
    // Both were judged when the request came, by the names and origins of this service.
    head.headers
        .insert(HOST, HeaderValue::from_static("localhost"));
    head.headers.remove(ORIGIN);
    head.extensions.insert(holder.caller());
    let message = http::Request::from_parts(head, Full::new(bytes));
    Ok(door.mcp.handle(message).await.map(Body::new))
}
