//! Servers that a config file names (SPEC L4), asked by flows.

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use crate::support::{Output, root, tidegate_in, tidegate_with};

const FLOW: &str = "
id: ask
init: {}
flow:
  seq:
    - step:
        name: found
        node: INTERACTION.ACT.MCP
        in: { operation: discover, server: files }
    - step:
        name: said
        node: INTERACTION.ACT.MCP
        in:
          operation: invoke
          server: files
          call: { id: c-1, name: environment, arguments: {} }
";

/// A folder with a flow and a config of one server.
fn folder(server: &str, more: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let script = root()
        .join("tests/mcp/peers/raw.py")
        .canonicalize()
        .unwrap();
    let server = server.replace("PEER", &script.display().to_string());
    fs::write(
        folder.path().join("c.yaml"),
        format!("{more}\nmcp: {{ files: {server} }}\n"),
    )
    .unwrap();
    fs::write(folder.path().join("flow.yaml"), FLOW).unwrap();
    folder
}

fn run(folder: &TempDir, more: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut arguments = vec!["run", "flow.yaml", "--json", "--config", "c.yaml"];
    arguments.extend(more);
    let path = std::env::var("PATH").unwrap();
    let home = std::env::var("HOME").unwrap();
    let mut variables = vec![("PATH", path.as_str()), ("HOME", home.as_str())];
    variables.extend(environment);
    tidegate_with(folder.path(), &arguments, "", &variables)
}

#[test]
fn ex04_a_flow_asks_a_server_that_has_its_own_secrets_and_no_others() {
    let server = "{ command: python3, args: [PEER], env: { PLAIN: a, KEY: { secret: key } } }";
    let folder = folder(server, "secrets: { key: { env: THE_KEY } }");
    let keys = [
        ("THE_KEY", "sk-granted-123"),
        ("MODEL_API_KEY", "sk-test-123"),
    ];
    let output = run(&folder, &["--allow", "mcp=files"], &keys);
    // What holds the granted secret is thrown away.
    assert_eq!(output.exit, 1, "{} {}", output.stdout, output.stderr);
    assert!(
        output.stdout.contains("SECRET_IN_RESULT"),
        "{}",
        output.stdout
    );
    assert!(
        !format!("{}{}", output.stdout, output.stderr).contains("sk-"),
        "{}",
        output.stderr
    );

    let plain = self::folder("{ command: python3, args: [PEER], env: { PLAIN: a } }", "");
    let output = run(&plain, &["--allow", "mcp=files"], &keys);
    assert_eq!(output.exit, 0, "{} {}", output.stdout, output.stderr);
    let context = output.json();
    let found = context.pointer("/found/capabilities/0/name");
    assert_eq!(found, Some(&json!("t0")), "{context}");
    let seen = context
        .pointer("/said/result/content")
        .unwrap()
        .as_str()
        .unwrap();
    assert!(seen.contains("PLAIN") && !seen.contains("sk-"), "{seen}");
}

#[test]
fn s7_the_log_shows_what_a_server_says_without_its_secrets() {
    let server = "{ command: python3, args: [PEER], env: { KEY: { secret: key } } }";
    let folder = folder(server, "secrets: { key: { env: THE_KEY } }");
    let flow = FLOW.replace("name: environment", "name: leak");
    fs::write(folder.path().join("flow.yaml"), flow).unwrap();
    let keys = [("THE_KEY", "sk-granted-123")];
    let output = run(&folder, &["--allow", "mcp=files"], &keys);
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(!said.contains("sk-granted"), "{said}");
    let hidden = output.stderr.matches("[it holds a secret]").count();
    assert_eq!(hidden, 2, "the line and the error: {said}");
    assert!(!said.contains("\nWARN another"), "{said}");
}

#[test]
fn m2_a_server_is_asked_only_where_it_is_granted() {
    // A program that is not there is no reason to fail where the server is not granted.
    let folder = folder("{ command: no-such-program-here }", "");
    let output = run(&folder, &[], &[]);
    assert_eq!(output.exit, 2, "{}", output.stderr);
    assert!(
        output.stdout.contains("PERMISSION_DENIED"),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("--allow mcp=files"),
        "{}",
        output.stdout
    );
    let output = run(&folder, &["--allow", "mcp=files"], &[]);
    assert_eq!(output.exit, 2, "{}", output.stderr);
    assert!(output.stdout.contains("mcp.files"), "{}", output.stdout);
}

#[test]
fn l4_a_found_file_names_no_server_until_it_is_trusted() {
    let folder = folder("{ command: python3, args: [PEER] }", "");
    fs::rename(
        folder.path().join("c.yaml"),
        folder.path().join("tidegate.yaml"),
    )
    .unwrap();
    for server in ["{ command: ./x }", "{ url: 'http://127.0.0.1:9/' }"] {
        fs::write(
            folder.path().join("tidegate.yaml"),
            format!("mcp: {{ a: {server} }}\n"),
        )
        .unwrap();
        let output = tidegate_in(folder.path(), &["tools"]);
        assert_eq!(output.exit, 2, "{}", output.stdout);
        assert!(output.stderr.contains("`mcp.a`"), "{}", output.stderr);
        assert!(
            output.stderr.contains("tidegate trust"),
            "{}",
            output.stderr
        );
    }
}

#[test]
fn l4_what_is_wrong_with_a_server_is_told_with_its_place() {
    for (server, said) in [
        ("{ }", "exactly one of command and url"),
        (
            "{ command: a, url: 'http://a/' }",
            "exactly one of command and url",
        ),
        ("{ url: 'http://a/', args: [x] }", "go with `command`"),
        ("{ command: a, headers: { b: c } }", "go with `url`"),
        ("{ command: a, type: http }", "`stdio`"),
        ("{ url: 'http://a/', type: stdio }", "`http`"),
        ("{ comand: a }", "`command`"),
        ("{ command: a, protocol: '2020' }", "2026-07-28"),
    ] {
        let folder = folder(server, "");
        let output = tidegate_in(folder.path(), &["config", "check", "c.yaml"]);
        assert_eq!(output.exit, 2, "{server}");
        assert!(output.stderr.contains(said), "{server}: {}", output.stderr);
    }
    for (more, exit) in [("1", 0), ("100000", 0), ("0", 2), ("100001", 2)] {
        let more = format!("interaction: {{ mcp: {{ max_capabilities: {more} }} }}");
        let folder = folder("{ command: a }", &more);
        let output = tidegate_in(folder.path(), &["config", "check", "c.yaml"]);
        assert_eq!(output.exit, exit, "{more}: {}", output.stderr);
    }
}
