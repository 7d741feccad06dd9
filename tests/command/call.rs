//! `tidegate call` and `tidegate tools` as they are typed (SPEC L1, L2, L4, L5).

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use crate::support::{COMMANDS, Output, binary, root, run, tidegate, tidegate_in};

const READING: [&str; 4] = ["--allow", "tool=read_text", "--allow", "read"];

/// A folder with a file to read.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(
        folder.path().join("note.txt"),
        "first line\n\tsecond, without an end",
    )
    .unwrap();
    folder
}

fn read_text(folder: &Path, more: &[&str]) -> Output {
    let mut arguments = vec!["call", "read_text", r#"{"path":"note.txt"}"#];
    arguments.extend(READING);
    arguments.extend(more);
    tidegate_in(folder, &arguments)
}

#[test]
fn l1_text_is_printed_exactly_and_documents_are_one_line_of_json() {
    let folder = folder();
    let text = "first line\n\tsecond, without an end";
    let plain = read_text(folder.path(), &[]);
    assert_eq!((plain.exit, plain.stdout.as_str()), (0, text));
    let result = read_text(folder.path(), &["--json", "--id", "read-1"]);
    let expected = json!({
        "callId": "read-1", "source": "read_text", "status": "success", "content": text,
    });
    assert_eq!(result.json(), expected);
    assert_eq!(result.stdout.lines().count(), 1);
    let observation = read_text(folder.path(), &["--observe", "--id", "read-1"]).json();
    let message = json!({"role": "tool", "content": text, "name": "read_text"});
    assert_eq!(observation["message"], message);
}

#[test]
fn l1_arguments_come_from_text_stdin_or_a_file() {
    let folder = folder();
    fs::write(
        folder.path().join("arguments.json"),
        r#"{"path":"note.txt"}"#,
    )
    .unwrap();
    for (typed, input) in [("-", r#"{"path":"note.txt"}"#), ("@arguments.json", "")] {
        let mut arguments = vec!["call", "read_text", typed];
        arguments.extend(READING);
        let output = run(&binary(), folder.path(), &arguments, input);
        assert_eq!(output.exit, 0, "{typed}: {}", output.stderr);
        assert!(output.stdout.starts_with("first line"));
    }
}

#[test]
fn l1_refusals_exit_2_with_a_code_and_failures_exit_1_with_a_result() {
    let folder = folder();
    let call = |arguments: &[&str]| {
        let mut all = vec!["call"];
        all.extend(arguments);
        all.push("--json");
        let output = tidegate_in(folder.path(), &all);
        let document = output.json();
        (
            output.exit,
            document["error"]["code"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let with = |arguments: &[&'static str]| [arguments, &READING].concat();
    for (arguments, exit, code) in [
        (vec!["read_text", "{}"], 2, "PERMISSION_DENIED"),
        (
            vec!["no_such", "{}", "--allow", "tool=no_such"],
            2,
            "UNKNOWN_TOOL",
        ),
        (vec!["bad name", "{}"], 2, "INVALID_CALL"),
        (with(&["read_text", "{}"]), 2, "INVALID_ARGUMENTS"),
        (with(&["read_text", "[]"]), 2, "INVALID_ARGUMENTS"),
        (with(&["read_text", "{"]), 2, "INVALID_ARGUMENTS"),
        (
            with(&["read_text", r#"{"path":"a","path":"b"}"#]),
            2,
            "INVALID_ARGUMENTS",
        ),
        (
            with(&["read_text", r#"{"path":"a"}"#, "--id", ""]),
            2,
            "INVALID_CALL",
        ),
        (
            vec!["read_text", r#"{"path":"a"}"#, "--allow", "tool=read_text"],
            2,
            "PERMISSION_DENIED",
        ),
        (
            with(&["read_text", r#"{"path":"missing.txt"}"#]),
            1,
            "NOT_FOUND",
        ),
        (
            with(&[
                "read_text",
                r#"{"path":"note.txt"}"#,
                "--limit",
                "result_bytes=5",
            ]),
            1,
            "LIMIT_RESULT",
        ),
    ] {
        assert_eq!(call(&arguments), (exit, code.to_owned()), "{arguments:?}");
    }
}

#[test]
fn l2_a_denial_says_which_allow_would_permit_it() {
    let folder = folder();
    let none = tidegate_in(
        folder.path(),
        &["call", "read_text", r#"{"path":"note.txt"}"#],
    );
    assert!(
        none.stderr.contains("--allow tool=read_text"),
        "{}",
        none.stderr
    );
    let tool = [
        "call",
        "read_text",
        r#"{"path":"note.txt"}"#,
        "--allow",
        "tool=read_text",
    ];
    let no_read = tidegate_in(folder.path(), &tool);
    assert_eq!(no_read.exit, 2);
    assert!(
        no_read.stderr.contains("--allow read"),
        "{}",
        no_read.stderr
    );
    assert_eq!(no_read.stdout, "", "stdout carries results only");
}

#[test]
fn t3_a_denial_met_while_running_is_named_in_metadata_and_on_stderr() {
    let outside = TempDir::new().unwrap();
    let folder = folder();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("out")).unwrap();
    let mut arguments = vec!["call", "read_text", r#"{"path":"out/secret"}"#, "--json"];
    arguments.extend(READING);
    let output = tidegate_in(folder.path(), &arguments);
    assert_eq!(output.exit, 1);
    assert_eq!(
        output.json()["metadata"]["denied"],
        json!(["read:out/secret"])
    );
    assert!(
        output.stderr.contains("read:out/secret"),
        "{}",
        output.stderr
    );
}

#[test]
fn l2_wrong_usage_names_what_is_wrong_and_what_there_is() {
    let folder = folder();
    for (arguments, words) in [
        (
            vec!["--allow", "color=red"],
            vec!["color", "tool", "read", "stdout"],
        ),
        (vec!["--limit", "memory=1"], vec!["memory", "memory_bytes"]),
        (
            vec!["--limit", "deadline_ms=0"],
            vec!["deadline_ms", "1", "3600000"],
        ),
        (
            vec!["--limit", "deadline_ms=soon"],
            vec!["deadline_ms", "whole number"],
        ),
        (vec!["--plugin", "absent.wasm"], vec!["absent.wasm"]),
        (vec!["--config", "absent.yaml"], vec!["absent.yaml"]),
        (vec!["--workspace", "absent"], vec!["absent"]),
        (vec!["--allow", "read=absent"], vec!["absent"]),
        (vec!["--plugin", "note.txt"], vec!["note", "component"]),
    ] {
        let mut all = vec!["tools"];
        all.extend(&arguments);
        let output = tidegate_in(folder.path(), &all);
        assert_eq!(output.exit, 2, "{arguments:?}");
        for word in words {
            assert!(
                output.stderr.contains(word),
                "{arguments:?}: {}",
                output.stderr
            );
        }
    }
}

/// The steps of a call are spans, each inside the call's.
#[test]
fn x7_the_log_shows_the_path_of_a_call() {
    let call = [
        "call",
        "read_text",
        r#"{"path":"README.md"}"#,
        "--id",
        "c-7",
    ];
    let output = tidegate(&[&call[..], &["--allow", "plugin=read-text", "-vv"]].concat());
    assert_eq!(output.exit, 0, "{}", output.stderr);
    let path = "call{tenant=default id=c-7 tool=read_text}:execute:";
    assert!(output.stderr.contains(path), "{}", output.stderr);
}

#[test]
fn l3_tools_lists_what_is_permitted() {
    let all = tidegate(&["tools", "--allow", "tool=*", "--json"]).json();
    let names: Vec<&str> = all
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let expected = [&["read_text"], &COMMANDS[..], &["web_search"]].concat();
    assert_eq!(names, expected, "every carried tool");
    assert!(all[0]["inputSchema"].is_object());
    assert_eq!(all[0]["effects"], json!(["read"]));
    assert_eq!(all[1]["effects"], json!(["read", "execute"]));
    let none = tidegate(&["tools", "--json"]);
    assert_eq!((none.exit, none.json()), (0, json!([])));
}

#[test]
fn t2_a_carried_name_is_never_shadowed_and_a_copy_of_a_carried_plugin_is_no_conflict() {
    let output = tidegate(&[
        "tools",
        "--plugin",
        "guests/dist/read-text.wasm",
        "--allow",
        "tool=read_text",
        "--json",
    ]);
    assert_eq!(output.exit, 0, "{}", output.stderr);
    assert_eq!(output.json().as_array().map(Vec::len), Some(1));
}

#[test]
fn t2_two_plugins_with_one_tool_name_are_an_error_that_names_both() {
    let folder = TempDir::new().unwrap();
    let plugin = root().join("guests/dist/misbehave.wasm");
    fs::copy(&plugin, folder.path().join("one.wasm")).unwrap();
    fs::copy(&plugin, folder.path().join("two.wasm")).unwrap();
    let output = tidegate_in(
        folder.path(),
        &[
            "tools", "--plugin", "one.wasm", "--plugin", "two.wasm", "--allow", "tool=*",
        ],
    );
    assert_eq!(output.exit, 2);
    for word in ["`one`", "`two`", "prefix"] {
        assert!(output.stderr.contains(word), "{}", output.stderr);
    }
}

#[test]
fn l4_the_binary_works_alone_in_an_empty_folder() {
    let folder = folder();
    let alone = folder.path().join("tidegate");
    fs::copy(binary(), &alone).unwrap();
    let mut arguments = vec!["call", "read_text", r#"{"path":"note.txt"}"#];
    arguments.extend(READING);
    let output = run(&alone, folder.path(), &arguments, "");
    assert_eq!(output.exit, 0, "{}", output.stderr);
    assert!(output.stdout.starts_with("first line"));
}

#[test]
fn help_teaches() {
    for (arguments, words) in [
        (
            vec!["--help"],
            vec![
                "call",
                "tools",
                "run",
                "--allow tool=read_text",
                "Exit codes",
            ],
        ),
        (
            vec!["call", "--help"],
            vec!["stdin", "@FILE", "--limit", "network=ORIGIN"],
        ),
        (vec!["run", "--help"], vec!["flow", "--input"]),
    ] {
        let output = tidegate(&arguments);
        assert_eq!(output.exit, 0);
        for word in words {
            assert!(output.stdout.contains(word), "{arguments:?}: {word}");
        }
    }
    let wrong = tidegate(&["cal"]);
    assert_eq!(wrong.exit, 2);
}
