//! Calls of servers' tools: what they come to, and what is refused before (SPEC M1, M3; OU09).

use std::future::pending;

use serde_json::{Value, json};
use tidegate::{
    BoxFuture, CancellationToken, InvokeOptions, McpBlob, McpClient, McpError, McpPage,
    McpRegistry, McpSettings, McpToolResult, Node,
};
use tidegate_contract::{Content, JsonObject, Limits, Reference};

use super::scripted::{Scripted, ask, invoke, one, over};

async fn result(answer: Result<McpToolResult, McpError>) -> Value {
    let runtime = one(Scripted::giving(answer));
    let answer = ask(&runtime, invoke("read", &json!({"path": "a"}))).await;
    let mut answer = answer.unwrap();
    assert_eq!(answer["operation"], "invoke");
    let result = answer["result"].take();
    assert_eq!(result["callId"], "mcp-1");
    assert_eq!(result["source"], "files:read");
    result
}

fn said(text: &str) -> McpToolResult {
    McpToolResult {
        content: Some(Content::Text(text.to_owned())),
        ..McpToolResult::default()
    }
}

#[tokio::test]
async fn m3_a_call_keeps_its_id_and_names_its_source() {
    let result = result(Ok(McpToolResult {
        structured_content: Some(json!({"n": 9_007_199_254_740_993_i64})),
        references: Some(vec![Reference::new("urn:a")]),
        ..said("text")
    }))
    .await;
    let expected = json!({
        "callId": "mcp-1", "source": "files:read", "status": "success", "content": "text",
        "structuredContent": {"n": 9_007_199_254_740_993_i64}, "references": [{"uri": "urn:a"}],
    });
    assert_eq!(result, expected);
}

#[tokio::test]
async fn ou09_a_tool_that_failed_is_a_failed_result_and_keeps_its_text() {
    let failed = |error| McpToolResult {
        is_error: true,
        error,
        ..said("locked")
    };
    let plain = result(Ok(failed(None))).await;
    assert_eq!(plain["status"], "failed");
    assert_eq!(plain["content"], "locked");
    let fixed = json!({
        "code": "MCP_TOOL_ERROR", "message": "the MCP tool reported an execution error",
    });
    assert_eq!(plain["error"], fixed);
    let own = json!({"code": "LOCKED", "message": "It is locked", "retryable": true, "stack": "x"});
    let told = result(Ok(failed(Some(own)))).await;
    let kept = json!({"code": "LOCKED", "message": "It is locked", "retryable": true});
    assert_eq!(told["error"], kept);
}

#[tokio::test]
async fn c7_an_unsafe_diagnostic_of_a_server_is_replaced() {
    for unsafe_error in [
        json!({"code": "X", "message": "password=hunter2 is wrong"}),
        json!({"code": "X", "message": "can't read /etc/passwd"}),
        json!({"code": "X", "message": "two\nlines"}),
        json!({"code": "no code", "message": "fine"}),
        json!({"code": "X"}),
        json!("text"),
    ] {
        for is_error in [true, false] {
            let answer = McpToolResult {
                is_error,
                error: Some(unsafe_error.clone()),
                ..said("x")
            };
            let result = result(Ok(answer)).await;
            assert_eq!(result["error"]["code"], "MCP_TOOL_ERROR", "{unsafe_error}");
        }
    }
}

#[tokio::test]
async fn ou09_errors_of_the_protocol_and_of_the_transport_have_codes_of_their_own() {
    let reason = || "Bearer abcdefgh at /srv/x.js:1:2".to_owned();
    let protocol = |code| McpError::Protocol {
        code,
        reason: reason(),
    };
    for (error, status, code) in [
        (protocol(Some(-32602)), "failed", "MCP_PROTOCOL_ERROR"),
        (protocol(None), "failed", "MCP_PROTOCOL_ERROR"),
        (
            McpError::Unavailable { reason: reason() },
            "failed",
            "MCP_UNAVAILABLE",
        ),
        (
            McpError::Broken { reason: reason() },
            "unknown",
            "OUTCOME_UNKNOWN",
        ),
        (
            McpError::TooLarge { limit_bytes: 1 },
            "failed",
            "LIMIT_RESULT",
        ),
        (McpError::Cancelled, "cancelled", "CANCELLED"),
    ] {
        let result = result(Err(error)).await;
        assert_eq!(result["status"], status, "{result}");
        assert_eq!(result["error"]["code"], code, "{result}");
        assert!(!result.to_string().contains("Bearer"), "{result}");
    }
}

