//! Sending one request on a pooled connection, each step within its time.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::ext::on_informational;
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::client::legacy::{self};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tidegate_contract::limits::Limits;
use tidegate_contract::network::NetworkGrant;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::body::{self, ResponseBody};
use super::connect::Connector;
use super::error::EgressError;
use super::tls::Network;

/// Why a guest's body has no end.
pub type BodyError = Box<dyn Error + Send + Sync>;

/// What a guest sends.
pub type RequestBody = UnsyncBoxBody<Bytes, BodyError>;

/// What one exchange may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Until there is a connection: resolving, connecting and the handshakes together.
    pub connect: Duration,
    /// From there until the head of the answer.
    pub first_byte: Duration,
    /// From one piece of the body to the next.
    pub between_bytes: Duration,
    /// Bytes of the decoded body of the answer.
    pub response_bytes: u64,
    /// Bytes of the headers of either message, as RFC 9113 6.5.2 counts them: 32 for each beside its
    /// name and value.
    pub header_bytes: u64,
}

/// An unused connection is closed after this.
const IDLE: Duration = Duration::from_secs(30);

/// Unused connections kept to one origin.
const IDLE_CONNECTIONS: usize = 8;

/// Headers of an answer that are parsed at all; each takes room before it is read.
const HEADERS: usize = 1_024;

/// HTTP/2 reads so many times more than any call can have: what it gives up on is told as a broken
/// answer, and what it has read as one that is too large.
const OVER: u32 = 4;

/// Answers of the 100s that may come before the one that counts: nobody reads them.
const INTERIM_ANSWERS: u64 = 64;

/// What a stream of HTTP/2 sends ahead of being read, in bytes.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;

/// The same of all streams of a connection.
const CONNECTION_WINDOW_BYTES: u32 = 1024 * 1024;

/// The client of one plugin.
pub(super) struct Client(legacy::Client<Connector, RequestBody>);

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Client")
    }
}

impl Client {
    pub(super) fn new(grant: &NetworkGrant, network: &Network) -> Self {
        let most = u32::try_from(Limits::MAXIMUM.http_header_bytes).unwrap_or(u32::MAX);
        // A head that fills more is over every bound that a call can have.
        let head_bytes = usize::try_from(most).unwrap_or(usize::MAX);
        let client = legacy::Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .http1_max_buf_size(head_bytes)
            .http1_max_headers(HEADERS)
            .http2_initial_stream_window_size(STREAM_WINDOW_BYTES)
            .http2_initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .http2_max_header_list_size(most.saturating_mul(OVER))
            .build(Connector::new(grant, network));
        Self(client)
    }

    pub(super) async fn send(
        &self,
        mut request: Request<RequestBody>,
        bounds: Bounds,
    ) -> Result<Response<ResponseBody>, EgressError> {
        check_headers(request.headers(), bounds)?;
        let mut connection = capture_connection(&mut request);
        let flooded = bound_interim(&mut request);
        let answer = async {
            tokio::select! {
                biased;
                answer = self.0.request(request) => {
                    answer.map_err(|error| EgressError::of_client(&error))
                }
                () = flooded.notified() => Err(EgressError::Protocol),
            }
        };
        tokio::pin!(answer);
        let connected = async {
            connection.wait_for_connection_metadata().await;
        };
        // Either the answer is there (an error may come before any connection), or the connection is.
        let early = timeout(bounds.connect, async {
            tokio::select! {
                biased;
                answer = &mut answer => Some(answer),
                () = connected => None,
            }
        });
        let answer = match early.await {
            Err(_elapsed) => return Err(EgressError::ConnectTimeout),
            Ok(Some(answer)) => answer,
            Ok(None) => timeout(bounds.first_byte, answer)
                .await
                .map_err(|_elapsed| EgressError::FirstByteTimeout)?,
        };
        let answer = answer?;
        check_headers(answer.headers(), bounds)?;
        body::bounded(answer, bounds)
    }
}

/// Counts what comes before the answer, and tells when it is too much.
fn bound_interim(request: &mut Request<RequestBody>) -> Arc<Notify> {
    let flooded = Arc::new(Notify::new());
    let (left, told) = (AtomicU64::new(INTERIM_ANSWERS), Arc::clone(&flooded));
    on_informational(request, move |_interim| {
        if left.fetch_sub(1, Ordering::Relaxed) == 0 {
            told.notify_one();
        }
    });
    flooded
}

/// Of either message, before its body or behind it.
pub(super) fn check_headers(headers: &HeaderMap, bounds: Bounds) -> Result<(), EgressError> {
    let size = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        u64::try_from(name.as_str().len() + value.len() + 32).unwrap_or(u64::MAX)
    };
    if headers.iter().map(size).sum::<u64>() > bounds.header_bytes {
        return Err(EgressError::HeadersTooLarge);
    }
    Ok(())
}
