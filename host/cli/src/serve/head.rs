//! Judging the head of a request before anything else reads it (CASES IO12).
//!
//! A head passes only where every reader must agree on what it says and where its message ends.
//! Pure functions over bytes. Deliberately absent: what the request asks for.

use http::header::{self, HeaderName, HeaderValue};
use http::{Method, StatusCode, Uri};

use super::refused::Refused;

/// Most header fields of one request.
const FIELDS: usize = 100;

/// Why a head does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It can be read in several ways, or in none.
    Malformed(&'static str),
    /// It is too large or has too many fields.
    TooLarge,
    /// It is of another version of HTTP.
    Version,
    /// It did not come whole in time.
    Slow,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Malformed(reason) => Self::invalid(reason),
            Refusal::TooLarge => Self::new(
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "HEAD_TOO_LARGE",
                "the head of the request is too large",
            ),
            Refusal::Version => Self::new(
                StatusCode::HTTP_VERSION_NOT_SUPPORTED,
                "VERSION_NOT_SUPPORTED",
                "this service speaks HTTP/1.1",
            ),
            Refusal::Slow => Self::new(
                StatusCode::REQUEST_TIMEOUT,
                "REQUEST_TIMEOUT",
                "the head of the request did not come in time",
            ),
        }
    }
}

/// How the end of a message's body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is no body.
    Nothing,
    /// It has so many bytes.
    Length(u64),
    /// It comes in chunks.
    Chunked,
}

/// Where the first head in `arrived` ends; `None` where it has not come whole. `seen` bytes were
/// looked at before.
///
/// # Errors
///
/// A line ends in another way than CR LF.
pub(super) fn find_end(arrived: &[u8], seen: usize) -> Result<Option<usize>, Refusal> {
    let mut at = seen;
    while let Some(next) = arrived.get(at..).and_then(newline) {
        let end = at + next + 1;
        let line = arrived.get(..end).unwrap_or_default();
        if !line.ends_with(b"\r\n") {
            return Err(Refusal::Malformed("a line must end with CR LF"));
        }
        if line.ends_with(b"\r\n\r\n") {
            return Ok(Some(end));
        }
        at = end;
    }
    Ok(None)
}

fn newline(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

/// Judges one whole head and answers how its body is framed.
///
/// # Errors
///
/// See [`Refusal`].
///
/// Source: RFC 9112 2.2, 3, 5.1, 6.1 to 6.3.
pub(super) fn judge(head: &[u8]) -> Result<Framing, Refusal> {
    let lines = head.split(|byte| *byte == b'\n');
    let mut lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let is_1_1 = request_line(lines.next().unwrap_or_default())?;
    let mut fields = Framed::default();
    for (count, line) in lines.take_while(|line| !line.is_empty()).enumerate() {
        if count >= FIELDS {
            return Err(Refusal::TooLarge);
        }
        fields.take(line)?;
    }
    if fields.hosts != 1 {
        return Err(Refusal::Malformed("there must be one Host field"));
    }
    match (fields.length, fields.is_chunked) {
        (Some(_), true) => Err(Refusal::Malformed(
            "Content-Length and Transfer-Encoding exclude each other",
        )),
        (None, true) if !is_1_1 => Err(Refusal::Malformed("HTTP/1.0 has no Transfer-Encoding")),
        (None, true) => Ok(Framing::Chunked),
        (None | Some(0), false) => Ok(Framing::Nothing),
        (Some(length), false) => Ok(Framing::Length(length)),
    }
}

/// Judges the first line; whether it is of HTTP/1.1.
fn request_line(line: &[u8]) -> Result<bool, Refusal> {
    let malformed = Refusal::Malformed("the first line is no METHOD /path HTTP/1.1");
    let mut words = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(malformed);
    };
    let is_1_1 = match version {
        b"HTTP/1.1" => true,
        b"HTTP/1.0" => false,
        other if other.starts_with(b"HTTP/") => return Err(Refusal::Version),
        _ => return Err(malformed),
    };
    // A target that brings its own authority would stand beside the Host field.
    let is_path = target.starts_with(b"/") && Uri::try_from(target).is_ok();
    if Method::from_bytes(method).is_err() || !is_path {
        return Err(malformed);
    }
    Ok(is_1_1)
}

/// What the fields so far say of the message's frame.
#[derive(Debug, Default)]
struct Framed {
    hosts: usize,
    length: Option<u64>,
    is_chunked: bool,
}

impl Framed {
    fn take(&mut self, line: &[u8]) -> Result<(), Refusal> {
        let malformed = Refusal::Malformed("a header field is malformed");
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = colon
            .and_then(|at| line.split_at_checked(at))
            .ok_or(malformed)?;
        let value = value.get(1..).unwrap_or_default();
        // A space before the colon or at the start of the line is in no name.
        let name = HeaderName::from_bytes(name).map_err(|_no_token| malformed)?;
        let value = trim_spaces(value);
        if HeaderValue::from_bytes(value).is_err() {
            return Err(malformed);
        }
        match name {
            header::HOST => self.hosts += 1,
            header::CONTENT_LENGTH => {
                let length = digits(value).ok_or(Refusal::Malformed(
                    "Content-Length must be one whole number",
                ))?;
                if self.length.replace(length).is_some() {
                    return Err(Refusal::Malformed("Content-Length stands twice"));
                }
            }
            header::TRANSFER_ENCODING => {
                if self.is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Refusal::Malformed(
                        "Transfer-Encoding must be `chunked` and stand once",
                    ));
                }
                self.is_chunked = true;
            }
            _ => {}
        }
        Ok(())
    }
}