#[tokio::test]
async fn m3_bytes_of_an_answer_become_references() {
    let answer = McpToolResult {
        blobs: vec![
            McpBlob {
                media_type: Some("image/png".to_owned()),
                bytes: b"foobar".to_vec(),
                ..McpBlob::default()
            },
            McpBlob {
                uri: Some("file:///a".to_owned()),
                ..McpBlob::default()
            },
        ],
        ..McpToolResult::default()
    };
    let result = result(Ok(answer)).await;
    let digest = "c3ab8ff13720e8ad9047dd39466b3c8974e592c2fa383d4a3960714caef0c4f2";
    let expected = json!([
        {"uri": format!("urn:sha-256:{digest}"), "mediaType": "image/png",
         "digest": format!("sha-256:{digest}")},
        {"uri": "file:///a", "digest": format!("sha-256:{}",
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")},
    ]);
    assert_eq!(result["references"], expected);
    assert!(result.get("content").is_none());
}

#[tokio::test]
async fn o2_an_answer_without_anything_is_a_success_that_can_be_observed() {
    let runtime = one(Scripted::giving(Ok(McpToolResult::default())));
    let answer = ask(&runtime, invoke("read", &json!({}))).await.unwrap();
    let input = json!({"result": answer["result"]});
    let options = InvokeOptions::default();
    let observed = runtime.invoke(Node::Observe, input, options).await.unwrap();
    let content = &observed["message"]["content"];
    assert_eq!(content, "success: files:read returned no content");
}

#[tokio::test]
async fn m1_invalid_input_asks_no_server() {
    let call = || json!({"id": "1", "name": "read", "arguments": {}});
    let with = |key: &str, value: Value| {
        let mut call = call();
        call[key] = value;
        json!({"operation": "invoke", "server": "files", "call": call})
    };
    let client = Scripted::giving(Ok(said("x")));
    let runtime = one(client.clone());
    for input in [
        Value::Null,
        json!([]),
        json!("discover"),
        json!({}),
        json!({"operation": 1}),
        json!({"operation": "list"}),
        json!({"operation": "Discover"}),
        json!({"operation": "discover", "server": ""}),
        json!({"operation": "discover", "server": null}),
        json!({"operation": "discover", "server": ["files"]}),
        json!({"operation": "discover", "call": call()}),
        json!({"operation": "invoke"}),
        json!({"operation": "invoke", "server": "files"}),
        json!({"operation": "invoke", "call": call()}),
        json!({"operation": "invoke", "server": " ", "call": call()}),
        json!({"operation": "invoke", "server": "files", "call": null}),
        json!({"operation": "invoke", "server": "files", "call": call(), "x": 1}),
        with("id", json!("")),
        with("name", json!("a.b")),
        with("name", json!("")),
        with("arguments", json!([])),
        with("arguments", Value::Null),
        with("extra", json!(1)),
    ] {
        let refused = ask(&runtime, input.clone()).await.unwrap_err();
        assert_eq!(refused.code(), "INVALID_CALL", "{input}");
    }
    assert_eq!(client.asked(), 0);
}

#[tokio::test]
async fn m2_a_call_is_permitted_by_its_server_before_anything_else() {
    let servers = McpRegistry::default();
    let client = Scripted::giving(Ok(said("x")));
    drop(servers.register("files", client.clone()).unwrap());
    let denied = over(&servers, &["tool=*"]);
    let refused = ask(&denied, invoke("read", &json!({}))).await.unwrap_err();
    assert_eq!(refused.code(), "PERMISSION_DENIED");
    let options = InvokeOptions::default();
    let rehearsed = denied.check(Node::ActMcp, invoke("read", &json!({})), &options);
    assert_eq!(rehearsed.unwrap_err().code(), "PERMISSION_DENIED");
    let permitted = over(&servers, &["mcp=files"]);
    let rehearsed = permitted.check(Node::ActMcp, invoke("read", &json!({})), &options);
    assert!(rehearsed.is_ok());
    assert_eq!(client.asked(), 0);
}

#[tokio::test]
async fn c8_arguments_and_results_are_bounded_to_the_byte() {
    let limits = Limits {
        arguments_bytes: 20,
        result_bytes: 64,
        ..Limits::default()
    };
    let settings = McpSettings {
        limits,
        ..McpSettings::default()
    };
    for (text, status) in [(63, "success"), (64, "success"), (65, "failed")] {
        let servers = McpRegistry::new(settings).unwrap();
        let client = Scripted::giving(Ok(said(&"x".repeat(text))));
        drop(servers.register("files", client).unwrap());
        let runtime = over(&servers, &["mcp=files"]);
        let answer = ask(&runtime, invoke("read", &json!({}))).await.unwrap();
        assert_eq!(answer["result"]["status"], status, "{text}");
        if status == "failed" {
            assert_eq!(answer["result"]["error"]["code"], "LIMIT_RESULT");
        }
    }
    // `{"a":"…"}` is eight bytes and the text.
    for (text, fits) in [(11, true), (12, true), (13, false)] {
        let servers = McpRegistry::new(settings).unwrap();
        let client = Scripted::giving(Ok(said("x")));
        drop(servers.register("files", client.clone()).unwrap());
        let runtime = over(&servers, &["mcp=files"]);
        let answer = ask(&runtime, invoke("read", &json!({"a": "x".repeat(text)}))).await;
        assert_eq!(answer.is_ok(), fits, "{text}");
        if let Err(error) = answer {
            assert_eq!(error.code(), "INVALID_ARGUMENTS");
        }
        assert_eq!(client.asked(), usize::from(fits));
    }
}

#[tokio::test]
async fn io10_a_result_of_any_depth_is_refused_and_taken_apart() {
    for (depth, status) in [(127, "success"), (128, "success"), (100_000, "failed")] {
        let nested = (0..depth).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        let answer = McpToolResult {
            structured_content: Some(nested),
            ..McpToolResult::default()
        };
        let result = result(Ok(answer)).await;
        assert_eq!(result["status"], status, "{depth}");
        if status == "failed" {
            assert_eq!(result["error"]["code"], "MCP_PROTOCOL_ERROR");
        }
    }
}

/// A server that never answers.
struct Silent;

impl McpClient for Silent {
    fn list_tools<'a>(
        &'a self,
        _cursor: Option<&'a str>,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<McpPage, McpError>> {
        Box::pin(pending())
    }

    fn call_tool<'a>(
        &'a self,
        _name: &'a str,
        _arguments: &'a JsonObject,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<McpToolResult, McpError>> {
        Box::pin(pending())
    }
}

#[tokio::test]
async fn x3_a_silent_server_ends_at_the_deadline_and_by_cancelling() {
    let servers = McpRegistry::default();
    drop(servers.register("files", Silent).unwrap());
    let runtime = over(&servers, &["mcp=files"]);
    let timed = InvokeOptions {
        deadline_ms: Some(20),
        ..InvokeOptions::default()
    };
    let cancelled = InvokeOptions::default();
    cancelled.cancel.cancel();
    let call = || invoke("read", &json!({}));
    let late = runtime.invoke(Node::ActMcp, call(), timed.clone()).await;
    let late = late.unwrap();
    assert_eq!(late["result"]["status"], "timeout");
    assert_eq!(late["result"]["source"], "files:read");
    let discover = json!({"operation": "discover"});
    let late = runtime.invoke(Node::ActMcp, discover, timed).await;
    assert_eq!(late.unwrap_err().code(), "LIMIT_DEADLINE");
    let ended = runtime.invoke(Node::ActMcp, call(), cancelled).await;
    assert_eq!(ended.unwrap()["result"]["status"], "cancelled");
}
