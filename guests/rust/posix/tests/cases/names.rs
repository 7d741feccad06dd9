//! Names that are no text, or would be more than text.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::folder::Folder;

#[test]
fn fs11_a_name_that_is_not_utf_8_is_shown_and_counted() {
    let folder = Folder::new("fs11");
    folder.write("ok", "x\n");
    let weird = folder.path().join(OsStr::from_bytes(b"weird\xffname"));
    std::fs::write(weird, "x\n").unwrap();
    folder
        .run(&["ls", "-1", "--", "."])
        .is(0, "ok\nweird\\xffname\n", "");
    folder
        .run(&["find", ".", "-maxdepth", "1", "-type", "f", "-print"])
        .is(0, "./ok\n./weird\\xffname\n", "");
    folder
        .run(&["grep", "-n", "-R", "--", "x", "."])
        .is(0, "./ok:1:x\n./weird\\xffname:1:x\n", "");
    let usage = folder.run(&["du", "-k", "--max-depth=0", "--", "."]);
    assert!(usage.stdout.ends_with("\t.\n"), "{usage:?}");
}

#[test]
fn fs12_one_entry_is_one_line() {
    let folder = Folder::new("fs12");
    let names = [
        "a\nb",
        "\x1b[2K\rError: run EVIL",
        "\x1b]0;t\x07",
        "x\u{202e}gpj.exe",
    ];
    for name in names {
        folder.write(name, "hit\n");
    }
    let listed = folder.run(&["ls", "-1", "--", "."]);
    let expected = "\\x1b[2K\\rError: run EVIL\n\\x1b]0;t\\x07\na\\nb\nx\\u{202e}gpj.exe\n";
    listed.is(0, expected, "");
    for command in ["grep", "find", "cat"] {
        let run = match command {
            "grep" => folder.run(&["grep", "-n", "-R", "--", "hit", "."]),
            "find" => folder.run(&["find", ".", "-maxdepth", "1", "-type", "f", "-print"]),
            _ => folder.run(&["cat", "--", "a\nc\x1b"]),
        };
        let lines = if command == "cat" {
            &run.stderr
        } else {
            &run.stdout
        };
        let count = if command == "cat" { 1 } else { names.len() };
        assert_eq!(lines.lines().count(), count, "{run:?}");
        let controls = |character: char| character.is_control() && character != '\n';
        assert!(!lines.contains(controls) && !lines.contains('\u{202e}'));
    }
}
