//! From the bytes of a stream to text that is safe to show and within its bounds (SPEC R4).
//!
//! The text is valid UTF-8 without control characters other than newline and tab, and the carriage
//! return of a line that ends in CR LF. Anything else is written as `\x1b` (a byte that is no
//! UTF-8, C0, DEL) or `\u{202e}` (C1, the Unicode line ends, marks that turn the direction of
//! text). A backslash stays as it is, so an escape is for reading, not for turning back. What was
//! left out is told in numbers; no marker is ever put into the text.

use std::fmt::Write as _;

/// The most of a stream that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Bytes of the text, escapes included.
    pub(crate) bytes: usize,
    /// Lines, the last one with or without its newline.
    pub(crate) lines: usize,
}

/// The head of a stream as text, and what is missing of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BoundedText {
    pub(crate) text: String,
    /// Bytes of the stream that the text does not show.
    pub(crate) omitted_bytes: u64,
    /// Lines of which the text shows nothing; none where only the host has seen the end.
    pub(crate) omitted_lines: Option<u64>,
}

impl BoundedText {
    /// Keeps of a stream what fits. `missing` is how many bytes the host left out after these.
    pub(crate) fn new(stream: &[u8], missing: u64, bounds: Bounds) -> Self {
        let whole = if missing == 0 {
            stream
        } else {
            without_split_unit(stream)
        };
        let (text, used) = Head::read(whole, bounds);
        let rest = stream.get(used..).unwrap_or_default();
        let starts_in_line = !text.is_empty() && !text.ends_with('\n');
        let lines = lines(rest).saturating_sub(u64::from(starts_in_line));
        Self {
            text,
            omitted_bytes: missing.saturating_add(wide(rest.len())),
            omitted_lines: (missing == 0).then_some(lines),
        }
    }

    /// Whether the stream held nothing at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.omitted_bytes == 0
    }
}

/// The text so far.
struct Head {
    text: String,
    /// Bytes of the stream that it stands for.
    used: usize,
    whole_lines: usize,
    bounds: Bounds,
}

/// What stays together when a text is cut: one character, one escape, or CR LF.
#[derive(Clone, Copy)]
enum Unit {
    Plain(char),
    LineEnd,
    Byte(u8),
    Code(char),
}

impl Head {
    /// The text of a stream, and how many of its bytes that stands for.
    fn read(stream: &[u8], bounds: Bounds) -> (String, usize) {
        // Most output is small and plain: it is what is shown.
        if stream.len() <= bounds.bytes
            && plain_lines(stream).is_some_and(|newlines| newlines < bounds.lines)
            && let Ok(text) = str::from_utf8(stream)
        {
            return (text.to_owned(), text.len());
        }
        let mut head = Self {
            text: String::with_capacity(stream.len().min(bounds.bytes)),
            used: 0,
            whole_lines: 0,
            bounds,
        };
        for chunk in stream.utf8_chunks() {
            let fits = head.push_text(chunk.valid())
                && chunk
                    .invalid()
                    .iter()
                    .all(|byte| head.push(Unit::Byte(*byte)));
            if !fits {
                break;
            }
        }
        (head.text, head.used)
    }

    /// Adds a text as far as it fits; false where that is not to its end.
    fn push_text(&mut self, mut rest: &str) -> bool {
        loop {
            rest = match self.push_run(rest) {
                Some(after) => after,
                None => return false,
            };
            let mut characters = rest.chars();
            let Some(first) = characters.next() else {
                return true;
            };
            let unit = match (first, characters.as_str().strip_prefix('\n')) {
                ('\r', Some(after)) => {
                    characters = after.chars();
                    Unit::LineEnd
                }
                _ => Unit::of(first),
            };
            if !self.push(unit) {
                return false;
            }
            rest = characters.as_str();
        }
    }

