//! Runs over the wire: launching, claiming, looking, cancelling, starting anew, and a restart.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::Request;
use super::house::{As, House, one_step, step};
use super::service::Service;
use crate::support::root;

fn state(view: &Value, attempt: usize) -> &str {
    let state = &view["steps"][0]["attempts"][attempt]["state"];
    state.as_str().unwrap_or_default()
}

#[test]
fn i12_a_dispatch_waits_is_handed_out_once_and_holds_no_prompt() {
    let house = House::new();
    let run = house.launch(&one_step());
    let view = house.view(&run);
    assert_eq!(
        (&view["run"], &view["status"]),
        (&json!(run), &json!("running"))
    );
    let claimed = house.claim("planner");
    let document = &claimed.document;
    assert_eq!(document["run"], json!(run));
    assert_eq!(document["task"], view["task"]);
    assert_eq!(
        (&document["step"], &document["attempt"]),
        (&json!("plan"), &json!(1))
    );
    let address = house.service.address;
    assert_eq!(document["base_url"], format!("http://{address}"));
    assert!(claimed.handle.starts_with("wh-") && claimed.handle.len() >= 3 + 22);
    assert!(!document.to_string().contains("plan it"), "{document}");
    let again = Request::post("/v1/dispatch/claim?agent=planner");
    house.ask(As::Operator, again).is(204, "");
    house.post(&claimed, "submit", "done").is(204, "");
    let view = house.ended(&run);
    assert_eq!(
        (&view["status"], &view["result"]),
        (&json!("completed"), &json!("done"))
    );
    assert_eq!(state(&view, 0), "completed");
}

#[test]
fn i12_a_claim_that_waits_is_answered_when_a_dispatch_comes() {
    let house = House::new();
    let mut waiting = house.service.connect();
    let claim = Request::post("/v1/dispatch/claim?agent=planner&wait_ms=60000");
    waiting.start(&claim.bearer(&As::Operator.token()));
    house.launch(&one_step());
    let claimed = waiting.read("POST").unwrap();
    assert_eq!(claimed.is(200, "").json()["agent"], "planner");
    for query in [
        "",
        "?agent=",
        "?agent=a%20b",
        "?agent=planner&wait_ms=-1",
        "?agent=planner&wait_ms=60001",
        "?agent=planner&wait_ms=x",
        "?agent=planner&more=1",
    ] {
        let claim = Request::post(&format!("/v1/dispatch/claim{query}"));
        house.ask(As::Operator, claim).is(400, "INVALID_REQUEST");
    }
}

