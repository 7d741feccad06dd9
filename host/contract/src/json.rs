//! JSON as the product reads it: strict, bounded, and taken apart without recursion.
//!
//! A text is scanned once for size, depth and integers that would be rounded, then parsed by
//! `serde_json` with a visitor that refuses duplicate keys. Values that code has built go
//! through [`check`] instead. Deliberately absent: schemas, and any way to read JSON loosely.
//!
//! `serde_json` turns NaN and infinities into null when it converts from `f64`: build such
//! numbers with `serde_json::Number::from_f64`, which answers `None`.

use std::fmt::{self, Write as _};

use serde::{Serialize, Serializer};

use crate::strict;
use crate::text::cut;

pub use serde_json::Value;

/// A JSON object, in the order in which its keys were written.
pub type JsonObject = serde_json::Map<String, Value>;

/// The deepest nesting that any bound may allow: what parsing and writing, which recurse, do
/// within a small thread stack.
pub const MAX_DEPTH: usize = 512;

/// How much of an offending key an error repeats, in bytes.
const KEY_BYTES: usize = 128;

/// How much of a pointer an error repeats, in bytes.
const POINTER_BYTES: usize = 512;

/// How large and how deep a JSON value may be. Default: 1 MiB and 128 levels.
///
/// A scalar has depth 0, `[]` has depth 1. A depth above [`MAX_DEPTH`] counts as [`MAX_DEPTH`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonBounds {
    /// The longest text, in bytes of UTF-8.
    pub bytes: usize,
    /// The deepest nesting of arrays and objects.
    pub depth: usize,
}

impl Default for JsonBounds {
    fn default() -> Self {
        Self {
            bytes: 1024 * 1024,
            depth: 128,
        }
    }
}

impl JsonBounds {
    /// The depth that holds: never above [`MAX_DEPTH`].
    pub(crate) fn usable_depth(&self) -> usize {
        self.depth.min(MAX_DEPTH)
    }
}

/// Why a JSON text or value was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// It is longer than the bound. For a value built by code, `bytes` is what had been
    /// counted when the bound was passed.
    #[error("JSON has {bytes} bytes or more, the limit is {limit_bytes}")]
    TooLarge {
        /// The size that was seen.
        bytes: usize,
        /// The bound.
        limit_bytes: usize,
    },
    /// It nests deeper than the bound.
    #[error("JSON nests deeper than {limit} levels")]
    TooDeep {
        /// The bound.
        limit: usize,
    },
    /// An object has one key twice.
    #[error("duplicate key `{}` at `{pointer}`", key.escape_debug())]
    DuplicateKey {
        /// JSON pointer of the object; empty for the document itself.
        pointer: String,
        /// The key, cut to 128 bytes.
        key: String,
    },
    /// An integer is outside −2^63 to 2^64−1, so it could only be kept rounded.
    #[error("integer out of range at line {line} column {column}")]
    IntegerOutOfRange {
        /// Line of the first digit, from 1.
        line: usize,
        /// Column of the first digit in bytes, from 1.
        column: usize,
    },
    /// The bytes are not UTF-8.
    #[error("JSON is not UTF-8 at byte {at_byte}")]
    NotUtf8 {
        /// Offset of the first bad byte, from 0.
        at_byte: usize,
    },
    /// It is not JSON.
    #[error("{reason} at line {line} column {column}")]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column, from 0.
        column: usize,
        /// What the parser expected.
        reason: String,
    },
    /// It is JSON, but an object is needed.
    #[error("expected a JSON object")]
    NotAnObject,
}

/// Reads one JSON document.
///
/// # Errors
/// Every variant of [`JsonError`] but `NotUtf8` and `NotAnObject`.
///
/// Source: SPEC C1, C8.
pub fn parse(text: &str, bounds: &JsonBounds) -> Result<Value, JsonError> {
    if text.len() > bounds.bytes {
        return Err(JsonError::TooLarge {
            bytes: text.len(),
            limit_bytes: bounds.bytes,
        });
    }
    scan(text.as_bytes(), bounds.usable_depth())?;
    strict::read(text)
}

/// Reads one JSON document from bytes that may not be UTF-8.
///
/// # Errors
/// As [`parse`], and `NotUtf8`.
pub fn parse_bytes(bytes: &[u8], bounds: &JsonBounds) -> Result<Value, JsonError> {
    if bytes.len() > bounds.bytes {
        return Err(JsonError::TooLarge {
            bytes: bytes.len(),
            limit_bytes: bounds.bytes,
        });
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text, bounds),
        Err(error) => Err(JsonError::NotUtf8 {
            at_byte: error.valid_up_to(),
        }),
    }
}

