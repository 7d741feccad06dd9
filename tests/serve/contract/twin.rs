//! "The in-process twin": the same contract with the transport removed.

use serde_json::{Value, json};

use super::{ask, flow};
use crate::serve::client::Request;
use crate::serve::house::{As, House};
use crate::support::root;

fn house() -> House {
    let probe = root().join("guests/dist/probe.wasm");
    let probe = probe.canonicalize().unwrap();
    House::with("", &["--plugin", probe.to_str().unwrap()])
}

/// A step of the worker inside.
fn inside(name: &str, prompt: Value) -> Value {
    let mut step = json!({"step": {"name": name, "agent": "inside"}});
    step["step"]["in"]["$lit"] = prompt;
    step
}

/// The worker inside, and one outside that is declared alike.
fn agents(more: &Value) -> Value {
    let mut agents = json!({"inside": more, "outside": more});
    agents["inside"]["worker"] = json!("probe");
    agents
}

#[test]
fn twin_the_view_is_the_same_policy_and_all_but_for_the_pointers() {
    let house = house();
    let agents = agents(&json!({
        "ctx": {"tone": "dry", "hidden": 1}, "context_policy": {"exclude": ["hidden"]},
    }));
    let nodes = [ask("outside", ""), inside("told", json!({"do": "tell"}))];
    let folder = house.work.path();
    let launch = json!({
        "blueprint": flow(&nodes, &agents), "work_dir": folder, "task_metadata": {"n": 1},
    });
    let launched = house.try_launch(&launch).is(202, "").json();
    let outside = house.claim("outside");
    let payload = house.payload(&outside);
    house.post(&outside, "submit", "").is(204, "");
    let view = house.ended(launched["run"].as_str().unwrap());
    let told = &view["result"]["told"];
    let mut expected = payload["context"].clone();
    expected["agent"] = json!("inside");
    expected.as_object_mut().unwrap().remove("steps");
    assert_eq!(told["context"], expected, "{view}");
    assert_eq!(told["context"]["extra"], json!({"tone": "dry"}));
    assert_eq!(told["context"]["task_metadata"], json!({"n": 1}));
    assert_eq!(told["taskId"], payload["task_id"]);
    // What is not given is not there.
    let nodes = [inside("told", json!({"do": "tell"}))];
    let run = house.launch(&flow(&nodes, &json!({"inside": {"worker": "probe"}})));
    let told = &house.ended(&run)["result"]["told"]["context"];
    let keys: Vec<&String> = told.as_object().unwrap().keys().collect();
    assert!(
        told.get("task_metadata").is_none() && told.get("extra").is_none(),
        "{keys:?}"
    );
}

#[test]
fn twin_the_return_value_is_the_final_body_and_is_json_already() {
    let house = house();
    let raw = |text: &str| json!({"do": "raw", "text": text});
    let nodes = [
        inside("object", raw(r#"{"lanes": [1, 2]}"#)),
        inside("text", raw(r#""{\"not\": \"parsed\"}""#)),
    ];
    let run = house.launch(&flow(&nodes, &agents(&json!({}))));
    let result = house.ended(&run)["result"].clone();
    assert_eq!(result["object"], json!({"lanes": [1, 2]}));
    assert_eq!(result["text"], r#"{"not": "parsed"}"#);
}

#[test]
fn twin_parts_fold_alike_on_both_lanes() {
    let house = house();
    let parts = json!([["notes.md", "first"], ["notes.md", "last"]]);
    let staged = json!({"do": "raw", "text": "\"done\"", "parts": parts});
    let next = json!({"step": {"name": "next", "agent": "outside", "in": {
        "$path": "$.here.parts[\"notes.md\"]",
    }}});
    let nodes = [ask("outside", ""), inside("here", staged), next];
    let run = house.launch(&flow(&nodes, &agents(&json!({}))));
    let outside = house.claim("outside");
    for text in ["first", "last"] {
        house
            .post(&outside, "artifact?name=notes.txt", text)
            .is(204, "");
    }
    house.post(&outside, "submit", "done").is(204, "");
    let next = house.claim("outside");
    // By its own input, and no pointer is needed.
    assert_eq!(house.payload(&next)["prompt"], "last");
    house.post(&next, "submit", "plain").is(204, "");
    let result = house.ended(&run)["result"].clone();
    assert_eq!(
        result["here"],
        json!({"out": "done", "parts": {"notes.md": "last"}})
    );
    assert_eq!(
        result["outside"],
        json!({"out": "done", "parts": {"notes.txt": "last"}})
    );
    assert_eq!(result["next"], "plain");
    assert_eq!(house.file(&run, "notes.md").as_deref(), Some("last"));
    assert!(house.file(&run, "here.md").unwrap().ends_with("\n\ndone"));
}

#[test]
fn twin_what_another_stages_beside_a_step_is_not_in_its_value() {
    let house = house();
    let nodes = [
        inside("here", json!({"do": "raw", "text": "1"})),
        ask("outside", ""),
    ];
    let run = house.launch(&flow(&nodes, &agents(&json!({}))));
    let outside = house.claim("outside");
    let audit = Request::post(&format!("/v1/runs/{run}/steps/here/audit")).body("fine");
    house.ask(As::Operator, audit).is(204, "");
    let said = house.get(&outside, "content/here/audit%3Ahere");
    assert_eq!(said.is(200, "").text(), "fine");
    house.post(&outside, "submit", "").is(204, "");
    assert_eq!(house.ended(&run)["result"]["here"], 1);
}

#[test]
fn twin_both_verdict_channels_are_held_on_both_lanes_with_their_reasons() {
    let house = house();
    let body = json!({"verdict": {"channel": "body", "values": ["PASS"]}});
    let part = json!({"verdict": {"channel": "part", "values": ["PASS"]}});
    let raw = |text: &str| json!({"do": "raw", "text": text});
    let with_part = |value: &str| json!({"do": "raw", "text": "1", "parts": [["verdict", value]]});
    for (contract, prompt, holds) in [
        (&body, raw("\"PASS\""), true),
        (&body, raw("\"pass\""), false),
        (&part, with_part("PASS"), true),
        (&part, raw("\"PASS\""), false),
    ] {
        let run = house.launch(&flow(&[inside("gate", prompt)], &agents(contract)));
        let view = house.ended(&run);
        let status = if holds { "completed" } else { "failed" };
        assert_eq!(view["status"], status, "{view}");
        if !holds {
            assert_eq!(view["error"]["code"], "VERDICT_VIOLATION", "{view}");
            assert_eq!(view["error"]["failed_step"], "gate");
        }
    }
    // Outside, the answer to the submit carries the reason, and the attempt goes on.
    house.launch(&flow(&[ask("outside", "")], &agents(&part)));
    let claimed = house.claim("outside");
    house
        .post(&claimed, "submit", "x")
        .is(422, "VERDICT_VIOLATION");
    let staged = house.post(&claimed, "artifact?name=verdict", "maybe");
    staged.is(422, "VERDICT_VIOLATION");
    house
        .post(&claimed, "artifact?name=verdict", "PASS")
        .is(204, "");
    house.post(&claimed, "submit", "x").is(204, "");
}
