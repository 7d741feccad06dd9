//! What `grep` finds, does not find, and cannot look at (CASES CM05, CM06, CM12, CM15).

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{ask, commands};

#[test]
fn cm05_no_match_a_bad_pattern_and_a_missing_file_are_three_things() {
    let fixture = commands();
    fixture.write("f", "one\n");
    let tools = fixture.tools();
    let grep = |pattern: &str, paths: &[&str]| {
        let arguments = json!({"pattern": pattern, "paths": paths});
        ask(&tools, "grep", arguments).unwrap()
    };
    let none = grep("two", &["f"]);
    none.is(1, "", "");
    assert_eq!((&*none.status, &*none.code), ("failed", "COMMAND_NO_MATCH"));

    let bad = grep("\\(", &["f"]);
    bad.is(2, "", "grep: Unmatched ( or \\(\n");
    assert_eq!(bad.code, "COMMAND_EXIT_NONZERO");
    assert!(
        bad.message.contains("the pattern is not valid"),
        "{}",
        bad.message
    );

    let beside = grep("one", &["gone", "f"]);
    beside.is(2, "f:1:one\n", "grep: gone: No such file or directory\n");
    assert_eq!(beside.code, "COMMAND_EXIT_NONZERO");
    assert_eq!(beside.field("incomplete"), true);
    assert!(
        beside.message.contains("may be incomplete"),
        "{}",
        beside.message
    );

    let alone = grep("one", &["gone"]);
    assert_eq!(
        (alone.exit, &*alone.code),
        (Some(2), "COMMAND_EXIT_NONZERO")
    );
    assert!(alone.field("incomplete").is_null(), "nothing was found");
}

#[test]
fn cm06_a_match_on_a_huge_line_is_shown_within_the_bound() {
    let fixture = commands();
    let line = "é".repeat(449_999) + " needle é" + &"e".repeat(99_000) + "\n";
    fixture.write("min.js", &line);
    let answer = fixture.ran(
        "grep",
        json!({"pattern": "needle", "paths": ["min.js", "min.js"]}),
    );
    assert_eq!((answer.exit, &*answer.status), (Some(0), "success"));
    assert!(answer.stdout.len() <= 65_536, "{}", answer.stdout.len());
    assert!(
        answer.stdout.starts_with("min.js:1:"),
        "{:.60}",
        answer.stdout
    );
    assert!(answer.stdout.contains("é needle é"));
    assert!(
        !answer.stdout.contains(['\u{fffd}', '\\']),
        "no split character"
    );
    let mut narrow = commands();
    narrow.set("max_output_bytes", 200);
    narrow.write("min.js", &line);
    let answer = narrow.ran("grep", json!({"pattern": "needle", "paths": ["min.js"]}));
    let shown = &answer.stdout;
    assert!(shown.len() <= 200, "{shown}");
    assert!(
        shown.starts_with("1:[") && shown.contains("é needle é"),
        "{shown}"
    );
    assert_eq!(shown.matches(" bytes omitted]").count(), 2, "{shown}");
}

#[test]
fn cm12_hostile_patterns_are_refused_or_linear() {
    let fixture = commands();
    fixture.write("f", "a".repeat(64 * 1024) + "!\n");
    let tools = fixture.tools();
    let grep = |pattern: &str| {
        let start = Instant::now();
        let arguments = json!({"pattern": pattern, "paths": ["f"]});
        let answer = ask(&tools, "grep", arguments).unwrap();
        let took = start.elapsed();
        assert!(took < Duration::from_secs(3), "{pattern:.60}: {took:?}");
        answer
    };
    let nested = "\\(".repeat(1_000) + "a" + &"\\)".repeat(1_000);
    for pattern in [
        "\\(a\\{1000\\}\\)\\{1000\\}",
        "\\(\\(\\(\\(\\(a\\{100\\}\\)\\{100\\}\\)\\{100\\}\\)\\{100\\}\\)\\{100\\}\\)",
        "\\([[:alpha:]]\\{500\\}\\)\\{500\\}",
        &nested,
    ] {
        let answer = grep(pattern);
        answer.is(2, "", "grep: pattern too large\n");
        assert!(
            answer.message.contains("the pattern is too large"),
            "{}",
            answer.message
        );
    }
    // As a basic regular expression none of these is large: the braces are letters.
    for pattern in [
        "(?:a{1000}){1000}",
        "(((((a{100}){100}){100}){100}){100})",
        "\\(a\\+\\)\\+$",
    ] {
        assert_eq!(grep(pattern).code, "COMMAND_NO_MATCH", "{pattern}");
    }
}

#[test]
fn cm15_binary_content_is_told_once_or_escaped() {
    let fixture = commands();
    fixture.write("bin", b"ab\0cd\nab\xff\n");
    let tools = fixture.tools();
    let ask = |tool, arguments| ask(&tools, tool, arguments).unwrap();
    let found = ask("grep", json!({"pattern": "ab", "paths": ["bin"]}));
    found.is(0, "", "grep: bin: binary file matches\n");
    assert_eq!(found.status, "success");
    let shown = "ab\\x00cd\nab\\xff\n";
    ask("cat", json!({"path": "bin"})).is(0, shown, "");
    ask("head", json!({"path": "bin", "lines": 2})).is(0, shown, "");
    ask("tail", json!({"path": "bin", "lines": 2})).is(0, shown, "");
    ask("sort", json!({"path": "bin"})).is(0, shown, "");
    ask("cut", json!({"path": "bin", "fields": "1"})).is(0, shown, "");
}
