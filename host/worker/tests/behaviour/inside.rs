//! The worker that runs inside of the host: a component, held to what holds for those outside.

use std::path::Path;

use serde_json::{Value, json};
use tidegate::{
    ComponentWorker, Engine, EngineSettings, Handles, PluginSource, RuntimeOptions, Workers,
    Workspace,
};
use tidegate_contract::grant::Grant;
use tidegate_contract::{JsonObject, Limits};
use tidegate_sandbox::ambient;
use tidegate_worker::store::RunStatus;

use crate::fixture::code;
use crate::shop::{Shop, blueprint, me, runtime, tenant};

/// A shop whose runtime has the worker `probe`: its prompt says what it does.
async fn shop() -> Shop {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dist = ambient::open_folder(&root.join("guests/dist")).unwrap();
    let bytes = dist.read("probe.wasm").unwrap_or_else(|error| {
        panic!("guests/dist/probe.wasm: {error}; run `cargo xtask guests`")
    });
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled");
    let engine = Engine::new(EngineSettings {
        cache: Some(ambient::open_cache(&folder).unwrap()),
        ..EngineSettings::default()
    });
    let engine = engine.unwrap();
    let workspace = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(workspace.path()).unwrap();
    let mut limits = Limits::default();
    limits.set("memory_bytes", 16 << 20).unwrap();
    limits.set("cpu_ms", 200).unwrap();
    let source = PluginSource {
        name: "probe".to_owned(),
        bytes,
        handles: Handles::open(&Grant::default(), &workspace).unwrap(),
        limits,
        config: JsonObject::new(),
    };
    let plugin = engine.load(source).await.unwrap();
    let mut workers = Workers::default();
    workers.insert("probe", ComponentWorker::new(&plugin).unwrap());
    Shop::over(runtime(RuntimeOptions {
        workers,
        engine: Some(engine),
        ..RuntimeOptions::default()
    }))
}

fn agents(more: Value) -> Value {
    let mut agents = json!({});
    agents["inside"] = more;
    agents["inside"]["worker"] = json!("probe");
    agents
}

fn step(prompt: Value) -> Value {
    let mut step = json!({"step": {"name": "inside", "agent": "inside"}});
    step["step"]["in"]["$lit"] = prompt;
    step
}

#[tokio::test]
async fn twin_i9_a_value_and_parts_fold_as_from_outside_and_files_are_written() {
    let shop = shop().await;
    let prompt = json!({"do": "raw", "text": "{\"n\": 1}", "parts": [["plan.md", "# one"], ["plan.md", "# two"]]});
    let run = shop.launch(&[step(prompt)], &agents(json!({})));
    let view = shop.ended(&run).await;
    let expected = json!({"inside": {"out": {"n": 1}, "parts": {"plan.md": "# two"}}});
    assert_eq!(view.result, Some(expected), "{:?}", view.error);
    assert_eq!(shop.file(&view.task, "plan.md"), Some("# two".to_owned()));
    assert!(
        shop.file(&view.task, "inside.md")
            .unwrap()
            .ends_with("\n\n{\"n\":1}")
    );
    assert!(!shop.has_work("inside").await, "nobody outside reaches it");
}

#[tokio::test]
async fn twin_i9_the_view_is_the_same_without_pointers_and_absent_keys_stay_away() {
    let shop = shop().await;
    let tell = json!({"do": "tell"});
    let run = shop.launch(
        &[step(tell.clone()), step(tell.clone())],
        &agents(json!({})),
    );
    let told = shop.ended(&run).await.result.unwrap()["inside"].clone();
    assert_eq!(
        (&told["agent"], &told["attempt"]),
        (&json!("inside"), &json!(2))
    );
    let context = told["context"].as_object().unwrap();
    for absent in ["steps", "task_metadata", "extra", "project_root"] {
        assert!(!context.contains_key(absent), "{absent}");
    }
    assert_eq!(context["work_dir"], shop.work_dir());
    assert_eq!(told["system"], Value::Null);

    let more = json!({"system": "be brief", "ctx": {"tone": "dry"}, "context_policy": {"exclude": ["run_id"]}});
    let launch = json!({
        "blueprint": blueprint(&[step(tell)], &agents(more)), "task_metadata": null,
    });
    let run = shop.try_launch(&me(), launch).unwrap();
    let told = shop.ended(&run).await.result.unwrap()["inside"].clone();
    assert_eq!(told["system"], "be brief");
    assert_eq!(told["context"]["extra"], json!({"tone": "dry"}));
    assert_eq!(told["context"].get("task_metadata"), Some(&Value::Null));
    assert!(told["context"].get("run_id").is_none());
}

