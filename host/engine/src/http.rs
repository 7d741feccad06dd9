//! `wasi:http` for a guest: wasmtime's types and handler, which send through the gate of the sandbox and
//! within the bounds of the call.
//!
//! Absent on purpose: following redirects, and wasmtime's own client, which resolves names itself.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use tidegate_contract::limits::Limits;
use tidegate_sandbox::Egress;
use tidegate_sandbox::egress::{
    self, BodyError, Bounds, EgressError, Permitted, Refusal, RequestBody, TlsFault,
};
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
};

use crate::breach::Breach;
use crate::overrun::Overrun;
use crate::saturating::to_usize;

/// How long connecting takes at most where the guest says nothing; the call's deadline bounds the rest.
const CONNECT: Duration = Duration::from_secs(10);

/// What is taken of a request's body at a time: two such pieces wait in the host for each body, whether
/// it is sent or not, and a guest may have as many bodies as handles.
const PIECE_BYTES: usize = 8 * 1024;

/// As good as for ever: the call's deadline comes first.
const UNBOUNDED: Duration = Duration::from_hours(24);

/// The exchanges of one call.
pub(crate) struct Exchanges {
    ctx: WasiHttpCtx,
    hooks: Hooks,
}

impl Exchanges {
    pub(crate) fn new(limits: &Limits, egress: Option<&Egress>, overrun: &Arc<Overrun>) -> Self {
        let mut ctx = WasiHttpCtx::new();
        // Counted with 72 bytes for each header there, and with 32 when it is sent.
        ctx.set_field_size_limit(to_usize(limits.http_header_bytes.saturating_mul(9) / 4));
        Self {
            ctx,
            hooks: Hooks {
                egress: egress.cloned(),
                left_requests: limits.http_requests,
                response_bytes: limits.http_response_bytes,
                header_bytes: limits.http_header_bytes,
                overrun: Arc::clone(overrun),
            },
        }
    }

    pub(crate) fn view<'a>(&'a mut self, table: &'a mut ResourceTable) -> WasiHttpCtxView<'a> {
        WasiHttpCtxView {
            hooks: &mut self.hooks,
            table,
            ctx: &mut self.ctx,
        }
    }
}

/// Sends the requests of one call.
struct Hooks {
    egress: Option<Egress>,
    left_requests: u64,
    response_bytes: u64,
    header_bytes: u64,
    overrun: Arc<Overrun>,
}

impl Hooks {
    /// Whether a request may be sent, and over which network.
    fn admit(&mut self, method: &str, url: &str) -> Result<(Egress, Permitted), Error> {
        let Some(egress) = &self.egress else {
            self.overrun.deny(egress::deny_request(url));
            return Err(Error::HttpRequestDenied);
        };
        let permitted = match egress.check(method, url) {
            Ok(permitted) => permitted,
            Err(Refusal::Denied(denial)) => {
                self.overrun.deny(denial);
                return Err(Error::HttpRequestDenied);
            }
            Err(Refusal::Invalid) => {
                self.overrun.deny(egress::deny_request(url));
                return Err(Error::HttpRequestUriInvalid);
            }
        };
        let Some(left) = self.left_requests.checked_sub(1) else {
            self.overrun.end(Breach::HttpRequests);
            return Err(Error::HttpRequestDenied);
        };
        self.left_requests = left;
        Ok((egress.clone(), permitted))
    }
}

/// What the interface between wasmtime's types and a client passes on.
type Sent = Result<
    (
        http::Response<WasiBody>,
        Box<dyn Future<Output = Result<(), Error>> + Send>,
    ),
    Error,
>;