/// Checks the depth and the serialised size of a value that code has built.
///
/// # Errors
/// `TooDeep` or `TooLarge`; the work done is bounded by the size limit.
pub fn check(value: &Value, bounds: &JsonBounds) -> Result<(), JsonError> {
    measure(value, bounds).map(|_bytes| ())
}

/// The compact serialised size of a value in bytes.
///
/// # Errors
/// `TooDeep` or `TooLarge`; the work done is bounded by the size limit.
pub fn measure(value: &Value, bounds: &JsonBounds) -> Result<usize, JsonError> {
    let limit = bounds.usable_depth();
    let mut size = 0_usize;
    let mut open: Vec<Level<'_>> = Vec::new();
    let mut next = Some(value);
    loop {
        if let Some(value) = next {
            size = size.saturating_add(own_size(value));
            if let Some(level) = Level::of(value) {
                if open.len() >= limit {
                    return Err(JsonError::TooDeep { limit });
                }
                open.push(level);
            }
        }
        if size > bounds.bytes {
            return Err(JsonError::TooLarge {
                bytes: size,
                limit_bytes: bounds.bytes,
            });
        }
        let Some(level) = open.last_mut() else {
            return Ok(size);
        };
        next = level.step(&mut size);
        if next.is_none() {
            open.pop();
        }
    }
}

/// Takes a value apart without recursion, so that one nested 100,000 deep does not overflow
/// the stack as its own drop would.
pub fn discard(value: Value) {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(fields) => pending.extend(fields.into_iter().map(|(_key, value)| value)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

/// One array or object that [`measure`] is inside of.
enum Level<'a> {
    Array(std::slice::Iter<'a, Value>),
    Object(serde_json::map::Iter<'a>),
}

impl<'a> Level<'a> {
    fn of(value: &'a Value) -> Option<Self> {
        match value {
            Value::Array(items) => Some(Self::Array(items.iter())),
            Value::Object(fields) => Some(Self::Object(fields.iter())),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }

    /// The next child; its key and the colon are added to `size`.
    fn step(&mut self, size: &mut usize) -> Option<&'a Value> {
        match self {
            Self::Array(items) => items.next(),
            Self::Object(fields) => fields.next().map(|(key, value)| {
                *size = size.saturating_add(string_size(key)).saturating_add(1);
                value
            }),
        }
    }
}

/// What a value adds itself: a scalar whole, a container its brackets and commas.
fn own_size(value: &Value) -> usize {
    let brackets = |items: usize| 2_usize.saturating_add(items.saturating_sub(1));
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => {
            let mut counter = Counter(0);
            match write!(counter, "{number}") {
                // A counter never fails; what it has counted stands either way.
                Ok(()) | Err(fmt::Error) => counter.0,
            }
        }
        Value::String(text) => string_size(text),
        Value::Array(items) => brackets(items.len()),
        Value::Object(fields) => brackets(fields.len()),
    }
}

/// The size of a string with its quotes and escapes.
fn string_size(text: &str) -> usize {
    // So many that their escapes can be added up in a byte, which a compiler does in wide steps.
    let pieces = text.as_bytes().chunks(32);
    let escapes: usize = pieces
        .map(|piece| {
            let more = piece.iter().map(|byte| escape_size(*byte));
            usize::from(more.fold(0_u8, u8::wrapping_add))
        })
        .sum();
    text.len().saturating_add(escapes).saturating_add(2)
}

/// How many bytes more than itself a byte is in a string: one for a backslash before it, five for
/// `\u001b`. Without a branch.
fn escape_size(byte: u8) -> u8 {
    let is_quoted = matches!(byte, b'"' | b'\\');
    let is_control = byte < 0x20;
    let has_letter = matches!(byte, 0x08..=0x0a | 0x0c..=0x0d);
    u8::from(is_quoted) + 5 * u8::from(is_control) - 4 * u8::from(has_letter)
}

/// Counts the bytes written to it.
struct Counter(usize);

impl fmt::Write for Counter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.saturating_add(text.len());
        Ok(())
    }
}

