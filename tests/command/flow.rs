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

fn delivered(example: &str) -> (Vec<Value>, String) {
    let allow = [
        "--allow",
        "tool=read_text",
        "--allow",
        "read",
        "--allow",
        "stdout",
    ];
    let output = tidegate(&[&["run", example][..], &allow].concat());
    assert_eq!(output.exit, 0, "{}", output.stderr);
    let lines = output.stdout.lines();
    let lines = lines.map(|line| serde_json::from_str(line).unwrap());
    (lines.collect(), output.stderr)
}

#[test]
fn x4_the_graph_of_the_examples_reads_side_by_side_and_delivers_once() {
    let (lines, stderr) = delivered("examples/graph.yaml");
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["id"], "read:delivery");
    let content = &lines[0]["message"]["content"];
    assert!(content[0].as_str().unwrap().contains("Tidegate"));
    assert!(content[1].as_str().unwrap().contains("Apache License"));
    for step in ["read_0", "read_1", "observe_0", "observe_1"] {
        let line = format!("{step}: success (");
        assert_eq!(stderr.matches(&line).count(), 1, "{stderr}");
    }
    assert!(
        stderr
            .trim_end()
            .lines()
            .last()
            .unwrap()
            .starts_with("output: accepted (")
    );
}

#[test]
fn x4_the_loop_of_the_examples_delivers_each_file() {
    let (lines, stderr) = delivered("examples/loop.yaml");
    let ids: Vec<&Value> = lines.iter().map(|line| &line["id"]).collect();
    assert_eq!(ids, [&json!("read:0:delivery"), &json!("read:1:delivery")]);
    let content = |at: usize| lines[at]["message"]["content"].as_str().unwrap();
    assert!(content(0).contains("Tidegate"));
    assert!(content(1).contains("Apache License"));
    assert_eq!(stderr.matches("output: accepted").count(), 2, "{stderr}");
}

