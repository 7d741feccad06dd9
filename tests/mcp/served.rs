//! The tools of MCP servers beside those of plugins: one policy, one observation (SPEC M5).

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate::{
    CancellationToken, InvokeOptions, McpHints, McpPage, McpRegistry, McpSettings, McpTool,
    McpToolResult, Runtime, RuntimeOptions, ServeError, ToolRegistry,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::json::JsonBounds;
use tidegate_contract::{
    CallError, CallId, Content, Document, Effect, ExternalResult, Status, ToolCall, ToolName,
};

use super::client::Client;
use super::scripted::{Scripted, page, tool};
use crate::support::{Output, root, tidegate_with};

fn listing(tools: Vec<McpTool>) -> McpRegistry {
    let servers = McpRegistry::new(McpSettings::default()).unwrap();
    let page = McpPage {
        tools,
        next_cursor: None,
    };
    let client = Scripted::listing(move |_| Ok(page.clone()));
    drop(servers.register("files", client).unwrap());
    servers
}

fn runtime(servers: &McpRegistry, tools: &ToolRegistry, grants: &[&str]) -> Runtime {
    let mut sandbox = Grant::default();
    for grant in grants {
        parse_allow(grant, &mut sandbox).unwrap();
    }
    let options = RuntimeOptions {
        sandbox,
        tools: tools.clone(),
        mcp: Some(servers.clone()),
        ..RuntimeOptions::default()
    };
    Runtime::new(options).unwrap()
}

async fn call(runtime: &Runtime, tool: &str) -> Result<ExternalResult, CallError> {
    let call = ToolCall {
        id: CallId::new("c-1").unwrap(),
        name: ToolName::new(tool).unwrap(),
        arguments: Document::from_value(json!({}), &JsonBounds::default()).unwrap(),
    };
    runtime.act_tool(call, InvokeOptions::default()).await
}

#[tokio::test]
async fn m5_a_servers_tools_are_registered_with_their_effects_and_called_by_their_own_names() {
    let quiet = McpTool {
        hints: McpHints {
            read_only: Some(true),
            destructive: None,
            open_world: Some(false),
        },
        ..tool("quiet")
    };
    let gentle = McpTool {
        hints: McpHints {
            destructive: Some(false),
            ..McpHints::default()
        },
        ..tool("gentle")
    };
    let servers = listing(vec![quiet, gentle, tool("any")]);
    let tools = ToolRegistry::new();
    let never = CancellationToken::new();
    let served = servers.serve(("files", "f_"), &tools, &never).await;
    assert_eq!(served.unwrap().left_out(), []);
    let runtime = runtime(&servers, &tools, &["tool=*", "mcp=files"]);
    let listed: Vec<_> = runtime
        .tools()
        .into_iter()
        .map(|tool| (tool.name.to_string(), tool.effects))
        .collect();
    let (write, execute, network) = (Effect::Write, Effect::Execute, Effect::Network);
    assert_eq!(
        listed,
        [
            ("f_any".to_owned(), vec![write, execute, network]),
            ("f_gentle".to_owned(), vec![execute, network]),
            ("f_quiet".to_owned(), vec![]),
        ]
    );
    // No grant of this host's is asked for what a server does.
    let result = call(&runtime, "f_any").await.unwrap();
    assert_eq!(result.status, Status::Success);
    assert_eq!(
        (result.source.as_str(), result.call_id.as_str()),
        ("f_any", "c-1")
    );
}

#[tokio::test]
async fn m5_a_served_tool_needs_the_grants_of_its_name_and_of_its_server() {
    let servers = listing(vec![tool("any")]);
    let tools = ToolRegistry::new();
    let never = CancellationToken::new();
    drop(servers.serve(("files", ""), &tools, &never).await.unwrap());
    for (grants, kind) in [
        (&["mcp=files"][..], "tool"),
        (&["tool=any"], "mcp"),
        (&["tool=any", "mcp=other"], "mcp"),
    ] {
        let denied = call(&runtime(&servers, &tools, grants), "any").await;
        let Err(CallError::PermissionDenied { kind: said, .. }) = denied else {
            panic!("{grants:?}: {denied:?}");
        };
        assert_eq!(said, kind, "{grants:?}");
        // Nobody learns of tools that are not theirs.
        let listed = runtime(&servers, &tools, grants).tools();
        assert_eq!(listed, [], "{grants:?}");
    }
    let both = runtime(&servers, &tools, &["tool=any", "mcp=files"]);
    assert!(call(&both, "any").await.is_ok());
}

#[tokio::test]
async fn m5_a_name_that_is_taken_is_refused_and_leaves_no_tool_behind() {
    let servers = listing(vec![tool("one"), tool("two")]);
    drop(servers.register(
        "others",
        Scripted::listing(|_| Ok(page(&["two", "three"], None))),
    ));
    let never = CancellationToken::new();
    for (first, second) in [("files", "others"), ("others", "files")] {
        let tools = ToolRegistry::new();
        drop(servers.serve((first, ""), &tools, &never).await.unwrap());
        let before = runtime(&servers, &tools, &["tool=*", "mcp=*"]).tools();
        let taken = servers.serve((second, ""), &tools, &never).await;
        assert!(matches!(taken, Err(ServeError::Taken(_))), "{taken:?}");
        assert_eq!(
            runtime(&servers, &tools, &["tool=*", "mcp=*"]).tools(),
            before
        );
        drop(servers.serve((second, "x_"), &tools, &never).await.unwrap());
        assert_eq!(
            runtime(&servers, &tools, &["tool=*", "mcp=*"])
                .tools()
                .len(),
            4
        );
    }
}

#[tokio::test]
async fn m5_a_tool_that_can_not_be_served_is_named_and_harms_no_other() {
    let unfit = McpTool {
        input_schema: json!({"type": "object", "$ref": "https://schemas.example/x"}),
        ..tool("unfit")
    };
    let servers = listing(vec![tool("no name"), unfit, tool("fit")]);
    let tools = ToolRegistry::new();
    let never = CancellationToken::new();
    let served = servers.serve(("files", ""), &tools, &never).await.unwrap();
    let left: Vec<&str> = served.left_out().iter().map(|left| &*left.tool).collect();
    assert_eq!(left, ["no name", "unfit"]);
    assert!(served.left_out().iter().all(|left| !left.reason.is_empty()));
    assert_eq!(
        runtime(&servers, &tools, &["tool=*", "mcp=*"])
            .tools()
            .len(),
        1
    );
}

#[tokio::test]
async fn m5_a_failure_of_a_served_tool_is_no_success() {
    let servers = McpRegistry::new(McpSettings::default()).unwrap();
    let failed = McpToolResult {
        content: Some(Content::Text("it is locked".to_owned())),
        is_error: true,
        ..McpToolResult::default()
    };
    let mut client = Scripted::listing(|_| Ok(page(&["any"], None)));
    client.gives(failed);
    drop(servers.register("files", client).unwrap());
    let tools = ToolRegistry::new();
    let never = CancellationToken::new();
    drop(servers.serve(("files", ""), &tools, &never).await.unwrap());
    let runtime = runtime(&servers, &tools, &["tool=any", "mcp=files"]);
    let result = call(&runtime, "any").await.unwrap();
    assert_eq!(result.status, Status::Failed);
    assert_eq!(result.error.unwrap().code(), "MCP_TOOL_ERROR");
}

/// A config whose one server is the peer without an SDK.
fn config(more: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let peer = root()
        .join("tests/mcp/peers/raw.py")
        .canonicalize()
        .unwrap();
    let text = format!(
        "mcp:\n  up:\n    command: python3\n    args: [{}]\n    env: {{ LISTING: grown }}\n    {more}\n",
        peer.display()
    );
    fs::write(folder.path().join("c.yaml"), text).unwrap();
    folder
}

fn variables() -> [(&'static str, String); 2] {
    ["PATH", "HOME"].map(|name| (name, std::env::var(name).unwrap()))
}

fn client(folder: &TempDir, more: &[&str]) -> Client {
    let config = folder.path().join("c.yaml");
    let config = config.display().to_string();
    let arguments = [&["--config", &config, "--allow", "mcp=up"], more].concat();
    let variables = variables();
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    Client::start_with(&arguments, &variables)
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["result"]["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

const SERVED: &str = "serve: true\n    prefix: up_";

#[test]
fn m5_a_client_has_the_tools_of_servers_and_plugins_alike() {
    let folder = config(SERVED);
    let mut client = client(&folder, &["--allow", "tool=*", "--allow", "read"]).shaking_hands();
    let listed = client.ask(1, "tools/list", &json!({}));
    let listed_names = names(&listed);
    assert!(listed_names.contains(&"read_text"), "{listed_names:?}");
    assert!(listed_names.contains(&"up_echo"), "{listed_names:?}");
    assert!(!listed_names.contains(&"up_no.name"), "{listed_names:?}");
    let hints = |name: &str| {
        let tools = listed["result"]["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        let said = &tool["annotations"];
        ["readOnlyHint", "openWorldHint"].map(|hint| said[hint].as_bool().unwrap())
    };
    assert_eq!(hints("up_echo"), [true, false]);
    assert_eq!(hints("up_locked"), [false, true]);

    client.call(2, "up_echo", &json!({"text": "hello"}));
    let echoed = client.next();
    assert_eq!(echoed["result"]["content"][0]["text"], "hello", "{echoed}");
    client.call(3, "up_locked", &json!({}));
    let locked = client.next();
    assert_eq!(locked["result"]["isError"], true, "{locked}");
    assert!(locked.to_string().contains("MCP_TOOL_ERROR"), "{locked}");
    client.call(4, "up_own_error", &json!({}));
    assert!(client.next().to_string().contains("NO_ROOM"));
    // The bounds are the same as for a plugin: of what is too large the head stays.
    client.call(5, "up_long", &json!({"bytes": 2_000_000}));
    let long = client.next().to_string();
    assert!(long.len() < 1_100_000, "{}", long.len());
    assert!(long.contains("resource_link"));
    assert_eq!(client.end(), (vec![], Some(0)));
}

#[test]
fn m5_a_call_of_a_served_tool_is_cancelled_and_has_its_deadline() {
    let folder = config(SERVED);
    let more = ["--allow", "tool=up_late", "--limit", "deadline_ms=700"];
    let mut client = client(&folder, &more).shaking_hands();
    client.call(1, "up_late", &json!({}));
    let late = client.next();
    assert!(late.to_string().contains("LIMIT_DEADLINE"), "{late}");
    client.call(2, "up_late", &json!({}));
    let given_up = json!({"requestId": 2});
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": given_up}));
    assert_eq!(client.ask(3, "ping", &json!({}))["result"], json!({}));
    // One id is of one open request.
    client.call(4, "up_late", &json!({}));
    client.call(4, "up_late", &json!({}));
    let twice = client.next();
    assert_eq!(
        (&twice["id"], &twice["error"]["code"]),
        (&json!(4), &json!(-32600))
    );
    let late = client.next();
    assert!(late.to_string().contains("LIMIT_DEADLINE"), "{late}");
    assert_eq!(client.end(), (vec![], Some(0)));
}

#[test]
fn m5_a_client_is_told_that_the_tools_are_others_now() {
    let folder = config(SERVED);
    let mut client = client(&folder, &["--allow", "tool=*"]).shaking_hands();
    let before = client.ask(1, "tools/list", &json!({}));
    assert!(!names(&before).contains(&"up_integers"));
    client.call(2, "up_grow", &json!({}));
    let (one, other) = (client.next(), client.next());
    let told = [&one, &other].map(|message| message["method"].clone());
    assert!(
        told.contains(&json!("notifications/tools/list_changed")),
        "{one} {other}"
    );
    let after = client.ask(3, "tools/list", &json!({}));
    assert!(names(&after).contains(&"up_integers"), "{after}");
    client.call(4, "up_integers", &json!({}));
    assert_eq!(client.next()["result"]["isError"], false);
    assert_eq!(client.end(), (vec![], Some(0)));
}

#[test]
fn m5_a_client_of_the_stateless_era_is_told_where_it_listens() {
    let folder = config(SERVED);
    let mut client = client(&folder, &["--allow", "tool=*"]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.ask(1, "server/discover", &json!({"_meta": meta}));
    assert_eq!(
        found["result"]["capabilities"]["tools"]["listChanged"], true,
        "{found}"
    );
    let listen = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    client.request(2, "subscriptions/listen", &listen);
    let accepted = client.next();
    let method = "notifications/subscriptions/acknowledged";
    assert_eq!(accepted["method"], method, "{accepted}");
    let grow = json!({"name": "up_grow", "arguments": {}, "_meta": meta});
    client.request(3, "tools/call", &grow);
    let (one, other) = (client.next(), client.next());
    let told = [&one, &other].map(|message| message["method"].clone());
    assert!(
        told.contains(&json!("notifications/tools/list_changed")),
        "{one} {other}"
    );
    // It listens so often and no oftener, and is heard all the same.
    for id in 4..9 {
        client.request(id, "subscriptions/listen", &listen);
        let accepted = client.next();
        assert_eq!(accepted["method"], method, "{accepted}");
        if id > 6 {
            let refused = client.next();
            assert_eq!(refused["id"], id, "{refused}");
            assert_eq!(refused["error"]["code"], -32600, "{refused}");
        }
    }
    // The end of its input ends what it listens to.
    let (rest, exit) = client.end();
    assert_eq!(exit, Some(0));
    let ended: BTreeSet<u64> = rest
        .iter()
        .filter_map(|message| message["id"].as_u64())
        .collect();
    assert_eq!(ended, BTreeSet::from([2, 4, 5, 6]), "{rest:?}");
}

fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    let variables = variables();
    let variables: Vec<_> = variables
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    tidegate_with(folder.path(), arguments, "", &variables)
}

#[test]
fn m5_a_served_tool_is_listed_and_called_from_the_shell() {
    let folder = config(SERVED);
    let grants = [
        "--config",
        "c.yaml",
        "--allow",
        "mcp=up",
        "--allow",
        "tool=up_echo",
    ];
    let listed = run(&folder, &[&["tools"][..], &grants].concat());
    assert!(listed.stdout.starts_with("up_echo"), "{}", listed.stdout);
    assert!(listed.stderr.contains("no.name"), "{}", listed.stderr);
    let call = ["call", "up_echo", r#"{"text":"hello"}"#];
    let called = run(&folder, &[&call[..], &grants].concat());
    assert_eq!(
        (called.stdout.as_str(), called.exit),
        ("hello", 0),
        "{}",
        called.stderr
    );
    // Without the grant of its server nothing is started, and there is no such tool.
    let denied = run(
        &folder,
        &[
            "call",
            "up_echo",
            "{}",
            "--config",
            "c.yaml",
            "--allow",
            "tool=up_echo",
        ],
    );
    assert_eq!(denied.exit, 2, "{} {}", denied.stdout, denied.stderr);
    assert!(denied.stderr.contains("UNKNOWN_TOOL"), "{}", denied.stderr);
}

#[test]
fn m5_names_that_collide_are_refused_and_a_server_that_is_away_is_left_out() {
    let folder = config(
        "serve: true\n  too:\n    command: python3\n    args: [PEER]\n    env: { LISTING: grown }\n    serve: true",
    );
    let text = fs::read_to_string(folder.path().join("c.yaml")).unwrap();
    let peer = text.split(['[', ']']).nth(1).unwrap().to_owned();
    fs::write(folder.path().join("c.yaml"), text.replace("PEER", &peer)).unwrap();
    let arguments = [
        "tools", "--config", "c.yaml", "--allow", "mcp=*", "--allow", "tool=*",
    ];
    let collided = run(&folder, &arguments);
    assert_eq!(collided.exit, 2, "{} {}", collided.stdout, collided.stderr);
    assert!(collided.stderr.contains("prefix"), "{}", collided.stderr);
    fs::write(
        folder.path().join("c.yaml"),
        "mcp: { up: { command: sh, args: [-c, exit 1], serve: true } }\n",
    )
    .unwrap();
    let away = run(&folder, &arguments);
    assert_eq!(away.exit, 0, "{}", away.stderr);
    assert!(
        away.stderr.contains("mcp.up: not served"),
        "{}",
        away.stderr
    );
    for (keys, said) in [
        ("prefix: x_", "serve: true"),
        ("serve: true, prefix: \"a b\"", "prefix"),
    ] {
        let text = format!("mcp: {{ up: {{ command: sh, {keys} }} }}\n");
        fs::write(folder.path().join("c.yaml"), text).unwrap();
        let checked = run(&folder, &["config", "check", "c.yaml"]);
        assert_eq!(checked.exit, 2, "{keys}");
        assert!(checked.stderr.contains(said), "{}", checked.stderr);
    }
}
