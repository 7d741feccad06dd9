//! What the worker I/O contract says, section by section: IN is a fetch, OUT is a call, structured
//! final bodies, and files as the server's job. The twin inside of the host is in `inside.rs`.

use serde_json::{Value, json};
use tidegate_worker::content::{Body, Conditions};
use tidegate_worker::projection::FrontMatter;
use tidegate_worker::store::RunStatus;

use crate::fixture::code;
use crate::shop::{Shop, ask, blueprint, me, tenant, worker};

fn plan() -> [Value; 1] {
    [ask("plan", json!("plan it"))]
}

#[tokio::test]
async fn in_fetch_is_put_together_by_the_server_for_the_current_attempt() {
    let shop = Shop::new();
    let agents = json!({
        "first": {}, "plan": {"system": "be brief", "ctx": {"tone": "dry"}},
    });
    let nodes = [ask("first", json!("")), ask("plan", json!("plan it"))];
    let launch = json!({
        "blueprint": blueprint(&nodes, &agents), "work_dir": shop.work_dir(),
        "project_root": shop.work_dir(), "task_metadata": {"ticket": 7},
    });
    let run = shop.try_launch(&me(), launch).unwrap();
    shop.done("first", "output of the first").await;
    let claimed = shop.claim("plan").await;
    let payload = serde_json::to_value(shop.prompt(&claimed).unwrap()).unwrap();
    assert_eq!(
        (&payload["system"], &payload["prompt"]),
        (&json!("be brief"), &json!("plan it"))
    );
    let context = &payload["context"];
    assert_eq!(context["project_root"], shop.work_dir());
    assert_eq!(context["work_dir"], shop.work_dir());
    assert_eq!(context["task_metadata"], json!({"ticket": 7}));
    assert_eq!(context["run_id"], run.as_str());
    assert_eq!(context["extra"], json!({"tone": "dry"}));
    let pointer = &context["steps"][0];
    assert_eq!(
        (&pointer["name"], &pointer["size_bytes"]),
        (&json!("first"), &json!(19))
    );
    let text = payload.to_string();
    assert!(
        !text.contains("output of the first"),
        "a pointer, and no text"
    );

    // A re-kick leaves nothing stale: the new attempt is told what is true of it.
    shop.runs.rekick(&tenant(), &run, Some("plan")).unwrap();
    let again = shop.claim("plan").await;
    let payload = shop.prompt(&again).unwrap();
    assert_eq!((payload.attempt, payload.prompt.as_str()), (2, "plan it"));
    assert_eq!(code(shop.prompt(&claimed)), "ATTEMPT_GONE");
}

#[tokio::test]
async fn in_fetch_serves_a_task_to_its_own_worker_alone() {
    let shop = Shop::new();
    let (one, two) = (json!({"plan": {}}), json!({"build": {}}));
    shop.launch(&plan(), &one);
    shop.launch(&[ask("build", json!("build it"))], &two);
    let (plan, build) = (shop.claim("plan").await, shop.claim("build").await);
    assert_eq!(shop.prompt(&plan).unwrap().prompt, "plan it");
    assert_eq!(shop.prompt(&build).unwrap().prompt, "build it");
    shop.submit(&build, "built").unwrap();
    let other = shop
        .service
        .content(worker(&plan.handle), "build", None, Conditions::default());
    assert_eq!(code(other), "NOT_FOUND");
}

#[tokio::test]
async fn out_is_a_raw_body_and_the_step_is_the_handles() {
    let shop = Shop::new();
    let run = shop.launch(&plan(), &json!({"plan": {}}));
    let claimed = shop.claim("plan").await;
    let text = " \r\nline\0\n\n";
    shop.submit(&claimed, text).unwrap();
    assert_eq!(shop.ended(&run).await.result, Some(json!({"plan": text})));
}

#[tokio::test]
async fn out_parts_are_staged_by_name_and_the_flow_addresses_them() {
    let shop = Shop::new();
    let next = ask("next", json!({"$path": "$.plan.parts[\"notes.md\"]"}));
    let nodes = [ask("plan", json!("")), next];
    let run = shop.launch(&nodes, &json!({"plan": {}, "next": {}}));
    let claimed = shop.claim("plan").await;
    for text in ["first", "last"] {
        shop.stage(&claimed, "notes.md", text).unwrap();
    }
    assert_eq!(shop.view(&run).steps[0].attempts[0].state, "staged");
    shop.submit(&claimed, "done").unwrap();
    let next = shop.claim("next").await;
    assert_eq!(shop.prompt(&next).unwrap().prompt, "last");
    shop.submit(&next, "").unwrap();
    let result = shop.ended(&run).await.result.unwrap();
    assert_eq!(
        result["plan"],
        json!({"out": "done", "parts": {"notes.md": "last"}})
    );
    assert_eq!(
        result["next"], "",
        "without parts the value is the plain body"
    );
}

