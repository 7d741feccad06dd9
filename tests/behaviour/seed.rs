//! The examples of the interaction seed's sections 2, 3, 5, 6, 7 and 9 that need no MCP, each named
//! after its example.

use serde_json::json;
use tidegate::{
    InvokeOptions, LineSink, Node, Runtime, RuntimeOptions, Sinks, ToolRegistry, observe,
};
use tidegate_contract::{CallError, ExternalResult, Failure, ReceiptStatus, Status, ToolOutcome};

use super::native::{NativeSink, native, receipt};
use crate::support::{Fixture, Printed, call};

fn printing(allow: &[&str]) -> (Fixture, Printed) {
    let printed = Printed::default();
    let mut fixture = Fixture::new(allow);
    fixture.stdout = Some(LineSink::new(printed.clone()));
    (fixture, printed)
}

#[tokio::test]
async fn read_text_tool_and_invoke_tool() {
    let fixture = Fixture::new(&["read"]);
    fixture.write("README.md", "file text");
    let runtime = fixture.runtime(&["read-text"]).await;
    let call = json!({"id": "read-1", "name": "read_text", "arguments": {"path": "README.md"}});
    let input = json!({"call": call});
    let result = runtime
        .invoke(Node::ActTool, input, InvokeOptions::default())
        .await
        .unwrap();
    let expected = json!({
        "callId": "read-1", "source": "read_text", "status": "success", "content": "file text",
    });
    assert_eq!(result, expected);
    runtime.close().await;
}

