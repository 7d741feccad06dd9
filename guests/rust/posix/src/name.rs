//! How names are shown: one entry is one line, and no name can steer a terminal.
//!
//! The escapes are for the reader. They do not round-trip: a backslash in a name stays one.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A name as text without control, bidirectional and format characters.
pub(crate) fn shown(name: &[u8]) -> Cow<'_, str> {
    // Most names are no more than printable ASCII, which is faster to tell.
    let plain = name.iter().all(|byte| matches!(byte, b' '..=b'~'));
    match str::from_utf8(name) {
        Ok(text) if plain || !text.chars().any(is_hidden) => Cow::Borrowed(text),
        _ => Cow::Owned(escaped(name)),
    }
}

fn escaped(name: &[u8]) -> String {
    let mut shown = String::with_capacity(name.len() + 8);
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            push(&mut shown, character);
        }
        for byte in chunk.invalid() {
            append(&mut shown, format_args!("\\x{byte:02x}"));
        }
    }
    shown
}

fn push(shown: &mut String, character: char) {
    match character {
        // A byte that is no part of a character, as the host gives it (the package's documentation).
        '\u{10fe80}'..='\u{10feff}' => {
            append(
                shown,
                format_args!("\\x{:02x}", u32::from(character) & 0xff),
            );
        }
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        '\0'..='\x1f' | '\x7f' => append(shown, format_args!("\\x{:02x}", u32::from(character))),
        hidden if is_hidden(hidden) => {
            append(shown, format_args!("\\u{{{:x}}}", u32::from(hidden)));
        }
        plain => shown.push(plain),
    }
}

fn append(shown: &mut String, piece: std::fmt::Arguments<'_>) {
    match shown.write_fmt(piece) {
        // Writing to a string does not fail.
        Ok(()) | Err(_) => {}
    }
}

/// Control characters, line and paragraph separators, and the format characters of Unicode 16.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0001}'
            | '\u{e0020}'..='\u{e007f}' | '\u{10fe80}'..='\u{10feff}')
}

/// A name in a message, in quotes where a shell would need them.
pub(crate) fn in_message(name: &[u8]) -> String {
    let shown = shown(name);
    let alone = shown.len() == 1;
    let needs = shown.is_empty()
        || shown.char_indices().any(|(at, character)| match character {
            '#' | '~' => at == 0,
            '{' | '}' => alone,
            ':' | '\'' => true,
            other => is_special(other),
        });
    if needs {
        quoted(name)
    } else {
        shown.into_owned()
    }
}

/// A name in a message, always in quotes.
pub(crate) fn quoted(name: &[u8]) -> String {
    let shown = shown(name);
    if !shown.contains('\'') {
        return format!("'{shown}'");
    }
    let alone = shown.len() == 1;
    let plain = shown.char_indices().all(|(at, character)| match character {
        '#' | '~' => at == 0,
        '{' | '}' => alone,
        ' ' => true,
        other => !is_special(other),
    });
    if plain {
        format!("\"{shown}\"")
    } else {
        format!("'{}'", shown.replace('\'', "'\\''"))
    }
}

/// Whether a shell gives the character a meaning.
fn is_special(character: char) -> bool {
    " !\"$&()*;<=>[^`|?\\".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FS11, FS12.
    #[test]
    fn one_entry_is_one_line_without_control() {
        let check = |name: &[u8], expected| assert_eq!(shown(name), expected);
        check(b"plain name", "plain name");
        check("größe 고리".as_bytes(), "größe 고리");
        check(b"weird\xffname", "weird\\xffname");
        check(b"cut \xe2\x80", "cut \\xe2\\x80");
        check("weird\u{10feff}name".as_bytes(), "weird\\xffname");
        check(b"a\nb\r\t", "a\\nb\\r\\t");
        check(b"\x1b[2K\rError: run EVIL", "\\x1b[2K\\rError: run EVIL");
        check(b"\x1b]0;t\x07", "\\x1b]0;t\\x07");
        check("x\u{202e}gpj.exe".as_bytes(), "x\\u{202e}gpj.exe");
        check(
            "\u{85}\u{2028}\u{200b}".as_bytes(),
            "\\u{85}\\u{2028}\\u{200b}",
        );
        check(b"\x7f", "\\x7f");
        check(b"back\\slash", "back\\slash");
    }

    #[test]
    fn names_in_messages_are_quoted_as_a_shell_would() {
        let check = |name: &str, expected| assert_eq!(in_message(name.as_bytes()), expected);
        check("x", "x");
        check("a b", "'a b'");
        check("", "''");
        check("x'y z", "\"x'y z\"");
        check("x'$", "'x'\\''$'");
        check("#a", "'#a'");
        check("a#b", "a#b");
        check("x~", "x~");
        check("{", "'{'");
        check("a{b", "a{b");
        check("a:b", "'a:b'");
        check("a\nb", "'a\\nb'");
        assert_eq!(quoted(b"d"), "'d'");
        assert_eq!(quoted(b"it's"), "\"it's\"");
    }
}
