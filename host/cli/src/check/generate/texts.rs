//! Texts: plain words, and what trips code that took text to be plain words.

use tidegate_contract::{JsonObject, Value};

use super::{Size, bound};
use crate::check::random::Random;

/// The longest text that is made, in characters, unless its schema asks for more, and then.
const CHARACTERS: usize = 2_000;
const LONGEST: usize = 100_000;

/// Texts of the formats of JSON Schema.
const FORMATS: [(&str, &str); 10] = [
    ("date-time", "2026-11-30T12:00:00Z"),
    ("date", "2026-11-30"),
    ("time", "12:00:00Z"),
    ("duration", "PT1H"),
    ("email", "ada@example.com"),
    ("hostname", "example.com"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("uri", "https://example.com/a?b=c"),
    ("uuid", "0b7d1c1e-6f6e-4c51-9d4e-2f8f4a3b1c5d"),
];

/// Texts that many patterns take.
const COMMON: [&str; 16] = [
    "a",
    "1",
    "A",
    "abc",
    "ABC",
    "a-b",
    "a_b",
    "a.txt",
    "a/b",
    "1-2",
    "1,3-5",
    "2026-11-30",
    "12:00",
    "https://example.com/",
    "#ffffff",
    "sha-256:00",
];

/// Words to fill texts with: letters of one to four bytes, quotes, escapes, marks of a line's end.
const WORDS: [&str; 14] = [
    "word",
    "Two",
    "3",
    "é",
    "☃",
    "𝄞",
    "\"quoted\"",
    "back\\slash",
    "a b",
    "line\nbreak",
    "tab\t",
    "{}",
    "%s",
    "'",
];

pub(super) fn make(schema: &JsonObject, size: Size, random: &mut Random) -> Value {
    let format = schema.get("format").and_then(Value::as_str);
    if let Some((_, text)) = FORMATS.iter().find(|(name, _)| Some(*name) == format) {
        return Value::from(*text);
    }
    if schema.contains_key("pattern") {
        return random
            .pick(&COMMON)
            .copied()
            .map(Value::from)
            .unwrap_or_default();
    }
    let least = bound(schema, "minLength").unwrap_or(0).min(LONGEST);
    let most = bound(schema, "maxLength").unwrap_or(usize::MAX);
    let most = most.min(CHARACTERS.max(least));
    let length = match size {
        Size::Least => least,
        Size::Most => most,
        Size::Any => {
            least + random.below(most.min(least.saturating_add(60)).saturating_sub(least) + 1)
        }
    };
    let plain = size != Size::Any || random.coin();
    Value::from(filled(length, if plain { None } else { Some(random) }))
}

/// A text of so many characters: one letter, or words by chance.
fn filled(length: usize, random: Option<&mut Random>) -> String {
    let Some(random) = random else {
        return "a".repeat(length);
    };
    let mut text = String::new();
    let mut characters = 0;
    while characters < length {
        let word = random.pick(&WORDS).copied().unwrap_or("word");
        let room = length - characters;
        text.extend(word.chars().take(room));
        characters += word.chars().count().min(room);
    }
    text
}
