//! Components that know nothing of the plugin contract: plain exports and commands as tools (SPEC T7).

use serde_json::{Value, json};
use tidegate::{CallOptions, CancellationToken, RunOn};
use tidegate_contract::{CallError, Status, Tenant};

use crate::support::{Fixture, call, guest};

async fn shapes(tool: &str, arguments: Value) -> Result<Value, CallError> {
    let result = Fixture::new(&[]).call("shapes", tool, arguments).await?;
    Ok(serde_json::to_value(result).unwrap())
}

/// What the tool gave back under `result`.
async fn given(tool: &str, arguments: Value) -> Value {
    let result = shapes(tool, arguments).await.unwrap();
    assert_eq!(result["status"], "success", "{result}");
    result["structuredContent"]["result"].clone()
}

#[tokio::test]
async fn t7_each_exported_function_is_a_tool_with_a_schema_of_its_types() {
    let plugin = Fixture::new(&[]).plugin("shapes", guest("shapes")).await;
    let definitions = plugin.definitions();
    let names: Vec<&str> = definitions.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "forms_bytes",
            "forms_divide",
            "forms_echo-form",
            "forms_echo-point",
            "forms_fill",
            "forms_forever",
            "forms_greet",
            "forms_largest",
            "forms_mixed",
            "forms_nothing",
            "forms_optional",
            "forms_parse",
            "forms_refuse",
            "forms_reveal",
            "sum",
        ]
    );
    let definition = |name: &str| {
        let tool = definitions.iter().find(|tool| tool.name.as_str() == name);
        serde_json::to_value(tool.unwrap()).unwrap()
    };
    let point = json!({
        "type": "object",
        "properties": {
            "x": {"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX},
            "y": {"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX},
            "label": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["x", "y"],
        "additionalProperties": false,
    });
    let echo = definition("forms_echo-point");
    assert_eq!(echo["inputSchema"]["properties"]["value"], point);
    assert_eq!(echo["outputSchema"]["properties"]["result"], point);
    assert_eq!(echo["inputSchema"]["required"], json!(["value"]));
    let greet = definition("forms_greet");
    assert_eq!(greet["inputSchema"]["required"], json!(["name"]));
    assert_eq!(greet.get("outputSchema"), None, "text is content");
}

#[tokio::test]
async fn t7_values_of_every_type_go_in_and_come_back() {
    assert_eq!(given("sum", json!({"a": 40, "b": 2})).await, 42);
    for value in [
        json!({"x": -1, "y": i32::MAX, "label": "here"}),
        json!({"x": 0, "y": 0, "label": null}),
    ] {
        assert_eq!(
            given("forms_echo-point", json!({"value": value})).await,
            value
        );
    }
    let absent = given("forms_echo-point", json!({"value": {"x": 1, "y": 2}})).await;
    assert_eq!(absent, json!({"x": 1, "y": 2, "label": null}));
    for value in [
        json!({"tag": "dot"}),
        json!({"tag": "circle", "val": 1.5}),
        json!({"tag": "polygon", "val": [{"x": 1, "y": 2, "label": null}]}),
    ] {
        assert_eq!(
            given("forms_echo-form", json!({"value": value})).await,
            value
        );
    }
    for value in [json!(null), json!({"some": null}), json!({"some": 7})] {
        assert_eq!(
            given("forms_optional", json!({"value": value})).await,
            value
        );
    }
    let mixed = json!({
        "pair": ["é", 0.1], "outcome": {"err": "no"}, "looks": ["bold", "struck"],
        "shade": "dark-blue",
    });
    assert_eq!(
        given("forms_mixed", mixed).await,
        json!(["é", 0.1, {"err": "no"}, ["bold", "struck"], "dark-blue"])
    );
    assert_eq!(
        given("forms_bytes", json!({"value": [0, 255]})).await,
        json!([0, 255])
    );
    assert_eq!(given("forms_nothing", json!({})).await, Value::Null);
}

#[tokio::test]
async fn ou12_integers_are_exact_or_refused_and_no_number_is_null() {
    let largest = json!({"signed": i64::MIN, "unsigned": u64::MAX});
    assert_eq!(
        given("forms_largest", largest).await,
        json!([i64::MIN, u64::MAX])
    );
    let exact = json!({"signed": 9_007_199_254_740_993_i64, "unsigned": 9_007_199_254_740_993_u64});
    let exact = given("forms_largest", exact).await;
    assert_eq!(exact.to_string(), "[9007199254740993,9007199254740993]");
    for (a, b) in [(0.0, 0.0), (1.0, 0.0), (-1.0, 0.0)] {
        let error = shapes("forms_divide", json!({"a": a, "b": b}))
            .await
            .unwrap_err();
        assert_eq!(error.code(), "INVALID_RESULT", "{a}/{b}: {error}");
    }
    assert_eq!(given("forms_divide", json!({"a": 1, "b": 4})).await, 0.25);
}

#[tokio::test]
async fn t7_arguments_that_fit_no_value_are_refused_with_their_place() {
    let point = |value: Value| json!({ "value": value });
    for (tool, arguments, pointer) in [
        ("sum", json!({"a": 1}), ""),
        ("sum", json!({"a": 1, "b": 2, "c": 3}), ""),
        ("sum", json!({"a": 1.5, "b": 2}), "/a"),
        (
            "forms_largest",
            json!({"signed": 0, "unsigned": -1}),
            "/unsigned",
        ),
        (
            "forms_echo-point",
            point(json!({"x": 2_147_483_648_i64, "y": 0})),
            "/value/x",
        ),
        ("forms_echo-point", point(json!([])), "/value"),
        ("forms_echo-form", point(json!({"tag": "square"})), "/value"),
        (
            "forms_echo-form",
            point(json!({"tag": "dot", "val": 1})),
            "/value",
        ),
        ("forms_optional", point(json!(7)), "/value"),
        ("forms_bytes", point(json!([0, 256])), "/value/1"),
    ] {
        // With the schema and without it: what is no value is refused either way.
        let error = shapes(tool, arguments.clone()).await.unwrap_err();
        assert!(
            matches!(error, CallError::InvalidArguments { .. }),
            "{tool}: {error}"
        );
        let fixture = Fixture::new(&[]);
        let plugin = fixture.plugin("shapes", guest("shapes")).await;
        let error = unchecked(&plugin, tool, arguments).await.unwrap_err();
        let CallError::InvalidArguments { problems } = error else {
            panic!("{tool}: {error}");
        };
        assert_eq!(problems[0].pointer, pointer, "{tool}");
    }
}

/// Calls a tool of a plugin past the registry and its schema check.
async fn unchecked(
    plugin: &tidegate::Plugin,
    tool: &str,
    arguments: Value,
) -> Result<tidegate_contract::ToolOutcome, CallError> {
    let call = call(tool, arguments);
    let options = CallOptions {
        deadline: plugin.deadline(),
        cancel: CancellationToken::new(),
        tenant: Tenant::default(),
        run_on: RunOn::GuestThread,
        shelf: None,
        progress: None,
    };
    plugin.call_tool(&call.name, &call, options).await
}

#[tokio::test]
async fn t7_an_error_case_is_a_failed_result_and_says_only_what_is_fit() {
    let parsed = shapes("forms_parse", json!({"text": "12"})).await.unwrap();
    assert_eq!(parsed["structuredContent"], json!({"result": 12}));
    let failed = shapes("forms_parse", json!({"text": "twelve"}))
        .await
        .unwrap();
    assert_eq!(failed["status"], "failed");
    assert_eq!(
        failed["error"],
        json!({"code": "TOOL_ERROR", "message": "not a number: twelve"})
    );
    let refused = shapes("forms_refuse", json!({})).await.unwrap();
    assert_eq!(refused["error"]["message"], "dark-blue");
    let revealed = shapes("forms_reveal", json!({})).await.unwrap();
    assert_eq!(revealed["status"], "failed");
    assert!(!revealed.to_string().contains("/srv"), "C7: {revealed}");
}

#[tokio::test]
async fn t7_plain_exports_run_under_the_same_limits() {
    let fixture = Fixture::new(&[]).limit("cpu_ms", 50);
    let result = fixture
        .call("shapes", "forms_forever", json!({}))
        .await
        .unwrap();
    assert_eq!(result.error.unwrap().code(), "LIMIT_CPU");

    let fixture = Fixture::new(&[]).limit("memory_bytes", 2 * 1024 * 1024);
    let result = fixture
        .call("shapes", "forms_fill", json!({"bytes": 4_194_304}))
        .await
        .unwrap();
    assert_eq!(result.error.unwrap().code(), "LIMIT_MEMORY");

    // A list is larger in the host than in the guest; both are bounded.
    let fixture = Fixture::new(&[]).limit("host_allocation_bytes", 65_536);
    let result = fixture
        .call("shapes", "forms_fill", json!({"bytes": 65_536}))
        .await
        .unwrap();
    assert_eq!(result.error.unwrap().code(), "LIMIT_HOST_ALLOCATION");
    let many: Vec<u8> = vec![0; 65_536];
    let result = fixture
        .call("shapes", "forms_bytes", json!({"value": many}))
        .await
        .unwrap();
    assert_eq!(result.error.unwrap().code(), "LIMIT_HOST_ALLOCATION");

    let fixture = Fixture::new(&[]).limit("result_bytes", 64);
    let result = fixture
        .call("shapes", "forms_fill", json!({"bytes": 100}))
        .await
        .unwrap();
    assert_eq!(result.status, Status::Failed);
    assert_eq!(result.error.unwrap().code(), "LIMIT_RESULT");
}

#[tokio::test]
async fn t7_a_command_is_a_tool_of_its_plugins_name() {
    let fixture = Fixture::new(&["read"]);
    fixture.write("a.txt", "from a file");
    let call = async |arguments: Value| {
        let result = fixture.call("shout", "shout", arguments).await;
        serde_json::to_value(result.unwrap()).unwrap()
    };
    let ran = call(json!({"args": ["hello", "--read", "a.txt"], "stdin": "and more"})).await;
    assert_eq!(ran["status"], "success", "{ran}");
    assert_eq!(ran["content"], "HELLO\nFROM A FILE\nAND MORE");
    assert_eq!(
        ran["structuredContent"],
        json!({
            "command": "shout", "args": ["hello", "--read", "a.txt"],
            "stdout": "HELLO\nFROM A FILE\nAND MORE", "stderr": "", "exitCode": 0,
            "truncated": false,
        })
    );
    let failed = call(json!({"args": ["--read", "nowhere.txt"]})).await;
    assert_eq!(failed["status"], "failed");
    assert_eq!(failed["error"]["code"], "COMMAND_EXIT_NONZERO");
    // The standard library tells WASI 0.2 success or not, no more.
    assert_eq!(failed["structuredContent"]["exitCode"], 1);
    assert!(
        failed["structuredContent"]["stderr"]
            .as_str()
            .unwrap()
            .starts_with("shout: ")
    );
    let kept = call(json!({"args": ["kept", "--exit", "7"]})).await;
    assert_eq!(kept["structuredContent"]["stdout"], "KEPT\n");
    assert_eq!(kept["structuredContent"]["exitCode"], 1);
}

#[tokio::test]
async fn r4_what_a_command_prints_is_bounded_and_said_to_be() {
    for (bytes, omitted) in [(99, Value::Null), (100, Value::Null), (101, json!(1))] {
        let fixture = Fixture::new(&[]).limit("stdout_bytes", 100);
        let arguments = json!({"args": ["--fill", bytes.to_string()]});
        let result = fixture.call("shout", "shout", arguments).await.unwrap();
        let result = serde_json::to_value(result).unwrap();
        let structured = &result["structuredContent"];
        assert_eq!(structured["stdoutOmittedBytes"], omitted, "{bytes}");
        assert_eq!(structured["truncated"], !omitted.is_null());
        assert_eq!(structured["stdout"].as_str().unwrap().len(), bytes.min(100));
    }
}

#[tokio::test]
async fn t7_a_command_sees_no_more_than_its_grants() {
    let fixture = Fixture::new(&[]);
    fixture.write("a.txt", "secret text");
    let result = fixture
        .call("shout", "shout", json!({"args": ["--read", "a.txt"]}))
        .await
        .unwrap();
    assert_eq!(result.status, Status::Failed);
    assert!(
        !serde_json::to_string(&result)
            .unwrap()
            .contains("SECRET TEXT")
    );
    for arguments in [
        json!({"args": "hello"}),
        json!({"args": [1]}),
        json!({"args": ["a\u{0}b"]}),
        json!({"stdin": 1}),
        json!({"input": "x"}),
    ] {
        let error = fixture.call("shout", "shout", arguments).await.unwrap_err();
        assert_eq!(error.code(), "INVALID_ARGUMENTS");
    }
}
