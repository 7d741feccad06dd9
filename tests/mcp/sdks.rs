//! The official SDKs as clients of `tidegate mcp` and as servers for the registry.
//!
//! They are installed under the target folder by the first test that needs them, with pip and npm. A
//! machine without them, or without a registry, is told so aloud and tests nothing here.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use http::HeaderMap;
use serde_json::{Value, json};
use tidegate::{McpRegistry, Network, Runtime};
use tidegate_contract::{NetworkGrant, NetworkRule};
use tidegate_mcp::{ConnectSettings, Era, HttpEndpoint, HttpServer, StdioServer};
use tidegate_sandbox::ChildProgram;

use super::scripted::{ask, over};
use crate::support::{binary, root};

/// The versions that these tests were written with.
const PYTHON_SDK: &str = "mcp==2.3.0";
const NODE_SDK: &str = "@modelcontextprotocol/sdk@1.32.2";

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn succeeds(command: &mut Command) -> bool {
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Past the test harness, which shows what a passing test prints to nobody.
fn aloud(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// A Python with the SDK.
fn python() -> Option<PathBuf> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = PYTHON.get_or_init(|| {
        let folder = folder("mcp-python");
        let python = folder.join("bin/python");
        let has = || succeeds(Command::new(&python).args(["-c", "import mcp.client.client"]));
        let install = || {
            succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder))
                && succeeds(Command::new(&python).args(["-m", "pip", "install", "-q", PYTHON_SDK]))
        };
        (has() || install()).then(|| python.clone())
    });
    if made.is_none() {
        aloud("NOT TESTED: the Python SDK can't be installed with python3 and pip");
    }
    made.clone()
}

/// A folder in which node finds the SDK.
fn node() -> Option<PathBuf> {
    static NODE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = NODE.get_or_init(|| {
        let folder = folder("mcp-node");
        fs::create_dir_all(&folder).unwrap();
        let installed = folder.join("node_modules/@modelcontextprotocol/sdk/package.json");
        let install = || {
            fs::write(folder.join("package.json"), r#"{"private": true}"#).unwrap();
            let arguments = ["install", "--no-audit", "--no-fund", NODE_SDK];
            succeeds(Command::new("npm").args(arguments).current_dir(&folder))
        };
        if !installed.is_file() && !install() {
            return None;
        }
        // A module is looked for beside the file that asks for it.
        let script = root().join("tests/mcp/peers/sdk_client.mjs");
        fs::copy(script, folder.join("sdk_client.mjs")).unwrap();
        Some(folder)
    });
    if made.is_none() {
        aloud("NOT TESTED: the TypeScript SDK can't be installed with npm");
    }
    made.clone()
}

/// What a client script saw of `tidegate mcp`.
fn seen_by(client: &mut Command) -> Value {
    let server = [
        "mcp",
        "--allow",
        "tool=read_text",
        "--allow",
        "plugin=commands",
        "--allow",
        "tool=no_such_tool",
    ];
    let output = client
        .arg(binary())
        .args(server)
        .current_dir(root())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"))
}

fn check_seen(seen: &Value) {
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
    let Some(folder) = node() else { return };
    let seen = seen_by(Command::new("node").arg(folder.join("sdk_client.mjs")));
    check_seen(&seen);
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
