//! The body of an answer: each piece within its time, decoded, and bounded after it was.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_compression::tokio::bufread::{GzipDecoder, ZlibDecoder};
use bytes::{Buf, Bytes, BytesMut};
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderMap, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use tokio::io::{AsyncBufRead, AsyncRead};
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::io::{StreamReader, poll_read_buf};

use super::client::{Bounds, check_headers};
use super::error::EgressError;

/// The decoded body of an answer.
pub type ResponseBody = UnsyncBoxBody<Bytes, EgressError>;

/// What a frame takes beside its bytes, so that empty ones without end are bounded too (RFC 9113 4.1).
const FRAME_BYTES: u64 = 9;

/// Room for what is decoded at a time.
const DECODED_BYTES: usize = 16 * 1024;

/// What a body may have beyond twice its decoded bound, before it is decoded.
const RAW_BYTES: u64 = 64 * 1024;

/// How a body is coded.
enum Coding {
    Identity,
    Gzip,
    Deflate,
}

/// Puts the bounds around the body of an answer, and decodes it: the guest sees neither the coding nor
/// the length that it had.
pub(super) fn bounded(
    answer: Response<Incoming>,
    bounds: Bounds,
) -> Result<Response<ResponseBody>, EgressError> {
    let (mut head, body) = answer.into_parts();
    let coding = if body.is_end_stream() {
        Coding::Identity
    } else {
        coding(&head.headers)?
    };
    let body = Timed::new(body, bounds);
    let body = match coding {
        Coding::Identity => body.boxed_unsync(),
        Coding::Gzip => {
            let mut decoder = GzipDecoder::new(reader(body));
            decoder.multiple_members(true);
            decoded(decoder)
        }
        Coding::Deflate => decoded(ZlibDecoder::new(reader(body))),
    };
    if !matches!(coding, Coding::Identity) {
        head.headers.remove(CONTENT_ENCODING);
        head.headers.remove(CONTENT_LENGTH);
    }
    let body = Counted {
        body,
        left_bytes: bounds.response_bytes,
    };
    Ok(Response::from_parts(head, body.boxed_unsync()))
}

/// One coding at most, and one that was asked for.
fn coding(headers: &HeaderMap) -> Result<Coding, EgressError> {
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    let Some(coding) = codings.next() else {
        return Ok(Coding::Identity);
    };
    if codings.next().is_some() {
        return Err(EgressError::ContentCoding);
    }
    match coding.as_bytes().to_ascii_lowercase().trim_ascii() {
        b"identity" | b"" => Ok(Coding::Identity),
        b"gzip" | b"x-gzip" => Ok(Coding::Gzip),
        b"deflate" => Ok(Coding::Deflate),
        _ => Err(EgressError::ContentCoding),
    }
}

/// A body as a decoder reads it.
fn reader(body: Timed) -> impl AsyncBufRead + Send {
    StreamReader::new(body.map_err(EgressError::into_io).into_data_stream())
}

/// What a decoder gives, as a body.
fn decoded(decoder: impl AsyncRead + Send + 'static) -> ResponseBody {
    let decoder: Pin<Box<dyn AsyncRead + Send>> = Box::pin(decoder);
    Decoded {
        decoder,
        buffer: BytesMut::new(),
    }
    .boxed_unsync()
}

struct Decoded {
    decoder: Pin<Box<dyn AsyncRead + Send>>,
    buffer: BytesMut,
}

impl Body for Decoded {
    type Data = Bytes;
    type Error = EgressError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        let Self { decoder, buffer } = &mut *self;
        buffer.reserve(DECODED_BYTES);
        let read = ready!(poll_read_buf(decoder.as_mut(), context, buffer));
        Poll::Ready(match read {
            Ok(0) => None,
            Ok(_) => Some(Ok(Frame::data(buffer.split().freeze()))),
            Err(error) => Some(Err(EgressError::of_decoding(&error))),
        })
    }
}

/// A body as it comes, each piece within its time, all of it within a bound that leaves room for what
/// decoding takes away.
struct Timed {
    body: Incoming,
    bounds: Bounds,
    timer: Pin<Box<Sleep>>,
    left_bytes: u64,
}

impl Timed {
    fn new(body: Incoming, bounds: Bounds) -> Self {
        Self {
            body,
            bounds,
            timer: Box::pin(sleep(bounds.between_bytes)),
            left_bytes: bounds
                .response_bytes
                .saturating_mul(2)
                .saturating_add(RAW_BYTES),
        }
    }
}

impl Body for Timed {
    type Data = Bytes;
    type Error = EgressError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
            ready!(self.timer.as_mut().poll(context));
            return Poll::Ready(Some(Err(EgressError::BetweenBytesTimeout)));
        };
        let Some(frame) = frame else {
            return Poll::Ready(None);
        };
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => return Poll::Ready(Some(Err(EgressError::of_hyper(&error)))),
        };
        let bytes = frame.data_ref().map_or(0, Buf::remaining);
        match self.left_bytes.checked_sub(to_u64(bytes) + FRAME_BYTES) {
            Some(left_bytes) => self.left_bytes = left_bytes,
            None => return Poll::Ready(Some(Err(EgressError::BodyTooLarge))),
        }
        let trailers = frame.trailers_ref();
        if let Some(Err(over)) = trailers.map(|fields| check_headers(fields, self.bounds)) {
            return Poll::Ready(Some(Err(over)));
        }
        // An empty piece is no progress.
        if bytes > 0 {
            let next = Instant::now() + self.bounds.between_bytes;
            self.timer.as_mut().reset(next);
        }
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

/// A decoded body within its bound.
struct Counted {
    body: ResponseBody,
    left_bytes: u64,
}

impl Body for Counted {
    type Data = Bytes;
    type Error = EgressError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, EgressError>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        let Some(Ok(piece)) = &frame else {
            return Poll::Ready(frame);
        };
        let bytes = piece.data_ref().map_or(0, Buf::remaining);
        match self.left_bytes.checked_sub(to_u64(bytes)) {
            Some(left_bytes) => self.left_bytes = left_bytes,
            None => return Poll::Ready(Some(Err(EgressError::BodyTooLarge))),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

fn to_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
