//! What a person at a terminal sees (SPEC L5): control characters escaped, no colour against their
//! wish.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use tempfile::TempDir;

use crate::support::{command, root, tidegate};

/// Runs `tidegate` with a terminal as its standard output and error, and gives what it showed.
fn shown(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let end = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let reader = thread::spawn(move || read_all(terminal));
    let mut child = command(&root(), arguments, environment)
        .stdin(Stdio::null())
        .stdout(end.try_clone().unwrap())
        .stderr(end)
        .spawn()
        .unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// Reads until the last holder of the other end has closed it, which a terminal tells by an error.
fn read_all(terminal: OwnedFd) -> String {
    let mut terminal = File::from(terminal);
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = terminal.read(&mut buffer) {
        text.extend_from_slice(&buffer[..length]);
    }
    String::from_utf8(text).unwrap()
}

const ECHO: [&str; 7] = [
    "call",
    "read_text",
    r#"{"path":"tests/tables/controls.txt"}"#,
    "--allow",
    "tool=read_text",
    "--allow",
    "read",
];

#[test]
fn l5_a_terminal_gets_control_characters_escaped_and_a_pipe_gets_them_as_they_are() {
    let text = std::fs::read_to_string(root().join("tests/tables/controls.txt")).unwrap();
    assert!(text.contains('\u{1b}') && text.contains('\u{7}'));
    let piped = tidegate(&ECHO);
    assert_eq!(piped.exit, 0, "{}", piped.stderr);
    assert!(piped.stdout.starts_with(&text), "piped bytes are exact");
    let on_terminal = shown(&ECHO, &[]);
    assert!(on_terminal.contains("bell"), "{on_terminal:?}");
    let plain = |c: char| !c.is_control() || matches!(c, '\n' | '\t' | '\r');
    assert!(on_terminal.chars().all(plain), "{on_terminal:?}");
    assert!(on_terminal.contains(r"\u{1b}[2K"), "{on_terminal:?}");
}

#[test]
fn l5_no_colour_with_no_color_and_none_in_a_pipe() {
    for arguments in [
        &["--help"][..],
        &["call", "--help"],
        &["cal"],
        &["call", "nothing"],
        &["tools", "-vvv", "--allow", "tool=read_text"],
    ] {
        let wished = shown(arguments, &[("NO_COLOR", "1"), ("TERM", "xterm-256color")]);
        assert!(!has_colour(&wished), "{arguments:?}: {wished:?}");
        assert!(!wished.is_empty(), "{arguments:?}");
        let piped = tidegate(arguments);
        let said = piped.stdout + &piped.stderr;
        assert!(!said.contains('\u{1b}'), "{arguments:?}: {said:?}");
    }
}

/// A component of Go is large enough for its compilation to be seen.
#[test]
fn l5_p2_a_terminal_is_told_after_a_second_what_is_compiled() {
    if root().join("guests/dist/calendar.left-out").exists() {
        return;
    }
    let listed = ["tools", "--plugin", "guests/dist/calendar.wasm"];
    let listed = [&listed[..], &["--allow", "tool=*"]].concat();
    let folder = TempDir::new().unwrap();
    let cache = folder.path().to_str().unwrap();
    let environment = [("XDG_CACHE_HOME", cache), ("TERM", "xterm")];
    let text = shown(&listed, &environment);
    assert!(text.contains("compiling calendar"), "{text:?}");
    assert!(text.contains("free_busy"), "{text:?}");
    let cached = shown(&listed, &environment);
    assert!(!cached.contains("compiling"), "{cached:?}");
}

/// Whether a text has a sequence that sets a colour or a style (ECMA-48 8.3.117).
fn has_colour(text: &str) -> bool {
    text.split("\u{1b}[").skip(1).any(|rest| {
        let numbers = |c: char| c.is_ascii_digit() || c == ';';
        rest.trim_start_matches(numbers).starts_with('m')
    })
}
