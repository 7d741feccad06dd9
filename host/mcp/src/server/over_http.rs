//! Serving over HTTP (streamable HTTP), as a service that a door mounts.
//!
//! Each request stands for itself: there are no sessions, and answers are JSON, or events where progress
//! is told before them. Who calls is told by the door: a [`Caller`] in the extensions of the request. A
//! request from a page of another origin, or under another host's name, is refused before anything of
//! its body is read (CASES MC11).

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tidegate::Caller;
use tidegate_contract::json;
use tokio_util::sync::CancellationToken;

use super::McpServer;

/// What a door says about itself.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// Names under which the door is reached, each with a port or for any. Default: the loopback's.
    pub allowed_hosts: Vec<String>,
    /// Origins of pages that may ask; a request without one is no page's. Default: none.
    pub allowed_origins: Vec<String>,
    /// Ends what is served.
    pub cancel: CancellationToken,
}

impl Default for HttpSettings {
    fn default() -> Self {
        let loopback = ["localhost", "127.0.0.1", "::1"];
        Self {
            allowed_hosts: loopback.map(str::to_owned).to_vec(),
            allowed_origins: Vec::new(),
            cancel: CancellationToken::new(),
        }
    }
}

type Service = StreamableHttpService<McpServer, NeverSessionManager>;

/// An MCP server over HTTP. Cloning gives another handle to the same one.
#[derive(Clone)]
pub struct McpHttpService {
    server: McpServer,
    sessions: Arc<NeverSessionManager>,
    /// Judges the head of each request.
    judge: Service,
    /// How a request is served whose head was judged.
    config: StreamableHttpServerConfig,
    bounds: json::JsonBounds,
}

impl std::fmt::Debug for McpHttpService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("McpHttpService")
    }
}

impl McpServer {
    /// The server as a service: give each request to [`McpHttpService::handle`].
    #[must_use]
    pub fn over_http(&self, settings: HttpSettings) -> McpHttpService {
        let HttpSettings {
            allowed_hosts,
            allowed_origins,
            cancel,
        } = settings;
        let bounds = self.settings.messages.json();
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(allowed_hosts)
            .with_legacy_session_mode(false)
            .with_json_response(true)
            .with_max_request_body_bytes(bounds.bytes)
            .with_cancellation_token(cancel);
        let sessions = Arc::new(NeverSessionManager::default());
        let judging = config
            .clone()
            .with_allowed_origins(allowed_origins)
            .enforce_origin_validation();
        McpHttpService {
            server: self.clone(),
            judge: service(self.clone(), &sessions, judging),
            sessions,
            config,
            bounds,
        }
    }
}

fn service(
    server: McpServer,
    sessions: &Arc<NeverSessionManager>,
    config: StreamableHttpServerConfig,
) -> Service {
    let make = move || Ok(server.clone());
    StreamableHttpService::new(make, Arc::clone(sessions), config)
}

/// The body of an answer.
pub type AnswerBody = BoxBody<Bytes, Infallible>;

impl McpHttpService {
    /// Answers one request. The [`Caller`] in its extensions is who calls; without one the door is
    /// broken, and serves nothing.
    ///
    /// The body is checked before the SDK reads it: its size, its depth, keys that come twice, numbers
    /// that would be rounded.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<AnswerBody>
    where
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Display,
    {
        let (head, body) = request.into_parts();
        if head.method != Method::POST {
            let request = Request::from_parts(head, Full::new(Bytes::new()));
            return self.judge.handle(request).await;
        }
        if let Some(refused) = self.refused(&head).await {
            return refused;
        }
        let Some(caller) = head.extensions.get::<Caller>() else {
            tracing::error!("a door for MCP does not say who calls");
            let reason = "the host does not know who calls";
            return refusal(StatusCode::INTERNAL_SERVER_ERROR, -32603, reason);
        };
        let server = self.server.called_by(caller.clone());
        let limit_bytes = self.bounds.bytes;
        let Ok(body) = Limited::new(body, limit_bytes).collect().await else {
            let reason = format!("the body can't be read, or is longer than {limit_bytes} bytes");
            return refusal(StatusCode::PAYLOAD_TOO_LARGE, -32600, &reason);
        };
        let body = body.to_bytes();
        match json::parse_bytes(&body, &self.bounds) {
            Ok(message) => json::discard(message),
            Err(error) => return refusal(StatusCode::BAD_REQUEST, -32700, &error.to_string()),
        }
        service(server, &self.sessions, self.config.clone())
            .handle(Request::from_parts(head, Full::new(body)))
            .await
    }

    /// The SDK's answer to another host's name or another origin. It judges the head of each request
    /// before its method, so it is asked with one that it does not serve.
    async fn refused(&self, head: &Parts) -> Option<Response<AnswerBody>> {
        let mut asked = Request::new(Full::new(Bytes::new()));
        *asked.method_mut() = Method::OPTIONS;
        asked.uri_mut().clone_from(&head.uri);
        asked.headers_mut().clone_from(&head.headers);
        let answer = self.judge.handle(asked).await;
        (answer.status() != StatusCode::METHOD_NOT_ALLOWED).then_some(answer)
    }
}

fn refusal(status: StatusCode, code: i32, reason: &str) -> Response<AnswerBody> {
    let error = json!({"jsonrpc": "2.0", "error": {"code": code, "message": reason}});
    let body = Full::new(Bytes::from(error.to_string())).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let json = http::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    response
}
