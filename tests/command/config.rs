//! `tidegate.yaml` as operators write it (SPEC L4; CASES WA18).

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use tempfile::TempDir;

use crate::support::{Output, root, tidegate_in};

/// A folder with the misbehaving and probing guests, a file, and a config.
fn folder(config: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    for guest in ["probe", "misbehave"] {
        let from = root().join(format!("guests/dist/{guest}.wasm"));
        fs::copy(from, folder.path().join(format!("{guest}.wasm"))).unwrap();
    }
    fs::create_dir(folder.path().join("docs")).unwrap();
    fs::write(folder.path().join("docs/a.txt"), "a").unwrap();
    fs::write(folder.path().join("b.txt"), "b").unwrap();
    fs::write(folder.path().join("tidegate.yaml"), config).unwrap();
    folder
}

fn probe(folder: &TempDir, tool: &str, path: &str) -> String {
    let arguments = json!({"op": "read", "path": path}).to_string();
    let output = tidegate_in(folder.path(), &["call", tool, &arguments, "--json"]);
    output.json()["content"]
        .as_str()
        .unwrap_or(&output.stdout)
        .to_owned()
}

/// A config that is refused; the error must hold the words.
fn refused(config: &str, words: &[&str]) {
    let folder = folder(config);
    let output: Output = tidegate_in(folder.path(), &["tools"]);
    assert_eq!(output.exit, 2, "{config}\n{}", output.stderr);
    for word in words {
        assert!(
            output.stderr.contains(word),
            "{config}\n{word} is not in {}",
            output.stderr
        );
    }
}

#[test]
fn wa18_each_plugin_gets_exactly_its_own_grant() {
    let folder = folder(
        r#"
sandbox: { tools: "*", read: true }
plugins:
  - { name: acme/fetch.rs, component: probe.wasm, prefix: one_, grants: { read: [docs] } }
  - { name: acme_fetch-rs, component: probe.wasm, prefix: two_, grants: { read: false } }
  - { name: third, component: probe.wasm, prefix: three_, grants: { read: true } }
  - { name: fourth, component: probe.wasm, prefix: four_ }
"#,
    );
    assert_eq!(probe(&folder, "three_fs", "b.txt"), "b");
    let undeclared = probe(&folder, "four_fs", "b.txt");
    assert_eq!(
        undeclared, "no-such-preopen",
        "without grants: what its tools declare"
    );
    assert_eq!(probe(&folder, "two_fs", "b.txt"), "no-such-preopen");
    let docs = json!({"op": "read", "path": "a.txt", "dir": "docs"}).to_string();
    let output = tidegate_in(folder.path(), &["call", "one_fs", &docs, "--json"]);
    assert_eq!(output.json()["content"], "a");
    assert_ne!(probe(&folder, "one_fs", "b.txt"), "b");
}

#[test]
fn wa18_equal_names_and_grants_that_attach_to_nothing_are_start_up_errors() {
    refused(
        "sandbox: { tools: '*' }\nplugins: [{name: a, component: probe.wasm}, {name: a, component: misbehave.wasm}]",
        &["two plugins", "`a`"],
    );
    refused(
        "sandbox: { tools: '*', read: [docs] }\nplugins: [{name: a, component: probe.wasm, grants: {write: true}}]",
        &["`a`", "write", "sandbox"],
    );
    refused(
        "plugins: [{name: a, component: probe.wasm, grants: {network: ['https://example.com']}}]",
        &["`a`", "network"],
    );
}

#[test]
fn l4_unknown_keys_duplicates_and_wrong_types_name_file_line_and_column() {
    for (config, place, word) in [
        (
            "sandbox: {}\nplugin: []\n",
            "tidegate.yaml:2:1",
            "`plugins`?",
        ),
        (
            "sandbx: {}\n",
            "tidegate.yaml:1:1",
            "`sandbx`; did you mean `sandbox`?",
        ),
        (
            "colour: {}\n",
            "tidegate.yaml:1:1",
            "there are workspace, sandbox",
        ),
        ("limits: {}\nlimits: {}\n", "tidegate.yaml:2:1", "twice"),
        ("sandbox:\n  raed: true\n", "tidegate.yaml:2:3", "`read`?"),
        (
            "limits:\n  deadline: 5\n",
            "tidegate.yaml:2:3",
            "`deadline_ms`?",
        ),
        (
            "plugins:\n  - name: a\n    component: b\n    limits: { cpums: 1 }\n",
            "tidegate.yaml:4:15",
            "`cpu_ms`?",
        ),
        (
            "plugins:\n  - name: a\n    component: b\n    grants: { writ: 1 }\n",
            "tidegate.yaml:4:15",
            "`write`?",
        ),
        ("output:\n  - nam: a\n", "tidegate.yaml:2:5", "`name`?"),
        (
            "interaction:\n  commands:\n    max_entry: 1\n",
            "tidegate.yaml:3:5",
            "`max_entries`?",
        ),
        ("interaction:\n  que: 1\n", "tidegate.yaml:2:3", "`queue`?"),
        (
            "sandbox: { read: 7 }\n",
            "tidegate.yaml:1",
            "list of folders",
        ),
        (
            "sandbox: { tools: grep }\n",
            "tidegate.yaml:1",
            "list of names",
        ),
        ("plugins: [{ name: a }]\n", "tidegate.yaml:1", "component"),
    ] {
        refused(config, &[place, word]);
    }
}