#[test]
fn i2_a_launch_is_checked_before_anything_of_it_is_kept() {
    let house = House::new();
    let launch = |document: &Value| {
        let request = Request::post("/v1/flows").json(document);
        house.ask(As::Operator, request)
    };
    let mut unknown = one_step();
    unknown["agents"] = json!({});
    let mut misspelt = one_step();
    misspelt["agnets"] = json!({});
    let outside = json!({"blueprint": one_step(), "work_dir": "/etc"});
    for (document, word) in [
        (json!({}), "blueprint"),
        (json!({"blueprint": one_step(), "bluprint": 1}), "bluprint"),
        (json!({"blueprint": unknown}), "planner"),
        (json!({"blueprint": misspelt}), "agents"),
        (outside, "work_dir"),
        (
            json!({"blueprint": one_step(), "check_policy": "strict"}),
            "strict",
        ),
    ] {
        let answer = launch(&document);
        let said = answer.is(400, "INVALID_REQUEST").text();
        assert!(said.contains(word), "{word}: {said}");
    }
    let text = Request::post("/v1/flows").body("{}");
    house
        .ask(As::Operator, text)
        .is(415, "UNSUPPORTED_MEDIA_TYPE");
    house
        .ask(
            As::Operator,
            Request::post("/v1/dispatch/claim?agent=planner"),
        )
        .is(204, "");
    let launched = launch(&json!({"blueprint": one_step()}));
    let run = launched.is(202, "").json()["run"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(
        launched.field("location"),
        Some(&*format!("/v1/runs/{run}"))
    );
}

#[test]
fn i10_a_rekick_kills_the_old_credentials_and_a_cancel_all() {
    let house = House::new();
    let run = house.launch(&one_step());
    let old = house.claim("planner");
    let rekick = |query: &str| {
        let path = format!("/v1/runs/{run}/rekick{query}");
        house.ask(As::Operator, Request::post(&path))
    };
    let answer = rekick("?step=plan");
    assert_eq!(answer.is(200, "").json()["attempts"], 1);
    house.get(&old, "prompt").is(410, "ATTEMPT_GONE");
    house.post(&old, "submit", "late").is(410, "ATTEMPT_GONE");
    let new = house.claim("planner");
    assert_eq!(new.document["attempt"], 2);
    house.get(&new, "prompt").is(200, "");
    rekick("?step=other").is(404, "NOT_FOUND");
    rekick("?stp=plan").is(400, "INVALID_REQUEST");
    let cancel = Request::post(&format!("/v1/runs/{run}/cancel"));
    let answer = house.ask(As::Operator, cancel.clone());
    assert_eq!(answer.is(200, "").json()["status"], "cancelled");
    house.ask(As::Operator, cancel).is(200, "");
    house.get(&new, "prompt").is(410, "ATTEMPT_GONE");
    house.post(&new, "submit", "late").is(410, "ATTEMPT_GONE");
    rekick("").is(410, "ATTEMPT_GONE");
    assert_eq!(house.ended(&run)["status"], "cancelled");
}

#[test]
fn gap6_a_blocked_step_fails_its_run_and_a_skipped_one_leaves_nothing() {
    let house = House::new();
    let run = house.launch(&one_step());
    let claimed = house.claim("planner");
    house.post(&claimed, "submit?ok=false", "can't").is(204, "");
    let view = house.ended(&run);
    assert_eq!(view["status"], "failed", "{view}");
    assert!(
        view["error"]["message"]
            .as_str()
            .unwrap()
            .contains("blocked"),
        "{view}"
    );
    let mut blueprint = one_step();
    blueprint["result"] = json!({"$exists": "$.plan"});
    let run = house.launch(&blueprint);
    let claimed = house.claim("planner");
    house.post(&claimed, "submit?verdict=skip", "").is(204, "");
    assert_eq!(house.ended(&run)["result"], json!(false));
}

#[test]
fn gap8_gap12_lanes_have_their_own_dispatches_outputs_and_files() {
    let house = House::new();
    let run = house.launch(&json!({
        "id": "lanes",
        "init": {"readers": ["a", "b", "c"]},
        "flow": {"seq": [
            {"fanout": {
                "name": "pages", "items": {"$path": "$.readers"}, "bind": "reader",
                "body": step("page", "writer", json!({"$path": "$.reader"})),
            }},
            step("review", "reviewer", json!("review")),
        ]},
        "result": {"$path": "$.pages"},
        "agents": {"writer": {}, "reviewer": {}},
    }));
    let mut steps = Vec::new();
    for _ in 0..3 {
        let writer = house.claim("writer");
        let prompt = house.get(&writer, "prompt").json()["prompt"].clone();
        let page = format!("for {}", prompt.as_str().unwrap());
        house.post(&writer, "submit", page).is(204, "");
        steps.push(writer.document["step"].as_str().unwrap().to_owned());
    }
    steps.sort();
    assert_eq!(steps, ["page[0]", "page[1]", "page[2]"]);
    let reviewer = house.claim("reviewer");
    for (lane, page) in ["for a", "for b", "for c"].into_iter().enumerate() {
        let content = house.get(&reviewer, &format!("content/page%5B{lane}%5D"));
        assert_eq!(content.is(200, "").text(), page);
    }
    house.post(&reviewer, "submit", "fine").is(204, "");
    let pages = json!([{"page": "for a"}, {"page": "for b"}, {"page": "for c"}]);
    assert_eq!(house.ended(&run)["result"], pages);
}

#[test]
fn x7_another_tenant_finds_nothing_and_cannot_tell_that_there_is_something() {
    let house = House::new();
    let run = house.launch(&one_step());
    let stranger = |request: Request| house.ask(As::Stranger, request);
    for request in [
        Request::get("/v1/runs/ID"),
        Request::post("/v1/runs/ID/cancel"),
        Request::post("/v1/runs/ID/rekick"),
        Request::post("/v1/runs/ID/rekick?step=plan"),
        Request::post("/v1/runs/ID/steps/plan/audit").body("x"),
    ] {
        let of = |id: &str| stranger(request.clone().with_path("ID", id));
        let (theirs, absent) = (of(&run), of("R-00000000000000000000000000000000"));
        theirs.is(404, "NOT_FOUND");
        assert_eq!(theirs.body, absent.body);
    }
    stranger(Request::post("/v1/dispatch/claim?agent=planner")).is(204, "");
    let claimed = house.claim("planner");
    house.post(&claimed, "submit", "x").is(204, "");
    assert_eq!(house.ended(&run)["status"], "completed");
}

#[test]
fn i2_each_role_has_its_verbs_over_the_wire() {
    let house = House::new();
    let run = house.launch(&one_step());
    for (request, operator, observer) in [
        (Request::get("/v1/runs/ID"), 200, 200),
        (
            Request::get("/v1/runs/ID/events").field("Last-Event-ID", "x"),
            403,
            400,
        ),
        (Request::post("/v1/flows").json(&json!({})), 400, 403),
        (Request::post("/v1/calls").json(&json!({})), 400, 403),
        (Request::post("/v1/dispatch/claim?agent=nobody"), 204, 403),
        (Request::post("/v1/runs/ID/rekick?step=nothing"), 404, 403),
        (
            Request::post("/v1/runs/ID/steps/nothing/audit").body("x"),
            404,
            403,
        ),
        (Request::post("/v1/runs/ID/cancel"), 200, 403),
    ] {
        let request = request.with_path("ID", &run);
        let status = |who: As| house.ask(who, request.clone()).status;
        assert_eq!(status(As::Observer), observer, "{request:?}");
        assert_eq!(status(As::Operator), operator, "{request:?}");
    }
}

#[test]
fn i5_an_audit_is_beside_the_step_and_never_in_its_value() {
    let house = House::new();
    let run = house.launch(&json!({
        "id": "audited",
        "flow": {"seq": [
            step("plan", "planner", json!("plan")),
            step("build", "builder", json!("build")),
        ]},
        "result": {"$path": "$.plan"},
        "agents": {"planner": {}, "builder": {}},
    }));
    let planner = house.claim("planner");
    house.post(&planner, "submit", "done").is(204, "");
    let builder = house.claim("builder");
    let audit = |query: &str, body: &[u8]| {
        let path = format!("/v1/runs/{run}/steps/plan/audit{query}");
        house.ask(As::Operator, Request::post(&path).body(body))
    };
    audit("", b"looks fine").is(204, "");
    audit("?name=more", b"and more").is(204, "");
    audit("?nam=more", b"x").is(400, "INVALID_REQUEST");
    audit("", b"\xff").is(415, "BODY_NOT_UTF8");
    let content = house.get(&builder, "content/plan/audit%3Aplan");
    assert_eq!(content.is(200, "").text(), "looks fine");
    house.post(&builder, "submit", "built").is(204, "");
    assert_eq!(house.ended(&run)["result"], "done");
    audit("", b"late").is(410, "ATTEMPT_GONE");
}

#[test]
fn i10_a_run_goes_on_after_a_restart_with_the_credentials_that_were_handed_out() {
    let folders = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let work = TempDir::new().unwrap();
    let kept = (work.path().to_owned(), folders.1.path().to_owned());
    let house = House::over("", &[], (work, folders));
    let run = house.launch(&one_step());
    let claimed = house.claim("planner");
    house
        .post(&claimed, "artifact?name=plan.md", "# Plan")
        .is(204, "");
    let house = house.restarted();
    assert_eq!(
        (house.work.path(), house.service.state.path()),
        (&*kept.0, &*kept.1)
    );
    assert!(
        house.service.said().contains("1 runs go on"),
        "{}",
        house.service.said()
    );
    assert_eq!(state(&house.view(&run), 0), "staged");
    house.post(&claimed, "submit", "done").is(204, "");
    let value = json!({"out": "done", "parts": {"plan.md": "# Plan"}});
    assert_eq!(house.ended(&run)["result"], value);
}

#[test]
fn i9_a_worker_component_does_its_step_inside_of_the_service() {
    let component = root().join("guests/dist/outline.wasm");
    let component = component.canonicalize().unwrap();
    let plugin = json!({"name": "outline", "component": component, "grants": {"read": true}});
    let config = json!({"sandbox": {"read": true}, "plugins": [plugin]});
    let service = Service::configured(&config.to_string(), &[]);
    let document = service.folder.path().join("doc.md");
    fs::write(document, "# One\n\n## Two\n").unwrap();
    let blueprint = |worker: &str| {
        json!({"blueprint": {
            "id": "inside",
            "flow": step("outline", "outliner", json!("doc.md")),
            "result": {"$path": "$.outline"},
            "agents": {"outliner": {"worker": worker}},
        }})
    };
    let view = service.run(&service.token(), &blueprint("outline"));
    assert_eq!(view["status"], "completed", "{view}");
    assert_eq!(view["result"]["out"]["headings"], 2, "{view}");
    assert!(view["result"]["parts"]["outline.md"].is_string(), "{view}");
    let launch = Request::post("/v1/flows").bearer(&service.token());
    let unknown = service.send(&launch.json(&blueprint("nothing")));
    assert!(
        unknown
            .is(400, "INVALID_REQUEST")
            .text()
            .contains("nothing")
    );
}

#[test]
fn s1_x7_no_tenant_works_in_anothers_folder() {
    let house = House::new();
    let theirs = house.work.path();
    fs::create_dir(theirs.join("job")).unwrap();
    let mut said = BTreeSet::new();
    for below in ["", "job", "none"] {
        for key in ["work_dir", "project_root"] {
            let mut launch = json!({"blueprint": one_step()});
            launch[key] = json!(theirs.join(below));
            let asked = Request::post("/v1/flows").json(&launch);
            let answer = house.ask(As::Stranger, asked);
            let text = answer.is(400, "INVALID_REQUEST").text();
            said.insert(text.replace(key, "it"));
        }
    }
    assert_eq!(said.len(), 1, "what is there and what is not: {said:?}");
}
