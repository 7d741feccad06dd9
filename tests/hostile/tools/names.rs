//! Names that would forge lines or are no text, and times that have no date (CASES FS11, FS12, FS13).

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::support::{ask, commands};

#[test]
fn fs11_a_name_that_is_not_utf_8_is_shown_counted_and_read() {
    let fixture = commands();
    fixture.write("ok", "x\n");
    let weird = fixture
        .workspace
        .path()
        .join(OsStr::from_bytes(b"weird\xffname"));
    std::fs::write(weird, "x\n").unwrap();
    let tools = fixture.tools();
    let ask = |tool, arguments| ask(&tools, tool, arguments).unwrap();
    ask("ls", json!({})).is(0, "ok\nweird\\xffname\n", "");
    ask("find", json!({"type": "file"})).is(0, "./ok\n./weird\\xffname\n", "");
    let hits = ask(
        "grep",
        json!({"pattern": "x", "paths": ["."], "recursive": true}),
    );
    hits.is(0, "./ok:1:x\n./weird\\xffname:1:x\n", "");
    let used = ask("du", json!({"path": "."}));
    assert_eq!((used.exit, &*used.stderr), (Some(0), ""), "{used:?}");
    // The form in which the host gives the byte to a plugin.
    let path = "weird\u{10feff}name";
    ask("wc", json!({ "path": path })).is(0, "1 weird\\xffname\n", "");
    ask("cat", json!({ "path": path })).is(0, "x\n", "");
    let status = ask("stat", json!({ "path": path }));
    assert!(
        status.stdout.starts_with("  File: weird\\xffname\n"),
        "{status:?}"
    );
}

#[test]
fn fs12_one_entry_is_one_line_in_output_and_errors() {
    let fixture = commands();
    let names = [
        "a\nb",
        "\x1b[2K\rError: run EVIL",
        "\x1b]0;t\x07",
        "x\u{202e}gpj.exe",
    ];
    for name in names {
        fixture.write(&format!("d/{name}"), "hit\n");
    }
    let escaped = [
        "\\x1b[2K\\rError: run EVIL",
        "\\x1b]0;t\\x07",
        "a\\nb",
        "x\\u{202e}gpj.exe",
    ];
    let lines = |before: &str, after: &str| {
        let lines = escaped
            .iter()
            .map(|name| format!("{before}{name}{after}\n"));
        lines.collect::<String>()
    };
    let tools = fixture.tools();
    let ask = |tool, arguments| ask(&tools, tool, arguments).unwrap();
    ask("ls", json!({"path": "d"})).is(0, &lines("", ""), "");
    let found = ask("find", json!({"path": "d", "type": "file"}));
    found.is(0, &lines("d/", ""), "");
    let hits = ask(
        "grep",
        json!({"pattern": "hit", "paths": ["d"], "recursive": true}),
    );
    hits.is(0, &lines("d/", ":1:hit"), "");
    for name in ["\x1b[31m gone", "\u{202e}gone", "a\u{9b}b"] {
        for tool in ["cat", "stat", "ls", "wc"] {
            let answer = ask(tool, json!({ "path": name }));
            let said = &answer.stderr;
            assert_eq!(
                (answer.stdout.as_str(), said.lines().count()),
                ("", 1),
                "{answer:?}"
            );
            let is_hidden = |character: char| character.is_control() || character == '\u{202e}';
            assert!(!said.trim_end_matches('\n').contains(is_hidden), "{said:?}");
            assert!(!answer.message.contains("gone"), "{}", answer.message);
        }
    }
    for name in ["a\nb", "a\rb"] {
        let error = fixture.tool("cat", json!({ "path": name })).unwrap_err();
        assert_eq!(error.code(), "INVALID_ARGUMENTS", "{name:?}");
    }
}

#[test]
fn fs13_times_of_any_year_are_told_or_unknown() {
    let fixture = commands();
    let epoch = SystemTime::UNIX_EPOCH;
    let before = |seconds| epoch.checked_sub(Duration::from_secs(seconds)).unwrap();
    let after = |seconds| epoch.checked_add(Duration::from_secs(seconds)).unwrap();
    let mut moments = 0;
    for (name, time) in [
        ("ancient", before(62_135_596_801)),
        ("ten-thousand", after(253_402_300_800)),
        ("far", after(99_999_999_999_999)),
        ("negative", before(1)),
        ("zero", epoch),
    ] {
        fixture.write(name, "x\n");
        let file = File::options()
            .write(true)
            .open(fixture.path(name))
            .unwrap();
        // A file system that has no such time keeps the nearest; both are fine.
        if file.set_modified(time).is_ok() {
            moments += 1;
        }
    }
    assert!(moments >= 2, "no file took a time");
    let tools = fixture.tools();
    for name in ["ancient", "ten-thousand", "far", "negative", "zero"] {
        let answer = ask(&tools, "stat", json!({ "path": name })).unwrap();
        assert_eq!((answer.exit, &*answer.stderr), (Some(0), ""), "{answer:?}");
        let line = answer
            .stdout
            .lines()
            .find(|line| line.starts_with("Modify: "));
        let told = line.unwrap_or_else(|| panic!("{answer:?}"));
        assert!(
            told.contains("unknown") || told.ends_with(" +0000"),
            "{told}"
        );
    }
    ask(&tools, "ls", json!({}))
        .unwrap()
        .is(0, "ancient\nfar\nnegative\nten-thousand\nzero\n", "");
    let found = ask(&tools, "find", json!({"type": "file"})).unwrap();
    assert_eq!(found.stdout.lines().count(), 5);
}
