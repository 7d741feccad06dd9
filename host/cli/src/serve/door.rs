//! What every request of the service shares, and the way of one through it: refused head, Host and
//! Origin, route, count.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use tidegate::{Artifacts, Runtime};
use tidegate_mcp::McpHttpService;
use tidegate_worker::error::WorkerError;
use tidegate_worker::runs::Runs;
use tidegate_worker::service::{Caller, Service};
use tidegate_worker::token::Verb;
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

use super::access::{Access, Guest, Peer};
use super::framing::{Gate, REFUSED};
use super::hosts::Hosts;
use super::metrics::{self, Metrics};
use super::refused::Refused;
use super::routes;
use super::settings::ServeLimits;
use super::shares::Shares;
use super::tokens::Holder;

/// The service, as its routes see it.
pub(super) struct Door {
    /// Where the service listens.
    pub(super) at: SocketAddr,
    pub(super) runtime: Runtime,
    pub(super) mcp: McpHttpService,
    pub(super) service: Arc<Service>,
    pub(super) runs: Runs,
    /// What is kept of too large results.
    pub(super) artifacts: Option<Artifacts>,
    pub(super) access: Access,
    pub(super) hosts: Hosts,
    pub(super) limits: ServeLimits,
    /// Streams of events, by the token that follows them.
    pub(super) streams: Shares,
    pub(super) metrics: Metrics,
    /// No new work is taken.
    pub(super) stopping: CancellationToken,
    /// What is still being done is broken off.
    pub(super) breaking: CancellationToken,
}

/// The two ends of a connection.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    pub(super) peer: Peer,
    pub(super) local: IpAddr,
}

impl Door {
    /// Answers one request of a connection.
    pub(super) async fn answer(
        &self,
        mut router: Router,
        request: http::Request<Incoming>,
        (ends, gate): (Ends, Arc<Gate>),
    ) -> Response {
        let _busy = gate.request();
        // Earlier requests of the connection may be on their way still, so it is this one's only where
        // it stands in the place of the refused one.
        let is_substitute = request.method() == REFUSED;
        let refused = match is_substitute.then(|| gate.refusal()).flatten() {
            Some(refusal) => Some(refusal.into()),
            None => self.hosts.check(request.headers(), ends.local).err(),
        };
        if let Some(refused) = refused {
            let response = Refused::into_response(refused);
            self.count(request.method(), routes::NONE, &response);
            return response;
        }
        let (mut parts, body) = request.into_parts();
        parts.extensions.insert(ends.peer);
        parts.extensions.insert(gate);
        match router.call(http::Request::from_parts(parts, body)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    /// The holder of the request's token, who may do this.
    pub(super) fn holder(&self, request: &Request, verb: Verb) -> Result<Holder, Refused> {
        self.access.holder(request, verb, &self.service)
    }

    /// Asks the worker's service on a thread that may block.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        guest: Guest,
        ask: impl FnOnce(&Service, Caller<'_>) -> Result<T, WorkerError> + Send + 'static,
    ) -> Result<T, Refused> {
        let service = Arc::clone(&self.service);
        self.aside(move || ask(&service, guest.caller())).await
    }

    /// Does what blocks its thread on one that may, for at most the time of a request.
    pub(super) async fn aside<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, WorkerError> + Send + 'static,
    ) -> Result<T, Refused> {
        match self.within(tokio::task::spawn_blocking(work)).await? {
            Ok(answer) => Ok(answer?),
            Err(_panicked) => Err(Refused::fault("the request was not finished")),
        }
    }

    /// Waits for at most the time of a request.
    pub(super) async fn within<T>(&self, work: impl Future<Output = T>) -> Result<T, Refused> {
        let within = Duration::from_millis(self.limits.request_ms);
        tokio::time::timeout(within, work).await.map_err(|_late| {
            Refused::unavailable(
                "REQUEST_LATE",
                "the request takes too long; what it asked for may still be done",
            )
        })
    }

    /// Counts and logs an answer: by the route's pattern, never by what was asked for.
    fn count(&self, method: &http::Method, route: &'static str, response: &Response) {
        self.metrics.answered(method, route, response.status());
        tracing::info!(
            method = metrics::method_name(method),
            route,
            status = response.status().as_u16(),
            "answered"
        );
    }
}

/// Around every route and every fallback.
pub(super) async fn counted(
    State(door): State<Arc<Door>>,
    request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let path = request.extensions().get::<MatchedPath>();
    let route = path.map_or(routes::NONE, |path| routes::pattern(path.as_str()));
    let response = next.run(request).await;
    door.count(&method, route, &response);
    let elapsed_us = started.elapsed().as_micros();
    tracing::debug!(route, elapsed_us, "took");
    response
}
