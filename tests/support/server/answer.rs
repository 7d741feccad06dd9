//! What a script answers: a response, or bytes that are none, and what becomes of the connection.
//!
//! Deliberately absent: a check that an answer is sound. Unsound ones are what it is for.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;

use super::coding;

/// An answer, made of pieces that are sent one after the other.
///
/// A response gets the headers that the script gave it, and `content-length` where the length is
/// known and the script named neither that header nor `transfer-encoding`. Without a length the
/// connection ends behind it.
pub(crate) struct Answer {
    /// Responses that come before the real one: their status and how many.
    pub(super) interim: Option<(u16, u64)>,
    /// None where the pieces are all that is sent.
    pub(super) head: Option<Head>,
    pub(super) pieces: Vec<Piece>,
}

#[derive(Default)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) is_chunked: bool,
    pub(super) trailers: Vec<(String, Vec<u8>)>,
}

pub(super) enum Piece {
    Bytes(Vec<u8>),
    Drip {
        bytes: Vec<u8>,
        every: Duration,
    },
    /// The same bytes again and again; for ever where no number is given.
    Repeat {
        bytes: Vec<u8>,
        times: Option<u64>,
    },
    Pause(Duration),
    End(End),
}

/// What ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Close,
    Cut,
    Reset,
    Hang,
}

impl Answer {
    /// A response with this status and no body yet.
    pub(crate) fn status(status: u16) -> Self {
        let head = Head {
            status,
            ..Head::default()
        };
        Self {
            interim: None,
            head: Some(head),
            pieces: Vec::new(),
        }
    }

    /// A response of 200 with a body.
    pub(crate) fn ok(body: impl AsRef<[u8]>) -> Self {
        Self::status(200).send(body)
    }

    /// A response of 200 with a JSON body.
    pub(crate) fn json(value: &Value) -> Self {
        Self::ok(value.to_string()).header("content-type", "application/json")
    }

    /// A response that leads elsewhere.
    pub(crate) fn redirect(status: u16, to: &str) -> Self {
        Self::status(status).header("location", to)
    }

    /// A response of 200 with bytes that are in a content coding already, or claim to be.
    pub(crate) fn encoded(coding: &str, bytes: impl AsRef<[u8]>) -> Self {
        Self::ok(bytes).header("content-encoding", coding)
    }

    /// A response of 200 with this body in gzip.
    pub(crate) fn gzip(body: impl AsRef<[u8]>) -> Self {
        Self::encoded("gzip", coding::gzip(body.as_ref()))
    }

    /// Exactly these bytes; the connection stays open behind them. Not over HTTP/2.
    pub(crate) fn raw(bytes: impl AsRef<[u8]>) -> Self {
        let nothing = Self {
            interim: None,
            head: None,
            pieces: Vec::new(),
        };
        nothing.send(bytes)
    }