#[tokio::test]
async fn out_a_file_is_resolved_by_the_server_where_the_blueprint_opts_in() {
    let shop = Shop::new();
    let path = format!("{}/large.txt", shop.work_dir());
    let root = tidegate_sandbox::ambient::open_folder(shop.work_dir().as_ref()).unwrap();
    root.write("large.txt", "from the file").unwrap();
    let body = format!("@file:{path}");
    for (ctx, expected) in [
        (json!({}), "FILE_SUBMIT_NOT_ALLOWED"),
        (
            json!({"allow_file_submit": "true"}),
            "FILE_SUBMIT_NOT_ALLOWED",
        ),
        (json!({"allow_file_submit": true}), "ok"),
    ] {
        let run = shop.launch(&plan(), &json!({"plan": {"ctx": ctx}}));
        let claimed = shop.claim("plan").await;
        assert_eq!(code(shop.submit(&claimed, &body)), expected);
        if expected == "ok" {
            let result = shop.ended(&run).await.result;
            assert_eq!(result, Some(json!({"plan": "from the file"})));
        }
    }
}

#[tokio::test]
async fn structured_a_declared_body_feeds_a_fanout_from_any_of_the_three_channels() {
    let shop = Shop::new();
    let fanout = json!({"fanout": {
        "name": "all", "items": {"$path": "$.split.lanes"}, "bind": "item",
        "body": ask("lane", json!({"$path": "$.item"})),
    }});
    let declared = json!({"submit_format": "json"});
    let by_step = ask("split", json!({"$step_meta": {"inline": declared}}));
    let plain = ask("split", json!(""));
    for (step, agent, all) in [
        (by_step, json!({}), json!({})),
        (plain.clone(), declared.clone(), json!({})),
        (plain, json!({}), declared),
    ] {
        // The lanes are text again: the nearest declaration counts.
        let lane = json!({"ctx": {"submit_format": "text"}});
        let agents = json!({"split": {"ctx": agent}, "lane": lane});
        let mut blueprint = blueprint(&[step, fanout.clone()], &agents);
        blueprint["default_agent_ctx"] = all;
        let run = shop
            .try_launch(&me(), json!({ "blueprint": blueprint }))
            .unwrap();
        shop.done("split", r#"{"lanes": ["a", "b"]}"#).await;
        for _lane in 0..2 {
            let claimed = shop.claim("lane").await;
            let item = shop.prompt(&claimed).unwrap().prompt;
            shop.submit(&claimed, &item).unwrap();
        }
        let result = shop.ended(&run).await.result.unwrap();
        assert_eq!(result["all"], json!([{"lane": "a"}, {"lane": "b"}]));
    }
}

#[tokio::test]
async fn structured_what_is_undeclared_or_declared_otherwise_stays_text() {
    let shop = Shop::new();
    for ctx in [
        json!({}),
        json!({"submit_format": "yaml"}),
        json!({"submit_format": true}),
    ] {
        let run = shop.launch(&plan(), &json!({"plan": {"ctx": ctx}}));
        let claimed = shop.claim("plan").await;
        let accepted = shop.submit(&claimed, "{\"a\": 1}").unwrap();
        let is_declared = !ctx.as_object().unwrap().is_empty();
        assert_eq!(accepted.warnings.len(), usize::from(is_declared), "{ctx}");
        let result = shop.ended(&run).await.result;
        assert_eq!(result, Some(json!({"plan": "{\"a\": 1}"})));
    }
}

#[tokio::test]
async fn structured_a_body_that_does_not_parse_is_422_and_records_nothing() {
    let shop = Shop::new();
    let agents = json!({"plan": {"ctx": {"submit_format": "json"}}});
    let run = shop.launch(&plan(), &agents);
    let claimed = shop.claim("plan").await;
    shop.stage(&claimed, "p", "{\"stays\": \"text\"}").unwrap();
    let error = shop.submit(&claimed, "Here is the plan").unwrap_err();
    assert_eq!((error.status(), error.code()), (422, "BODY_NOT_JSON"));
    let said = error.to_failure().message().to_owned();
    assert!(
        said.contains("`plan`") && said.contains("Here is the plan"),
        "{said}"
    );
    assert_eq!(shop.view(&run).steps[0].attempts[0].state, "staged");
    shop.submit(&claimed, "[1]").unwrap();
    let expected = json!({"plan": {"out": [1], "parts": {"p": "{\"stays\": \"text\"}"}}});
    assert_eq!(shop.ended(&run).await.result, Some(expected));
}

#[tokio::test]
async fn structured_a_verdict_contract_compares_what_was_submitted() {
    let shop = Shop::new();
    let agents = json!({"plan": {
        "ctx": {"submit_format": "json"},
        "verdict": {"channel": "body", "values": ["true"]},
    }});
    let run = shop.launch(&plan(), &agents);
    let claimed = shop.claim("plan").await;
    assert_eq!(code(shop.submit(&claimed, "\"true\"")), "VERDICT_VIOLATION");
    assert_eq!(code(shop.submit(&claimed, " true")), "VERDICT_VIOLATION");
    shop.submit(&claimed, "true\n").unwrap();
    assert_eq!(shop.ended(&run).await.result, Some(json!({"plan": true})));
}

#[tokio::test]
async fn files_are_there_for_the_next_step_when_it_is_dispatched() {
    let shop = Shop::new();
    let nodes = [ask("plan", json!("")), ask("next", json!(""))];
    let run = shop.launch(&nodes, &json!({"plan": {}, "next": {}}));
    let claimed = shop.claim("plan").await;
    shop.stage(&claimed, "notes.md", "raw\n").unwrap();
    let skipped = shop.stage(&claimed, "a/b", "data").unwrap();
    assert_eq!(skipped.warnings.len(), 1);
    shop.submit(&claimed, "body").unwrap();
    let next = shop.claim("next").await;
    let payload = shop.prompt(&next).unwrap();
    let root = tidegate_sandbox::ambient::open_folder(shop.work_dir().as_ref()).unwrap();
    let mut seen = Vec::new();
    for pointer in payload.context["steps"].as_array().unwrap() {
        let file = pointer
            .get("file_path")
            .map(|path| root.read_to_string(path.as_str().unwrap()));
        seen.push((pointer["name"].as_str().unwrap(), file.map(Result::unwrap)));
    }
    let document = seen.remove(0).1.unwrap();
    let (front, body) = FrontMatter::read(&document).unwrap();
    assert_eq!(
        (front.step.to_string().as_str(), front.attempt, body),
        ("plan", 1, "body")
    );
    let expected = [
        ("plan/notes.md", Some("raw\n".to_owned())),
        ("plan/a/b", None),
    ];
    assert_eq!(seen, expected);
    let served = shop.service.content(
        worker(&next.handle),
        "plan",
        Some("a/b"),
        Conditions::default(),
    );
    assert_eq!(served.unwrap().body, Body::Whole(b"data".to_vec()));
    shop.submit(&next, "").unwrap();
    assert_eq!(shop.ended(&run).await.status, RunStatus::Completed);
}

#[tokio::test]
async fn files_stand_below_the_work_dir_else_the_project_root_else_nowhere() {
    let shop = Shop::new();
    let root = tidegate_sandbox::ambient::open_folder(shop.work_dir().as_ref()).unwrap();
    root.create_dir("project").unwrap();
    root.create_dir("job").unwrap();
    let (project, job) = (
        format!("{}/project", shop.work_dir()),
        format!("{}/job", shop.work_dir()),
    );
    for (roots, policy, stands, warnings) in [
        (
            json!({"work_dir": job, "project_root": project}),
            "warn",
            Some("job"),
            0,
        ),
        (json!({"project_root": project}), "warn", Some("project"), 0),
        (json!({}), "warn", None, 1),
        (json!({}), "silent", None, 0),
    ] {
        let mut launch = roots;
        launch["blueprint"] = blueprint(&plan(), &json!({"plan": {}}));
        launch["blueprint"]["projection_placement"] = json!("out/{task_id}/{step}");
        launch["check_policy"] = json!(policy);
        let run = shop.try_launch(&me(), launch).unwrap();
        let claimed = shop.claim("plan").await;
        let accepted = shop.submit(&claimed, "body").unwrap();
        assert_eq!(accepted.warnings.len(), warnings, "{policy}");
        assert_eq!(shop.ended(&run).await.status, RunStatus::Completed);
        for folder in ["job", "project"] {
            let path = format!("{folder}/out/{}/plan/plan.md", claimed.task);
            assert_eq!(root.exists(path), stands == Some(folder), "{folder}");
        }
    }
    for outside in ["/etc", "/none"] {
        let launch = json!({
            "blueprint": blueprint(&plan(), &json!({"plan": {}})), "work_dir": job,
            "project_root": outside,
        });
        let refused = shop.try_launch(&me(), launch);
        assert_eq!(code(refused), "INVALID_REQUEST", "{outside}");
    }
    let mut strict = json!({"blueprint": blueprint(&plan(), &json!({"plan": {}}))});
    strict["check_policy"] = json!("strict");
    let refused = shop.try_launch(&me(), strict);
    assert_eq!(
        code(refused),
        "INVALID_REQUEST",
        "before anything is dispatched"
    );
}