#[test]
fn c1_numbers_of_the_file_are_exact_or_refused_with_their_place() {
    for (config, place, word) in [
        (
            "interaction: { concurrency: -1 }\n",
            "tidegate.yaml:1:29",
            "whole number",
        ),
        (
            "limits: { cpu_ms: 18446744073709551616 }\n",
            "tidegate.yaml:1:19",
            "exactly",
        ),
        (
            "plugins:\n  - name: a\n    component: b\n    config: { id: 18446744073709551616 }\n",
            "tidegate.yaml:4:19",
            "exactly",
        ),
    ] {
        refused(config, &[place, word]);
    }
}

#[test]
fn l4_values_out_of_range_name_their_key_and_what_it_takes() {
    refused("limits: { deadline: 5 }\n", &["deadline", "deadline_ms"]);
    refused(
        "limits: { deadline_ms: 99999999 }\n",
        &["deadline_ms", "3600000"],
    );
    refused(
        "interaction: { concurrency: 0 }\n",
        &["concurrency", "positive"],
    );
    refused("interaction: { queue: 70000 }\n", &["queue", "65536"]);
    refused("sandbox: { read: [../up] }\n", &[".."]);
    refused("sandbox: { network: ['*'] }\n", &["network"]);
}

#[test]
fn l4_a_file_that_was_found_stays_inside_its_folder() {
    for config in [
        "workspace: /etc\n",
        "workspace: ..\n",
        "sandbox: { read: [/etc] }\n",
        "plugins: [{ name: a, component: /tmp/x.wasm }]\n",
        "output: [{ name: a, component: ../x.wasm }]\n",
    ] {
        refused(
            config,
            &["outside the folder", "tidegate trust", "--config"],
        );
    }
    let folder = folder("workspace: link\nsandbox: { tools: [read_text], read: true }\n");
    let outside = TempDir::new().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    symlink(outside.path(), folder.path().join("link")).unwrap();
    let read = ["call", "read_text", r#"{"path":"secret"}"#];
    let found = tidegate_in(folder.path(), &read);
    assert_eq!(
        (found.exit, found.stdout.as_str()),
        (2, ""),
        "{}",
        found.stderr
    );
    let chosen = tidegate_in(
        folder.path(),
        &[&read[..], &["--config", "tidegate.yaml"]].concat(),
    );
    assert_eq!(chosen.stdout, "secret", "the operator named the file");
}

#[test]
fn l4_a_file_that_was_found_grants_no_other_folder_and_no_environment() {
    let folder = folder("sandbox: { tools: '*', read: true }\n");
    let elsewhere = TempDir::new().unwrap();
    let workspace = elsewhere.path().to_str().unwrap();
    let output = tidegate_in(folder.path(), &["tools", "--workspace", workspace]);
    assert_eq!(output.exit, 2);
    assert!(output.stderr.contains("--config"), "{}", output.stderr);
    refused("sandbox: { env: '*' }\n", &["env", "--config"]);
}

#[test]
fn l4_limits_narrow_from_host_to_plugin_to_command_line() {
    let folder = folder(
        "sandbox: { tools: '*' }\nlimits: { result_bytes: 1000 }\nplugins:\n  \
         - { name: m, component: misbehave.wasm, limits: { result_bytes: 500 } }\n",
    );
    let call = |bytes: u32, more: &[&str]| {
        let arguments = json!({ "bytes": bytes }).to_string();
        let mut all = vec!["call", "huge_result", &arguments, "--json"];
        all.extend(more);
        tidegate_in(folder.path(), &all).exit
    };
    assert_eq!(call(500, &[]), 0);
    assert_eq!(call(501, &[]), 1);
    assert_eq!(call(501, &["--limit", "result_bytes=501"]), 0);
}

#[test]
fn a_pinned_digest_must_be_the_components() {
    refused(
        &format!(
            "plugins: [{{ name: a, component: probe.wasm, digest: 'sha-256:{}' }}]",
            "0".repeat(64)
        ),
        &["`a`", "digest"],
    );
    refused(
        "plugins: [{ name: a, component: probe.wasm, digest: md5 }]",
        &["sha-256:HEX"],
    );
}

#[test]
fn l4_config_check_says_ok_or_the_first_error_and_schema_is_a_document() {
    let good = folder("sandbox: { tools: [read_text] }\n");
    let output = tidegate_in(good.path(), &["config", "check"]);
    assert_eq!(
        (output.exit, output.stdout.as_str()),
        (0, "tidegate.yaml: OK\n")
    );
    fs::write(good.path().join("bad.yaml"), "sandbx: {}\n").unwrap();
    let output = tidegate_in(good.path(), &["config", "check", "bad.yaml"]);
    assert_eq!((output.exit, output.stdout.as_str()), (2, ""));
    assert!(output.stderr.contains("bad.yaml:1:1"), "{}", output.stderr);
    let empty = TempDir::new().unwrap();
    let output = tidegate_in(empty.path(), &["config", "check"]);
    assert_eq!(output.exit, 2);
    let schema = tidegate_in(empty.path(), &["config", "schema"]).json();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
}

/// What `{key: {zz: 1}}` around the place is refused with: the keys there are.
fn keys_at(around: &str) -> Vec<String> {
    let unknown = "no-key-is-like-this-one";
    let folder = folder(&around.replace('@', &format!("{unknown}: 1")));
    let output = tidegate_in(folder.path(), &["config", "check"]);
    let (_, keys) = output.stderr.split_once("there are ").unwrap();
    keys.trim().split(", ").map(str::to_owned).collect()
}

#[test]
fn l4_the_schema_has_exactly_the_keys_that_are_read() {
    let schema = tidegate_in(&root(), &["config", "schema"]).json();
    for (pointer, around) in [
        ("", "{ @ }"),
        ("/$defs/grants", "sandbox: { @ }"),
        ("/$defs/grants", "plugins: [{ grants: { @ } }]"),
        ("/$defs/grants", "output: [{ grants: { @ } }]"),
        ("/$defs/plugin", "plugins: [{ @ }]"),
        ("/$defs/sink", "output: [{ @ }]"),
        ("/properties/interaction", "interaction: { @ }"),
        ("/$defs/commands", "interaction: { commands: { @ } }"),
        (
            "/$defs/native",
            "interaction: { commands: { native: [{ @ }] } }",
        ),
        ("/$defs/web_search", "interaction: { web_search: { @ } }"),
        ("/$defs/mcp_budgets", "interaction: { mcp: { @ } }"),
        ("/$defs/mcp_server", "mcp: { a: { @ } }"),
        ("/properties/network", "network: { @ }"),
        ("/properties/serve", "serve: { @ }"),
        ("/$defs/serve_limits", "serve: { limits: { @ } }"),
        ("/properties/artifacts", "artifacts: { @ }"),
        ("/$defs/secret", "secrets: { a: { @ } }"),
        ("/$defs/inject", "plugins: [{ inject: [{ @ }] }]"),
        ("/$defs/inject", "output: [{ inject: [{ @ }] }]"),
        ("/$defs/limits", "limits: { @ }"),
        ("/$defs/limits", "plugins: [{ limits: { @ } }]"),
        ("/$defs/limits", "output: [{ limits: { @ } }]"),
    ] {
        let mut read = keys_at(around);
        let object = schema.pointer(pointer).unwrap();
        assert_eq!(object["additionalProperties"], false, "{around}");
        let properties = object["properties"].as_object().unwrap();
        let mut shown: Vec<String> = properties.keys().cloned().collect();
        read.sort();
        shown.sort();
        assert_eq!(read, shown, "{around}");
    }
    let limits = schema["$defs"]["limits"]["properties"].as_object().unwrap();
    for spec in tidegate_contract::limits::LIMITS {
        let shown = &limits[spec.name];
        assert_eq!(shown["minimum"], spec.minimum, "{}", spec.name);
        assert_eq!(shown["maximum"], spec.maximum, "{}", spec.name);
    }
    let artifacts = &schema["properties"]["artifacts"]["properties"];
    for spec in tidegate::ArtifactBounds::SPECS {
        let shown = &artifacts[spec.name];
        assert_eq!(shown["default"], spec.default, "{}", spec.name);
        assert_eq!(shown["minimum"], spec.minimum, "{}", spec.name);
        assert_eq!(shown["maximum"], spec.maximum, "{}", spec.name);
    }
}
