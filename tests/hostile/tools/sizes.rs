//! Inputs of no end, of no lines, and of one line too many (CASES CM10, CM13; SPEC S5).

use std::fmt::Write as _;
use std::fs::File;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{ask, commands, tidegate_in};

#[test]
fn cm10_a_last_line_without_newline_is_a_line_that_wc_does_not_count() {
    let fixture = commands();
    fixture.write("f", "one\ntwo");
    let tools = fixture.tools();
    let ask = |tool, arguments| ask(&tools, tool, arguments).unwrap();
    ask("wc", json!({"path": "f"})).is(0, "1 f\n", "");
    ask("wc", json!({"path": "f", "metric": "words"})).is(0, "2 f\n", "");
    ask("tail", json!({"path": "f", "lines": 1})).is(0, "two", "");
    ask("head", json!({"path": "f", "lines": 2})).is(0, "one\ntwo", "");
    ask("grep", json!({"pattern": "two", "paths": ["f"]})).is(0, "2:two\n", "");
}

#[test]
fn cm13_a_sparse_tebibyte_is_a_typed_error_or_its_first_bytes() {
    let fixture = commands();
    let file = File::create(fixture.path("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    let tools = fixture.tools();
    let start = Instant::now();
    for tool in ["sort", "uniq", "cut", "tail"] {
        let arguments = match tool {
            "cut" => json!({"path": "sparse", "fields": "1"}),
            _ => json!({"path": "sparse"}),
        };
        let answer = ask(&tools, tool, arguments).unwrap();
        assert_eq!(answer.code, "COMMAND_INPUT_LIMIT", "{tool}: {answer:?}");
        let message = format!("{tool}: input too large for the memory limit\n");
        answer.is(125, "", &message);
    }
    let whole = ask(&tools, "cat", json!({"path": "sparse"})).unwrap();
    assert_eq!((whole.exit, &*whole.status), (Some(0), "success"));
    assert!(whole.truncated);
    assert!(whole.stdout.len() <= 65_536 && whole.stdout.len() > 65_500);
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn cm13_four_million_lines_are_sorted_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = String::new();
    for number in (0..4_000_000_u32).rev() {
        writeln!(lines, "{number:07}").unwrap();
    }
    std::fs::write(folder.path().join("lines"), lines).unwrap();
    for (memory_bytes, fits) in [(64 << 20, false), (192 << 20, true)] {
        let limit = format!("memory_bytes={memory_bytes}");
        let output = tidegate_in(
            folder.path(),
            &[
                "call",
                "sort",
                r#"{"path":"lines"}"#,
                "--json",
                "--allow",
                "plugin=commands",
                "--limit",
                &limit,
            ],
        );
        let result = output.json();
        assert!(output.peak_kib < 256 * 1024, "{} KiB", output.peak_kib);
        let content = result["content"].as_str().unwrap_or_default();
        if result["status"] == "success" {
            assert_eq!(output.exit, 0);
            assert!(content.starts_with("0000000\n0000001\n"), "{content:.40}");
            assert_eq!(content.lines().count(), 1_000);
        } else {
            assert!(!fits, "{result}");
            assert_eq!(output.exit, 1);
            assert_eq!(content, "", "never part of a sorted output");
            let code = result["error"]["code"].as_str().unwrap();
            assert!(
                ["COMMAND_INPUT_LIMIT", "LIMIT_MEMORY"].contains(&code),
                "{result}"
            );
        }
    }
}

#[test]
fn s5_a_sort_past_its_memory_is_a_typed_failure_and_the_next_call_works() {
    let fixture = commands().limit("memory_bytes", 24 << 20);
    fixture.write(
        "large",
        "the same line of forty characters or so\n".repeat(1_000_000),
    );
    fixture.write("small", "b\na\n");
    let tools = fixture.tools();
    for _ in 0..2 {
        let answer = ask(&tools, "sort", json!({"path": "large"})).unwrap();
        assert_eq!(answer.status, "failed", "{answer:?}");
        assert!(
            ["COMMAND_INPUT_LIMIT", "LIMIT_MEMORY"].contains(&&*answer.code),
            "{answer:?}"
        );
        assert_eq!(answer.stdout, "");
        ask(&tools, "sort", json!({"path": "small"}))
            .unwrap()
            .is(0, "a\nb\n", "");
    }
}
