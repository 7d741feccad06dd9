//! Bodies of requests: bounded in size while they come, and in time.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http::header::{self, HeaderMap};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use tokio::time::Instant;

use super::refused::Refused;

/// Reads a body whole.
///
/// # Errors
///
/// 413 over `limit_bytes`, before any of it is read where its size is announced; 408 when it has not
/// come whole in time; 400 when it breaks off.
pub(super) async fn read(
    mut body: Body,
    limit_bytes: u64,
    within_ms: u64,
) -> Result<Bytes, Refused> {
    let limit = usize::try_from(limit_bytes).unwrap_or(usize::MAX);
    if body.size_hint().lower() > limit_bytes {
        return Err(too_large(limit_bytes));
    }
    let until = Instant::now() + Duration::from_millis(within_ms);
    // Most bodies come in one piece, which is then theirs.
    let mut whole = Bytes::new();
    let mut pieces = BytesMut::new();
    loop {
        let frame = tokio::time::timeout_at(until, body.frame());
        let frame = match frame.await.map_err(|_late| slow())? {
            None => break,
            Some(Err(_cause)) => return Err(Refused::invalid("the body breaks off")),
            Some(Ok(frame)) => frame,
        };
        // Trailers say nothing that is asked for.
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        if whole.len() + pieces.len() + piece.len() > limit {
            return Err(too_large(limit_bytes));
        }
        if whole.is_empty() && pieces.is_empty() {
            whole = piece;
        } else {
            pieces.extend_from_slice(&std::mem::take(&mut whole));
            pieces.extend_from_slice(&piece);
        }
    }
    Ok(if pieces.is_empty() {
        whole
    } else {
        pieces.freeze()
    })
}

/// That a body is announced as JSON: a page of another origin can't send that without asking.
///
/// # Errors
///
/// 415 for another type.
pub(super) fn is_json(fields: &HeaderMap) -> Result<(), Refused> {
    is_plain(fields)?;
    let announced = fields.get(header::CONTENT_TYPE);
    let announced = announced.and_then(|value| value.to_str().ok());
    let essence = announced.and_then(|value| value.split(';').next());
    if essence.is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json")) {
        Ok(())
    } else {
        Err(Refused::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UNSUPPORTED_MEDIA_TYPE",
            "the body must be announced as application/json",
        ))
    }
}

/// That a body is sent as it is.
///
/// # Errors
///
/// 415 for a content coding.
pub(super) fn is_plain(fields: &HeaderMap) -> Result<(), Refused> {
    match fields.get(header::CONTENT_ENCODING) {
        None => Ok(()),
        Some(coding) if coding.as_bytes().eq_ignore_ascii_case(b"identity") => Ok(()),
        Some(_) => Err(Refused::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UNSUPPORTED_MEDIA_TYPE",
            "the body must be sent without a content coding",
        )),
    }
}

fn too_large(limit_bytes: u64) -> Refused {
    Refused::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "BODY_TOO_LARGE",
        format!("the body is larger than {limit_bytes} bytes"),
    )
}

fn slow() -> Refused {
    Refused::new(
        StatusCode::REQUEST_TIMEOUT,
        "REQUEST_TIMEOUT",
        "the body did not come in time",
    )
}
