//! The official SDKs as clients of `tidegate mcp` and as servers for the registry.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use http::HeaderMap;
use serde_json::{Value, json};
use tidegate::{McpRegistry, Network, Runtime};
use tidegate_contract::{NetworkGrant, NetworkRule};
use tidegate_mcp::{ConnectSettings, Era, HttpEndpoint, HttpServer, StdioServer};
use tidegate_sandbox::ChildProgram;

use super::installed::{inspector, node, printed, python};
use super::scripted::{ask, over};
use crate::support::{binary, root};

/// How the server is started.
const SERVER: [&str; 7] = [
    "mcp",
    "--allow",
    "tool=read_text",
    "--allow",
    "plugin=commands",
    "--allow",
    "tool=no_such_tool",
];

/// What a client script saw of `tidegate mcp`.
fn seen_by(client: &mut Command) -> Value {
    printed(client.arg(binary()).args(SERVER).current_dir(root()))
}

pub(crate) fn check_seen(seen: &Value) {
    let mut tools: Vec<String> = serde_json::from_value(seen["tools"].clone()).unwrap();
    assert_eq!(tools.len(), 15, "{seen}");
    let listed = tools.clone();
    tools.sort();
    assert_eq!(tools, listed, "in the order of their names");
    assert_eq!(
        seen["read"],
        json!([false, "max_width = 100\nuse_field_init_shorthand = true\n"])
    );
    assert_eq!(seen["absent"][0], true);
    assert!(
        seen["absent"][1].as_str().unwrap().contains("NOT_FOUND"),
        "{seen}"
    );
    assert_eq!(seen["grep"], json!([false, 0, 1]));
    assert_eq!(seen["many"], 50);
    assert_eq!(seen["unknown"], -32602);
}

#[test]
fn m5_the_python_client_is_served_in_both_eras() {
    let Some(python) = python() else { return };
    for mode in ["legacy", "auto", "2026-07-28"] {
        let script = root().join("tests/mcp/peers/sdk_client.py");
        let seen = seen_by(Command::new(&python).arg(script).arg(mode));
        check_seen(&seen);
    }
}

#[test]
fn m5_the_typescript_client_is_served() {
    let Some(node) = node() else { return };
    check_seen(&seen_by(&mut node.script("sdk_client.mjs")));
}

#[test]
fn m5_the_second_typescript_client_is_served_in_both_eras() {
    let Some(node) = node() else { return };
    for mode in ["legacy", "auto", "2026-07-28"] {
        let seen = seen_by(node.script("sdk_client_2.mjs").arg(mode));
        check_seen(&seen);
        let expected = if mode == "legacy" { "legacy" } else { "modern" };
        assert_eq!(seen["era"], expected, "{mode}");
    }
}

#[test]
fn m5_the_inspector_is_served_in_both_eras() {
    let Some(node) = node() else { return };
    for era in ["legacy", "auto", "modern"] {
        let ask = |more: &[&str]| {
            let mut inspector = inspector(node);
            inspector.arg(binary()).args(SERVER).args(more);
            inspector.args(["--protocol-era", era]).current_dir(root());
            printed(&mut inspector)
        };
        let listed = ask(&["--method", "tools/list"]);
        assert_eq!(listed["tools"].as_array().unwrap().len(), 15, "{era}");
        let path = ["--tool-arg", "path=rustfmt.toml"];
        let call = ["--method", "tools/call", "--tool-name", "read_text"];
        let read = ask(&[&call[..], &path].concat());
        let text = read["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("max_width"), "{era}: {read}");
    }
}

async fn check_server(runtime: &Runtime) {
    let found = ask(runtime, json!({"operation": "discover"}))
        .await
        .unwrap();
    let names: Vec<&str> = found["capabilities"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["add", "shout", "fail"]);
    let call = |name: &str, arguments: Value| {
        let call = json!({"id": "1", "name": name, "arguments": arguments});
        ask(
            runtime,
            json!({"operation": "invoke", "server": "files", "call": call}),
        )
    };
    let sum = call("add", json!({"a": 2, "b": 40})).await.unwrap();
    assert_eq!(sum["result"]["content"], "42", "{sum}");
    let loud = call("shout", json!({"text": "a\u{2028}b"})).await.unwrap();
    assert_eq!(loud["result"]["content"], "A\u{2028}B", "{loud}");
    let failed = call("fail", json!({})).await.unwrap();
    assert_eq!(failed["result"]["status"], "failed", "{failed}");
    assert_eq!(failed["result"]["error"]["code"], "MCP_TOOL_ERROR");
}

#[tokio::test]
async fn m4_a_server_of_the_python_sdk_is_asked_on_its_standard_streams() {
    let Some(python) = python() else { return };
    let script = root()
        .join("tests/mcp/peers/sdk_server.py")
        .canonicalize()
        .unwrap();
    for era in [Era::Ask, Era::Handshake, Era::Stateless] {
        let python = python.display().to_string();
        let arguments = vec![script.display().to_string()];
        let program = ChildProgram::find(&python, Path::new("."), arguments, &[]).unwrap();
        let settings = ConnectSettings {
            era,
            ..ConnectSettings::default()
        };
        let server = StdioServer::new("files", program, settings).unwrap();
        let servers = McpRegistry::default();
        drop(servers.register("files", server).unwrap());
        check_server(&over(&servers, &["mcp=files"])).await;
    }
}

#[tokio::test]
async fn m4_a_server_of_the_python_sdk_is_asked_over_http() {
    let Some(python) = python() else { return };
    let script = root().join("tests/mcp/peers/sdk_server.py");
    let mut child = Command::new(python)
        .arg(script)
        .arg("--http")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let origin = format!("http://127.0.0.1:{}", line.trim());
    let port: u16 = line.trim().parse().unwrap();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(child.try_wait().unwrap().is_none(), "the server has ended");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    for era in [Era::Ask, Era::Handshake, Era::Stateless] {
        let mut grant = NetworkGrant::default();
        grant.insert(NetworkRule::new(&origin).unwrap());
        let endpoint = HttpEndpoint {
            url: format!("{origin}/mcp"),
            grant,
            headers: HeaderMap::new(),
            injections: Vec::new(),
        };
        let settings = ConnectSettings {
            era,
            ..ConnectSettings::default()
        };
        let server = HttpServer::new("files", endpoint, &Network::default(), settings).unwrap();
        let servers = McpRegistry::default();
        drop(servers.register("files", server).unwrap());
        check_server(&over(&servers, &["mcp=files"])).await;
    }
    child.kill().unwrap();
    child.wait().unwrap();
}