#[test]
fn x4_a_graph_or_loop_that_can_not_run_is_refused_with_the_file() {
    let observing = "node: INTERACTION.OBSERVE, in: 1";
    for (text, words) in [
        (
            format!(
                "id: a\nflow: {{ graph: [{{ name: a, after: [b], {observing} }}, \
                 {{ name: b, after: [a], {observing} }}] }}\n"
            ),
            "flow.yaml:2:7: steps of a graph wait for each other: a after b after a",
        ),
        (
            format!("id: a\nflow: {{ graph: [{{ name: a, after: [z], {observing} }}] }}\n"),
            "flow.yaml:2:7: step `a` comes after `z`, which is not in its graph",
        ),
        (
            "id: a\nflow: { loop: { name: l, body: { seq: [] }, done: true, \
             max_iterations: 10001 } }\n"
                .to_owned(),
            "flow.yaml:2:7: loop `l`: max_iterations must be from 1 to 10000",
        ),
        (
            "id: a\nflow: { seq: [] }\nlimits: { nodes: 0 }\n".to_owned(),
            "flow.yaml: limits.nodes must be from 1 to 1024, not 0",
        ),
        (
            "id: a\nflow: { loop: { name: l, body: { seq: [] } } }\n".to_owned(),
            "done",
        ),
        (
            "id: a\nflow: { loop: { name: l, body: { seq: [] }, done: { $eq: [1] } } }\n"
                .to_owned(),
            "`$eq` takes a list of two expressions",
        ),
    ] {
        let output = flow(&text, &[]);
        assert_eq!(output.exit, 2, "{text}");
        assert!(output.stderr.contains(words), "{text}\n{}", output.stderr);
    }
    let endless = "id: a\nflow: { loop: { name: l, body: { seq: [] }, done: false } }\n";
    let output = flow(endless, &["--json"]);
    assert_eq!(output.exit, 2, "nothing ran");
    let words = "loop `l` is not done after max_iterations = 32";
    assert!(output.stderr.contains(words), "{}", output.stderr);
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

#[test]
fn i11_what_is_refused_before_anything_runs_names_its_line() {
    let step = "step: { name: s, node: INTERACTION.OBSERVE, in: { result: { $path: $.no } } }";
    for (node, words) in [
        (
            format!("seq:\n    - assign: {{ $.a: 1 }}\n    - {step}\n"),
            "flow.yaml:5:7: `s` reads $.no, and nothing that comes before can have written it",
        ),
        (
            "branch:\n    cond: { $lt: [1, 2] }\n    then: { seq: [] }\n".to_owned(),
            "flow.yaml:3:3: the condition of the branch at 0 is always true",
        ),
        (
            "try:\n    body:\n      fanout:\n        name: f\n        items: []\n        bind: i\n        \
             body:\n          assign: { $.b: 1, $.b.c: 2 }\n    catch: { as: e, body: { seq: [] } }\n"
                .to_owned(),
            "flow.yaml:10:11: the assign at 0.0[0] writes $.b.c twice",
        ),
        (
            "branch:\n    cond: { $exists: $.x }\n    then: { seq: [] }\n    else:\n      loop:\n        \
             name: l\n        done: true\n        body:\n          graph:\n            \
             - { name: a, node: INTERACTION.OBSERVE, in: 1, after: [b] }\n"
                .to_owned(),
            "flow.yaml:11:11: step `a` comes after `b`, which is not in its graph",
        ),
    ] {
        let output = flow(&format!("id: a\nflow:\n  {node}"), &["--json"]);
        assert_eq!(output.exit, 2, "{node}");
        assert!(output.stderr.contains(words), "{node}\n{}", output.stderr);
        assert_eq!(output.json()["error"]["code"], "INVALID_CALL");
    }
}

#[test]
fn i11_unknown_keys_of_the_nodes_name_the_place_and_the_right_one() {
    for (node, words) in [
        ("brnch: {}", ["flow.yaml:3:3", "`branch`?"]),
        (
            "branch: { cond: { $exists: $.a }, thn: { seq: [] } }",
            ["flow.yaml:3:37", "`then`?"],
        ),
        (
            "fanout: { name: f, item: [] }",
            ["flow.yaml:3:22", "`items`?"],
        ),
        (
            "fanout: { name: f, items: [], bind: i, body: { seq: [] }, join: al }",
            ["flow.yaml:3", "`all`?"],
        ),
        (
            "try: { body: { seq: [] }, catch: { at: e } }",
            ["flow.yaml:3:38", "`as`?"],
        ),
        ("assign: { a: 1 }", ["flow.yaml:3", "`a` is no path"]),
        (
            "step: { name: s, agent: 'a b', in: 1 }",
            ["flow.yaml:3", "letters"],
        ),
        (
            "step: { name: s, in: 1 }",
            ["flow.yaml:3", "either `node` or `agent`"],
        ),
    ] {
        let output = flow(&format!("id: a\nflow:\n  {node}\n"), &[]);
        assert_eq!(output.exit, 2, "{node}");
        for word in words {
            assert!(
                output.stderr.contains(word),
                "{node}: {word}: {}",
                output.stderr
            );
        }
    }
}

#[test]
fn i11_the_examples_of_each_node_give_what_they_say() {
    let run = |example: &str| {
        let grants = ["--allow", "tool=read_text", "--allow", "read", "--json"];
        let output = tidegate(&[&["run", example][..], &grants].concat());
        assert_eq!(output.exit, 0, "{}", output.stderr);
        output.json()
    };
    assert_eq!(run("examples/decide.yaml")["verdict"], "go on");
    assert_eq!(run("examples/fanout.yaml")["why"], "NOT_FOUND");
    assert!(
        run("examples/race.yaml")
            .as_str()
            .unwrap()
            .starts_with("max_width")
    );
    assert_eq!(run("examples/try.yaml")["code"], "PERMISSION_DENIED");
}

#[test]
fn i11_a_step_of_a_lane_is_reported_with_its_lane() {
    let grants = ["--allow", "tool=read_text", "--allow", "read"];
    let output = tidegate(&[&["run", "examples/fanout.yaml"][..], &grants].concat());
    for line in ["read[0]: success (", "read[1]: failed ("] {
        assert_eq!(output.stderr.matches(line).count(), 1, "{}", output.stderr);
    }
}

#[test]
fn i11_a_step_of_an_agent_is_not_injected_here() {
    let agent = "id: a\nflow: { step: { name: s, agent: reviewer, in: 1 } }\n";
    let output = flow(agent, &["--json"]);
    assert_eq!(output.exit, 2, "{}", output.stderr);
    assert_eq!(output.json()["error"]["code"], "NOT_INJECTED");
    let output = flow(agent, &["--dry-run", "--json"]);
    assert_eq!(output.json()["would"]["steps"][0]["agent"], "reviewer");
}

#[test]
fn i11_errors_of_a_flow_have_codes() {
    let flow_of = |node: &str| flow(&format!("id: a\nflow: {node}\n"), &["--json"]);
    for (node, code) in [
        ("{ assign: { $.a: { $div: [1, 0] } } }", "FLOW_CONTEXT"),
        (
            "{ loop: { name: l, body: { seq: [] }, done: false } }",
            "FLOW_ITERATIONS",
        ),
        (
            "{ fanout: { name: f, items: [1, 2], bind: i, body: { seq: [] }, max_items: 1 } }",
            "FLOW_ITEMS",
        ),
        (
            "{ fanout: { name: f, items: [], bind: i, body: { seq: [] }, join: race } }",
            "FLOW_LANES",
        ),
    ] {
        let output = flow_of(node);
        assert_eq!(output.exit, 2, "{}", output.stderr);
        assert_eq!(output.json()["error"]["code"], code, "{node}");
    }
}
