//! What a launch is refused for, and what is declared where.

use serde_json::{Value, json};
use tidegate_worker::blueprint::{Blueprint, TTL_MS};
use tidegate_worker::fold::SubmitFormat;
use tidegate_worker::runs::LaunchRequest;
use tidegate_worker::store::RunStatus;

use crate::fixture::code;
use crate::shop::{Shop, ask, blueprint, me};

/// A launch whose blueprint is changed at a JSON pointer.
fn with(pointer: &str, value: Value) -> Value {
    let nodes = [ask("plan", json!("")), ask("check", json!(""))];
    let agents = json!({"plan": {}, "check": {"verdict": {"channel": "body", "values": ["PASS"]}}});
    let mut launch = json!({"blueprint": blueprint(&nodes, &agents)});
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let object = launch.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    object.insert(key.to_owned(), value);
    launch
}

/// What is put where in a launch, and what is said of it.
const WRONG: &str = r#"
/blue | 1 | `launch` has the unknown key `blue`; did you mean `blueprint`?
/init_ctx | [] | `launch.init_ctx` must be an object
/work_dir | 1 | `launch.work_dir` must be a text
/work_dir | "job" | `work_dir` must be a plain absolute path
/work_dir | "/etc" | `work_dir` is no folder that runs may work in
/project_root | "/a/../b" | `project_root` must be a plain absolute path
/check_policy | "loud" | `launch.check_policy` must be one of `silent`
/check_policy | "strict" | a strict policy needs
/blueprint/agent | {} | did you mean `agents`?
/blueprint/flow | {"step": 1} | `blueprint` has no valid flow
/blueprint/flow | {"sequence": []} | `blueprint` has no valid flow
/blueprint/check_policy | null | `blueprint.check_policy` must be one of
/blueprint/projection_placement | "/abs/{task_id}" | projection placement
/blueprint/projection_placement | "out" | `{task_id}` must stand in it
/blueprint/default_agent_ctx | 1 | must be an object
/blueprint/agents/plan | 1 | `blueprint.agents.plan` must be an object
/blueprint/agents/a b | {} | 1 to 64 of letters
/blueprint/agents/plan/ctxt | {} | did you mean `ctx`?
/blueprint/agents/plan | {"worker": "none"} | no worker component `none`
/blueprint/agents/plan | {"worker": ""} | a worker's name
/blueprint/agents/plan/ttl_ms | 0 | from 1 to 86400000
/blueprint/agents/plan/ttl_ms | "1" | from 1 to 86400000
/blueprint/agents/plan/verdict | {} | lacks `values`
/blueprint/agents/check/verdict/values | [] | 1 to 64 texts
/blueprint/agents/check/verdict/channel | "tail" | one of `body`, `part`
/blueprint/agents/plan/context_policy | {"steps": "a"} | a list of texts
/blueprint/agents | {"plans": {}} | step `plan`: there is no agent `plan`; did you mean `plans`?
/blueprint/result | {"$path": "$.nothing"} | nothing
"#;

