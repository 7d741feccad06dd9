//! Writing one JSON object of texts, numbers and flags. What a command printed is most of it, and
//! looking for what has to be escaped takes wide steps here.
//!
//! Deliberately absent: nested objects, and reading.

use std::fmt::Write as _;

/// An object that is being written, its fields in the order in which they come.
pub(crate) struct Object(String);

impl Object {
    /// An empty one, with room for so many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(String::with_capacity(bytes))
    }

    /// A field that is a text.
    pub(crate) fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        string(&mut self.0, text);
    }

    /// A field that is a list of texts.
    pub(crate) fn texts(&mut self, name: &str, texts: &[String]) {
        self.name(name);
        for (at, text) in texts.iter().enumerate() {
            self.0.push(if at == 0 { '[' } else { ',' });
            string(&mut self.0, text);
        }
        self.0.push_str(if texts.is_empty() { "[]" } else { "]" });
    }

    /// A field that is a number.
    pub(crate) fn number(&mut self, name: &str, number: u64) {
        self.name(name);
        self.0.push_str(&number.to_string());
    }

    /// A field that is true or false.
    pub(crate) fn flag(&mut self, name: &str, flag: bool) {
        self.name(name);
        self.0.push_str(if flag { "true" } else { "false" });
    }

    /// The text of the whole object.
    pub(crate) fn finish(mut self) -> String {
        self.0.push_str(if self.0.is_empty() { "{}" } else { "}" });
        self.0
    }

    fn name(&mut self, name: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        string(&mut self.0, name);
        self.0.push(':');
    }
}

/// Adds a text with its quotes and escapes.
fn string(json: &mut String, mut text: &str) {
    json.push('"');
    while let Some((run, rest)) = special(text).and_then(|at| text.split_at_checked(at)) {
        json.push_str(run);
        let mut characters = rest.chars();
        if let Some(character) = characters.next() {
            escape(json, character);
        }
        text = characters.as_str();
    }
    json.push_str(text);
    json.push('"');
}

fn escape(json: &mut String, character: char) {
    let letter = match character {
        '\n' => 'n',
        '\t' => 't',
        '\r' => 'r',
        '\u{8}' => 'b',
        '\u{c}' => 'f',
        '"' | '\\' => character,
        control => {
            // Writing to a string can't fail.
            let _written = write!(json, "\\u{:04x}", u32::from(control));
            return;
        }
    };
    json.push('\\');
    json.push(letter);
}

/// Where the first byte stands that must be escaped.
fn special(text: &str) -> Option<usize> {
    let (blocks, _) = text.as_bytes().as_chunks::<BLOCK>();
    for (block, start) in blocks.iter().zip((0..).step_by(BLOCK)) {
        let specials = specials(block);
        if specials != 0 {
            let first = usize::try_from(specials.trailing_zeros());
            return Some(start + first.unwrap_or_default());
        }
    }
    let behind = blocks.len() * BLOCK;
    let mut rest = text.as_bytes().get(behind..)?.iter();
    Some(behind + rest.position(|byte| is_special(*byte))?)
}

/// Bytes looked at together.
const BLOCK: usize = 16;

fn is_special(byte: u8) -> bool {
    byte < b' ' || matches!(byte, b'"' | b'\\')
}

/// Which bytes must be escaped; the first one is the lowest bit.
#[cfg(not(target_family = "wasm"))]
fn specials(block: &[u8; BLOCK]) -> u16 {
    let bits = (0..).zip(block).filter(|(_, byte)| is_special(**byte));
    bits.fold(0, |specials, (at, _)| specials | 1 << at)
}

/// Which bytes must be escaped; the first one is the lowest bit.
#[cfg(target_family = "wasm")]
#[target_feature(enable = "simd128")]
fn specials(block: &[u8; BLOCK]) -> u16 {
    use std::arch::wasm32::{i8x16_eq, u8x16_bitmask, u8x16_lt, u8x16_splat, u64x2, v128_or};

    let (halves, _) = block.as_chunks::<8>();
    let bytes = match halves {
        [low, high] => u64x2(u64::from_le_bytes(*low), u64::from_le_bytes(*high)),
        _ => return u16::MAX,
    };
    let is_quoted = v128_or(
        i8x16_eq(bytes, u8x16_splat(b'"')),
        i8x16_eq(bytes, u8x16_splat(b'\\')),
    );
    u8x16_bitmask(v128_or(is_quoted, u8x16_lt(bytes, u8x16_splat(b' '))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// As `serde_json` writes it.
    fn check(text: &str) {
        let mut written = String::new();
        string(&mut written, text);
        assert_eq!(written, json!(text).to_string(), "{text:?}");
    }

    #[test]
    fn every_text_is_what_serde_json_makes_of_it() {
        check("");
        for character in (0..0x300).chain([0x2028, 0xfffd, 0x10_ffff]) {
            let character = char::from_u32(character).unwrap();
            for before in [0, 1, 15, 16, 17, 40] {
                check(&format!("{}{character}", "x".repeat(before)));
                check(&format!("{}{character}{character}y", "é".repeat(before)));
            }
        }
        check(&"the quick brown \"fox\"\n\tjumps \\ over\r\n".repeat(50));
    }

    #[test]
    fn an_object_has_its_fields_in_order() {
        let mut object = Object::with_capacity(0);
        object.texts("none", &[]);
        object.texts("two", &["a".to_owned(), "\n".to_owned()]);
        object.number("number", u64::MAX);
        object.flag("yes", true);
        object.flag("no", false);
        object.text("text", "t");
        let expected = r#"{"none":[],"two":["a","\n"],"number":18446744073709551615,"yes":true,"no":false,"text":"t"}"#;
        assert_eq!(object.finish(), expected);
        assert_eq!(Object::with_capacity(0).finish(), "{}");
    }
}
