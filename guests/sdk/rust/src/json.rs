//! One delivery as a JSON object on one line, in the names of the wire. Written by hand: the JSON
//! inside a message is copied as it stands, never parsed.

use crate::{Artifact, Content, Delivery, Message, Part, Reference, Role};

/// The object of a delivery, without a line break in it or after it.
pub(crate) fn delivery(delivery: &Delivery) -> String {
    let mut line = String::new();
    line.push_str("{\"id\":");
    string(&mut line, &delivery.delivery_id);
    line.push_str(",\"message\":");
    message(&mut line, &delivery.message);
    if !delivery.artifacts.is_empty() {
        line.push_str(",\"artifacts\":");
        list(&mut line, &delivery.artifacts, artifact);
    }
    line.push('}');
    line
}

fn message(line: &mut String, message: &Message) {
    line.push_str("{\"role\":");
    string(line, role(message.role));
    line.push_str(",\"content\":");
    content(line, &message.content);
    optional(line, "name", message.name.as_deref());
    line.push('}');
}

fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

fn content(line: &mut String, content: &Content) {
    match content {
        Content::Text(text) => string(line, text),
        Content::Json(value) => json(line, value),
        Content::Parts(parts) => list(line, parts, part),
    }
}

fn part(line: &mut String, part: &Part) {
    match part {
        Part::Text(text) => {
            line.push_str("{\"type\":\"text\",\"text\":");
            string(line, text);
        }
        Part::Json(value) => {
            line.push_str("{\"type\":\"json\",\"data\":");
            json(line, value);
        }
        Part::Reference(target) => {
            line.push_str("{\"type\":\"reference\",\"reference\":");
            reference(line, target);
        }
    }
    line.push('}');
}

fn artifact(line: &mut String, artifact: &Artifact) {
    line.push_str("{\"name\":");
    string(line, &artifact.name);
    line.push_str(",\"reference\":");
    reference(line, &artifact.reference);
    line.push('}');
}

fn reference(line: &mut String, reference: &Reference) {
    line.push_str("{\"uri\":");
    string(line, &reference.uri);
    optional(line, "mediaType", reference.media_type.as_deref());
    optional(line, "digest", reference.digest.as_deref());
    line.push('}');
}

fn optional(line: &mut String, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        line.push(',');
        string(line, key);
        line.push(':');
        string(line, value);
    }
}

fn list<T>(line: &mut String, items: &[T], write: fn(&mut String, &T)) {
    line.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            line.push(',');
        }
        write(line, item);
    }
    line.push(']');
}

/// A JSON value on one line: in valid JSON a line break stands between tokens only, so that a
/// space in its place changes nothing.
fn json(line: &mut String, value: &str) {
    line.extend(value.chars().map(|character| match character {
        '\n' | '\r' => ' ',
        other => other,
    }));
}

/// A JSON string (RFC 8259, section 7): quote, backslash and the C0 controls are escaped.
fn string(line: &mut String, text: &str) {
    line.push('"');
    for character in text.chars() {
        match character {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            control if u32::from(control) < 0x20 => {
                line.push_str("\\u00");
                for digit in [u32::from(control) >> 4, u32::from(control) & 0xf] {
                    line.extend(char::from_digit(digit, 16));
                }
            }
            other => line.push(other),
        }
    }
    line.push('"');
}