/// One pass over the bytes, before the parser: nesting and integers, nothing else. It doesn't
/// judge syntax; what it misreads in a text that is no JSON, the parser refuses.
fn scan(bytes: &[u8], limit: usize) -> Result<(), JsonError> {
    let mut depth = 0_usize;
    let mut at = 0_usize;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at + 1);
                continue;
            }
            b'-' | b'0'..=b'9' => {
                at = number_end(bytes, at)?;
                continue;
            }
            b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    return Err(JsonError::TooDeep { limit });
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// The offset after the closing quote of a string whose content starts at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(rest) = bytes.get(at..) {
        // Wide steps first, then the byte itself.
        let is_special = |byte: &u8| matches!(byte, b'"' | b'\\');
        let plain = rest
            .chunks_exact(16)
            .take_while(|piece| !piece.iter().fold(false, |any, byte| any | is_special(byte)));
        let plain = 16 * plain.count();
        let near = rest.get(plain..).unwrap_or_default();
        let Some(step) = near.iter().position(is_special) else {
            return bytes.len();
        };
        let step = plain + step;
        match rest.get(step) {
            Some(b'"') => return at + step + 1,
            // A backslash and whatever it escapes.
            _ => at += step + 2,
        }
    }
    bytes.len()
}

/// The offset after the number that starts at `start`, refused when it is an integer that
/// neither `i64` nor `u64` holds.
fn number_end(bytes: &[u8], start: usize) -> Result<usize, JsonError> {
    let rest = bytes.get(start..).unwrap_or_default();
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let length = rest.iter().position(|byte| !is_part(byte));
    let literal = rest.get(..length.unwrap_or(rest.len())).unwrap_or(rest);
    let (negative, digits) = match literal.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, literal),
    };
    let fits = digits.len() < 19
        || !digits.iter().all(u8::is_ascii_digit)
        || std::str::from_utf8(literal).is_ok_and(|text| {
            if negative {
                text.parse::<i64>().is_ok()
            } else {
                text.parse::<u64>().is_ok()
            }
        });
    if fits {
        return Ok(start + literal.len());
    }
    let before = bytes.get(..start).unwrap_or_default();
    let line_start = before.iter().rposition(|byte| *byte == b'\n');
    Err(JsonError::IntegerOutOfRange {
        line: before.split(|byte| *byte == b'\n').count(),
        column: start + 1 - line_start.map_or(0, |newline| newline + 1),
    })
}

/// The error for a key that an object has twice. `path` runs from the inside out.
pub(crate) fn duplicate_key(key: &str, path: &[String]) -> JsonError {
    let mut pointer = String::new();
    for segment in path.iter().rev() {
        pointer.push('/');
        pointer.push_str(&segment.replace('~', "~0").replace('/', "~1"));
    }
    JsonError::DuplicateKey {
        pointer: cut(&pointer, POINTER_BYTES).to_owned(),
        key: cut(key, KEY_BYTES).to_owned(),
    }
}

/// One checked JSON document: the text as it was written and the value it means.
///
/// Arguments are parsed once at the door; the text is what a component is handed. Two
/// documents are equal when their values are.
#[derive(Clone, Debug)]
pub struct Document {
    text: Box<str>,
    value: Value,
}

impl Document {
    /// Parses a text and keeps it.
    ///
    /// # Errors
    /// As [`parse`].
    pub fn parse(text: String, bounds: &JsonBounds) -> Result<Self, JsonError> {
        let value = parse(&text, bounds)?;
        Ok(Self {
            text: text.into_boxed_str(),
            value,
        })
    }

    /// Checks a value and writes its text. A refused value is taken apart iteratively.
    ///
    /// # Errors
    /// `TooDeep` or `TooLarge`.
    pub fn from_value(value: Value, bounds: &JsonBounds) -> Result<Self, JsonError> {
        if let Err(error) = check(&value, bounds) {
            discard(value);
            return Err(error);
        }
        Ok(Self {
            // `Value`'s Display is its compact JSON.
            text: value.to_string().into_boxed_str(),
            value,
        })
    }

    /// The document `{}`.
    #[must_use]
    pub fn empty_object() -> Self {
        Self {
            text: "{}".into(),
            value: Value::Object(JsonObject::new()),
        }
    }

    /// The text, as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The value, where it is an object.
    #[must_use]
    pub fn as_object(&self) -> Option<&JsonObject> {
        self.value.as_object()
    }
}

impl PartialEq for Document {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}
