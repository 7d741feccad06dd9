//! "Why IN is an HTTP fetch".

use serde_json::json;

use super::{ask, flow};
use crate::serve::client::Request;
use crate::serve::house::{As, House, one_step};

#[test]
fn in_fetch_the_server_puts_the_whole_together_when_it_is_asked() {
    let house = House::new();
    let agents = json!({
        "first": {}, "plan": {"system": "be brief", "ctx": {"tone": "dry"}},
    });
    let blueprint = flow(&[ask("first", ""), ask("plan", "plan it")], &agents);
    let folder = house.work.path().to_str().unwrap();
    let launch = json!({
        "blueprint": blueprint, "work_dir": folder, "project_root": folder,
        "task_metadata": {"ticket": 7},
    });
    house.try_launch(&launch).is(202, "");
    house.submitted("first", "output of the first").is(204, "");
    let payload = house.payload(&house.claim("plan"));
    assert_eq!(
        (&payload["system"], &payload["prompt"]),
        (&json!("be brief"), &json!("plan it"))
    );
    let context = &payload["context"];
    assert_eq!(
        (&context["work_dir"], &context["project_root"]),
        (&json!(folder), &json!(folder))
    );
    assert_eq!(context["task_metadata"]["ticket"], 7);
    assert_eq!(context["extra"]["tone"], "dry");
    assert_eq!(context["steps"][0]["name"], "first");
    let is_told = payload.to_string().contains("output of the first");
    assert!(!is_told, "a pointer to it: {payload}");
}

#[test]
fn in_fetch_what_ends_between_a_dispatch_and_its_fetch_is_seen() {
    let house = House::new();
    let lanes = json!({"fanout": {
        "name": "both", "items": {"$lit": ["left", "right"]}, "bind": "side",
        "body": {"step": {"name": "side", "agent": "side", "in": {"$path": "$.side"}}},
    }});
    house.launch(&flow(&[lanes], &json!({"side": {}})));
    let (one, two) = (house.claim("side"), house.claim("side"));
    let steps = |payload: serde_json::Value| payload["context"]["steps"].clone();
    assert!(
        steps(house.payload(&two))
            .as_array()
            .is_none_or(Vec::is_empty)
    );
    house.post(&one, "submit", "done").is(204, "");
    assert_eq!(steps(house.payload(&two))[0]["name"], one.document["step"]);
}

#[test]
fn in_fetch_answers_the_current_attempt_and_nothing_stale_after_a_rekick() {
    let house = House::new();
    let run = house.launch(&one_step());
    let old = house.claim("planner");
    assert_eq!(house.payload(&old)["attempt"], 1);
    let rekick = Request::post(&format!("/v1/runs/{run}/rekick?step=plan"));
    house.ask(As::Operator, rekick).is(200, "");
    house.get(&old, "prompt").is(410, "ATTEMPT_GONE");
    assert_eq!(house.payload(&house.claim("planner"))["attempt"], 2);
}

#[test]
fn in_fetch_is_a_handshake_that_ends_with_its_time_and_its_role() {
    let house = House::new();
    let mut short = one_step();
    short["agents"]["planner"]["ttl_ms"] = json!(1);
    house.launch(&short);
    let claimed = house.claim("planner");
    // From its time on.
    while house.get(&claimed, "prompt").status == 200 {}
    house.get(&claimed, "prompt").is(401, "UNAUTHORIZED");
    house.launch(&one_step());
    let claimed = house.claim("planner");
    let launch = Request::post("/v1/flows").bearer(&claimed.handle);
    let launch = launch.json(&json!({"blueprint": one_step()}));
    house.service.send(&launch).is(403, "FORBIDDEN");
    let prompt = || Request::get("/v1/worker/prompt");
    house.ask(As::Operator, prompt()).is(403, "FORBIDDEN");
    house.service.send(&prompt()).is(401, "UNAUTHORIZED");
}

#[test]
fn in_fetch_lets_a_tasks_own_worker_read_and_nobody_elses() {
    let house = House::new();
    house.launch(&flow(&[ask("plan", "plan it")], &json!({"plan": {}})));
    house.launch(&flow(&[ask("build", "build it")], &json!({"build": {}})));
    let (plan, build) = (house.claim("plan"), house.claim("build"));
    assert_eq!(house.payload(&plan)["prompt"], "plan it");
    assert_eq!(house.payload(&build)["prompt"], "build it");
    house.post(&build, "submit", "built").is(204, "");
    house.get(&plan, "content/build").is(404, "NOT_FOUND");
}

#[test]
fn in_fetch_the_relay_passes_on_a_handle_and_never_the_prompt() {
    let house = House::new();
    let secret = "the prompt that nobody else is told";
    let run = house.launch(&flow(
        &[ask("plan", secret)],
        &json!({"plan": {"system": secret}}),
    ));
    let claimed = house.claim("plan");
    assert!(claimed.handle.starts_with("wh-"));
    let mut seen = claimed.document.to_string();
    seen.push_str(&house.view(&run).to_string());
    house.post(&claimed, "submit", "done").is(204, "");
    let events = Request::get(&format!("/v1/runs/{run}/events"));
    seen.push_str(&house.ask(As::Observer, events).is(200, "").text());
    assert!(!seen.contains(secret), "{seen}");
}
