//! The order of checks in a call, and what each refusal is (SPEC T2, T3, T4, X1, C6).

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tidegate::{
    InvokeOptions, Node, RegisterError, Runtime, RuntimeOptions, SchemaCheck, ToolRegistry,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::{CallError, Effect, Problem, ReceiptStatus, ToolOutcome};

use super::acting::runtime_of;
use super::native::{NativeSink, native, receipt};
use crate::support::{Fixture, call};

fn permitting(tools: &[&str]) -> Grant {
    let mut grant = Grant::default();
    for tool in tools {
        parse_allow(&format!("tool={tool}"), &mut grant).unwrap();
    }
    grant
}

/// Invokes ACT.TOOL on a raw input and gives the code it was refused with.
async fn code(runtime: &Runtime, input: Value) -> String {
    let ended = runtime
        .invoke(Node::ActTool, input, InvokeOptions::default())
        .await;
    ended.map_or_else(
        |error| error.code().to_owned(),
        |result| result["status"].to_string(),
    )
}

#[tokio::test]
async fn t3_checks_come_in_order_and_a_failing_one_means_execute_never_ran() {
    static EXECUTED: AtomicU32 = AtomicU32::new(0);
    let tools = ToolRegistry::new();
    let tool = native("known", |_, _| {
        EXECUTED.fetch_add(1, Ordering::SeqCst);
        Ok(ToolOutcome::text("ran"))
    });
    let refusing = tool.validating(|arguments| {
        let problem = Problem {
            pointer: "/a".to_owned(),
            reason: "must be there".to_owned(),
        };
        if arguments.contains_key("a") {
            Ok(())
        } else {
            Err(vec![problem])
        }
    });
    drop(tools.register(refusing).unwrap());
    let sandbox = permitting(&["known", "absent"]);
    let options = RuntimeOptions {
        sandbox,
        tools,
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::new(options).unwrap();
    let asked = |id: &str, name: &str, arguments: Value| json!({"call": {"id": id, "name": name, "arguments": arguments}});
    for (input, expected) in [
        // A bad id comes before everything.
        (asked("", "secret", json!(1)), "INVALID_CALL"),
        (asked("a\nb", "known", json!({"a": 1})), "INVALID_CALL"),
        // Permission comes before registration: nobody learns what is registered.
        (asked("1", "secret", json!(1)), "PERMISSION_DENIED"),
        (asked("1", "absent", json!(1)), "UNKNOWN_TOOL"),
        (asked("1", "known", json!([])), "INVALID_ARGUMENTS"),
        (asked("1", "known", json!({})), "INVALID_ARGUMENTS"),
    ] {
        assert_eq!(code(&runtime, input.clone()).await, expected, "{input}");
    }
    assert_eq!(EXECUTED.load(Ordering::SeqCst), 0);
    assert_eq!(
        code(&runtime, asked("1", "known", json!({"a": 1}))).await,
        "\"success\""
    );
    assert_eq!(EXECUTED.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn c6_inputs_have_exactly_their_fields() {
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    for (node, input, named) in [
        (Node::ActTool, json!({}), "call"),
        (Node::ActTool, json!([]), "call"),
        (
            Node::ActTool,
            json!({"call": {"id": "1", "name": "a", "arguments": {}}, "x": 1}),
            "x",
        ),
        (
            Node::ActTool,
            json!({"call": {"id": "1", "name": "a", "arguments": {}, "y": 1}}),
            "y",
        ),
        (
            Node::ActTool,
            json!({"call": {"id": "1", "name": "a"}}),
            "arguments",
        ),
        (Node::Observe, json!({"result": 1}), "result"),
        (Node::Observe, json!({"result": {}}), "callId"),
        (
            Node::Output,
            json!({"deliveryId": "", "message": {}}),
            "deliveryId",
        ),
        (
            Node::Output,
            json!({"deliveryId": "1", "message": {"role": "user"}}),
            "content",
        ),
        (
            Node::Output,
            json!({"deliveryId": "1", "message": {"role": "x", "content": 1}}),
            "role",
        ),
    ] {
        let refused = runtime
            .invoke(node, input.clone(), InvokeOptions::default())
            .await;
        let error = refused.expect_err(&input.to_string());
        assert_eq!(error.code(), "INVALID_CALL", "{input}");
        assert!(error.to_string().contains(named), "{input}: {error}");
    }
}

#[tokio::test]
async fn x1_mcp_and_output_are_not_there_without_their_resources() {
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    let discover = json!({"operation": "discover"});
    let deliver = json!({"deliveryId": "1", "message": {"role": "user", "content": 1}});
    for (node, input) in [(Node::ActMcp, discover), (Node::Output, deliver)] {
        assert!(!runtime.has(node));
        let refused = runtime.invoke(node, input, InvokeOptions::default()).await;
        assert!(
            matches!(refused, Err(CallError::NotInjected { node: named }) if named == node.as_str())
        );
    }
    assert!(runtime.has(Node::ActTool) && runtime.has(Node::Observe));
}

#[test]
fn t2_invalid_and_duplicate_names_fail_at_once() {
    let tools = ToolRegistry::new();
    drop(
        tools
            .register(native("a", |_, _| Ok(ToolOutcome::text(""))))
            .unwrap(),
    );
    let again = tools.register(native("a", |_, _| Ok(ToolOutcome::text(""))));
    assert!(matches!(again, Err(RegisterError::Duplicate(name)) if name == "a"));
    for name in ["", "a b", "a/b", "é", &"x".repeat(65)] {
        assert!(tidegate_contract::ToolName::new(name).is_err(), "{name:?}");
    }
    assert!(tidegate_contract::ToolName::new("x".repeat(64)).is_ok());
}

#[tokio::test]
async fn t2_a_later_register_or_unregister_is_seen_by_every_runtime_of_the_registry() {
    let tools = ToolRegistry::new();
    let runtime = || {
        let sandbox = permitting(&["late"]);
        let options = RuntimeOptions {
            sandbox,
            tools: tools.clone(),
            ..RuntimeOptions::default()
        };
        Runtime::new(options).unwrap()
    };
    let (one, two) = (runtime(), runtime());
    let input = json!({"call": {"id": "1", "name": "late", "arguments": {}}});
    assert_eq!(code(&one, input.clone()).await, "UNKNOWN_TOOL");
    let mut late = tools
        .register(native("late", |_, _| Ok(ToolOutcome::text("x"))))
        .unwrap();
    assert_eq!(code(&one, input.clone()).await, "\"success\"");
    assert_eq!(code(&two, input.clone()).await, "\"success\"");
    late.unregister();
    assert_eq!(code(&two, input).await, "UNKNOWN_TOOL");
}

#[test]
fn t2_list_shows_permitted_tools_only() {
    let tools = ToolRegistry::new();
    for name in ["a", "b", "c"] {
        drop(
            tools
                .register(native(name, |_, _| Ok(ToolOutcome::text(""))))
                .unwrap(),
        );
    }
    let listed = tools.list(&permitting(&["c", "a"]));
    let names: Vec<&str> = listed.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["a", "c"]);
    assert!(tools.list(&Grant::default()).is_empty());
}

#[tokio::test]
async fn t3_a_declared_effect_without_a_grant_is_denied_before_execute() {
    let tools = ToolRegistry::new();
    for (name, effect) in [
        ("read", Effect::Read),
        ("write", Effect::Write),
        ("execute", Effect::Execute),
        ("network", Effect::Network),
    ] {
        let tool = native(name, |_, _| panic!("execute ran")).with_effect(effect);
        drop(tools.register(tool).unwrap());
    }
    let sandbox = permitting(&["*"]);
    let options = RuntimeOptions {
        sandbox,
        tools,
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::new(options).unwrap();
    for kind in ["read", "write", "execute", "network"] {
        let denied = runtime
            .act_tool(call(kind, json!({})), InvokeOptions::default())
            .await;
        let error = denied.unwrap_err();
        assert_eq!(error.code(), "PERMISSION_DENIED");
        let words = error.to_string();
        assert!(words.contains(&format!("--allow {kind}")), "{words}");
    }
}

#[tokio::test]
async fn t7_the_hosts_schema_check_comes_before_the_plugin() {
    let fixture = Fixture::new(&["read"]);
    let refused = fixture
        .call("read-text", "read_text", json!({"path": 7, "more": true}))
        .await;
    let Err(CallError::InvalidArguments { problems }) = refused else {
        panic!("{refused:?}")
    };
    assert!(
        problems.iter().any(|problem| problem.pointer == "/path"),
        "{problems:?}"
    );
    let refused = fixture.call("read-text", "read_text", json!({})).await;
    assert!(matches!(refused, Err(CallError::InvalidArguments { .. })));
}

#[tokio::test]
async fn t7_a_schema_known_to_be_usable_is_compiled_for_the_first_call_and_one_that_is_not_stops_it()
 {
    let good = json!({"type": "object", "required": ["path"]});
    let bad = json!({"type": "object", "properties": 7});
    let tools = ToolRegistry::new();
    let tool = |name, schema| native(name, |_, _| Ok(ToolOutcome::text("ran"))).with_schema(schema);
    let refused = tools.register(tool("bad", &bad));
    assert!(matches!(refused, Err(RegisterError::Schema { .. })));
    for (name, schema) in [("good", &good), ("bad", &bad)] {
        let tool = tool(name, schema);
        drop(tools.register_with(tool, SchemaCheck::WhenCalled).unwrap());
    }
    let runtime = runtime_of(&tools, None);
    let ask =
        |name: &str, arguments| runtime.act_tool(call(name, arguments), InvokeOptions::default());
    for _ in 0..2 {
        let refused = ask("good", json!({})).await;
        assert!(matches!(refused, Err(CallError::InvalidArguments { .. })));
        assert!(ask("good", json!({"path": "a"})).await.is_ok());
        let stopped = ask("bad", json!({"path": "a"})).await.unwrap_err();
        assert_eq!(stopped.code(), "HOST_FAULT");
        assert!(stopped.to_string().contains("`bad`"), "{stopped}");
    }
}

#[tokio::test]
async fn c8_deliveries_and_inputs_are_bounded_in_size_and_depth() {
    static DELIVERED: AtomicU32 = AtomicU32::new(0);
    let mut sinks = tidegate::Sinks::default();
    sinks.insert(
        "any",
        NativeSink(|sent| {
            DELIVERED.fetch_add(1, Ordering::SeqCst);
            receipt(sent, ReceiptStatus::Accepted)
        }),
    );
    let options = RuntimeOptions {
        sinks,
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::new(options).unwrap();
    let deliver = |content: Value| {
        let message = json!({"role": "user", "content": content});
        let input = json!({"deliveryId": "1", "message": message});
        runtime.invoke(Node::Output, input, InvokeOptions::default())
    };
    assert!(deliver(json!("x".repeat(1024 * 1024))).await.is_ok());
    let large = deliver(json!("x".repeat(1024 * 1024 + 1))).await;
    assert_eq!(large.unwrap_err().code(), "INVALID_CALL");
    assert_eq!(DELIVERED.load(Ordering::SeqCst), 1);

    // Built by code, not parsed: refusing it must not recurse either.
    let nested = || (0..100_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    for (node, input) in [
        (Node::ActTool, nested()),
        (Node::ActMcp, nested()),
        (Node::Observe, nested()),
        (Node::Output, nested()),
    ] {
        let refused = runtime.invoke(node, input, InvokeOptions::default()).await;
        assert_eq!(refused.unwrap_err().code(), "INVALID_CALL", "{node}");
    }
}
