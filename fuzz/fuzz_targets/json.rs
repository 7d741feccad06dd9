//! The strict, bounded JSON reader against `serde_json` and against a reader that keeps every key.
//!
//! Held: it never panics; what it accepts is what `serde_json` reads, within depth and size; an
//! object with one key twice is refused, and nothing else that is in range is; what it accepts it
//! writes and reads back the same.
#![no_main]

use std::collections::BTreeSet;
use std::fmt;

use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use tidegate_contract::json::{self, Document, JsonBounds, JsonError, Value};

fuzz_target!(|bytes: &[u8]| {
    check(bytes, JsonBounds::default());
    check(
        bytes,
        JsonBounds {
            bytes: 64,
            depth: 3,
        },
    );
});

fn check(bytes: &[u8], bounds: JsonBounds) {
    let strict = json::parse_bytes(bytes, &bounds);
    let Ok(text) = std::str::from_utf8(bytes) else {
        assert!(strict.is_err(), "not UTF-8");
        return;
    };
    let loose = read::<Value>(text);
    let kept = read::<Kept>(text);
    match strict {
        Ok(value) => {
            let kept = kept.expect("serde_json reads it too");
            assert!(!kept.has_duplicate(), "a duplicate key is accepted");
            assert!(kept.depth() <= bounds.depth, "deeper than the bound");
            assert!(bytes.len() <= bounds.bytes, "longer than the bound");
            assert_eq!(loose.as_ref(), Some(&value), "another value");
            written(&value);
            json::discard(value);
        }
        Err(error) => refused(&error, text, loose.as_ref(), kept.as_ref(), bounds),
    }
    if let Some(value) = loose {
        json::discard(value);
    }
}

/// What was accepted is written and read back the same, and its size is known beforehand.
fn written(value: &Value) {
    let wide = JsonBounds {
        bytes: usize::MAX,
        depth: json::MAX_DEPTH,
    };
    let text = value.to_string();
    assert_eq!(json::measure(value, &wide), Ok(text.len()));
    assert_eq!(json::parse(&text, &wide).as_ref(), Ok(value));
    let tight = JsonBounds {
        bytes: text.len(),
        depth: json::MAX_DEPTH,
    };
    let document = Document::parse(text, &tight).expect("within its own size");
    assert_eq!(document.value(), value);
    if let Some(bytes) = tight.bytes.checked_sub(1) {
        assert!(json::check(value, &JsonBounds { bytes, ..tight }).is_err());
    }
}

/// A refusal has its reason in the text.
fn refused(
    error: &JsonError,
    text: &str,
    loose: Option<&Value>,
    kept: Option<&Kept>,
    bounds: JsonBounds,
) {
    assert!(error.to_string().len() < 4096, "an error is short");
    match error {
        JsonError::TooLarge { .. } => assert!(text.len() > bounds.bytes),
        JsonError::TooDeep { .. } => {
            assert!(kept.is_none_or(|kept| kept.depth() > bounds.depth));
        }
        JsonError::DuplicateKey { .. } => {
            assert!(kept.is_none_or(Kept::has_duplicate));
        }
        JsonError::IntegerOutOfRange { .. } => {
            assert!(loose.is_none_or(has_large_float) || kept.is_some_and(Kept::has_duplicate));
        }
        JsonError::Syntax { .. } => assert!(kept.is_none(), "serde_json reads it: {error}"),
        JsonError::NotUtf8 { .. } | JsonError::NotAnObject => panic!("{error}"),
    }
}

/// Whether a number is there that an integer out of range would have become.
fn has_large_float(value: &Value) -> bool {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Number(number) => {
                let large = |number: f64| number.abs() >= 9.2e18;
                if number.is_f64() && number.as_f64().is_some_and(large) {
                    return true;
                }
            }
            Value::Array(items) => pending.extend(items),
            Value::Object(fields) => pending.extend(fields.values()),
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
    false
}

/// Reads without the parser's own bound of depth; none for what is too deep for this stack.
fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Option<T> {
    if text
        .bytes()
        .filter(|byte| matches!(byte, b'[' | b'{'))
        .count()
        > 2_000
    {
        return None;
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let value = T::deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(value)
}

/// The shape of a document with every key that was written.
enum Kept {
    Leaf,
    Array(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Kept {
    fn has_duplicate(&self) -> bool {
        match self {
            Self::Leaf => false,
            Self::Array(items) => items.iter().any(Self::has_duplicate),
            Self::Object(fields) => {
                let names: BTreeSet<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
                names.len() < fields.len() || fields.iter().any(|(_, kept)| kept.has_duplicate())
            }
        }
    }

    fn depth(&self) -> usize {
        let deepest = match self {
            Self::Leaf => return 0,
            Self::Array(items) => items.iter().map(Self::depth).max(),
            Self::Object(fields) => fields.iter().map(|(_, kept)| kept.depth()).max(),
        };
        1 + deepest.unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Keeper)
    }
}

struct Keeper;

impl<'de> Visitor<'de> for Keeper {
    type Value = Kept;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Kept, E> {
        Ok(Kept::Leaf)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Kept, E> {
        Ok(Kept::Leaf)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Kept, E> {
        Ok(Kept::Leaf)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Kept, E> {
        Ok(Kept::Leaf)
    }

    fn visit_str<E>(self, _: &str) -> Result<Kept, E> {
        Ok(Kept::Leaf)
    }

    fn visit_unit<E>(self) -> Result<Kept, E> {
        Ok(Kept::Leaf)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Kept, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Kept::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Kept, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = access.next_entry()? {
            fields.push(field);
        }
        Ok(Kept::Object(fields))
    }
}