impl WasiHttpHooks for Hooks {
    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        PIECE_BYTES
    }

    /// The client writes the one that the judged URL means.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let options = options.unwrap_or_default();
        let bounds = Bounds {
            connect: options.connect_timeout.unwrap_or(CONNECT).min(UNBOUNDED),
            first_byte: options
                .first_byte_timeout
                .unwrap_or(UNBOUNDED)
                .min(UNBOUNDED),
            between_bytes: options
                .between_bytes_timeout
                .unwrap_or(UNBOUNDED)
                .min(UNBOUNDED),
            response_bytes: self.response_bytes,
            header_bytes: self.header_bytes,
        };
        let admitted = self.admit(request.method().as_str(), &request.uri().to_string());
        let overrun = Arc::clone(&self.overrun);
        Box::new(async move {
            let (egress, permitted) = admitted?;
            let (head, body) = request.into_parts();
            let body = Whole {
                body,
                overrun: Arc::clone(&overrun),
            };
            let body: RequestBody = body.boxed_unsync();
            let sent = egress.send(permitted, head.headers, body, bounds).await;
            let answer = sent.map_err(|error| told(&error, &overrun))?;
            let answer = answer.map(|body| {
                let told = move |error: EgressError| told(&error, &overrun);
                body.map_err(told).boxed_unsync()
            });
            let processed: Box<dyn Future<Output = Result<(), Error>> + Send> =
                Box::new(async { Ok(()) });
            Ok((answer, processed))
        })
    }
}

/// The body of a request, which ends well only while its call runs: wasmtime's ends in the same way
/// when the guest has finished it and when the guest is gone.
struct Whole {
    body: WasiBody,
    overrun: Arc<Overrun>,
}

impl http_body::Body for Whole {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() && self.overrun.is_over() {
            return Poll::Ready(Some(Err(Error::ConnectionTerminated.into())));
        }
        Poll::Ready(frame.map(|frame| frame.map_err(BodyError::from)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The code of what a stream of a body ended with, as [`told`] made it or wasmtime's types did.
pub(crate) fn code_of(error: &wasmtime::Error) -> Option<ErrorCode> {
    if let Some(code) = error.downcast_ref::<ErrorCode>() {
        return Some(code.clone());
    }
    Some(match error.downcast_ref::<Error>()? {
        Error::ConnectionReadTimeout => ErrorCode::ConnectionReadTimeout,
        Error::ConnectionTerminated => ErrorCode::ConnectionTerminated,
        Error::HttpProtocolError => ErrorCode::HttpProtocolError,
        Error::HttpResponseContentCoding(coding) => {
            ErrorCode::HttpResponseContentCoding(coding.clone())
        }
        // The others end the call, or come before there is a body.
        _ => ErrorCode::InternalError(None),
    })
}

/// Notes what ends the call or was denied, and says the error as the guest is told it.
fn told(error: &EgressError, overrun: &Overrun) -> Error {
    match error {
        EgressError::Denied(denial) => {
            overrun.deny(denial.clone());
            Error::HttpRequestDenied
        }
        EgressError::Dns => Error::DnsError {
            rcode: None,
            info_code: None,
        },
        EgressError::Refused => Error::ConnectionRefused,
        EgressError::ConnectTimeout => Error::ConnectionTimeout,
        EgressError::Tls(TlsFault::Certificate) => Error::TlsCertificateError,
        EgressError::Tls(TlsFault::Protocol) => Error::TlsProtocolError,
        EgressError::Tls(TlsFault::NoAuthorities) => Error::ConfigurationError,
        EgressError::FirstByteTimeout => Error::HttpResponseTimeout,
        EgressError::BetweenBytesTimeout => Error::ConnectionReadTimeout,
        EgressError::Terminated => Error::ConnectionTerminated,
        EgressError::Protocol => Error::HttpProtocolError,
        EgressError::ContentCoding => Error::HttpResponseContentCoding(None),
        EgressError::HeadersTooLarge => {
            overrun.end(Breach::HttpHeaders);
            Error::HttpResponseHeaderSectionSize(None)
        }
        EgressError::BodyTooLarge => {
            overrun.end(Breach::HttpResponse);
            Error::HttpResponseBodySize(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use http_body_util::{BodyExt as _, Empty};

    use super::{Overrun, Whole};

    /// A body that is half written when its call ends must not look whole to the server.
    #[test]
    fn s5_the_body_of_a_call_that_has_ended_does_not_end_well() {
        let overrun = Arc::new(Overrun::default());
        let ended = || {
            let body = Empty::<Bytes>::new().map_err(|never| match never {});
            let mut body = Whole {
                body: body.boxed_unsync(),
                overrun: Arc::clone(&overrun),
            };
            pollster::block_on(body.frame())
        };
        assert!(ended().is_none(), "while the guest runs, an end is its own");
        overrun.close();
        assert!(ended().is_some_and(|frame| frame.is_err()));
    }
}
