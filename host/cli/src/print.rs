//! What people and scripts see (SPEC L5): stdout carries results and nothing else.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

/// Prints one JSON document on a line of its own.
pub(crate) fn json(value: &impl Serialize) {
    let mut out = io::stdout().lock();
    let written = serde_json::to_writer(&mut out, value)
        .map_err(io::Error::other)
        .and_then(|()| out.write_all(b"\n"))
        .and_then(|()| out.flush());
    report(written);
}

/// Prints a tool's text: exact bytes into a pipe; on a terminal a final newline is added and
/// control characters are shown, not obeyed.
pub(crate) fn text(text: &str) {
    let mut out = io::stdout().lock();
    let written = if out.is_terminal() {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        out.write_all(visible(text).as_bytes())
            .and_then(|()| out.write_all(end.as_bytes()))
    } else {
        out.write_all(text.as_bytes())
    };
    report(written.and_then(|()| out.flush()));
}

/// Prints one line for people to stderr.
pub(crate) fn warning(line: &str) {
    let mut out = io::stderr().lock();
    // Nobody is left to tell when stderr is gone.
    drop(writeln!(out, "{}", visible(line)));
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
            '\u{2028}' | '\u{2029}' => shown.extend(character.escape_unicode()),
            _ if character.is_control() => shown.extend(character.escape_unicode()),
            _ if is_bidi(character) => shown.extend(character.escape_unicode()),
            _ => shown.push(character),
        }
    }
    shown
}

/// Marks that reorder what is shown and so can forge it.
fn is_bidi(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn l5_control_characters_are_shown_on_a_terminal() {
        let check = |text: &str, shown: &str| assert_eq!(visible(text), shown);
        check("plain\n\ttext é", "plain\n\ttext é");
        check("\x1b[2K\rError", "\\u{1b}[2K\\u{d}Error");
        check("\x1b]0;t\x07", "\\u{1b}]0;t\\u{7}");
        check("x\u{202e}gpj", "x\\u{202e}gpj");
        check("\u{9b}1m", "\\u{9b}1m");
    }
}
