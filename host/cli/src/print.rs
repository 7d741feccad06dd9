//! What people and scripts see (SPEC L5): stdout carries results and nothing else.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

/// Prints one JSON document on a line of its own; on a terminal what JSON leaves of control
/// characters is escaped too, which changes no value.
pub(crate) fn json(value: &impl Serialize) {
    let mut out = io::stdout().lock();
    let written = if out.is_terminal() {
        serde_json::to_string(value)
            .map_err(io::Error::other)
            .and_then(|text| out.write_all(json_visible(&text).as_bytes()))
    } else {
        serde_json::to_writer(&mut out, value).map_err(io::Error::other)
    };
    report(
        written
            .and_then(|()| out.write_all(b"\n"))
            .and_then(|()| out.flush()),
    );
}

/// Prints a tool's text: exact bytes into a pipe; on a terminal a final newline is added and
/// control characters are shown, not obeyed.
pub(crate) fn text(text: &str) {
    let mut out = io::stdout().lock();
    let reader = if out.is_terminal() {
        Reader::Terminal
    } else {
        Reader::Pipe
    };
    let written = out.write_all(shown(text, reader).as_bytes());
    report(written.and_then(|()| out.flush()));
}

/// Who reads stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reader {
    Terminal,
    Pipe,
}

fn shown(text: &str, reader: Reader) -> Cow<'_, str> {
    match reader {
        Reader::Pipe => Cow::Borrowed(text),
        Reader::Terminal => {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            Cow::Owned(visible(text) + end)
        }
    }
}

/// Prints bytes of the program's own as they are.
pub(crate) fn bytes(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    report(out.write_all(bytes).and_then(|()| out.flush()));
}

/// Prints one line for people to stderr.
pub(crate) fn warning(line: &str) {
    let mut out = io::stderr().lock();
    // Nobody is left to tell when stderr is gone.
    drop(writeln!(out, "{}", visible(line)));
}

/// Says what was denied while a call ran, and what would permit it.
pub(crate) fn denials<'a>(denied: impl Iterator<Item = &'a str>) {
    for denied in denied {
        let hint = match denied.split_once(':') {
            Some(("read", _)) => "; permit it with --allow read".to_owned(),
            Some(("write", _)) => "; permit it with --allow write".to_owned(),
            Some(("network", name)) if name.contains("://") && !name.contains(' ') => {
                format!("; permit it with --allow network={name}")
            }
            _ => String::new(),
        };
        warning(&format!("denied while it ran: {denied}{hint}"));
    }
}

fn report(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        warning(&format!("error: can't write to stdout: {error}"));
    }
}

/// Control characters other than newline and tab as escapes.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            _ if is_obeyed(character) => shown.extend(character.escape_unicode()),
            _ => shown.push(character),
        }
    }
    shown
}

/// A JSON text with the same value; such characters stand in its strings alone, and all are in the
/// basic plane.
fn json_visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_obeyed(character) {
            shown.push_str(&json_escape(character));
        } else {
            shown.push(character);
        }
    }
    shown
}

fn json_escape(character: char) -> String {
    format!("\\u{:04x}", u32::from(character))
}

/// What a terminal obeys in the place of showing it.
fn is_obeyed(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') || is_bidi(character)
}

/// Marks that reorder what is shown and so can forge it.
fn is_bidi(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::{Reader, json_visible, shown, visible};

    #[test]
    fn l5_control_characters_are_shown_on_a_terminal() {
        let check = |text: &str, shown: &str| assert_eq!(visible(text), shown);
        check("plain\n\ttext é", "plain\n\ttext é");
        check("\x1b[2K\rError", "\\u{1b}[2K\\u{d}Error");
        check("\x1b]0;t\x07", "\\u{1b}]0;t\\u{7}");
        check("x\u{202e}gpj", "x\\u{202e}gpj");
        check("\u{9b}1m", "\\u{9b}1m");
    }

    #[test]
    fn l5_every_control_and_bidi_character_is_escaped_and_its_neighbours_are_not() {
        let escaped = [0x00..=0x08, 0x0b..=0x1f, 0x7f..=0x9f]
            .into_iter()
            .chain([0x2028..=0x202e, 0x2066..=0x2069]);
        for code in escaped.flatten() {
            let character = char::from_u32(code).unwrap();
            let text = visible(&character.to_string());
            assert_eq!(text, format!("\\u{{{code:x}}}"));
        }
        let kept = "\t\n\u{20}\u{7e}\u{a0}\u{2027}\u{202f}\u{2065}\u{206a}";
        assert_eq!(visible(kept), kept);
    }

    #[test]
    fn l5_a_pipe_gets_exact_bytes_and_a_terminal_an_end() {
        assert_eq!(shown("\u{1b}[1m", Reader::Pipe), "\u{1b}[1m");
        assert_eq!(shown("\u{1b}", Reader::Terminal), "\\u{1b}\n");
        assert_eq!(shown("a\n", Reader::Terminal), "a\n");
    }

    #[test]
    fn l5_json_on_a_terminal_keeps_its_value_without_control_characters() {
        let value = serde_json::json!({"a\u{9b}": "\u{7f}\u{202e}\n\u{e9}\u{1f600}"});
        let text = json_visible(&value.to_string());
        assert_eq!(text, "{\"a\\u009b\":\"\\u007f\\u202e\\n\u{e9}\u{1f600}\"}");
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read, value);
    }
}