    /// Adds the printable ASCII that a text starts with, all at once: most text is no more than
    /// that. Gives the text behind it, or nothing where it does not fit.
    fn push_run<'a>(&mut self, text: &'a str) -> Option<&'a str> {
        let is_special = |byte: u8| !matches!(byte, b' '..=b'~' | b'\t');
        let length = text.bytes().position(is_special).unwrap_or(text.len());
        if length == 0 {
            return Some(text);
        }
        let room = self.room();
        let (run, after) = text.split_at_checked(length.min(room))?;
        self.text.push_str(run);
        self.used += run.len();
        (length <= room).then_some(after)
    }

    /// Adds the next unit; false where it does not fit.
    fn push(&mut self, unit: Unit) -> bool {
        if unit.shown_bytes() > self.room() {
            return false;
        }
        unit.write(&mut self.text);
        self.used += unit.stream_bytes();
        self.whole_lines += usize::from(matches!(unit, Unit::Plain('\n') | Unit::LineEnd));
        true
    }

    /// How many more bytes fit into the text: none once all its lines are there.
    fn room(&self) -> usize {
        if self.whole_lines < self.bounds.lines {
            self.bounds.bytes.saturating_sub(self.text.len())
        } else {
            0
        }
    }
}

impl Unit {
    fn of(character: char) -> Self {
        match character {
            ' '..='~' | '\n' | '\t' => Self::Plain(character),
            '\0'..='\x1f' | '\x7f' => Self::Byte(u8::try_from(character).unwrap_or_default()),
            // C1, the Unicode line ends, and what has the property Bidi_Control.
            '\u{80}'..='\u{9f}'
            | '\u{2028}'..='\u{2029}'
            | '\u{61c}'
            | '\u{200e}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => Self::Code(character),
            _ => Self::Plain(character),
        }
    }

    /// How many bytes of the stream it is.
    fn stream_bytes(self) -> usize {
        match self {
            Self::Plain(character) | Self::Code(character) => character.len_utf8(),
            Self::LineEnd => 2,
            Self::Byte(_) => 1,
        }
    }

    /// How many bytes of text it becomes.
    fn shown_bytes(self) -> usize {
        match self {
            Self::Plain(character) => character.len_utf8(),
            Self::LineEnd => 2,
            Self::Byte(_) => "\\x1b".len(),
            // Two digits for C1, three for U+061C, four for all others.
            Self::Code('\0'..='\u{ff}') => "\\u{9b}".len(),
            Self::Code('\0'..='\u{fff}') => "\\u{61c}".len(),
            Self::Code(_) => "\\u{202e}".len(),
        }
    }

    fn write(self, text: &mut String) {
        // Writing to a string can't fail.
        let _written = match self {
            Self::Plain(character) => text.write_char(character),
            Self::LineEnd => text.write_str("\r\n"),
            Self::Byte(byte) => write!(text, "\\x{byte:02x}"),
            Self::Code(character) => write!(text, "\\u{{{:x}}}", u32::from(character)),
        };
    }
}

/// How many newlines there are, if there is nothing else but printable ASCII and tabs.
fn plain_lines(stream: &[u8]) -> Option<usize> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\n');
    // Pieces whose newlines fit into the count of a byte: a compiler goes through them in wide steps.
    let newlines = stream.chunks(128).map(|piece| {
        let (newlines, others) = piece.iter().fold((0_u8, 0_u8), |(newlines, others), byte| {
            let newlines = newlines.wrapping_add(u8::from(*byte == b'\n'));
            (newlines, others | u8::from(!is_plain(*byte)))
        });
        (others == 0).then_some(usize::from(newlines))
    });
    newlines.sum()
}

/// The stream without what stands at its end and may be the start of a unit of which the host has
/// left out the rest: part of a character, or a carriage return.
fn without_split_unit(stream: &[u8]) -> &[u8] {
    if let Some(before) = stream.strip_suffix(b"\r") {
        return before;
    }
    let last = stream.utf8_chunks().last();
    let invalid = last.map(|chunk| chunk.invalid()).unwrap_or_default();
    let is_unfinished =
        std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
    if is_unfinished {
        stream.strip_suffix(invalid).unwrap_or(stream)
    } else {
        stream
    }
}

/// How many lines a text has; a newline at its end begins no other.
fn lines(text: &[u8]) -> u64 {
    wide(text.split_inclusive(|byte| *byte == b'\n').count())
}

/// A length as it goes on the wire.
fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
