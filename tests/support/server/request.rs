//! A request as it came, and how one is read from the bytes of an HTTP/1 connection.
//!
//! Deliberately absent: leniency. Only CRLF ends a line, and what is no request is never taken for
//! one, so that a test sees what a client wrote and not what it may have meant.

use std::io::{Error, ErrorKind, Result};

use tokio::io::AsyncReadExt as _;

use super::wire::Wire;

/// What a client asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// As on the request line; over HTTP/2 the path and the query.
    pub(crate) target: String,
    pub(crate) version: String,
    /// Names as they were spelled, in their order; over HTTP/2 with `:scheme` and `:authority`.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    /// Without the framing of its chunks. Empty where the script is asked before it was read.
    pub(crate) body: Vec<u8>,
    /// The request's own bytes; empty over HTTP/2, where frames of several requests mix.
    pub(crate) raw: Vec<u8>,
    /// Its place among the requests of the server, from 0.
    pub(crate) number: usize,
    /// The place of its connection among those of the server, from 0.
    pub(crate) connection: usize,
}

impl Request {
    /// A header's value; none where it is missing, stands there several times or is no text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.values(name);
        let only = values.next().filter(|_| values.next().is_none())?;
        std::str::from_utf8(only).ok()
    }

    /// How often a header stands there.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.values(name).count()
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.headers
            .iter()
            .filter(move |(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_slice())
    }

    /// What stands for a request where none was read.
    pub(super) fn blank(connection: usize) -> Self {
        Self {
            number: connection,
            connection,
            ..Self::default()
        }
    }

    /// Whether the client will not use the connection again.
    pub(super) fn is_last(&self) -> bool {
        let asked = self.header("connection").map(str::to_ascii_lowercase);
        match asked.as_deref() {
            Some("close") => true,
            Some("keep-alive") => false,
            _ => self.version == "HTTP/1.0",
        }
    }

    fn parse(head: &[u8]) -> Result<Self> {
        let text = head.strip_suffix(b"\r\n\r\n").unwrap_or(head);
        let mut lines = lines(text);
        let first = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
        let words: Vec<&str> = first.split(' ').collect();
        let [method, target, version] = words[..] else {
            return Err(malformed("no request line"));
        };
        let headers = lines.map(|line| {
            let colon = line.iter().position(|&byte| byte == b':');
            let (name, value) = line.split_at(colon.ok_or_else(|| malformed("no colon"))?);
            let name = String::from_utf8_lossy(name).into_owned();
            Ok((name, value[1..].trim_ascii().to_vec()))
        });
        Ok(Self {
            method: method.to_owned(),
            target: target.to_owned(),
            version: version.to_owned(),
            headers: headers.collect::<Result<_>>()?,
            raw: head.to_vec(),
            ..Self::default()
        })
    }
}

/// The reading side of an HTTP/1 connection.
pub(super) struct Reader {
    pub(super) wire: Wire,
    /// What was read and is not part of a request yet.
    ahead: Vec<u8>,
}

impl Reader {
    pub(super) fn new(wire: Wire) -> Self {
        Self {
            wire,
            ahead: Vec::new(),
        }
    }

    /// Reads up to the blank line after the headers.
    pub(super) async fn head(&mut self) -> Result<Request> {
        let end = self.until(b"\r\n\r\n", 0).await?;
        let head: Vec<u8> = self.ahead.drain(..end).collect();
        Request::parse(&head)
    }

    /// Reads the body that the headers announce, and adds it to the request.
    pub(super) async fn body(&mut self, request: &mut Request) -> Result<()> {
        let end = if request.count("transfer-encoding") > 0 {
            self.chunks(&mut request.body).await?
        } else if request.count("content-length") > 0 {
            let length = request.header("content-length");
            let length = length.and_then(|length| length.parse().ok());
            let length = length.ok_or_else(|| malformed("no length"))?;
            self.at_least(length).await?;
            request.body.extend(&self.ahead[..length]);
            length
        } else {
            0
        };
        request.raw.extend(self.ahead.drain(..end));
        Ok(())
    }

    /// Reads more, if there is ever more.
    pub(super) async fn more(&mut self) -> Result<()> {
        self.ahead.reserve(1 << 14);
        match self.wire.read_buf(&mut self.ahead).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Collects what the chunks hold; the place behind the last one and its trailers.
    async fn chunks(&mut self, body: &mut Vec<u8>) -> Result<usize> {
        let mut start = 0;
        loop {
            let data = self.until(b"\r\n", start).await?;
            let line = String::from_utf8_lossy(&self.ahead[start..data - 2]).into_owned();
            let digits = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(digits, 16);
            let size = size.map_err(|_not_hex| malformed("no chunk"))?;
            if size == 0 {
                // The line's own end is the first half of a blank line where no trailers come.
                return self.until(b"\r\n\r\n", data - 2).await;
            }
            let end = data.checked_add(size).and_then(|end| end.checked_add(2));
            let end = end.ok_or_else(|| malformed("a chunk without end"))?;
            self.at_least(end).await?;
            body.extend(&self.ahead[data..end - 2]);
            if !self.ahead[..end].ends_with(b"\r\n") {
                return Err(malformed("a chunk longer than it says"));
            }
            start = end;
        }
    }

    /// The place behind the next `mark`.
    async fn until(&mut self, mark: &[u8], start: usize) -> Result<usize> {
        let mut from = start;
        loop {
            let mut windows = self.ahead[from..].windows(mark.len());
            if let Some(place) = windows.position(|window| window == mark) {
                return Ok(from + place + mark.len());
            }
            // The mark may begin in what is there already.
            from = from.max((self.ahead.len() + 1).saturating_sub(mark.len()));
            self.more().await?;
        }
    }

    async fn at_least(&mut self, length: usize) -> Result<()> {
        while self.ahead.len() < length {
            self.more().await?;
        }
        Ok(())
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.windows(2).position(|pair| pair == b"\r\n");
        rest = end.map(|end| &text[end + 2..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
}

fn malformed(what: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}
