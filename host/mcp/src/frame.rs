//! Cutting a peer's bytes into messages, checked before the SDK sees one (CASES MC05, MC06, OU07,
//! OU08, IO10).
//!
//! A message is one line, ended by 0x0A and by nothing else. A line has bounded bytes and depth, no key
//! twice and no number that would be rounded. What is no message is logged, escaped and cut, and
//! skipped; a broken message that names its id fails the one request that it answers.

mod outline;

use tidegate_contract::json::{self, JsonBounds};
use tidegate_contract::{JsonError, Value};

use outline::Outline;

use crate::said::{PeerName, Said};

/// A line that is longer than so many times its bound ends the connection.
const FLOOD: usize = 16;

/// Around what stands in a message: the message, its params or result, and a list of parts.
const ENVELOPE_DEPTH: usize = 8;

/// What one message may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageBounds {
    /// Bytes of a line, or of the body of an HTTP message. Default: 4 MiB; at most 64 MiB.
    pub message_bytes: usize,
}

impl Default for MessageBounds {
    fn default() -> Self {
        Self {
            message_bytes: 4 * 1024 * 1024,
        }
    }
}

impl MessageBounds {
    /// The largest bound, in bytes.
    pub const MAXIMUM_BYTES: usize = 64 * 1024 * 1024;

    pub(crate) fn json(self) -> JsonBounds {
        let bounds = JsonBounds::default();
        JsonBounds {
            bytes: self.message_bytes.min(Self::MAXIMUM_BYTES),
            depth: bounds.depth + ENVELOPE_DEPTH,
        }
    }
}

/// What came from a peer.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame {
    /// A JSON object.
    Message(Value),
    /// A message that can't be taken, with what is known of it.
    Broken(Broken),
    /// The peer floods: the connection is to be given up.
    Flood,
}

/// A message that can't be taken.
#[derive(Debug, PartialEq)]
pub(crate) struct Broken {
    /// Its id: a text or an integer.
    pub(crate) id: Value,
    /// Whether it asks something; else it answers.
    pub(crate) is_request: bool,
    /// What is wrong with it.
    pub(crate) fault: Fault,
}

/// What is wrong with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is longer than the bound.
    TooLong { limit_bytes: usize },
    /// It is no JSON, too deep, or ambiguous.
    Invalid { reason: String },
}

/// Cuts bytes into frames, however they are split into reads.
#[derive(Debug)]
pub(crate) struct Framer {
    /// What the log shows of the one that is read from.
    said: Said,
    bounds: JsonBounds,
    /// Bytes from `start` on are not looked at yet; from `searched` on they are not searched.
    bytes: Vec<u8>,
    start: usize,
    searched: usize,
    /// A line that passed its bound, of which only the outline is kept.
    skipping: Option<Skipping>,
}

#[derive(Debug)]
struct Skipping {
    outline: Outline,
    bytes: usize,
    told: bool,
}

impl Framer {
    pub(crate) fn new(peer: PeerName, bounds: MessageBounds) -> Self {
        Self {
            said: Said::new(peer),
            bounds: bounds.json(),
            bytes: Vec::new(),
            start: 0,
            searched: 0,
            skipping: None,
        }
    }

    /// Takes the next bytes. Call [`next`](Self::next) until it gives none before the next ones, so
    /// that no more than a line is held.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.searched = self.searched.saturating_sub(self.start);
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether bytes are left that [`next`](Self::next) has not looked at, or not to the end of a line.
    pub(crate) fn has_more(&self) -> bool {
        self.start < self.bytes.len()
    }