#[tokio::test]
async fn i11_a_wrong_launch_is_refused_as_a_whole_and_names_the_place() {
    let shop = Shop::new();
    for row in WRONG.trim().lines() {
        let cells: Vec<&str> = row.split(" | ").collect();
        let [pointer, value, said] = cells.try_into().unwrap();
        let launch = with(pointer, serde_json::from_str(value).unwrap());
        let error = shop.try_launch(&me(), launch).unwrap_err();
        assert_eq!(error.status(), 400, "{row}");
        assert!(error.to_string().contains(said), "{row}: {error}");
    }
    let path = shop.state.path().join("worker.sqlite3");
    let database = rusqlite::Connection::open(path).unwrap();
    let runs = "SELECT count(*) FROM runs";
    let kept: i64 = database.query_row(runs, [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 0);
}

#[tokio::test]
async fn i7_a_condition_that_no_verdict_meets_is_refused_before_anything_runs() {
    let shop = Shop::new();
    let launch = |path: &str, literal: &str| {
        let branch = json!({"branch": {
            "cond": {"$eq": [{"$path": path}, literal]}, "then": ask("plan", json!("")),
        }});
        let agents = json!({
            "plan": {}, "check": {"verdict": {"channel": "body", "values": ["PASS", "REWORK"]}},
        });
        json!({"blueprint": blueprint(&[ask("check", json!("")), branch], &agents)})
    };
    for (path, literal, expected) in [
        ("$.check", "PASS", "ok"),
        ("$.check", "PASSED", "INVALID_REQUEST"),
        ("$.check.parts[\"verdict\"]", "PASS", "INVALID_REQUEST"),
    ] {
        let answer = shop.try_launch(&me(), launch(path, literal));
        assert_eq!(code(answer), expected, "{path} {literal}");
    }
}

#[test]
fn c8_a_ttl_is_from_1_to_a_day() {
    for (ttl_ms, fits) in [
        (0, false),
        (1, true),
        (2, true),
        (TTL_MS - 1, true),
        (TTL_MS, true),
        (TTL_MS + 1, false),
    ] {
        let launch = with("/blueprint/agents/plan/ttl_ms", json!(ttl_ms));
        assert_eq!(LaunchRequest::from_value(launch).is_ok(), fits, "{ttl_ms}");
    }
}

#[test]
fn gap8_a_step_that_stands_in_five_fanouts_is_refused() {
    for (lanes, fits) in [(3, true), (4, true), (5, false)] {
        let mut node = ask("plan", json!(""));
        for lane in 0..lanes {
            node = json!({"fanout": {
                "name": format!("f{lane}"), "max_items": 1, "items": {"$lit": [1]}, "bind": "item", "body": node,
            }});
        }
        let read = Blueprint::from_value(blueprint(&[node], &json!({"plan": {}})));
        assert_eq!(read.is_ok(), fits, "{lanes}");
    }
}

/// A blueprint with these declarations for its agent and for all.
fn declared(agent: &Value, all: &Value) -> Blueprint {
    let mut blueprint = blueprint(&[ask("plan", json!(""))], &json!({"plan": {"ctx": agent}}));
    blueprint["default_agent_ctx"] = all.clone();
    Blueprint::from_value(blueprint).unwrap()
}

#[test]
fn i6_of_three_declarations_of_a_format_the_nearest_present_one_counts() {
    let text = |word: &str| SubmitFormat::Unknown(format!("\"{word}\""));
    let (json_, none) = (json!({"submit_format": "json"}), json!({}));
    for (step, agent, all, format) in [
        (&none, &none, &none, SubmitFormat::Text),
        (&none, &none, &json_, SubmitFormat::Json),
        (
            &none,
            &json!({"submit_format": "none"}),
            &json_,
            text("none"),
        ),
        (
            &json_,
            &json!({"submit_format": "yaml"}),
            &none,
            SubmitFormat::Json,
        ),
        (
            &json!({"submit_format": "none"}),
            &json_,
            &json_,
            text("none"),
        ),
    ] {
        let blueprint = declared(agent, all);
        let order = blueprint.order("plan", json!(""), step.as_object().unwrap());
        assert_eq!(order.unwrap().submit_format, format);
    }
}

#[test]
fn i4_of_three_declarations_of_a_file_the_nearest_present_one_counts() {
    let none = json!({});
    let (yes, no) = (
        json!({"allow_file_submit": true}),
        json!({"allow_file_submit": false}),
    );
    let word = json!({"allow_file_submit": "true"});
    for (step, agent, all, allowed) in [
        (&none, &none, &none, false),
        (&none, &none, &yes, true),
        (&none, &no, &yes, false),
        (&yes, &no, &none, true),
        (&word, &yes, &yes, false),
    ] {
        let blueprint = declared(agent, all);
        let order = blueprint.order("plan", json!(""), step.as_object().unwrap());
        assert_eq!(
            order.unwrap().allow_file_submit,
            allowed,
            "{step} {agent} {all}"
        );
    }
}

#[test]
fn i1_of_a_declared_key_the_nearest_value_counts_and_an_input_is_its_text() {
    let near = declared(&json!({"a": 1, "b": 1}), &json!({"a": 0, "b": 0, "c": 0}));
    let order = near.order(
        "plan",
        json!({"x": 1}),
        json!({"a": 2}).as_object().unwrap(),
    );
    let order = order.unwrap();
    assert_eq!(json!(order.context), json!({"a": 2, "b": 1, "c": 0}));
    assert_eq!(order.directive, r#"{"x":1}"#);
}

#[tokio::test]
async fn i6_a_policy_that_hides_a_declaration_does_not_take_it_back() {
    let shop = Shop::new();
    let agents = json!({"plan": {
        "ctx": {"submit_format": "json"}, "context_policy": {"exclude": ["submit_format"]},
    }});
    let run = shop.launch(&[ask("plan", json!(""))], &agents);
    let claimed = shop.claim("plan").await;
    let payload = shop.prompt(&claimed).unwrap();
    assert!(!payload.context.contains_key("extra"));
    shop.submit(&claimed, "[1]").unwrap();
    assert_eq!(shop.ended(&run).await.result, Some(json!({"plan": [1]})));
}

#[tokio::test]
async fn i8_the_launch_says_the_policy_before_the_blueprint() {
    let shop = Shop::new();
    for (of_launch, of_blueprint, refused) in [
        (None, None, false),
        (None, Some("strict"), true),
        (Some("warn"), Some("strict"), false),
        (Some("strict"), Some("silent"), true),
    ] {
        let mut launch = json!({
            "blueprint": blueprint(&[ask("plan", json!(""))], &json!({"plan": {}})),
            "work_dir": shop.work_dir(),
        });
        if let Some(policy) = of_launch {
            launch["check_policy"] = json!(policy);
        }
        if let Some(policy) = of_blueprint {
            launch["blueprint"]["check_policy"] = json!(policy);
        }
        shop.try_launch(&me(), launch).unwrap();
        let claimed = shop.claim("plan").await;
        let staged = shop.stage(&claimed, "a/b", "x");
        assert_eq!(staged.is_err(), refused, "{of_launch:?} {of_blueprint:?}");
    }
}

#[tokio::test]
async fn gap10_a_contract_binds_the_agent_of_its_own_blueprint_alone() {
    let shop = Shop::new();
    let bound = json!({"s": {"verdict": {"channel": "body", "values": ["PASS"]}}});
    let first = shop.launch(&[ask("s", json!(""))], &bound);
    let one = shop.claim("s").await;
    let second = shop.launch(&[ask("s", json!(""))], &json!({"s": {}}));
    let two = shop.claim("s").await;
    assert_eq!(code(shop.submit(&one, "prose")), "VERDICT_VIOLATION");
    shop.submit(&two, "prose").unwrap();
    shop.submit(&one, "PASS\n").unwrap();
    for run in [first, second] {
        assert_eq!(shop.ended(&run).await.status, RunStatus::Completed);
    }
}

#[tokio::test]
async fn gap9_a_refused_body_is_no_output_also_when_the_run_is_given_up() {
    let shop = Shop::new();
    let agents = json!({"plan": {"ctx": {"submit_format": "json"}}});
    let run = shop.launch(&[ask("plan", json!(""))], &agents);
    let claimed = shop.claim("plan").await;
    let error = shop.submit(&claimed, "```json\n{}\n```").unwrap_err();
    assert_eq!((error.status(), error.code()), (422, "BODY_NOT_JSON"));
    assert!(error.to_string().contains("`plan`"), "{error}");
    shop.runs.cancel(&crate::shop::tenant(), &run).unwrap();
    let view = shop.ended(&run).await;
    assert_eq!((view.status, view.result), (RunStatus::Cancelled, None));
}

#[test]
fn c8_what_a_launch_holds_is_bounded() {
    let agent = |key: &str, value: Value| with(&format!("/blueprint/agents/plan/{key}"), value);
    let texts = |count: usize, bytes: usize| json!(vec!["v".repeat(bytes); count]);
    let verdict = |values| agent("verdict", json!({"channel": "body", "values": values}));
    let agents = |count: usize| {
        let named = |n| (format!("a{n}"), json!({}));
        let all: serde_json::Map<_, _> = (0..count - 2).map(named).collect();
        let mut launch = with("/blueprint/id", json!("x"));
        let declared = launch["blueprint"]["agents"].as_object_mut().unwrap();
        declared.extend(all);
        launch
    };
    let whole = agent("system", json!("")).to_string().len();
    let blueprint_bytes = |bytes: usize| {
        let around = json!({"blueprint": {}}).to_string().len() - 2;
        agent("system", json!("s".repeat(bytes + around - whole)))
    };
    let mib = 1024 * 1024;
    let bounds: [(usize, &dyn Fn(usize) -> Value); 5] = [
        (64, &|n| verdict(texts(n, 1))),
        (256, &|n| verdict(texts(1, n))),
        (256, &agents),
        (64, &|n| agent("worker", json!("w".repeat(n)))),
        (2 * mib, &blueprint_bytes),
    ];
    for (limit, launch) in bounds {
        for (size, fits) in [(limit - 1, true), (limit, true), (limit + 1, false)] {
            let read = LaunchRequest::from_value(launch(size));
            assert_eq!(read.is_ok(), fits, "{size} of {limit}");
        }
    }
}

#[tokio::test]
async fn c8_the_input_of_a_launch_has_1_mib_at_most() {
    let shop = Shop::new();
    let mib = 1024 * 1024;
    for (size, fits) in [(mib - 1, true), (mib, true), (mib + 1, false)] {
        // Two texts in their quotes.
        let launch = with(
            "/init_ctx",
            json!({"a": "x".repeat(size - 14), "b": "0123456789"}),
        );
        assert_eq!(shop.try_launch(&me(), launch).is_ok(), fits, "{size}");
    }
}
