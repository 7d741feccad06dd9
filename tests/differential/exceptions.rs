//! What is not GNU's on purpose: one test for each point of `docs/commands.md`, "Exceptions".
//!
//! Some are compared with GNU's answer too, so that a point which is no longer one is noticed.
//! Names that are not UTF-8 and names with controls are in `hostile/tools`.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::cases::Case;
use super::gnu;
use crate::support::{Answer, Fixture, ask, commands, wide_commands};

/// What GNU's command gives for the arguments that the tool handed on.
fn gnus(fixture: &Fixture, tool: &'static str, answer: &Answer) -> gnu::Ended {
    gnu::is_installed();
    let args = answer.field("args").as_array().unwrap();
    let args = args.iter().map(|arg| arg.as_str().unwrap().to_owned());
    let case = Case {
        tool,
        arguments: Value::Null,
        args: args.collect(),
    };
    gnu::run(&case, fixture.workspace.path())
}

#[test]
fn pwd_prints_the_name_of_every_workspace() {
    let fixture = commands();
    let answer = fixture.ran("pwd", json!({}));
    answer.is(0, "/workspace\n", "");
    assert_ne!(gnus(&fixture, "pwd", &answer).stdout, answer.stdout);
}

#[test]
fn file_has_a_table_of_its_own_and_shows_names_as_they_are() {
    let fixture = commands();
    fixture.write("größe", "x\n");
    fixture.write("script", "#!/bin/sh\necho\n");
    fixture.write(
        "picture",
        b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0",
    );
    fixture.write(
        "code.c",
        "#include <stdio.h>\nint main(void) { return 0; }\n",
    );
    let tools = fixture.tools();
    for (path, told) in [
        ("größe", "ASCII text"),
        ("picture", "PNG image data"),
        ("code.c", "ASCII text"),
    ] {
        let answer = ask(&tools, "file", json!({ "path": path })).unwrap();
        answer.is(0, &format!("{path}: {told}\n"), "");
        assert_ne!(
            gnus(&fixture, "file", &answer).stdout,
            answer.stdout,
            "{path}"
        );
    }
    let script = ask(&tools, "file", json!({"path": "script"})).unwrap();
    assert!(script.stdout.ends_with("executable\n"), "{script:?}");
}

#[test]
fn stat_has_numbers_for_names_and_no_birth() {
    let fixture = commands();
    fixture.write("f", "x\n");
    let answer = fixture.ran("stat", json!({"path": "f"}));
    let line = |text: &str, start: &str| {
        let mut lines = text.lines();
        lines
            .find(|line| line.starts_with(start))
            .unwrap()
            .to_owned()
    };
    assert_eq!(line(&answer.stdout, " Birth:"), " Birth: -");
    assert!(!line(&answer.stdout, "Access: (0").contains("/root"));
    let gnu = gnus(&fixture, "stat", &answer);
    for start in ["  Size:", "Modify:", "Change:", "  File:"] {
        assert_eq!(line(&answer.stdout, start), line(&gnu.stdout, start));
    }
}

#[test]
fn content_that_is_no_text_is_escaped() {
    let fixture = commands();
    fixture.write("f", b"\x1b[31m\xff\rred\r\n\x7f\tend\xe2\x80\xae\xc2\x85\n");
    let shown = "\\x1b[31m\\xff\\x0dred\r\n\\x7f\tend\\u{202e}\\u{85}\n";
    fixture.ran("cat", json!({"path": "f"})).is(0, shown, "");
}

#[test]
fn walks_go_in_the_order_of_names() {
    let fixture = commands();
    for name in ["b", "a/z", "a/B", "C", "a-"] {
        fixture.write(name, "x\n");
    }
    let tools = fixture.tools();
    let found = ask(&tools, "find", json!({})).unwrap();
    found.is(0, ".\n./C\n./a\n./a/B\n./a/z\n./a-\n./b\n", "");
    let hits = json!({"pattern": "x", "paths": ["."], "recursive": true});
    let hits = ask(&tools, "grep", hits).unwrap();
    assert!(
        hits.stdout.starts_with("./C:1:x\n./a/B:1:x\n"),
        "{}",
        hits.stdout
    );
}

