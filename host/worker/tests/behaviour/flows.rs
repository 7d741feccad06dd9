//! Flows of agents' steps from their launch to their end.

use serde_json::{Value, json};
use tidegate_contract::Tenant;
use tidegate_worker::store::RunStatus;

use crate::fixture::code;
use crate::shop::{Shop, ask, blueprint, count, me, tenant};

#[tokio::test]
async fn i11_a_flow_of_agents_and_tools_runs_to_its_result() {
    let shop = Shop::new();
    let nodes = [
        ask("plan", json!({"$path": "$.goal"})),
        count("check"),
        ask("build", json!({"after": {"$path": "$.plan.out"}})),
    ];
    let launch = json!({
        "blueprint": blueprint(&nodes, &json!({"plan": {"system": "be brief"}, "build": {}})),
        "init_ctx": {"goal": "a house"},
        "work_dir": shop.work_dir(),
    });
    let run = shop.try_launch(&me(), launch).unwrap();
    let plan = shop.claim("plan").await;
    let payload = shop.prompt(&plan).unwrap();
    assert_eq!((payload.prompt.as_str(), payload.attempt), ("a house", 1));
    assert_eq!(payload.system.as_deref(), Some("be brief"));
    shop.stage(&plan, "house.md", "# Plan").unwrap();
    shop.submit(&plan, "four walls").unwrap();

    let build = shop.claim("build").await;
    let payload = shop.prompt(&build).unwrap();
    assert_eq!(payload.prompt, r#"{"after":"four walls"}"#);
    let steps = payload.context["steps"].as_array().unwrap();
    let names: Vec<_> = steps
        .iter()
        .map(|step| step["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["plan", "plan/house.md"]);
    assert_eq!(
        shop.file(&build.task, "house.md"),
        Some("# Plan".to_owned())
    );
    shop.submit(&build, "built").unwrap();

    let view = shop.ended(&run).await;
    assert_eq!(view.status, RunStatus::Completed);
    let result = view.result.unwrap();
    let parts = json!({"out": "four walls", "parts": {"house.md": "# Plan"}});
    assert_eq!(
        (&result["plan"], &result["build"]),
        (&parts, &json!("built"))
    );
    assert_eq!(result["check"]["content"], "counted check");
    let steps: Vec<_> = view.steps.iter().map(|step| step.step.as_str()).collect();
    assert_eq!(steps, ["plan", "build"]);
    assert!(view.ended_ms >= Some(view.created_ms));
}

#[tokio::test]
async fn gap6_a_blocked_step_fails_the_run_with_its_value() {
    let shop = Shop::new();
    let run = shop.launch(
        &[ask("gate", json!("?")), ask("late", json!(""))],
        &json!({"gate": {}, "late": {}}),
    );
    let gate = shop.claim("gate").await;
    shop.submit_as(&gate, "not yet", Some("blocked")).unwrap();
    let view = shop.ended(&run).await;
    assert_eq!(view.status, RunStatus::Failed);
    let error = view.error.unwrap();
    assert_eq!(error["code"], "BLOCKED");
    assert_eq!(error["failed_step"], "gate");
    assert_eq!(error["verdict_value"], "not yet");
    assert!(error["message"].as_str().unwrap().contains("blocked"));
    assert_eq!(view.result, None);
    assert!(!shop.has_work("late").await);
}

#[tokio::test]
async fn gap6_a_skipped_step_leaves_no_output_and_the_flow_goes_on() {
    let shop = Shop::new();
    let nodes = [
        ask("maybe", json!("")),
        json!({"assign": {"$.was": {"$exists": "$.maybe"}}}),
    ];
    let run = shop.launch(&nodes, &json!({"maybe": {}}));
    let maybe = shop.claim("maybe").await;
    shop.submit_as(&maybe, "why", Some("skip")).unwrap();
    let view = shop.ended(&run).await;
    assert_eq!(view.result, Some(json!({"was": false})));
    assert_eq!(shop.file(&view.task, "maybe.md"), None);
}

#[tokio::test]
async fn gap6_a_try_answers_a_blocked_step() {
    let shop = Shop::new();
    let nodes = [json!({"try": {
        "body": ask("gate", json!("")),
        "catch": {"as": "error", "body": ask("repair", json!({"$path": "$.error.value"}))},
    }})];
    let run = shop.launch(&nodes, &json!({"gate": {}, "repair": {}}));
    let gate = shop.claim("gate").await;
    shop.submit_as(&gate, "a crack", Some("blocked")).unwrap();
    let repair = shop.claim("repair").await;
    assert_eq!(shop.prompt(&repair).unwrap().prompt, "a crack");
    shop.submit(&repair, "filled").unwrap();
    assert_eq!(shop.ended(&run).await.status, RunStatus::Completed);
}

/// Two fanouts, one in the other, over a submit that is JSON.
fn nested() -> [Value; 2] {
    let lane = ask("review", json!({"$path": "$.item"}));
    let inner = json!({"fanout": {
        "name": "inner", "max_items": 9, "items": {"$path": "$.row"}, "bind": "item", "body": lane,
    }});
    let outer = json!({"fanout": {
        "name": "outer", "max_items": 9, "items": {"$path": "$.split.rows"}, "bind": "row", "body": inner,
    }});
    [ask("split", json!("")), outer]
}

#[tokio::test]
async fn gap8_gap12_each_lane_has_a_name_a_pointer_and_a_file_of_its_own() {
    let shop = Shop::new();
    let agents = json!({"split": {"ctx": {"submit_format": "json"}}, "review": {}, "last": {}});
    let [split, outer] = nested();
    let run = shop.launch(&[split, outer, ask("last", json!(""))], &agents);
    shop.done("split", r#"{"rows": [["a", "b"], ["c"]]}"#).await;
    for _lane in 0..3 {
        let claimed = shop.claim("review").await;
        let item = shop.prompt(&claimed).unwrap().prompt;
        let expected = match item.as_str() {
            "a" => "review[0][0]",
            "b" => "review[0][1]",
            _ => "review[1][0]",
        };
        assert_eq!(claimed.step, expected);
        shop.submit(&claimed, &format!("saw {item}")).unwrap();
    }
    let last = shop.claim("last").await;
    let payload = shop.prompt(&last).unwrap();
    let steps = payload.context["steps"].as_array().unwrap().clone();
    for (lane, text) in [
        ("[0][0]", "saw a"),
        ("[0][1]", "saw b"),
        ("[1][0]", "saw c"),
    ] {
        let name = format!("review{lane}");
        let pointer = steps.iter().find(|step| step["name"] == name.as_str());
        assert_eq!(pointer.unwrap()["size_bytes"], text.len());
        let file = shop.file(&last.task, &format!("{name}.md")).unwrap();
        assert!(file.ends_with(&format!("\n\n{text}")), "{file}");
    }
    shop.submit(&last, "").unwrap();
    let result = shop.ended(&run).await.result.unwrap();
    // A lane's output is what the lane itself wrote.
    let expected = json!([
        {"inner": [{"review": "saw a"}, {"review": "saw b"}]},
        {"inner": [{"review": "saw c"}]},
    ]);
    assert_eq!(result["outer"], expected);
}

#[tokio::test]
async fn i10_a_cancelled_run_ends_at_once_and_all_its_credentials_are_dead() {
    let shop = Shop::new();
    let run = shop.launch(&[ask("plan", json!(""))], &json!({"plan": {}}));
    let plan = shop.claim("plan").await;
    let cancelled = shop.runs.cancel(&tenant(), &run).unwrap();
    assert_eq!(cancelled, RunStatus::Cancelled);
    assert_eq!(shop.view(&run).status, RunStatus::Cancelled);
    assert_eq!(code(shop.prompt(&plan)), "ATTEMPT_GONE");
    assert_eq!(code(shop.submit(&plan, "late")), "ATTEMPT_GONE");
    let view = shop.ended(&run).await;
    assert_eq!(view.steps[0].attempts[0].state, "cancelled");
    assert_eq!((view.result, view.error), (None, None));
    assert_eq!(
        code(shop.runs.rekick(&tenant(), &run, None)),
        "ATTEMPT_GONE"
    );
    let again = shop.runs.cancel(&tenant(), &run).unwrap();
    assert_eq!(again, RunStatus::Cancelled);
}

#[tokio::test]
async fn i10_what_ended_stays_as_it_is_whatever_comes_after() {
    let shop = Shop::new();
    let run = shop.launch(&[ask("plan", json!(""))], &json!({"plan": {}}));
    let plan = shop.claim("plan").await;
    shop.submit(&plan, "done").unwrap();
    assert_eq!(shop.ended(&run).await.status, RunStatus::Completed);
    let after = shop.runs.cancel(&tenant(), &run).unwrap();
    assert_eq!(after, RunStatus::Completed);
    assert_eq!(code(shop.submit(&plan, "done")), "ATTEMPT_GONE");
}

#[tokio::test]
async fn x3_a_lane_that_lost_a_race_is_closed() {
    let shop = Shop::new();
    let race = json!({"fanout": {
        "name": "race", "items": {"$lit": ["a", "b"]}, "bind": "item", "join": "any",
        "body": ask("lane", json!({"$path": "$.item"})),
    }});
    let run = shop.launch(&[race], &json!({"lane": {}}));
    let (first, second) = (shop.claim("lane").await, shop.claim("lane").await);
    shop.submit(&second, "won").unwrap();
    let view = shop.ended(&run).await;
    assert_eq!(view.result, Some(json!({"race": {"lane": "won"}})));
    assert_eq!(code(shop.submit(&first, "late")), "ATTEMPT_GONE");
}

#[tokio::test]
async fn x7_another_tenants_run_is_as_good_as_none() {
    let shop = Shop::new();
    let run = shop.launch(&[ask("plan", json!(""))], &json!({"plan": {}}));
    shop.until(&run, "attempt.dispatched").await;
    let other = Tenant::new("other").unwrap();
    for id in [run.as_str(), "R-none"] {
        for answer in [
            code(shop.runs.run(&other, id)),
            code(shop.runs.cancel(&other, id)),
            code(shop.runs.rekick(&other, id, None)),
            code(shop.runs.events(&other, id, None)),
            code(shop.runs.audit(&other, id, "plan", (None, b"x"))),
        ] {
            assert_eq!(answer, "NOT_FOUND");
        }
    }
    assert_eq!(shop.view(&run).status, RunStatus::Running);
}

#[tokio::test]
async fn x7_a_run_uses_no_more_than_its_caller_may() {
    let shop = Shop::new();
    let narrow = tidegate::Caller {
        grant: Some(tidegate_contract::grant::Grant::default().into()),
        ..me()
    };
    let run = shop.launch_as(&narrow, &[count("one")], &json!({}));
    let view = shop.ended(&run).await;
    assert_eq!(view.error.unwrap()["code"], "PERMISSION_DENIED");
    assert!(shop.counter.calls().is_empty());
}