#[tokio::test]
async fn read_text_tool_refuses_a_path_that_is_blank() {
    let fixture = Fixture::new(&["read"]);
    for path in ["", "   "] {
        let refused = fixture
            .call("read-text", "read_text", json!({ "path": path }))
            .await;
        let Err(CallError::InvalidArguments { problems }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(problems[0].pointer, "/path");
    }
}

#[tokio::test]
async fn console_sink_prints_id_message_and_artifacts_in_one_line() {
    let (fixture, printed) = printing(&["stdout"]);
    let runtime = fixture.runtime(&["console"]).await;
    let input = json!({
        "deliveryId": "report-1",
        "message": {"role": "assistant", "content": {"summary": "Complete", "count": 2}},
        "artifacts": [{
            "name": "report",
            "reference": {"uri": "urn:report:1", "mediaType": "application/json"},
        }],
    });
    let receipt = runtime
        .invoke(Node::Output, input.clone(), InvokeOptions::default())
        .await;
    let expected = json!({
        "deliveryId": "report-1", "status": "accepted", "artifacts": input["artifacts"],
    });
    assert_eq!(receipt.unwrap(), expected, "outputApi");
    let line = json!({
        "id": "report-1", "message": input["message"], "artifacts": input["artifacts"],
    });
    assert_eq!(printed.lines(), [line]);
}

#[tokio::test]
async fn tool_registry_apis_register_list_call_and_unregister() {
    let fixture = Fixture::new(&[]);
    let tools = ToolRegistry::new();
    let text = native("read_text", |_, _| Ok(ToolOutcome::text("text")));
    let mut registration = tools.register(text).unwrap();
    let runtime = Runtime::new(RuntimeOptions {
        sandbox: fixture.grant.clone(),
        tools: tools.clone(),
        ..RuntimeOptions::default()
    })
    .unwrap();
    let names: Vec<_> = tools
        .list(&fixture.grant)
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(
        names
            .iter()
            .map(tidegate_contract::ToolName::as_str)
            .collect::<Vec<_>>(),
        ["read_text"]
    );
    let asked = || runtime.act_tool(call("read_text", json!({})), InvokeOptions::default());
    assert_eq!(asked().await.unwrap().status, Status::Success);
    assert!(registration.unregister(), "true on first removal");
    assert!(!registration.unregister(), "false afterwards");
    assert!(matches!(asked().await, Err(CallError::UnknownTool { .. })));
}

#[tokio::test]
async fn observe_apis_agree_locally_and_routed() {
    let result = json!({
        "callId": "read-1", "source": "read_text", "status": "success", "content": "file text",
    });
    let bounds = tidegate_contract::JsonBounds::default();
    let local = observe(ExternalResult::from_value(result.clone(), &bounds).unwrap()).unwrap();
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    let input = json!({ "result": result });
    let routed = runtime
        .invoke(Node::Observe, input, InvokeOptions::default())
        .await
        .unwrap();
    assert_eq!(serde_json::to_value(local).unwrap(), routed);
    let message = json!({"role": "tool", "content": "file text", "name": "read_text"});
    assert_eq!(routed["message"], message);
    assert!(routed.get("content").is_none());
}

#[tokio::test]
async fn missing_record_tool_fails_as_data() {
    let tools = ToolRegistry::new();
    let lookup = native("lookup", |_, _| {
        let failure = Failure::new("NOT_FOUND", "No matching record").unwrap();
        Ok(ToolOutcome::failed(failure.with_retryable(false)))
    });
    drop(tools.register(lookup).unwrap());
    let sandbox = Fixture::new(&[]).grant;
    let options = RuntimeOptions {
        sandbox,
        tools,
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::new(options).unwrap();
    let input = json!({"call": {"id": "1", "name": "lookup", "arguments": {}}});
    let result = runtime
        .invoke(Node::ActTool, input, InvokeOptions::default())
        .await
        .unwrap();
    let error = json!({"code": "NOT_FOUND", "message": "No matching record", "retryable": false});
    let expected = json!({"callId": "1", "source": "lookup", "status": "failed", "error": error});
    assert_eq!(result, expected);
    let input = json!({ "result": result });
    let observed = runtime
        .invoke(Node::Observe, input, InvokeOptions::default())
        .await
        .unwrap();
    assert_eq!(
        observed["message"]["content"],
        "failed: NOT_FOUND: No matching record"
    );
}

#[tokio::test]
async fn rejected_sink_rejects_as_data() {
    let mut sinks = Sinks::default();
    sinks.insert(
        "closed",
        NativeSink(|sent| receipt(sent, ReceiptStatus::Rejected)),
    );
    let runtime = Runtime::new(RuntimeOptions {
        sinks,
        ..RuntimeOptions::default()
    })
    .unwrap();
    let input = json!({"deliveryId": "d-1", "message": {"role": "assistant", "content": null}});
    let receipt = runtime
        .invoke(Node::Output, input, InvokeOptions::default())
        .await
        .unwrap();
    assert_eq!(receipt["status"], "rejected");
    assert_eq!(receipt["error"]["code"], "DELIVERY_REJECTED");
}

/// Tool, observation, delivery: two files through real components.
#[tokio::test]
async fn interaction_graph_reads_observes_and_delivers_two_files() {
    let (fixture, printed) = printing(&["read", "stdout"]);
    fixture.write("README.md", "# Title\n");
    fixture.write("package.json", "{}");
    let runtime = fixture.runtime(&["read-text", "console"]).await;
    for (index, path) in ["README.md", "package.json"].into_iter().enumerate() {
        let id = format!("read:{index}");
        let arguments = json!({ "path": path });
        let input = json!({"call": {"id": id, "name": "read_text", "arguments": arguments}});
        let read = runtime
            .invoke(Node::ActTool, input, InvokeOptions::default())
            .await
            .unwrap();
        let input = json!({ "result": read });
        let seen = runtime
            .invoke(Node::Observe, input, InvokeOptions::default())
            .await
            .unwrap();
        assert_eq!(seen["status"], "success");
        let input = json!({
            "deliveryId": format!("{id}:delivery"),
            "message": {"role": "assistant", "content": seen["message"]["content"]},
        });
        let receipt = runtime
            .invoke(Node::Output, input, InvokeOptions::default())
            .await
            .unwrap();
        let accepted = json!({"deliveryId": format!("{id}:delivery"), "status": "accepted"});
        assert_eq!(receipt, accepted);
    }
    let line = |id: &str, content: &str| json!({"id": id, "message": {"role": "assistant", "content": content}});
    let expected = [
        line("read:0:delivery", "# Title\n"),
        line("read:1:delivery", "{}"),
    ];
    assert_eq!(printed.lines(), expected);
    runtime.close().await;
}
