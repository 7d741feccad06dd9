//! What kind of text some bytes are: their encoding and how their lines end.

/// The length from which a line is called very long, in bytes.
const LONG_LINE_BYTES: usize = 300;

const ESCAPE: u8 = 0x1b;
const BACKSPACE: u8 = 0x08;

/// Describes a text; none if it is no text.
pub(crate) fn describe(head: &[u8]) -> Option<String> {
    let encoding = encoding(head)?;
    let executable = if head.starts_with(b"#!") {
        " executable"
    } else {
        ""
    };
    let long = match longest_line(head) {
        length if length > LONG_LINE_BYTES => format!(", with very long lines ({length})"),
        _ => String::new(),
    };
    let endings = Endings::count(head).describe();
    let with = |byte: u8, what| if head.contains(&byte) { what } else { "" };
    let escapes = with(ESCAPE, ", with escape sequences");
    let strikes = with(BACKSPACE, ", with overstriking");
    Some(format!(
        "{encoding}{executable}{long}{endings}{escapes}{strikes}"
    ))
}

fn encoding(head: &[u8]) -> Option<&'static str> {
    let text = cut_last_character(head);
    if text.starts_with(b"\xff\xfe") && text.len() > 2 {
        return Some("Unicode text, UTF-16, little-endian text");
    }
    if text.starts_with(b"\xfe\xff") && text.len() > 2 {
        return Some("Unicode text, UTF-16, big-endian text");
    }
    let plain = |byte: &u8| matches!(byte, 0x07..=0x0d | 0x1b | 0x20..=0x7e);
    if text.iter().all(plain) {
        return Some("ASCII text");
    }
    if !text.iter().all(|byte| plain(byte) || *byte >= 0x80) {
        return None;
    }
    if str::from_utf8(text).is_ok() {
        return Some(if text.starts_with("\u{feff}".as_bytes()) {
            "Unicode text, UTF-8 (with BOM) text"
        } else {
            "Unicode text, UTF-8 text"
        });
    }
    let latin = |byte: &u8| plain(byte) || *byte >= 0xa0 || *byte == 0x85;
    Some(if head.iter().all(latin) {
        "ISO-8859 text"
    } else if head.iter().all(|byte| plain(byte) || *byte >= 0x80) && head.len() > 2 {
        "Non-ISO extended-ASCII text"
    } else {
        return None;
    })
}

/// The bytes without a character of UTF-8 that their end cuts.
fn cut_last_character(head: &[u8]) -> &[u8] {
    match str::from_utf8(head) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => {
            head.get(..error.valid_up_to()).unwrap_or(head)
        }
        Ok(_) | Err(_) => head,
    }
}

fn longest_line(head: &[u8]) -> usize {
    let lines = head.split(|byte| matches!(byte, b'\n' | b'\r'));
    lines.map(<[u8]>::len).max().unwrap_or(0)
}

/// How lines end, and how many do so.
#[derive(Default)]
struct Endings {
    crlf: usize,
    cr: usize,
    lf: usize,
}

impl Endings {
    fn count(head: &[u8]) -> Self {
        let mut endings = Self::default();
        let mut before = 0;
        for byte in head {
            match (before, byte) {
                (b'\r', b'\n') => {
                    endings.crlf += 1;
                    endings.cr -= 1;
                }
                (_, b'\n') => endings.lf += 1,
                (_, b'\r') => endings.cr += 1,
                _ => {}
            }
            before = *byte;
        }
        endings
    }

    fn describe(&self) -> String {
        let kinds = [(self.crlf, "CRLF"), (self.cr, "CR"), (self.lf, "LF")];
        let present: Vec<&str> = kinds
            .iter()
            .filter_map(|(count, name)| (*count > 0).then_some(*name))
            .collect();
        match present.as_slice() {
            [] => ", with no line terminators".to_owned(),
            ["LF"] => String::new(),
            names => format!(", with {} line terminators", names.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_described() {
        let check = |head: &[u8], expected: &str| {
            assert_eq!(describe(head).as_deref(), Some(expected));
        };
        check(b"one\ntwo\n", "ASCII text");
        check(b"one\r\ntwo\r\n", "ASCII text, with CRLF line terminators");
        check(
            b"one\r\ntwo\n",
            "ASCII text, with CRLF, LF line terminators",
        );
        check(b"one", "ASCII text, with no line terminators");
        check("größe\n".as_bytes(), "Unicode text, UTF-8 text");
        check(b"gr\xf6\xdfe\n", "ISO-8859 text");
        check(b"#!/bin/sh\n", "ASCII text executable");
        check(b"\x1b[0m\n", "ASCII text, with escape sequences");
        let long = [b"x".repeat(400), b"\n".to_vec()].concat();
        check(&long, "ASCII text, with very long lines (400)");
        assert_eq!(describe(b"ab\0cd\n"), None);
        assert_eq!(describe(b"\x01\x02"), None);
    }
}