    /// Nothing at all until the client goes. Not over HTTP/2.
    pub(crate) fn silence() -> Self {
        Self::raw("").hang()
    }

    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let field = (name.to_owned(), value.as_ref().to_vec());
        self.said().headers.push(field);
        self
    }

    /// So many headers, `x-00000: a` and on. HTTP/2's library carries fewer than 32,768.
    pub(crate) fn headers(mut self, count: usize) -> Self {
        let flood = (0..count).map(|number| (format!("x-{number:05}"), b"a".to_vec()));
        self.said().headers.extend(flood);
        self
    }

    /// Sends the body in chunks, one for each piece or part of a piece that is sent at once.
    pub(crate) fn chunked(mut self) -> Self {
        self.said().is_chunked = true;
        self
    }

    /// A trailer behind the body, which goes in chunks then.
    pub(crate) fn trailer(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let field = (name.to_owned(), value.as_ref().to_vec());
        self.said().trailers.push(field);
        self.chunked()
    }

    /// So many responses before this one, each with this status of the 100s.
    pub(crate) fn after(mut self, status: u16, times: u64) -> Self {
        self.interim = Some((status, times));
        self
    }

    /// Goes on with these bytes.
    pub(crate) fn send(self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        if bytes.is_empty() {
            return self;
        }
        self.piece(Piece::Bytes(bytes.to_vec()))
    }

    /// Goes on with these bytes one by one, with a pause before each.
    pub(crate) fn drip(self, bytes: impl AsRef<[u8]>, every: Duration) -> Self {
        let bytes = bytes.as_ref().to_vec();
        self.piece(Piece::Drip { bytes, every })
    }

    /// Goes on with these bytes so many times, without holding them all. Over HTTP/2 each time is a
    /// DATA frame of its own, an empty one of no bytes; over HTTP/1 no bytes are nothing.
    pub(crate) fn repeat(self, bytes: impl AsRef<[u8]>, times: u64) -> Self {
        let bytes = bytes.as_ref().to_vec();
        let times = Some(times);
        self.piece(Piece::Repeat { bytes, times })
    }

    /// Repeats these bytes until the client goes.
    pub(crate) fn endless(self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref().to_vec();
        self.piece(Piece::Repeat { bytes, times: None })
    }

    pub(crate) fn pause(self, duration: Duration) -> Self {
        self.piece(Piece::Pause(duration))
    }

    /// Ends the connection in order: FIN, under TLS after a close notification, over HTTP/2 after
    /// GOAWAY.
    pub(crate) fn close(self) -> Self {
        self.piece(Piece::End(End::Close))
    }

    /// Ends the connection by FIN alone, as if somebody between the two had.
    pub(crate) fn cut(self) -> Self {
        self.piece(Piece::End(End::Cut))
    }

    /// Ends the connection by RST; over HTTP/2 it is the stream that is reset.
    pub(crate) fn reset(self) -> Self {
        self.piece(Piece::End(End::Reset))
    }

    /// Sends nothing more, and waits until the client goes. A body that hangs has no length.
    pub(crate) fn hang(self) -> Self {
        self.piece(Piece::End(End::Hang))
    }

    fn piece(mut self, piece: Piece) -> Self {
        self.pieces.push(piece);
        self
    }

    fn said(&mut self) -> &mut Head {
        let head = self.head.as_mut();
        head.expect("bytes that are no response have no headers")
    }

    /// The same as an answer to `HEAD`: what its head says stays.
    pub(super) fn without_body(mut self) -> Self {
        let length = self.length();
        let Some(head) = &mut self.head else {
            return self;
        };
        let framing = match length {
            Some(length) => Some(("content-length", length.to_string())),
            None if head.is_chunked => Some(("transfer-encoding", "chunked".to_owned())),
            None => None,
        };
        let framing = framing.map(|(name, value)| (name.to_owned(), value.into_bytes()));
        head.headers.extend(framing);
        head.is_chunked = false;
        head.trailers.clear();
        self.pieces
            .retain(|piece| matches!(piece, Piece::Pause(_) | Piece::End(_)));
        self
    }

    /// The length that the response has to name; none where it names one or cannot.
    pub(super) fn length(&self) -> Option<u64> {
        let head = self.head.as_ref()?;
        let framed = ["content-length", "transfer-encoding"];
        let names_one = framed.iter().any(|name| head.names(name));
        if names_one || head.is_bodiless() || head.is_chunked {
            return None;
        }
        let lengths = self.pieces.iter().map(Piece::length);
        lengths.sum()
    }

    /// Whether only the end of the connection can end the response, or the response announces it.
    pub(super) fn is_last(&self) -> bool {
        let Some(head) = &self.head else {
            return false;
        };
        let has_an_end = self.length().is_some()
            || head.is_chunked
            || head.names("content-length")
            || head.names("transfer-encoding")
            || head.is_bodiless();
        let announced = head.headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case(b"close")
        });
        announced || !has_an_end
    }
}

impl Head {
    /// Whether responses with this status never have a body (Source: RFC 9112 6.3).
    fn is_bodiless(&self) -> bool {
        matches!(self.status, 100..=199 | 204 | 304)
    }

    pub(super) fn names(&self, name: &str) -> bool {
        let mut names = self.headers.iter().map(|(name, _)| name);
        names.any(|said| said.eq_ignore_ascii_case(name))
    }
}

impl Piece {
    fn length(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) | Self::Drip { bytes, .. } => bytes.len().try_into().ok(),
            Self::Repeat { bytes, times } => {
                let length: u64 = bytes.len().try_into().ok()?;
                length.checked_mul((*times)?)
            }
            Self::Pause(_) => Some(0),
            Self::End(end) => (*end != End::Hang).then_some(0),
        }
    }
}

/// The status with the words that usually stand behind it.
pub(super) fn status_line(status: u16) -> String {
    let known = StatusCode::from_u16(status).ok();
    let words = known.and_then(|known| known.canonical_reason());
    format!("HTTP/1.1 {status} {}\r\n", words.unwrap_or_default())
}
