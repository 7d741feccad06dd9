//! The second half: from a request that is under way to what there is of its answer.

use wasip2::http::types::{IncomingBody, IncomingResponse};
use wasip2::io::streams::{InputStream, StreamError};

use super::report::{Fault, Report, pairs};
use super::request::Started;
use crate::arguments::Arguments;
use crate::caller;

/// How much of a body is asked for in one host call, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

/// Waits for the answer and reads as much of it as told.
pub(crate) fn of(started: Result<Started, Fault>, arguments: &Arguments) -> Report {
    let mut report = Report::default();
    report.fault = started
        .and_then(|started| follow(started, arguments, &mut report))
        .err();
    report
}

fn follow(started: Started, arguments: &Arguments, report: &mut Report) -> Result<(), Fault> {
    report.body_fault = started.body_fault;
    started.answer.subscribe().block();
    let response = match started.answer.get() {
        Some(Ok(answered)) => answered.map_err(Fault::code("response"))?,
        Some(Err(())) | None => return Err(Fault::refused("response")(())),
    };
    report.status = Some(response.status());
    report.headers = pairs(&response.headers());
    let most = match arguments.text("read", "all") {
        "none" => return Ok(()),
        _ => arguments.size("read", usize::MAX),
    };
    read(&response, most, arguments, report)
}

fn read(
    response: &IncomingResponse,
    most: usize,
    arguments: &Arguments,
    report: &mut Report,
) -> Result<(), Fault> {
    let body = response.consume().map_err(Fault::refused("consume"))?;
    let stream = body.stream().map_err(Fault::refused("body-stream"))?;
    while report.body_bytes < most {
        caller::pause(arguments.number("read_pause_ms", 0));
        let left = most.saturating_sub(report.body_bytes);
        let Some(piece) = piece(&stream, left).map_err(Fault::stream("read-body"))? else {
            drop(stream);
            return trailers(body, report);
        };
        report.add(&piece);
    }
    Ok(())
}

/// The next bytes of a body, none at its end.
fn piece(stream: &InputStream, left: usize) -> Result<Option<Vec<u8>>, StreamError> {
    let ask = u64::try_from(left.min(PIECE_BYTES)).unwrap_or(u64::MAX);
    match stream.blocking_read(ask) {
        Ok(piece) => Ok(Some(piece)),
        Err(StreamError::Closed) => Ok(None),
        Err(failed) => Err(failed),
    }
}

fn trailers(body: IncomingBody, report: &mut Report) -> Result<(), Fault> {
    let trailers = IncomingBody::finish(body);
    trailers.subscribe().block();
    if let Some(Ok(trailers)) = trailers.get() {
        let trailers = trailers.map_err(Fault::code("trailers"))?;
        report.trailers = trailers.as_ref().map(pairs);
    }
    Ok(())
}
