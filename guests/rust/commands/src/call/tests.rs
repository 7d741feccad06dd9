//! Whole calls against a host that is a closure.

use serde_json::{Value, json};

use super::*;
use crate::bindings::tidegate::plugin::types::{Content, Status};

const GREP: (&str, &str) = ("grep", r#"{"pattern":"x","paths":["a"]}"#);
const CAT: (&str, &str) = ("cat", r#"{"path":"a"}"#);

fn call((name, arguments): (&str, &str)) -> ToolCall {
    ToolCall {
        id: "1".to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    }
}

fn output(exit_code: u8, stdout: &str, stderr: &str) -> Output {
    Output {
        exit_code,
        stdout: stdout.as_bytes().to_vec(),
        stderr: stderr.as_bytes().to_vec(),
        stdout_omitted: 0,
        stderr_omitted: 0,
    }
}

/// The outcome of a call whose command has this output.
fn outcome(asked: (&str, &str), config: &Value, output: Output) -> Outcome {
    execute(&call(asked), &config.to_string(), |_, _, _| Ok(output))
}

fn structured(outcome: &Outcome) -> Value {
    let json = outcome.structured_content.as_deref().expect("data");
    serde_json::from_str(json).expect("JSON")
}

fn text(outcome: &Outcome) -> &str {
    match &outcome.content {
        Some(Content::Text(text)) => text,
        other => panic!("{other:?}"),
    }
}

/// The code and message of an outcome that is no success.
fn error(outcome: &Outcome) -> (&str, &str) {
    let error = outcome.error.as_ref().expect("an error");
    let message = error.message.as_str();
    assert!(
        message.len() <= 512 && !message.contains(['\n', '/']),
        "{message}"
    );
    (&error.code, message)
}

fn never(_: &str, _: &[String], _: Bounds) -> Result<Output, Failure> {
    panic!("nothing may run");
}

#[test]
fn r4_a_success_has_the_output_as_text_and_as_data() {
    let outcome = outcome(GREP, &json!({}), output(0, "1:x\n", "note\n"));
    assert!(matches!(outcome.status, Status::Success));
    assert_eq!(text(&outcome), "1:x\n");
    let expected = r#"{"command":"grep","args":["-n","--","x","a"],"stdout":"1:x\n","stderr":"note\n","exitCode":0,"truncated":false}"#;
    assert_eq!(outcome.structured_content.as_deref(), Some(expected));
    assert!(outcome.error.is_none() && outcome.references.is_empty());
}

#[test]
fn r2_gap_16_the_host_is_asked_once_and_for_what_the_settings_keep() {
    let asked = |config: &str| {
        let mut seen = Vec::new();
        let outcome = execute(&call(GREP), config, |command, args, bounds| {
            seen.push((command.to_owned(), args.to_vec(), bounds));
            Ok(output(0, "", ""))
        });
        assert!(matches!(outcome.status, Status::Success));
        seen
    };
    let [(command, args, bounds)] = &asked("{}")[..] else {
        panic!("asked once");
    };
    assert_eq!(command, "grep");
    assert_eq!(args[..], ["-n", "--", "x", "a"]);
    assert_eq!((bounds.stdout_bytes, bounds.stderr_bytes), (65_536, 8_192));
    // Every line bound of the tool lies below it, so the host cuts none before the tool does.
    assert_eq!(bounds.stdout_lines, u32::MAX);
    let config = r#"{"max_output_bytes":1048576,"max_error_bytes":65536,"max_entries":10000}"#;
    let [(_, _, bounds)] = &asked(config)[..] else {
        panic!("asked once");
    };
    assert_eq!(
        (bounds.stdout_bytes, bounds.stderr_bytes),
        (1_048_576, 65_536)
    );
}

#[test]
fn gap_16_output_past_the_bound_is_a_truncated_success() {
    let long = Output {
        stdout_omitted: 100_000,
        ..output(0, &"x".repeat(65_536), "")
    };
    let outcome = outcome(CAT, &json!({}), long);
    assert!(matches!(outcome.status, Status::Success));
    assert_eq!(text(&outcome).len(), 65_536);
    let data = structured(&outcome);
    assert_eq!(data["truncated"], json!(true));
    assert_eq!(data["stdoutOmittedBytes"], json!(100_000));
    assert_eq!(data.get("stdoutOmittedLines"), None);
}

#[test]
fn ou03_ou06_what_is_cut_is_counted_beside_the_text() {
    let mut lines = "x".repeat(99) + "\n";
    lines = lines.repeat(1_000) + "error: build failed\n";
    let config = json!({"max_output_bytes": 1_048_576});
    let outcome = outcome(CAT, &config, output(101, &lines, ""));
    assert_eq!(error(&outcome).0, "COMMAND_EXIT_NONZERO");
    assert!(error(&outcome).1.contains("code 101"));
    assert_eq!(text(&outcome).len(), 100_000);
    let data = structured(&outcome);
    assert_eq!(data["exitCode"], json!(101));
    assert_eq!(data["truncated"], json!(true));
    assert_eq!(data["stdoutOmittedLines"], json!(1));
    assert_eq!(data["stdoutOmittedBytes"], json!(20));
}

#[test]
fn ou05_standard_error_is_bounded_on_its_own() {
    let config = json!({"max_error_bytes": 4, "max_entries": 2});
    let noisy = outcome(CAT, &config, output(0, "a\nb\n", "éé\u{1b}x"));
    let data = structured(&noisy);
    assert_eq!(
        (&data["stdout"], &data["stderr"]),
        (&json!("a\nb\n"), &json!("éé"))
    );
    assert_eq!(data["truncated"], json!(true));
    assert_eq!(data["stderrOmittedBytes"], json!(2));
    assert_eq!(data.get("stdoutOmittedBytes"), None);
    let lines = outcome(CAT, &json!({"max_entries": 1}), output(0, "", "a\nb\n"));
    assert_eq!(structured(&lines)["stderr"], json!("a\n"));
}

#[test]
fn r5_cm05_no_match_is_its_own_failure_or_an_empty_success() {
    let failed = outcome(GREP, &json!({}), output(1, "", ""));
    assert!(matches!(failed.status, Status::Failed));
    assert_eq!(
        error(&failed),
        ("COMMAND_NO_MATCH", "no line matches the pattern")
    );
    assert_eq!(text(&failed), "");
    let succeeded = outcome(GREP, &json!({"no_match": "success"}), output(1, "", ""));
    assert!(matches!(succeeded.status, Status::Success) && succeeded.error.is_none());
    assert_eq!(text(&succeeded), "");
    assert_eq!(structured(&succeeded)["exitCode"], json!(1));
    // Only for grep, and only without a word on standard error.
    for (asked, stderr) in [(CAT, ""), (GREP, "grep: b: Permission denied\n")] {
        let other = outcome(
            asked,
            &json!({"no_match": "success"}),
            output(1, "", stderr),
        );
        assert_eq!(error(&other).0, "COMMAND_EXIT_NONZERO");
    }
}

#[test]
fn cm05_a_bad_pattern_is_an_error_that_says_so() {
    let stderr = "grep: Unmatched [, [^, [:, [., or [=\n";
    let outcome = outcome(GREP, &json!({"no_match": "success"}), output(2, "", stderr));
    let message = "grep exited with code 2: the pattern is not valid";
    assert_eq!(error(&outcome), ("COMMAND_EXIT_NONZERO", message));
    assert_eq!(structured(&outcome)["stderr"], json!(stderr));
}

#[test]
fn cm05_a_match_beside_an_unreadable_file_is_kept_and_incomplete() {
    let stderr = "grep: b: Permission denied\n";
    let beside = outcome(GREP, &json!({}), output(2, "a:1:x\n", stderr));
    assert_eq!(error(&beside).0, "COMMAND_EXIT_NONZERO");
    assert_eq!(text(&beside), "a:1:x\n");
    assert_eq!(structured(&beside)["incomplete"], json!(true));
    let alone = outcome(GREP, &json!({"no_match": "success"}), output(2, "", stderr));
    let message = "grep exited with code 2: a file or folder may not be read";
    assert_eq!(error(&alone), ("COMMAND_EXIT_NONZERO", message));
    assert_eq!(structured(&alone).get("incomplete"), None);
}

#[test]
fn r5_a_nonzero_exit_keeps_code_and_output() {
    let outcome = outcome(
        CAT,
        &json!({}),
        output(1, "head", "cat: odd /etc/x\u{1b}\n"),
    );
    assert!(matches!(outcome.status, Status::Failed));
    let (code, message) = error(&outcome);
    assert_eq!(code, "COMMAND_EXIT_NONZERO");
    assert_eq!(
        message,
        "cat exited with code 1; stderr says why; its output is kept and may be incomplete"
    );
    assert_eq!(text(&outcome), "head");
    assert_eq!(
        structured(&outcome)["stderr"],
        json!("cat: odd /etc/x\\x1b\n")
    );
}

#[test]
fn cm13_an_input_past_the_memory_is_a_failure_that_names_the_limit() {
    for asked in [CAT, GREP] {
        let stderr = "sort: input too large for the memory limit\n";
        let outcome = outcome(asked, &json!({}), output(125, "", stderr));
        let (code, message) = error(&outcome);
        assert_eq!(code, "COMMAND_INPUT_LIMIT");
        assert!(message.contains("memory_bytes"), "{message}");
        assert_eq!(structured(&outcome)["exitCode"], json!(125));
    }
}

#[test]
fn r5_a_failure_of_the_host_is_passed_on_as_it_is() {
    for (code, status) in [
        ("PERMISSION_DENIED", Status::Failed),
        ("EXECUTOR_FAULT", Status::Failed),
        ("LIMIT_CPU", Status::Failed),
        ("LIMIT_DEADLINE", Status::Timeout),
        ("CANCELLED", Status::Cancelled),
    ] {
        let failure = Failure {
            code: code.to_owned(),
            message: "the host says so".to_owned(),
            retryable: Some(false),
        };
        let outcome = execute(&call(CAT), "{}", |_, _, _| Err(failure));
        assert_eq!(outcome.status, status, "{code}");
        assert_eq!(error(&outcome), (code, "the host says so"));
        assert_eq!(outcome.error.and_then(|error| error.retryable), Some(false));
        assert!(outcome.content.is_none() && outcome.structured_content.is_none());
    }
}

#[test]
fn r3_what_is_not_valid_runs_nothing() {
    let outcome = execute(&call(("cat", r#"{"path":"/etc/passwd"}"#)), "{}", never);
    assert_eq!(error(&outcome).0, "INVALID_ARGUMENTS");
    assert!(
        error(&outcome)
            .1
            .starts_with("an argument must be relative")
    );
    let outcome = execute(&call(("rm", "{}")), "{}", never);
    assert_eq!(error(&outcome).0, "INVALID_ARGUMENTS");
}

#[test]
fn r4_a_wrong_setting_fails_the_call_and_runs_nothing() {
    let outcome = execute(&call(CAT), r#"{"max_entries":0}"#, never);
    let message = "config: `max_entries` must be a whole number from 1 to 10000";
    assert_eq!(error(&outcome), ("CONFIG_INVALID", message));
}

#[test]
fn ex01_the_command_is_the_tools_own_name_whatever_the_arguments() {
    for path in ["./cat", "bin/cat", "-cat", "cat"] {
        let arguments = json!({"path": path}).to_string();
        let outcome = execute(&call(("cat", &arguments)), "{}", |command, args, _| {
            assert_eq!(command, "cat");
            assert_eq!(args.len(), 2);
            Ok(output(0, "", ""))
        });
        assert!(outcome.error.is_none());
    }
    let outcome = execute(&call(("./cat", r#"{"path":"a"}"#)), "{}", never);
    assert_eq!(error(&outcome).0, "INVALID_ARGUMENTS");
}