    /// The next frame in what was pushed.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        loop {
            if self.skipping.is_some() {
                if let Some(frame) = self.skip()? {
                    return Some(frame);
                }
                continue;
            }
            let from = self.searched.max(self.start);
            let ahead = self.bytes.get(from..).unwrap_or_default();
            let Some(at) = ahead.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.bytes.len();
                let held = self.bytes.len().saturating_sub(self.start);
                if held <= self.bounds.bytes {
                    return None;
                }
                self.skipping = Some(Skipping {
                    outline: Outline::default(),
                    bytes: 0,
                    told: false,
                });
                continue;
            };
            let end = from + at;
            let line = self.bytes.get(self.start..end).unwrap_or_default().to_vec();
            self.start = end + 1;
            self.searched = self.start;
            if let Some(frame) = self.line(&line) {
                return Some(frame);
            }
        }
    }

    /// The outer option is none when more bytes are needed, the inner one when the line is over and
    /// there is nothing to tell.
    #[expect(
        clippy::option_option,
        reason = "more bytes, or a further look at what is there"
    )]
    fn skip(&mut self) -> Option<Option<Frame>> {
        let limit_bytes = self.bounds.bytes;
        let skipping = self.skipping.as_mut()?;
        let ahead = self.bytes.get(self.start..).unwrap_or_default();
        let end = ahead.iter().position(|byte| *byte == b'\n');
        if ahead.is_empty() {
            return None;
        }
        let part = ahead.get(..end.unwrap_or(ahead.len())).unwrap_or_default();
        skipping.outline.push(part);
        skipping.bytes = skipping.bytes.saturating_add(part.len());
        self.start += part.len() + usize::from(end.is_some());
        self.searched = self.start;
        let broken = skipping.outline.found().map(|(id, is_request)| Broken {
            id,
            is_request,
            fault: Fault::TooLong { limit_bytes },
        });
        let (bytes, told) = (skipping.bytes, skipping.told);
        let tell = broken.filter(|_| !told);
        skipping.told |= tell.is_some();
        if end.is_some() {
            self.skipping = None;
            if tell.is_none()
                && !told
                && let Some(peer) = self.said.shown(b"").map(|_nothing| self.said.by())
            {
                tracing::warn!(peer, bytes, "a line over its bound was skipped");
            }
            return Some(tell.map(Frame::Broken));
        }
        if let Some(broken) = tell {
            return Some(Some(Frame::Broken(broken)));
        }
        if bytes > limit_bytes.saturating_mul(FLOOD) {
            return Some(Some(Frame::Flood));
        }
        None
    }

    fn line(&mut self, line: &[u8]) -> Option<Frame> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let error = match json::parse_bytes(line, &self.bounds) {
            Ok(message @ Value::Object(_)) => return Some(Frame::Message(message)),
            Ok(other) => {
                json::discard(other);
                JsonError::NotAnObject
            }
            Err(error) => error,
        };
        let broken = broken(line, &error, self.bounds.bytes);
        if broken.is_none() {
            self.log(line, &error);
        }
        broken.map(Frame::Broken)
    }

    fn log(&mut self, line: &[u8], error: &JsonError) {
        let bytes = line.len();
        if let Some(line) = self.said.shown(line) {
            let peer = self.said.by();
            tracing::warn!(peer, bytes, %error, line, "a line that is no message was skipped");
        }
    }

    /// What the log shows of this peer, for those who look at its messages further.
    pub(crate) fn said(&mut self) -> &mut Said {
        &mut self.said
    }
}

/// What is known of a message that can't be taken; none when it does not even name its id.
pub(crate) fn broken(message: &[u8], error: &JsonError, limit_bytes: usize) -> Option<Broken> {
    let mut outline = Outline::default();
    outline.push(message);
    let (id, is_request) = outline.found()?;
    let fault = match error {
        JsonError::TooLarge { .. } => Fault::TooLong { limit_bytes },
        other => Fault::Invalid {
            reason: other.to_string(),
        },
    };
    Some(Broken {
        id,
        is_request,
        fault,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frames(bytes: &[u8], piece: usize, message_bytes: usize) -> Vec<Frame> {
        let mut framer = Framer::new("test".into(), MessageBounds { message_bytes });
        let mut found = Vec::new();
        for piece in bytes.chunks(piece) {
            framer.push(piece);
            found.extend(std::iter::from_fn(|| framer.next()));
        }
        found
    }

    fn broken(id: i64, fault: Fault) -> Frame {
        Frame::Broken(Broken {
            id: json!(id),
            is_request: false,
            fault,
        })
    }

    #[test]
    fn mc06_lines_are_cut_alike_however_they_are_split() {
        let stream = b"banner\n\xff\xfe\n{\"a\":\"x\xe2\x80\xa8y\"}\r\n\n[1]\n{\"b\":1}\n{\"c\":";
        let expected = [json!({"a": "x\u{2028}y"}), json!({"b": 1})].map(Frame::Message);
        for piece in 1..=stream.len() {
            assert_eq!(frames(stream, piece, 64), expected, "{piece}");
        }
    }

    #[test]
    fn mc05_a_long_line_fails_the_request_it_answers_and_the_next_is_taken() {
        let fault = || Fault::TooLong { limit_bytes: 32 };
        let text = "x".repeat(200);
        let stream = format!("{{\"id\":7,\"result\":\"{text}\"}}\n{{\"a\":1}}\n");
        let late = format!("{{\"result\":\"{text}\",\"id\":7}}\n{{\"a\":1}}\n");
        let silent = format!("{text}\n{{\"a\":1}}\n");
        for piece in 1..=64 {
            let after = || Frame::Message(json!({"a": 1}));
            let taken = |stream: &str| frames(stream.as_bytes(), piece, 32);
            assert_eq!(taken(&stream), [broken(7, fault()), after()], "{piece}");
            assert_eq!(taken(&late), [broken(7, fault()), after()], "{piece}");
            assert_eq!(taken(&silent), [after()], "{piece}");
        }
    }

    #[test]
    fn mc05_a_line_without_an_end_is_given_up_at_sixteen_times_its_bound() {
        for (bytes, flood) in [(511, false), (512, false), (513, true)] {
            let stream = "x".repeat(bytes);
            let found = frames(stream.as_bytes(), 1, 32);
            assert_eq!(found.contains(&Frame::Flood), flood, "{bytes}");
        }
    }
}