#[tokio::test]
async fn twin_i9_i7_both_channels_work_and_a_violation_fails_the_attempt_with_its_reason() {
    let shop = shop().await;
    let body = agents(json!({"verdict": {"channel": "body", "values": ["PASS"]}}));
    let part = agents(json!({"verdict": {"channel": "part", "values": ["PASS"]}}));
    let raw = |text: &str, parts: Value| json!({"do": "raw", "text": text, "parts": parts});
    for (agents, prompt, error) in [
        (&body, raw("\"PASS\"", json!([])), None),
        (&body, raw("\"pass\"", json!([])), Some("VERDICT_VIOLATION")),
        (
            &body,
            raw("{\"v\": \"PASS\"}", json!([])),
            Some("VERDICT_VIOLATION"),
        ),
        (&part, raw("1", json!([["verdict", "PASS"]])), None),
        (&part, raw("1", json!([])), Some("VERDICT_VIOLATION")),
        // Refused when it is staged, so that there is none at the end.
        (
            &part,
            raw("1", json!([["verdict", "maybe"]])),
            Some("VERDICT_VIOLATION"),
        ),
    ] {
        let run = shop.launch(&[step(prompt.clone())], agents);
        let view = shop.ended(&run).await;
        let code = view
            .error
            .as_ref()
            .map(|error| error["code"].as_str().unwrap());
        assert_eq!(code, error, "{prompt}");
        if error.is_some() {
            let said = view.error.unwrap()["message"].as_str().unwrap().to_owned();
            assert!(said.contains("verdict contract violation"), "{said}");
            assert_eq!(view.steps[0].attempts[0].state, "failed");
            assert_eq!(shop.file(&view.task, "inside.md"), None);
        }
    }
}

#[tokio::test]
async fn twin_i9_i8_parts_are_under_the_rules_of_http() {
    let shop = shop().await;
    let long = "a".repeat(256);
    let prompt = json!({"do": "tell", "not_utf8": "bytes", "part_bytes": 2 * 1024 * 1024 + 1,
        "parts": [["a/b", "kept"], ["", "x"], [long, "x"], ["raw", "@file:/etc/passwd"]]});
    let run = shop.launch(&[step(prompt)], &agents(json!({})));
    let view = shop.ended(&run).await;
    let value = &view.result.unwrap()["inside"];
    let expected = json!([
        "ok",
        "INVALID_PART_NAME",
        "INVALID_PART_NAME",
        "ok",
        "BODY_TOO_LARGE",
        "BODY_NOT_UTF8",
    ]);
    assert_eq!(value["out"]["staged"], expected);
    assert_eq!(
        value["parts"],
        json!({"a/b": "kept", "raw": "@file:/etc/passwd"})
    );
    assert_eq!(
        shop.file(&view.task, "raw"),
        Some("@file:/etc/passwd".to_owned())
    );
}

#[tokio::test]
async fn twin_i9_i8_a_strict_policy_fails_the_step_over_a_bad_name() {
    let shop = shop().await;
    let prompt = json!({"do": "raw", "text": "1", "parts": [["a/b", "x"]]});
    let mut launch = json!({"blueprint": blueprint(&[step(prompt)], &agents(json!({})))});
    launch["work_dir"] = json!(shop.work_dir());
    launch["check_policy"] = json!("strict");
    let run = shop.try_launch(&me(), launch).unwrap();
    let view = shop.ended(&run).await;
    assert_eq!(view.error.unwrap()["code"], "PROJECTION_REFUSED");
}

#[tokio::test]
async fn gap13_a_worker_inside_is_bounded_and_its_failure_is_the_steps() {
    let shop = shop().await;
    for (prompt, code) in [
        (json!({"do": "spin"}), "LIMIT_CPU"),
        (json!({"do": "grow"}), "LIMIT_MEMORY"),
        (json!({"do": "trap"}), "TOOL_TRAPPED"),
        (json!({"do": "raw", "text": "no JSON"}), "INVALID_RESULT"),
        (json!({"do": "fail", "code": "NO_LUCK"}), "NO_LUCK"),
    ] {
        let run = shop.launch(&[step(prompt)], &agents(json!({})));
        let view = shop.ended(&run).await;
        assert_eq!(view.status, RunStatus::Failed);
        let error = view.error.unwrap();
        assert_eq!(
            (&error["code"], &error["failed_step"]),
            (&json!(code), &json!("inside"))
        );
        assert_eq!(view.steps[0].attempts[0].state, "failed");
    }
}

