//! The reference servers `everything` and `filesystem`, as programs that the registry asks (SPEC M1-M4).

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate::{InvokeOptions, McpRegistry, Node, Runtime};
use tidegate_mcp::{ConnectSettings, StdioServer};
use tidegate_sandbox::ChildProgram;

use super::installed::node;
use super::kept::{keeping, store};
use super::scripted::ask;
use super::stdio::{call, input, runtime};

/// Starts a server of a package through a shell, which leaves its process id in a file.
fn server(file: &str, arguments: &[&str], folder: &Path) -> Option<StdioServer> {
    let node = node()?;
    let script = format!("echo $$ > '{}/pid' && exec \"$@\"", folder.display());
    let program = node.program.display().to_string();
    let file = node.package(file).display().to_string();
    let words = ["-c", &script, "sh", &program, &file];
    let words = words.iter().chain(arguments).map(|word| (*word).to_owned());
    let program = ChildProgram::find("sh", Path::new("."), words.collect(), &[]).unwrap();
    Some(StdioServer::new("files", program, ConnectSettings::default()).unwrap())
}

fn everything(folder: &TempDir) -> Option<StdioServer> {
    server("server-everything/dist/index.js", &["stdio"], folder.path())
}

async fn names(runtime: &Runtime) -> Vec<String> {
    let found = ask(runtime, json!({"operation": "discover"})).await;
    let found = found.unwrap();
    let tools = found["capabilities"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn m4_the_everything_server_is_discovered_and_asked() {
    let folder = TempDir::new().unwrap();
    let Some(server) = everything(&folder) else {
        return;
    };
    let runtime = runtime(&server);
    let names = names(&runtime).await;
    for name in [
        "echo",
        "get-sum",
        "get-tiny-image",
        "get-structured-content",
    ] {
        assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
    }
    let said = call(&runtime, "echo", json!({"message": "hello"})).await;
    assert_eq!(said["content"], "Echo: hello", "{said}");
    assert_eq!(said["source"], "files:echo");
    let sum = call(&runtime, "get-sum", json!({"a": 2, "b": 40})).await;
    assert!(sum["content"].as_str().unwrap().contains("42"), "{sum}");
    let place = json!({"location": "Chicago"});
    let data = call(&runtime, "get-structured-content", place).await;
    assert!(
        data["structuredContent"]["temperature"].is_number(),
        "{data}"
    );
    let links = call(&runtime, "get-resource-links", json!({"count": 3})).await;
    assert_eq!(links["references"].as_array().unwrap().len(), 3, "{links}");
    server.close().await;
}

#[tokio::test]
async fn ou09_what_the_everything_server_refuses_is_a_failed_result() {
    let folder = TempDir::new().unwrap();
    let Some(server) = everything(&folder) else {
        return;
    };
    let runtime = runtime(&server);
    for (tool, arguments) in [
        ("get-sum", json!({"a": "two"})),
        ("no-such-tool", json!({})),
    ] {
        let failed = call(&runtime, tool, arguments).await;
        assert_eq!(failed["status"], "failed", "{tool}: {failed}");
        let code = failed["error"]["code"].as_str().unwrap();
        assert!(code.starts_with("MCP_"), "{tool}: {failed}");
    }
    server.close().await;
}

#[tokio::test]
async fn o3_a_picture_of_the_everything_server_is_kept_and_no_base64_stands_in_its_result() {
    let folder = TempDir::new().unwrap();
    let Some(server) = everything(&folder) else {
        return;
    };
    let servers = McpRegistry::default();
    drop(servers.register("files", server.clone()).unwrap());
    let kept = TempDir::new().unwrap();
    let runtime = keeping(&servers, store(&kept));
    let said = call(&runtime, "get-tiny-image", json!({})).await;
    assert_eq!(said["status"], "success", "{said}");
    assert!(!said.to_string().contains("iVBORw0KGgo"), "{said}");
    let reference = &said["references"][0];
    assert_eq!(reference["mediaType"], "image/png", "{said}");
    let uri = reference["uri"].as_str().unwrap();
    let picture = store(&kept).read(&tidegate_sandbox::Owner::default(), uri, 0, 8);
    assert_eq!(picture.unwrap().bytes, b"\x89PNG\r\n\x1a\n");
    server.close().await;
}

fn long() -> Value {
    input(
        "trigger-long-running-operation",
        &json!({"duration": 600, "steps": 600}),
    )
}

async fn lives(runtime: &Runtime) {
    let said = call(runtime, "echo", json!({"message": "here"})).await;
    assert_eq!(said["content"], "Echo: here", "{said}");
}

#[tokio::test]
async fn x3_a_call_of_the_everything_server_is_cancelled_and_the_next_is_answered() {
    let folder = TempDir::new().unwrap();
    let Some(server) = everything(&folder) else {
        return;
    };
    let runtime = runtime(&server);
    lives(&runtime).await;
    let options = InvokeOptions::default();
    let cancel = options.cancel.clone();
    let work = runtime.invoke(Node::ActMcp, long(), options);
    let cancelling = async {
        // The server has answered what was sent after the long call.
        lives(&runtime).await;
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(work, cancelling);
    assert_eq!(ended.unwrap()["result"]["status"], "cancelled");
    lives(&runtime).await;
    server.close().await;
}

#[tokio::test]
async fn ou09_a_server_that_is_killed_mid_call_leaves_an_unknown_outcome_and_is_started_again() {
    let folder = TempDir::new().unwrap();
    let Some(server) = everything(&folder) else {
        return;
    };
    let runtime = runtime(&server);
    lives(&runtime).await;
    let work = ask(&runtime, long());
    let killing = async {
        lives(&runtime).await;
        kill(folder.path());
    };
    let (ended, ()) = tokio::join!(work, killing);
    let result = &ended.unwrap()["result"];
    assert_eq!(result["status"], "unknown", "{result}");
    assert_eq!(result["error"]["code"], "OUTCOME_UNKNOWN", "{result}");
    lives(&runtime).await;
    server.close().await;
}

/// Kills the server that was started last.
fn kill(folder: &Path) {
    let pid = fs::read_to_string(folder.join("pid")).unwrap();
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn m4_the_filesystem_server_reads_in_its_folder_and_fails_outside() {
    let folder = TempDir::new().unwrap();
    let inside = folder.path().join("inside");
    fs::create_dir(&inside).unwrap();
    let (note, secret) = (inside.join("note.txt"), folder.path().join("secret.txt"));
    fs::write(&note, "hello\n").unwrap();
    fs::write(&secret, "swordfish").unwrap();
    let file = "server-filesystem/dist/index.js";
    let Some(server) = server(file, &[inside.to_str().unwrap()], folder.path()) else {
        return;
    };
    let runtime = runtime(&server);
    let names = names(&runtime).await;
    assert!(
        names.iter().any(|name| name == "read_text_file"),
        "{names:?}"
    );
    let read = |path: &Path| json!({"path": path});
    let said = call(&runtime, "read_text_file", read(&note)).await;
    assert_eq!(said["content"], "hello\n", "{said}");
    for outside in [secret, inside.join("absent.txt")] {
        let failed = call(&runtime, "read_text_file", read(&outside)).await;
        assert_eq!(failed["status"], "failed", "{failed}");
        assert_eq!(failed["error"]["code"], "MCP_TOOL_ERROR", "{failed}");
        assert!(!failed.to_string().contains("swordfish"), "{failed}");
    }
    server.close().await;
}
