//! The examples of the interaction seed that ask an MCP server, each named after its example.

use serde_json::{Value, json};
use tidegate::{
    Handlers, InvokeOptions, McpPage, McpRegistry, McpSettings, McpToolResult, Node, Runtime,
    RuntimeOptions, ToolRegistry,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::{CallError, Content, Reference};

use super::scripted::{Scripted, ask, over, page};

/// The application's client of a server with one tool, which reads once.
fn client() -> Scripted {
    let mut client = Scripted::listing(|_| Ok(page(&["read_text_file"], None)));
    client.gives(McpToolResult {
        content: Some(Content::Text("file text".to_owned())),
        ..McpToolResult::default()
    });
    client
}

fn invoke(id: &str) -> Value {
    let call = json!({
        "id": id, "name": "read_text_file", "arguments": {"path": "/workspace/README.md"},
    });
    json!({"operation": "invoke", "server": "files", "call": call})
}

fn discover() -> Value {
    json!({"operation": "discover", "server": "files"})
}

fn granted(allow: &[&str]) -> Grant {
    let mut grant = Grant::default();
    for allow in allow {
        parse_allow(allow, &mut grant).unwrap();
    }
    grant
}

fn registry() -> McpRegistry {
    let servers = McpRegistry::default();
    drop(servers.register("files", client()).unwrap());
    servers
}

#[tokio::test]
async fn setup_interaction_has_the_nodes_whose_resources_are_injected() {
    let runtime = Runtime::new(RuntimeOptions {
        sandbox: granted(&["tool=read_text", "read", "mcp=files"]),
        mcp: Some(registry()),
        concurrency: Some(8),
        ..RuntimeOptions::default()
    })
    .unwrap();
    for (node, is_there) in [
        (Node::ActTool, true),
        (Node::ActMcp, true),
        (Node::Observe, true),
        (Node::Output, false),
    ] {
        assert_eq!(runtime.has(node), is_there, "{node:?}");
    }
    let without = Runtime::new(RuntimeOptions::default()).unwrap();
    let absent = ask(&without, discover()).await;
    assert!(
        matches!(absent, Err(CallError::NotInjected { .. })),
        "{absent:?}"
    );
}

#[tokio::test]
async fn invoke_mcp_discovers_and_then_reads() {
    let runtime = over(&registry(), &["mcp=files"]);
    let discovery = ask(&runtime, discover()).await.unwrap();
    let expected = json!({"operation": "discover", "capabilities": [
        {"server": "files", "name": "read_text_file", "inputSchema": {"type": "object"}},
    ]});
    assert_eq!(discovery, expected);
    let response = ask(&runtime, invoke("mcp-read")).await.unwrap();
    let expected = json!({"operation": "invoke", "result": {
        "callId": "mcp-read", "source": "files:read_text_file", "status": "success",
        "content": "file text",
    }});
    assert_eq!(response, expected);
    runtime.close().await;
}

#[tokio::test]
async fn mcp_registry_apis_register_ask_and_unregister() {
    let servers = McpRegistry::new(McpSettings {
        max_discovery_pages: 10,
        max_capabilities: 200,
        ..McpSettings::default()
    })
    .unwrap();
    let mut registration = servers.register("files", client()).unwrap();
    let runtime = over(&servers, &["mcp=files"]);
    let discovery = ask(&runtime, discover()).await.unwrap();
    assert_eq!(discovery["capabilities"][0]["name"], "read_text_file");
    let result = ask(&runtime, invoke("mcp-1")).await.unwrap();
    assert_eq!(result["result"]["callId"], "mcp-1");
    assert!(registration.unregister(), "true on first removal");
    assert!(!registration.unregister(), "false afterwards");
    let gone = ask(&runtime, invoke("mcp-1")).await;
    assert!(
        matches!(gone, Err(CallError::UnknownServer { .. })),
        "{gone:?}"
    );
}

#[tokio::test]
async fn mcp_client_adapter_hands_on_each_field_and_leaves_out_what_is_not_there() {
    let reference = || Reference {
        uri: "urn:x".to_owned(),
        media_type: None,
        digest: None,
    };
    for (result, expected) in [
        (
            McpToolResult {
                structured_content: Some(Value::Null),
                references: Some(vec![reference()]),
                ..McpToolResult::default()
            },
            json!({"status": "success", "structuredContent": null,
                   "references": [{"uri": "urn:x"}]}),
        ),
        (
            McpToolResult {
                content: Some(Content::Text("locked".to_owned())),
                is_error: true,
                ..McpToolResult::default()
            },
            json!({"status": "failed", "content": "locked", "error": {
                "code": "MCP_TOOL_ERROR", "message": "the MCP tool reported an execution error"}}),
        ),
        (
            McpToolResult {
                is_error: true,
                error: Some(json!({"code": "LOCKED", "message": "The file is locked"})),
                ..McpToolResult::default()
            },
            json!({"status": "failed", "content": "", "error": {
                "code": "LOCKED", "message": "The file is locked"}}),
        ),
    ] {
        let mut client = Scripted::listing(|_| Ok(McpPage::default()));
        client.gives(result);
        let servers = McpRegistry::default();
        drop(servers.register("files", client).unwrap());
        let runtime = over(&servers, &["mcp=files"]);
        let mut said = ask(&runtime, invoke("1")).await.unwrap()["result"].take();
        let fields = said.as_object_mut().unwrap();
        fields.remove("callId");
        fields.remove("source");
        assert_eq!(said, expected);
    }
}

#[tokio::test]
async fn interaction_nodes_take_the_registries_that_they_are_given() {
    let servers = McpRegistry::default();
    let options = RuntimeOptions {
        sandbox: granted(&["mcp=files"]),
        tools: ToolRegistry::new(),
        mcp: Some(servers.clone()),
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::new(options).unwrap();
    let absent = ask(&runtime, invoke("1")).await;
    assert!(
        matches!(absent, Err(CallError::UnknownServer { .. })),
        "{absent:?}"
    );
    // A supplied registry keeps its identity: what is registered later is there.
    drop(servers.register("files", client()).unwrap());
    let said = ask(&runtime, invoke("1")).await.unwrap();
    assert_eq!(said["result"]["content"], "file text");
}

#[tokio::test]
async fn interaction_handlers_are_each_node_by_itself() {
    let runtime = over(&registry(), &["mcp=files"]);
    let mut handlers = Handlers::default();
    handlers.replace(Node::ActMcp, runtime.handler(Node::ActMcp));
    let other = Runtime::new(RuntimeOptions {
        handlers,
        ..RuntimeOptions::default()
    })
    .unwrap();
    let said = other.invoke(Node::ActMcp, invoke("1"), InvokeOptions::default());
    assert_eq!(said.await.unwrap()["result"]["content"], "file text");
}
