//! The outline of a message that can't be parsed: whose answer it is.
//!
//! It is read byte by byte in constant memory, so that a line of any length has one.

use tidegate_contract::Value;
use tidegate_contract::json::{self, JsonBounds};

/// The longest id that is kept, in bytes as it is written.
const ID_BYTES: usize = 512;

/// The keys that are told apart are shorter.
const KEY_BYTES: usize = 16;

/// What is known of a message after some of its bytes.
#[derive(Debug, Default)]
pub(super) struct Outline {
    depth: usize,
    place: Place,
    text: Text,
    /// The key of the message's own object that is read or was read last.
    key: Vec<u8>,
    id: Vec<u8>,
    ids: u32,
    kind: Option<Kind>,
    /// It is no object, or goes on after its end.
    garbage: bool,
}

/// Where in the message's own object a byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Key,
    Value,
    After,
}

/// Whether a byte stands in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Text {
    #[default]
    Outside,
    Inside,
    Escaped,
}

/// What a message is; one that is both is a request, which nobody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Request,
    Answer,
}

impl Outline {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// The id and whether it is a request, once both are known.
    pub(super) fn found(&self) -> Option<(Value, bool)> {
        let reads_id = self.place == Place::Value && self.key == b"id" && self.depth == 1;
        if self.garbage || self.ids != 1 || reads_id {
            return None;
        }
        let is_request = self.kind? == Kind::Request;
        let text = std::str::from_utf8(&self.id).ok()?;
        match json::parse(text, &JsonBounds::default()).ok()? {
            Value::Number(number) if number.is_i64() => Some((Value::Number(number), is_request)),
            Value::String(text) => Some((Value::String(text), is_request)),
            _ => None,
        }
    }

    fn step(&mut self, byte: u8) {
        if self.text != Text::Outside {
            self.text(byte);
            return;
        }
        let own = self.depth == 1;
        match byte {
            b'"' => {
                self.text = Text::Inside;
                if own && self.place == Place::Key {
                    self.key.clear();
                }
                self.keep(byte);
                self.garbage |= self.depth == 0;
            }
            b':' if own => {
                self.place = Place::Value;
                self.note();
            }
            b',' if own => self.place = Place::Key,
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.place = Place::After;
                }
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            other => {
                self.garbage |= self.depth == 0;
                self.keep(other);
            }
        }
    }

    fn open(&mut self, byte: u8) {
        self.garbage |= self.depth == 0 && (byte == b'[' || self.place == Place::After);
        // An id that is no scalar is none.
        self.keep(byte);
        if self.depth == 0 {
            self.place = Place::Key;
        }
        self.depth = self.depth.saturating_add(1);
    }

    fn text(&mut self, byte: u8) {
        if self.depth == 1 && self.place == Place::Key {
            let ends = byte == b'"' && self.text == Text::Inside;
            if !ends && self.key.len() < KEY_BYTES {
                self.key.push(byte);
            }
        }
        self.keep(byte);
        self.text = match (self.text, byte) {
            (Text::Inside, b'\\') => Text::Escaped,
            (Text::Inside, b'"') => Text::Outside,
            _ => Text::Inside,
        };
    }

    /// Keeps a byte of the id.
    fn keep(&mut self, byte: u8) {
        let of_id = self.depth == 1 && self.place == Place::Value && self.key == b"id";
        if of_id && self.id.len() < ID_BYTES {
            self.id.push(byte);
        }
    }

    fn note(&mut self) {
        match self.key.as_slice() {
            b"id" => {
                self.ids = self.ids.saturating_add(1);
                self.id.clear();
            }
            b"method" => self.kind = Some(Kind::Request),
            b"result" | b"error" if self.kind.is_none() => self.kind = Some(Kind::Answer),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(message: &str, expected: Option<&(Value, bool)>) {
        let mut outline = Outline::default();
        // Byte by byte, as a pipe may give them.
        message.bytes().for_each(|byte| outline.push(&[byte]));
        assert_eq!(outline.found().as_ref(), expected, "{message}");
    }

    #[test]
    fn ou07_the_id_of_a_broken_message_is_found() {
        check(
            r#"{"id":3,"result":{"x":"\ud83d"}}"#,
            Some(&(json!(3), false)),
        );
        check(
            r#"{"result":{"id":9,"a":[{"id":8}]},"id":"a\"b"}"#,
            Some(&(json!("a\"b"), false)),
        );
        check(r#" {"method":"x", "id" : -1 }"#, Some(&(json!(-1), true)));
        check(r#"{"error":{},"id":7,"#, Some(&(json!(7), false)));
        check(r#"{"id":7,"result":"#, Some(&(json!(7), false)));
    }

    #[test]
    fn ou07_an_id_that_is_not_told_is_not_guessed() {
        for message in [
            r#"{"id":7"#,
            r#"{"id":7}"#,
            r#"{"id":7,"id":8,"result":{}}"#,
            r#"{"id":[7],"result":{}}"#,
            r#"{"id":7.5,"result":{}}"#,
            r#"{"id":null,"result":{}}"#,
            r#"[{"id":7,"result":{}}]"#,
            r#"x{"id":7,"result":{}}"#,
            r#"{}{"id":7,"result":{}}"#,
            "",
            "}}}",
        ] {
            check(message, None);
        }
    }
}