#[tokio::test]
async fn twin_i10_an_interrupted_worker_is_not_run_again_where_nobody_says_that_it_may() {
    let shop = shop().await;
    let prompt = json!({"do": "sleep", "ms": 600_000, "parts": [["p", "x"]]});
    let run = shop.launch(&[step(prompt)], &agents(json!({})));
    shop.until(&run, "attempt.staged").await;
    let shop = shop.killed(|_service| {}).await;
    let view = shop.ended(&run).await;
    let error = view.error.unwrap();
    let found = (&error["code"], &error["failed_step"]);
    assert_eq!(found, (&json!("OUTCOME_UNKNOWN"), &json!("inside")));
    let attempts = &view.steps[0].attempts;
    assert_eq!((attempts.len(), attempts[0].state), (1, "failed"));
    // The flow may have a word for it.
    let prompt = json!({"do": "sleep", "ms": 600_000, "parts": [["p", "x"]]});
    let node = json!({"try": {"body": step(prompt), "catch": {"as": "error", "body": {"assign": {"$.lost": true}}}}});
    let run = shop.launch(&[node], &agents(json!({})));
    shop.until(&run, "attempt.staged").await;
    let shop = shop.killed(|_service| {}).await;
    assert_eq!(shop.ended(&run).await.result.unwrap()["lost"], true);
}

#[tokio::test]
async fn twin_i10_an_interrupted_repeatable_worker_is_started_anew_with_no_parts_of_before() {
    let shop = shop().await;
    let prompt = json!({"do": "sleep", "ms": 300, "parts": [["p", "x"]]});
    let run = shop.launch(&[step(prompt)], &agents(json!({"repeatable": true})));
    shop.until(&run, "attempt.staged").await;
    let shop = shop.killed(|_service| {}).await;
    let view = shop.ended(&run).await;
    let states: Vec<_> = view.steps[0]
        .attempts
        .iter()
        .map(|attempt| attempt.state)
        .collect();
    assert_eq!(states, ["superseded", "completed"]);
    let expected = json!({"inside": {"out": null, "parts": {"p": "x"}}});
    assert_eq!(view.result, Some(expected));
}

#[tokio::test]
async fn twin_i10_a_cancel_and_a_rekick_end_the_worker_inside() {
    let shop = shop().await;
    let prompt = json!({"do": "sleep", "ms": 600_000, "parts": [["p", "x"]]});
    let run = shop.launch(&[step(prompt)], &agents(json!({})));
    shop.until(&run, "attempt.staged").await;
    assert_eq!(shop.runs.rekick(&tenant(), &run, None).unwrap(), 0);
    assert_eq!(
        shop.runs.rekick(&tenant(), &run, Some("inside")).unwrap(),
        1
    );
    let mut events = shop.runs.events(&tenant(), &run, None).unwrap();
    let mut staged = 0;
    while staged < 2 {
        let event = events.next().await.unwrap().unwrap();
        staged += usize::from(event.kind == "attempt.staged");
    }
    assert_eq!(code(shop.runs.cancel(&tenant(), &run)), "ok");
    let view = shop.ended(&run).await;
    let states: Vec<_> = view.steps[0]
        .attempts
        .iter()
        .map(|attempt| attempt.state)
        .collect();
    assert_eq!(states, ["superseded", "cancelled"]);
}

#[tokio::test]
async fn twin_i9_the_context_is_what_a_worker_outside_is_told_but_for_the_pointers() {
    let shop = shop().await;
    let mut agents =
        agents(json!({"ctx": {"tone": "dry"}, "context_policy": {"exclude": ["run_id"]}}));
    agents["outside"] = json!({"ctx": {"tone": "dry"}, "context_policy": {"exclude": ["run_id"]}});
    let nodes = [
        step(json!({"do": "tell"})),
        crate::shop::ask("outside", json!("")),
        // What an earlier step gave comes by the step's own input.
        json!({"step": {"name": "last", "agent": "inside", "in": {
            "do": "raw", "text": "null", "parts": [["was", {"$path": "$.outside"}]],
        }}}),
    ];
    let mut launch = json!({"blueprint": blueprint(&nodes, &agents), "task_metadata": {"n": 1}});
    launch["work_dir"] = json!(shop.work_dir());
    let run = shop.try_launch(&me(), launch).unwrap();
    let outside = shop.claim("outside").await;
    let mut told = json!(shop.prompt(&outside).unwrap().context);
    assert!(told["steps"].is_array());
    shop.submit(&outside, "from outside").unwrap();
    let result = shop.ended(&run).await.result.unwrap();
    told.as_object_mut().unwrap().shift_remove("steps");
    told["agent"] = json!("inside");
    assert_eq!(result["inside"]["context"], told);
    assert_eq!(result["last"]["parts"]["was"], "from outside");
}
