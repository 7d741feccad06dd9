//! `tidegate run`: flow files as people write them (SPEC L3, I11).

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Output, tidegate, tidegate_in};

fn flow(text: &str, more: &[&str]) -> Output {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("flow.yaml"), text).unwrap();
    fs::write(folder.path().join("a.txt"), "a").unwrap();
    let mut arguments = vec![
        "run",
        "flow.yaml",
        "--allow",
        "tool=read_text",
        "--allow",
        "read",
    ];
    arguments.extend(more);
    tidegate_in(folder.path(), &arguments)
}

#[test]
fn the_readmes_flow_reads_two_files_and_delivers_them() {
    let output = tidegate(&[
        "run",
        "examples/read-and-deliver.yaml",
        "--allow",
        "tool=read_text",
        "--allow",
        "read",
        "--allow",
        "stdout",
    ]);
    assert_eq!(output.exit, 0, "{}", output.stderr);
    let lines: Vec<Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ids: Vec<&Value> = lines.iter().map(|line| &line["id"]).collect();
    assert_eq!(ids, [&json!("read:0:delivery"), &json!("read:1:delivery")]);
    assert!(
        lines[0]["message"]["content"]
            .as_str()
            .unwrap()
            .contains("Tidegate")
    );
    assert!(
        lines[1]["message"]["content"]
            .as_str()
            .unwrap()
            .contains("Apache License")
    );
    assert!(
        output.stderr.contains("output_1: accepted"),
        "{}",
        output.stderr
    );
}

const READ: &str = r#"
id: read-one
init: { file: missing.txt }
flow:
  seq:
    - step:
        name: read
        node: INTERACTION.ACT.TOOL
        in: { call: { id: "read:0", name: read_text, arguments: { path: { $path: "$.file" } } } }
        out: $.results.read
    - step:
        name: observe
        node: INTERACTION.OBSERVE
        in: { result: { $path: $.results.read } }
"#;

#[test]
fn input_is_laid_over_the_initial_context_and_results_are_data() {
    let with_result = format!("{READ}result: {{ $path: $.observe.message.content }}\n");
    let given = flow(&with_result, &["--input", r#"{"file": "a.txt"}"#]);
    assert_eq!(
        (given.exit, given.stdout.as_str()),
        (0, "\"a\"\n"),
        "{}",
        given.stderr
    );
    let missing = flow(&with_result, &[]);
    assert_eq!(missing.exit, 0, "a failed result is data");
    assert!(
        missing.stdout.contains("failed: NOT_FOUND"),
        "{}",
        missing.stdout
    );
    let context = flow(READ, &["--json"]).json();
    assert_eq!(context["results"]["read"]["status"], "failed");
    let silent = flow(READ, &[]);
    assert_eq!(silent.stdout, "", "no result declared");
}

#[test]
fn a_refused_step_ends_the_flow() {
    let denied = READ.replace("read_text", "other_tool");
    let output = flow(&denied, &["--json"]);
    assert_eq!(output.exit, 2);
    assert_eq!(output.json()["error"]["code"], "PERMISSION_DENIED");
    let no_sink = "id: a\nflow:\n  step: { name: s, node: INTERACTION.OUTPUT, \
                   in: { deliveryId: d, message: { role: user, content: 1 } } }\n";
    let output = flow(no_sink, &["--json"]);
    assert_eq!(output.json()["error"]["code"], "NOT_INJECTED");
    let mcp = no_sink.replace("OUTPUT", "ACT.MCP");
    assert_eq!(
        flow(&mcp, &["--json"]).json()["error"]["code"],
        "NOT_INJECTED"
    );
}

#[test]
fn files_that_are_no_flow_say_where_and_why() {
    for (text, words) in [
        ("id: a\n", vec!["flow.yaml", "flow"]),
        (
            "id: a\nflow: { steps: [] }\n",
            vec!["flow.yaml:2:9", "`steps`", "`step`?"],
        ),
        (
            "id: a\nflow: { seq: [{ step: { name: 'a b', node: X, in: 1 } }] }\n",
            vec!["letters"],
        ),
        (
            "id: a\nflow: { step: { name: s, node: TOOL, in: 1 } }\n",
            vec!["INTERACTION.ACT.TOOL"],
        ),
        (
            "id: a\nflow: { step: { name: s, node: INTERACTION.OBSERVE, in: { $upper: a } } }\n",
            vec!["$upper", "$path"],
        ),
        (
            "id: a\nflow: { step: { name: s, node: INTERACTION.OBSERVE, in: { $path: a } } }\n",
            vec!["`a` is no path"],
        ),
    ] {
        let output = flow(text, &[]);
        assert_eq!(output.exit, 2, "{text}");
        for word in words {
            assert!(
                output.stderr.contains(word),
                "{text}\n{word}: {}",
                output.stderr
            );
        }
    }
    let nowhere = "id: a\nflow: { step: { name: s, node: INTERACTION.OBSERVE, \
                   in: { result: { $path: $.missing } } } }\n";
    let output = flow(nowhere, &[]);
    assert_eq!(output.exit, 2);
    assert!(output.stderr.contains("$.missing"), "{}", output.stderr);
}

#[test]
fn l4_unknown_keys_of_a_flow_name_the_place_and_the_right_one() {
    for (text, words) in [
        ("id: a\nflw: {}\n", ["flow.yaml:2:1", "`flow`?"]),
        (
            "id: a\nflow:\n  seq:\n    - step:\n        nam: b\n",
            ["flow.yaml:5:9", "`name`?"],
        ),
        ("id: a\nflow:\n  stp: {}\n", ["flow.yaml:3", "`step`?"]),
        (
            "id: a\ninit: { n: 18446744073709551616 }\nflow: { seq: [] }\n",
            ["flow.yaml:2:12", "exactly"],
        ),
    ] {
        let output = flow(text, &[]);
        assert_eq!(output.exit, 2, "{text}");
        for word in words {
            assert!(output.stderr.contains(word), "{text}: {}", output.stderr);
        }
    }
}