/// Without spaces at both ends. Tabs stay: not every reader takes them for white space.
fn trim_spaces(value: &[u8]) -> &[u8] {
    let mut value = value;
    while let Some(rest) = value.strip_prefix(b" ") {
        value = rest;
    }
    while let Some(rest) = value.strip_suffix(b" ") {
        value = rest;
    }
    value
}

/// Digits alone: no sign, no list.
fn digits(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fields: &str) -> Result<Framing, Refusal> {
        judge(format!("POST /x HTTP/1.1\r\nHost: a\r\n{fields}\r\n").as_bytes())
    }

    #[test]
    fn io12_a_body_is_framed_in_one_way() {
        for (fields, framing) in [
            ("", Framing::Nothing),
            ("Content-Length: 0\r\n", Framing::Nothing),
            ("Content-Length: 6\r\n", Framing::Length(6)),
            ("content-length:6\r\n", Framing::Length(6)),
            (
                "Content-Length: 18446744073709551615\r\n",
                Framing::Length(u64::MAX),
            ),
            ("Transfer-Encoding: chunked\r\n", Framing::Chunked),
            ("transfer-encoding: CHUNKED  \r\n", Framing::Chunked),
            ("X-Other: a\tb\r\n", Framing::Nothing),
        ] {
            assert_eq!(of(fields), Ok(framing), "{fields:?}");
        }
    }

    #[test]
    fn io12_a_head_that_two_readers_could_read_differently_is_malformed() {
        for fields in [
            "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n",
            "Content-Length: 6\r\nContent-Length: 6\r\n",
            "Content-Length: 6\r\nContent-Length: 7\r\n",
            "Content-Length: 6, 6\r\n",
            "Content-Length: +6\r\n",
            "Content-Length: 0x6\r\n",
            "Content-Length: 6\t\r\n",
            "Content-Length:\r\n",
            "Content-Length: 18446744073709551616\r\n",
            "Transfer-Encoding: chunked\t\r\n",
            "Transfer-Encoding:\tchunked\r\n",
            "Transfer-Encoding: gzip, chunked\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
            "Transfer-Encoding: xchunked\r\n",
            "Transfer-Encoding: identity\r\n",
            "Transfer-Encoding: \"chunked\"\r\n",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding : chunked\r\n",
            " Transfer-Encoding: chunked\r\n",
            "X: a\r\n b\r\n",
            "X: a\rb\r\n",
            "X: a\0b\r\n",
            "X\r\n",
            ": a\r\n",
            "Host: b\r\n",
        ] {
            let refusal = of(fields).unwrap_err();
            assert!(matches!(refusal, Refusal::Malformed(_)), "{fields:?}");
        }
        assert!(judge(b"GET / HTTP/1.1\r\n\r\n").is_err(), "no Host");
        let old = b"GET / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert!(judge(old).is_err());
    }

    #[test]
    fn io12_the_first_line_is_one_method_one_path_one_version() {
        for (line, passes) in [
            ("GET /a?b=c HTTP/1.1", true),
            ("PURGE /a%20b HTTP/1.0", true),
            ("GET  / HTTP/1.1", false),
            ("GET / HTTP/1.1 ", false),
            ("GET /a b HTTP/1.1", false),
            (" GET / HTTP/1.1", false),
            ("GET http://evil.example/ HTTP/1.1", false),
            ("GET evil.example HTTP/1.1", false),
            ("CONNECT a:1 HTTP/1.1", false),
            ("OPTIONS * HTTP/1.1", false),
            ("GET /", false),
            ("", false),
            ("G(T / HTTP/1.1", false),
            ("GET / HTTP/1.2", false),
            ("PRI * HTTP/2.0", false),
            ("GET / http/1.1", false),
        ] {
            let head = format!("{line}\r\nHost: a\r\n\r\n");
            assert_eq!(judge(head.as_bytes()).is_ok(), passes, "{line:?}");
        }
        let later = judge(b"GET / HTTP/3\r\nHost: a\r\n\r\n");
        assert_eq!(later, Err(Refusal::Version));
    }

    #[test]
    fn io12_a_head_ends_with_an_empty_line_whatever_it_is_cut_into() {
        let whole = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nrest";
        let end = whole.len() - 4;
        for seen in 0..end {
            assert_eq!(find_end(whole, 0), Ok(Some(end)));
            let part = whole.get(..seen).unwrap();
            assert_eq!(find_end(part, 0), Ok(None), "{seen}");
        }
        assert!(find_end(b"GET / HTTP/1.1\nHost: a\r\n\r\n", 0).is_err());
        assert!(find_end(b"GET / HTTP/1.1\r\nHost: a\n\n", 0).is_err());
    }

    #[test]
    fn c8_a_head_has_at_most_100_fields() {
        for (count, passes) in [(98, true), (99, true), (100, false)] {
            // One more is the Host field.
            let fields = "X: a\r\n".repeat(count);
            assert_eq!(of(&fields).is_ok(), passes, "{count}");
        }
    }
}
