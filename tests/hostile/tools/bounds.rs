//! Output past its bounds: what is kept, and what is told of the rest (SPEC R4; CASES OU01, OU02,
//! OU03, OU04, OU06, OU11). What a native command prints is in `command/native.rs`.

use serde_json::{Value, json};

use crate::support::{Answer, ask, commands};

/// What `cat` gives of a content under some settings.
fn cat(content: impl AsRef<[u8]>, settings: &[(&str, u32)]) -> Answer {
    let mut fixture = commands();
    for (name, value) in settings {
        fixture.set(name, *value);
    }
    fixture.write("f", content);
    fixture.ran("cat", json!({"path": "f"}))
}

/// The answer kept so much, and counted so much as missing.
#[track_caller]
fn kept(answer: &Answer, text: &str, omitted_bytes: u64, omitted_lines: u64) {
    assert_eq!(answer.stdout, text);
    assert_eq!(answer.result["content"], text);
    let number = |name| answer.field(name).as_u64().unwrap_or_default();
    let omitted = (number("stdoutOmittedBytes"), number("stdoutOmittedLines"));
    assert_eq!(omitted, (omitted_bytes, omitted_lines), "{}", answer.result);
    assert_eq!(answer.truncated, omitted_bytes > 0);
}

#[test]
fn ou01_no_character_is_split() {
    let text = "고리 ";
    for (bytes, shown) in [(5, "고"), (6, "고리"), (7, text), (3, "고"), (2, "")] {
        let answer = cat(text, &[("max_output_bytes", bytes)]);
        let omitted = u64::try_from(text.len() - shown.len()).unwrap();
        assert_eq!(answer.stdout, shown, "{bytes}");
        let told = answer.field("stdoutOmittedBytes").as_u64();
        assert_eq!(told.unwrap_or_default(), omitted, "{bytes}: {answer:?}");
    }
    let answer = cat("é".repeat(40_000), &[("max_output_bytes", 65_535)]);
    assert_eq!(answer.stdout.len(), 65_534);
    assert!(answer.truncated && !answer.stdout.contains('\u{fffd}'));
}

#[test]
fn ou02_a_character_on_the_edge_of_two_reads_is_whole() {
    // Files are read in chunks whose sizes are powers of two: the dash lies across each such edge.
    let filler = |bytes: usize| "x".repeat(bytes);
    for edge in [4_096, 8_192, 16_384, 32_768, 65_536] {
        let text = filler(edge - 1) + "— end";
        let answer = cat(&text, &[("max_output_bytes", 131_072)]);
        kept(&answer, &text, 0, 0);
    }
    let answer = cat(b"a\xffb\xe2", &[]);
    kept(&answer, "a\\xffb\\xe2", 0, 0);
}

#[test]
fn ou03_a_failure_past_the_bound_is_still_a_failure() {
    let mut fixture = commands();
    fixture.set("max_output_bytes", 200);
    fixture.write(
        "log",
        format!("{}\n", "a line of the log ".repeat(5)).repeat(1_000),
    );
    let arguments = json!({"pattern": "line", "paths": ["log", "gone"]});
    let answer = fixture.ran("grep", arguments);
    assert_eq!((&*answer.status, answer.exit), ("failed", Some(2)));
    assert_eq!(answer.code, "COMMAND_EXIT_NONZERO");
    assert!(answer.truncated);
    assert!(answer.field("stdoutOmittedBytes").as_u64().unwrap() > 90_000);
    assert_eq!(answer.stderr, "grep: gone: No such file or directory\n");
}

#[test]
fn ou04_nothing_is_added_to_what_the_bound_keeps() {
    let content = "0123456789".repeat(100);
    for bytes in [1, 10, 199, 200, 201, 999] {
        let answer = cat(&content, &[("max_output_bytes", bytes)]);
        let (head, rest) = content.split_at(usize::try_from(bytes).unwrap());
        assert_eq!(answer.stdout, head);
        let omitted = answer.field("stdoutOmittedBytes").as_u64();
        assert_eq!(omitted, Some(u64::try_from(rest.len()).unwrap()));
    }
    for bytes in [1_000, 1_001] {
        kept(
            &cat(&content, &[("max_output_bytes", bytes)]),
            &content,
            0,
            0,
        );
    }
}

#[test]
fn ou06_a_final_newline_ends_a_line_and_begins_none() {
    let three = [("max_entries", 3)];
    kept(&cat("a\nb\nc\n", &three), "a\nb\nc\n", 0, 0);
    kept(&cat("a\nb\nc", &three), "a\nb\nc", 0, 0);
    kept(&cat("a\nb\nc\nd\n", &three), "a\nb\nc\n", 2, 1);
    kept(&cat("a\nb\nc\nd", &three), "a\nb\nc\n", 1, 1);
    kept(&cat("a\nb\nc\n\n", &three), "a\nb\nc\n", 1, 1);
    kept(&cat("a\nb\n", &[("max_entries", 1)]), "a\n", 2, 1);
    let exact = format!("{}\n", "x".repeat(127)).repeat(512);
    assert_eq!(exact.len(), 65_536);
    kept(&cat(&exact, &[]), &exact, 0, 0);
    // Only the host has seen what follows, and it counts bytes.
    kept(&cat(exact.clone() + "y", &[]), &exact, 1, 0);
}

#[test]
fn ou11_standard_error_is_bounded_like_standard_output() {
    let mut fixture = commands();
    fixture.set("max_error_bytes", 100);
    fixture.write("f", "hit\n");
    let tools = fixture.tools();
    let gone: Vec<String> = (0..15).map(|number| format!("gone-{number}")).collect();
    let mut paths = gone.clone();
    paths.push("f".to_owned());
    let answer = ask(&tools, "grep", json!({"pattern": "hit", "paths": paths})).unwrap();
    assert_eq!(answer.stdout, "f:1:hit\n");
    assert!(answer.stderr.len() <= 100 && answer.stderr.starts_with("grep: gone-0: "));
    let written: usize = gone
        .iter()
        .map(|name| format!("grep: {name}: No such file or directory\n").len())
        .sum();
    let omitted = u64::try_from(written - answer.stderr.len()).unwrap();
    assert_eq!(answer.field("stderrOmittedBytes"), &Value::from(omitted));
    assert!(answer.truncated);
}

#[test]
fn r4_no_executor_bound_cuts_before_the_tools_own() {
    let content = format!("{}\n", "x".repeat(99)).repeat(10_000);
    let mut fixture = commands()
        .limit("result_bytes", 16 << 20)
        .limit("host_allocation_bytes", 64 << 20)
        .limit("stdout_bytes", 0)
        .limit("stderr_bytes", 0);
    fixture.set("max_entries", 10_000);
    fixture.set("max_output_bytes", 1_048_576);
    fixture.write("f", &content);
    let answer = fixture.ran("cat", json!({"path": "f"}));
    assert_eq!(content.len(), 1_000_000);
    kept(&answer, &content, 0, 0);
}
