//! Sending a request, once.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{self, Fields, OutgoingBody, OutgoingRequest, RequestOptions};
use wasip2::io::streams::StreamError;

use crate::deadline::Deadline;
use crate::fault::{Fault, name};
use crate::response::{self, Response};
use crate::url::Url;

/// A request without a method of its own: with a body it is a POST, without one a GET.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Whom to ask; its path is not used.
    pub server: &'a Url,
    /// What for: starts with a slash, may have a query, and is percent-encoded.
    pub path: &'a str,
    /// Names and values, in this order.
    pub headers: &'a [(&'a str, &'a str)],
    /// What to hand over.
    pub body: Option<&'a [u8]>,
}

/// Sends a request and waits for the head of its answer.
///
/// # Errors
/// Every [`Fault`] but [`Fault::TooLong`].
pub fn send(request: &Request<'_>, deadline: &Deadline) -> Result<Response, Fault> {
    let outgoing = outgoing(request)?;
    let options = options(deadline)?;
    let body = outgoing.body().map_err(|()| Fault::Malformed("body"))?;
    let answer = handle(outgoing, Some(options)).map_err(|code| Fault::Unsent(name(&code)))?;
    write(body, request.body.unwrap_or_default(), deadline)?;
    response::head(&answer, deadline)
}

/// The request as the host takes it, without its body.
fn outgoing(request: &Request<'_>) -> Result<OutgoingRequest, Fault> {
    let outgoing = OutgoingRequest::new(fields(request)?);
    let method = match request.body {
        None => types::Method::Get,
        Some(_) => types::Method::Post,
    };
    let scheme = if request.server.is_https() {
        types::Scheme::Https
    } else {
        types::Scheme::Http
    };
    let refused = |part| move |()| Fault::Malformed(part);
    outgoing.set_method(&method).map_err(refused("method"))?;
    outgoing
        .set_scheme(Some(&scheme))
        .map_err(refused("scheme"))?;
    outgoing
        .set_authority(Some(request.server.authority()))
        .map_err(refused("host"))?;
    outgoing
        .set_path_with_query(Some(request.path))
        .map_err(refused("path"))?;
    Ok(outgoing)
}

fn fields(request: &Request<'_>) -> Result<Fields, Fault> {
    let fields = Fields::new();
    for (name, value) in request.headers {
        fields
            .append(name, value.as_bytes())
            .map_err(|_refusal| Fault::Malformed("header"))?;
    }
    if let Some(body) = request.body {
        let length = body.len().to_string();
        match fields.append("content-length", length.as_bytes()) {
            // A host that keeps this header to itself sends the body all the same.
            Ok(()) | Err(_) => {}
        }
    }
    Ok(fields)
}

/// What is left of the time, for each phase that the host bounds; a little less for connecting, so
/// that a server which is not there is known as such before the time is up. A host may not know a
/// bound; the deadline is kept here in any case.
fn options(deadline: &Deadline) -> Result<RequestOptions, Fault> {
    let left = deadline.remaining_ns()?;
    let to_connect = left.saturating_sub(left / 10);
    let options = RequestOptions::new();
    match (
        options.set_connect_timeout(Some(to_connect)),
        options.set_first_byte_timeout(Some(left)),
        options.set_between_bytes_timeout(Some(left)),
    ) {
        (Ok(()) | Err(()), Ok(()) | Err(()), Ok(()) | Err(())) => {}
    }
    Ok(options)
}

/// Hands the body over. When the host takes no more of it, why stands in the answer, and so this is
/// no fault here.
fn write(body: OutgoingBody, bytes: &[u8], deadline: &Deadline) -> Result<(), Fault> {
    if !bytes.is_empty() {
        let Ok(stream) = body.write() else {
            return Ok(());
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let permitted = match stream.check_write() {
                Ok(0) => {
                    deadline.wait(&stream.subscribe())?;
                    continue;
                }
                Ok(permitted) => usize::try_from(permitted).unwrap_or(usize::MAX),
                Err(StreamError::Closed | StreamError::LastOperationFailed(_)) => return Ok(()),
            };
            let (piece, after) = rest.split_at(permitted.min(rest.len()));
            if stream.write(piece).is_err() {
                return Ok(());
            }
            rest = after;
        }
    }
    match OutgoingBody::finish(body, None) {
        Ok(()) | Err(_) => Ok(()),
    }
}
