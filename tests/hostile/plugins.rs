//! Plugins that do not come back, lie about themselves, or look for what other calls left
//! (SPEC S6, T4; `TOOL_TRAPPED` of table E).

use serde_json::{Value, json};
use tidegate::{InvokeOptions, Node, Runtime};
use tidegate_contract::CallError;

use super::asking::{ask, assert_ended, assert_says, runtime_on};
use crate::support::{Fixture, call, engine, nothing};

#[tokio::test]
async fn e_a_plugin_that_breaks_down_is_a_trap_with_a_public_message() {
    let runtime = Fixture::new(&[]).runtime(&["misbehave"]).await;
    for (tool, arguments, says) in [
        ("panic", json!({}), "the tool trapped: "),
        ("recurse", json!({}), "the tool trapped: "),
        ("exit", json!({}), "the tool exited with code 0"),
        ("exit", json!({"code": 1}), "the tool exited with code 1"),
    ] {
        let result = ask(&runtime, tool, arguments).await;
        assert_ended(&result, "failed", "TOOL_TRAPPED", says);
        let message = result["error"]["message"].as_str().unwrap();
        assert!(
            !message.contains("0x") && !message.contains(".rs"),
            "{message}"
        );
        assert_says(&ask(&runtime, "counter", nothing()).await, "1");
    }
}

/// What a panic prints is kept beside the result and is no part of the error.
#[tokio::test]
async fn s5_the_words_of_a_panic_are_its_standard_error() {
    let runtime = Fixture::new(&[]).runtime(&["misbehave"]).await;
    let result = ask(&runtime, "panic", nothing()).await;
    let printed = result["metadata"]["stderr"]["text"].as_str().unwrap();
    assert!(printed.contains("this tool always panics"), "{printed}");
    assert!(
        !result["error"].to_string().contains("always panics"),
        "{result}"
    );
}

#[tokio::test]
async fn t4_call_id_and_source_are_the_hosts_whatever_the_plugin_claims() {
    let runtime = Fixture::new(&[]).runtime(&["misbehave"]).await;
    let result = ask(&runtime, "liar", nothing()).await;
    let claimed = json!({"callId": "forged", "source": "other_tool", "status": "failed"});
    let expected = json!({
        "callId": "call-1", "source": "liar", "status": "success",
        // A plugin may say anything as its data; the host's fields are not among it.
        "structuredContent": claimed, "metadata": claimed,
    });
    assert_eq!(result, expected);
}

#[tokio::test]
async fn t4_an_unpermitted_name_is_the_same_denial_whether_it_is_registered_or_not() {
    let mut fixture = Fixture::new(&[]);
    fixture.grant.tools = ["counter"].into_iter().collect();
    let runtime = fixture.runtime(&["misbehave"]).await;
    let refused = async |name: &str| {
        let ended = runtime
            .act_tool(call(name, nothing()), InvokeOptions::default())
            .await;
        let error = ended.unwrap_err();
        assert_eq!(error.code(), "PERMISSION_DENIED");
        error.to_string().replace(name, "NAME")
    };
    assert_eq!(refused("panic").await, refused("absent").await);
    assert_says(&ask(&runtime, "counter", nothing()).await, "1");
}

#[tokio::test]
async fn s6_calls_at_the_same_time_share_nothing() {
    let runtime = Fixture::new(&[]).runtime(&["misbehave"]).await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let runtime = runtime.clone();
        calls.spawn(async move { ask(&runtime, "counter", nothing()).await });
    }
    for result in calls.join_all().await {
        assert_says(&result, "1");
    }
}

/// Asks a runtime's `context` under a call id of its own.
async fn context(runtime: Runtime, id: String) -> Value {
    let input = json!({"call": {"id": id, "name": "context", "arguments": {}}});
    runtime
        .invoke(Node::ActTool, input, InvokeOptions::default())
        .await
        .unwrap()
}

/// One component for two tenants, side by side: each call knows its own id and its own settings.
#[tokio::test]
async fn s6_two_tenants_of_one_component_see_their_own_calls_and_settings() {
    let tenant = async |name: &str| {
        let mut fixture = Fixture::new(&[]);
        fixture.config.insert("tenant".to_owned(), json!(name));
        runtime_on(&engine(), &fixture, "probe").await
    };
    let (one, other) = (tenant("one").await, tenant("other").await);
    let mut calls = tokio::task::JoinSet::new();
    for round in 0..20 {
        for (name, runtime) in [("one", &one), ("other", &other)] {
            let id = format!("{name}-{round}");
            let called = context(runtime.clone(), id.clone());
            calls.spawn(async move { (name, id, called.await) });
        }
    }
    for (name, id, result) in calls.join_all().await {
        assert_eq!(result["callId"], id);
        assert_eq!(result["structuredContent"]["callId"], id);
        assert_eq!(
            result["structuredContent"]["config"],
            json!({ "tenant": name })
        );
    }
}

/// Ids that end up in logs and results are refused before a plugin sees them.
#[tokio::test]
async fn c2_hostile_call_ids_are_refused() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    for id in [
        "",
        "a\nb",
        "a\u{0}",
        "\u{1b}[2K",
        "a\u{7f}",
        "a\u{85}b",
        "a\u{2028}b",
        &"x".repeat(257),
    ] {
        let input = json!({"call": {"id": id, "name": "context", "arguments": {}}});
        let refused = runtime
            .invoke(Node::ActTool, input, InvokeOptions::default())
            .await;
        assert!(
            matches!(refused, Err(CallError::InvalidCall { .. })),
            "{id:?}: {refused:?}"
        );
    }
    for id in ["x", "é\u{202e}", &"é".repeat(256)] {
        assert_eq!(context(runtime.clone(), id.to_owned()).await["callId"], id);
    }
}