#[test]
fn du_counts_a_file_of_two_names_where_it_comes_first() {
    let fixture = commands();
    fixture.write("d/a", vec![b'x'; 100_000]);
    std::fs::create_dir(fixture.path("d/inner")).unwrap();
    std::fs::hard_link(fixture.path("d/a"), fixture.path("d/inner/b")).unwrap();
    let answer = fixture.ran("du", json!({"path": "d", "maxDepth": 2}));
    let inner = answer.stdout.lines().next().unwrap();
    let (size, path) = inner.split_once('\t').unwrap();
    assert_eq!(path, "d/inner");
    assert!(size.parse::<u64>().unwrap() < 64, "{inner}");
}

#[test]
fn a_link_out_of_the_workspace_has_no_target_to_show() {
    let fixture = commands();
    symlink("/etc/hostname", fixture.path("out")).unwrap();
    let tools = fixture.tools();
    let status = ask(&tools, "stat", json!({"path": "out"})).unwrap();
    let file = "  File: out -> (outside the workspace)\n";
    assert!(status.stdout.starts_with(file), "{}", status.stdout);
    let told = ask(&tools, "file", json!({"path": "out"})).unwrap();
    told.is(0, "out: symbolic link to (outside the workspace)\n", "");
}

#[test]
fn grep_refuses_back_references_and_patterns_too_large() {
    let fixture = commands();
    fixture.write("f", "aa\n");
    let tools = fixture.tools();
    let grep = |pattern: &str| {
        let arguments = json!({"pattern": pattern, "paths": ["f"]});
        ask(&tools, "grep", arguments).unwrap()
    };
    let back = grep("\\(a\\)\\1");
    back.is(2, "", "grep: back-references are not supported\n");
    assert_eq!(gnus(&fixture, "grep", &back).exit, 0);
    grep("\\([^x]\\{1000\\}\\)\\{100\\}").is(2, "", "grep: pattern too large\n");
}

#[test]
fn cut_takes_a_character_of_more_than_one_byte() {
    let fixture = commands();
    fixture.write("f", "a§b\n");
    let answer = fixture.ran("cut", json!({"path": "f", "fields": "2", "delimiter": "§"}));
    answer.is(0, "b\n", "");
    assert_eq!(gnus(&fixture, "cut", &answer).exit, 1);
}

#[test]
fn a_dash_is_a_file_and_standard_input_is_never_read() {
    let fixture = commands();
    fixture.write("-", "the file\n");
    let tools = fixture.tools();
    for tool in ["cat", "sort", "uniq", "head", "tail"] {
        let answer = ask(&tools, tool, json!({"path": "-"})).unwrap();
        answer.is(0, "the file\n", "");
        assert_eq!(
            gnus(&fixture, tool, &answer).stdout,
            answer.stdout,
            "{tool}"
        );
    }
}

#[test]
fn a_long_line_of_grep_is_cut_around_its_match() {
    let mut fixture = wide_commands();
    let line = format!("{}needle{}\n", "x".repeat(3_000), "y".repeat(5_000));
    fixture.write("f", &line);
    let grep = json!({"pattern": "needle", "paths": ["f"]});
    let whole = fixture.ran("grep", grep.clone());
    whole.is(0, &format!("1:{line}"), "");
    fixture.set("max_output_bytes", 1_000);
    let cut = fixture.ran("grep", grep);
    assert!(cut.stdout.len() <= 1_000);
    assert!(cut.stdout.contains("xneedley"), "{}", cut.stdout);
    assert_eq!(cut.stdout.matches(" bytes omitted]").count(), 2);
    assert!(
        !cut.truncated,
        "the marks say it: nothing of the output is left out"
    );
}
