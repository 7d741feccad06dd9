//! The first half: from the arguments to a request that is under way.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    Fields, FutureIncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::streams::OutputStream;

use super::report::Fault;
use crate::arguments::Arguments;

/// Nanoseconds of a millisecond.
const MILLISECOND_NS: u64 = 1_000_000;

/// How much of a body is handed over in one host call, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// A request that the host has taken.
pub(crate) struct Started {
    pub(crate) answer: FutureIncomingResponse,
    /// What was wrong with handing over the body.
    pub(crate) body_fault: Option<Fault>,
}

/// Sends a request with its body and waits for nothing else.
pub(crate) fn start(arguments: &Arguments) -> Result<Started, Fault> {
    let request = request(arguments)?;
    let options = options(arguments)?;
    let body = if arguments.flag("no_body") {
        None
    } else {
        Some(request.body().map_err(Fault::refused("request-body"))?)
    };
    let answer = handle(request, Some(options)).map_err(Fault::code("handle"))?;
    let body_fault = body.and_then(|body| hand_over(body, arguments).err());
    Ok(Started { answer, body_fault })
}

fn request(arguments: &Arguments) -> Result<OutgoingRequest, Fault> {
    let fields = Fields::new();
    for (name, value) in arguments.pairs("headers") {
        fields
            .append(name, value.as_bytes())
            .map_err(Fault::header)?;
    }
    let request = OutgoingRequest::new(fields);
    request
        .set_method(&method(arguments.text("method", "GET")))
        .map_err(Fault::refused("set-method"))?;
    if let Some(scheme) = arguments.optional_text("scheme") {
        request
            .set_scheme(Some(&scheme_named(scheme)))
            .map_err(Fault::refused("set-scheme"))?;
    }
    if let Some(authority) = arguments.optional_text("authority") {
        request
            .set_authority(Some(authority))
            .map_err(Fault::refused("set-authority"))?;
    }
    if let Some(path) = arguments.optional_text("path") {
        request
            .set_path_with_query(Some(path))
            .map_err(Fault::refused("set-path"))?;
    }
    Ok(request)
}

fn options(arguments: &Arguments) -> Result<RequestOptions, Fault> {
    let options = RequestOptions::new();
    let bound = |key: &str| {
        let wait_ms = arguments.optional_number(key)?;
        Some(wait_ms.saturating_mul(MILLISECOND_NS))
    };
    if let Some(bound) = bound("connect_timeout_ms") {
        options
            .set_connect_timeout(Some(bound))
            .map_err(Fault::refused("set-connect-timeout"))?;
    }
    if let Some(bound) = bound("first_byte_timeout_ms") {
        options
            .set_first_byte_timeout(Some(bound))
            .map_err(Fault::refused("set-first-byte-timeout"))?;
    }
    if let Some(bound) = bound("between_bytes_timeout_ms") {
        options
            .set_between_bytes_timeout(Some(bound))
            .map_err(Fault::refused("set-between-bytes-timeout"))?;
    }
    Ok(options)
}

/// Writes `body`, or as many bytes as told, and finishes the body unless it is to be dropped.
fn hand_over(body: OutgoingBody, arguments: &Arguments) -> Result<(), Fault> {
    let stream = body.write().map_err(Fault::refused("body-write"))?;
    match arguments.optional_text("body") {
        Some(text) => write(&stream, text.as_bytes())?,
        None => fill(&stream, arguments.size("body_bytes", 0))?,
    }
    drop(stream);
    if arguments.flag("drop_body") {
        return Ok(());
    }
    OutgoingBody::finish(body, None).map_err(Fault::code("finish-body"))
}

/// Writes so many times the same letter.
fn fill(stream: &OutputStream, size: usize) -> Result<(), Fault> {
    let filler = vec![b'b'; size.min(PIECE_BYTES)];
    let mut left = size;
    while left > 0 {
        let piece = filler.get(..left).unwrap_or(&filler);
        write(stream, piece)?;
        left = left.saturating_sub(piece.len());
    }
    Ok(())
}

fn write(stream: &OutputStream, bytes: &[u8]) -> Result<(), Fault> {
    let fault = Fault::stream("write-body");
    let mut rest = bytes;
    while !rest.is_empty() {
        let permitted = stream.check_write().map_err(&fault)?;
        if permitted == 0 {
            stream.subscribe().block();
            continue;
        }
        let permitted = usize::try_from(permitted).unwrap_or(usize::MAX);
        let (piece, after) = rest.split_at(permitted.min(rest.len()));
        stream.write(piece).map_err(&fault)?;
        rest = after;
    }
    Ok(())
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "CONNECT" => Method::Connect,
        "OPTIONS" => Method::Options,
        "TRACE" => Method::Trace,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

fn scheme_named(name: &str) -> Scheme {
    match name {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    }
}
