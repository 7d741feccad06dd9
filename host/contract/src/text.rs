//! Text that is bounded in bytes and always UTF-8: cutting, and collecting a stream.
//!
//! What was left out is a number in a field of its own, never a marker inside the text, so the
//! bound holds for the text itself. Deliberately absent: line limits, which belong to tools.

use serde::Serialize;

/// The longest prefix of `text` that has at most `max_bytes` bytes and splits no character.
#[must_use]
pub fn cut(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes))
        .unwrap_or(text)
}

/// A text within its bound, and how much did not fit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BoundedText {
    text: String,
    omitted_bytes: u64,
}

impl BoundedText {
    /// Keeps what fits of a text.
    #[must_use]
    pub fn new(text: &str, max_bytes: usize) -> Self {
        let kept = cut(text, max_bytes);
        Self {
            text: kept.to_owned(),
            omitted_bytes: wide(text.len() - kept.len()),
        }
    }

    /// What was kept.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many bytes of the original were left out; 0 when all is there.
    #[must_use]
    pub fn omitted_bytes(&self) -> u64 {
        self.omitted_bytes
    }

    /// Whether there was nothing at all: nothing kept and nothing left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.omitted_bytes == 0
    }
}

/// Collects a byte stream into a [`BoundedText`], however it is split into writes.
///
/// It keeps the first `max_bytes` bytes and counts the rest; memory never passes the bound.
#[derive(Clone, Debug)]
pub struct TextBuffer {
    kept: Vec<u8>,
    max_bytes: usize,
    omitted_bytes: u64,
}

impl TextBuffer {
    /// An empty buffer for at most `max_bytes` bytes.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        Self {
            kept: Vec::new(),
            max_bytes,
            omitted_bytes: 0,
        }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = self.max_bytes.saturating_sub(self.kept.len());
        let (fits, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        let needed = self.kept.len() + fits.len();
        if needed > self.kept.capacity() {
            // Doubling by hand, so that the last step stops at the bound.
            let target = needed.max(self.kept.capacity().saturating_mul(2));
            let target = target.min(self.max_bytes);
            self.kept.reserve_exact(target - self.kept.len());
        }
        self.kept.extend_from_slice(fits);
        self.omitted_bytes = self.omitted_bytes.saturating_add(wide(rest.len()));
    }

    /// Decodes what was kept. Each maximal invalid sequence becomes one U+FFFD, also a lead
    /// byte that the stream ended on; a character that the bound has split is left out and
    /// counted. The text is never longer than the bound, even where U+FFFD takes more bytes
    /// than what it stands for; `omitted_bytes` counts bytes of the stream.
    #[must_use]
    pub fn finish(self) -> BoundedText {
        if self.omitted_bytes == 0
            && let Ok(text) = std::str::from_utf8(&self.kept)
        {
            return BoundedText {
                text: text.to_owned(),
                omitted_bytes: 0,
            };
        }
        let (text, used) = self.decode();
        let unused = wide(self.kept.len() - used);
        BoundedText {
            text,
            omitted_bytes: self.omitted_bytes.saturating_add(unused),
        }
    }

    /// The text, and how many of the kept bytes it stands for.
    fn decode(&self) -> (String, usize) {
        let mut text = String::with_capacity(self.kept.len());
        let mut used = 0;
        for chunk in self.kept.utf8_chunks() {
            let valid = cut(chunk.valid(), self.max_bytes - text.len());
            text.push_str(valid);
            used += valid.len();
            if valid.len() < chunk.valid().len() {
                break;
            }
            let invalid = chunk.invalid();
            let room = self.max_bytes - text.len() >= char::REPLACEMENT_CHARACTER.len_utf8();
            if invalid.is_empty() || !room || self.is_split_by_the_bound(used, invalid) {
                break;
            }
            text.push(char::REPLACEMENT_CHARACTER);
            used += invalid.len();
        }
        (text, used)
    }

    /// Whether these bytes at the very end are the start of a character whose rest was left out.
    fn is_split_by_the_bound(&self, at: usize, bytes: &[u8]) -> bool {
        let is_last = at + bytes.len() == self.kept.len();
        let is_unfinished =
            std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none());
        self.omitted_bytes > 0 && is_last && is_unfinished
    }
}

/// A length as it goes on the wire.
fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
