//! "Structured final bodies".

use std::fs;

use serde_json::{Value, json};

use super::{ask, flow};
use crate::serve::house::House;

/// `split`, whose lanes the step `lane` is done for.
fn fanout() -> [Value; 2] {
    let lanes = json!({"fanout": {
        "name": "done", "items": {"$path": "$.split.lanes"}, "bind": "lane",
        "body": {"step": {"name": "lane", "agent": "lane", "in": {"$path": "$.lane"}}},
    }});
    [ask("split", ""), lanes]
}

fn declared(ctx: &Value) -> Value {
    json!({"split": {"ctx": ctx}, "lane": {}})
}

#[test]
fn structured_a_declared_body_feeds_a_fanout_from_each_of_the_three_places() {
    let house = House::new();
    let json_format = json!({"submit_format": "json"});
    let of_agent = flow(&fanout(), &declared(&json_format));
    let mut of_step = flow(&fanout(), &declared(&json!({})));
    of_step["flow"]["seq"][0]["step"]["in"] = json!({"$step_meta": {"inline": json_format}});
    let mut of_all = flow(&fanout(), &declared(&json!({})));
    // The lanes declare otherwise: what is nearest counts.
    of_all["agents"]["lane"] = json!({"ctx": {"submit_format": "text"}});
    of_all["default_agent_ctx"] = json_format.clone();
    for blueprint in [of_agent, of_step, of_all] {
        let run = house.launch(&blueprint);
        house
            .submitted("split", r#"{"lanes": ["a", "b"]}"#)
            .is(204, "");
        for _ in 0..2 {
            house.submitted("lane", "done").is(204, "");
        }
        let result = house.ended(&run)["result"].clone();
        assert_eq!(
            result["done"],
            json!([{"lane": "done"}, {"lane": "done"}]),
            "{blueprint}"
        );
        assert_eq!(result["split"]["lanes"], json!(["a", "b"]));
    }
}

#[test]
fn structured_what_is_not_declared_is_never_sniffed() {
    let house = House::new();
    let run = house.launch(&flow(&fanout(), &declared(&json!({}))));
    house.submitted("split", r#"{"lanes": ["a"]}"#).is(204, "");
    let view = house.ended(&run);
    assert_eq!(
        view["status"], "failed",
        "nothing can reach inside of a string: {view}"
    );
    let run = house.launch(&flow(&[ask("split", "")], &json!({"split": {}})));
    house.submitted("split", r#"{"lanes": ["a"]}"#).is(204, "");
    assert_eq!(house.ended(&run)["result"]["split"], r#"{"lanes": ["a"]}"#);
}

#[test]
fn structured_a_declared_body_that_does_not_parse_is_422_and_records_nothing() {
    let house = House::new();
    let agents = declared(&json!({"submit_format": "json"}));
    let run = house.launch(&flow(&[ask("split", "")], &agents));
    let claimed = house.claim("split");
    let refused = house.post(&claimed, "submit", "Here is the JSON: {}");
    let said = refused.is(422, "BODY_NOT_JSON").text();
    assert!(
        said.contains("split") && said.contains("Here is the JSON"),
        "{said}"
    );
    assert_eq!(
        house.view(&run)["steps"][0]["attempts"][0]["state"],
        "dispatched"
    );
    assert_eq!(house.file(&run, "split.md"), None);
    house.post(&claimed, "submit", "42").is(204, "");
    assert_eq!(house.ended(&run)["result"]["split"], 42);
}

#[test]
fn structured_an_unknown_format_folds_as_text_and_is_logged() {
    let house = House::with("", &["-v"]);
    let agents = declared(&json!({"submit_format": "yaml"}));
    let run = house.launch(&flow(&[ask("split", "")], &agents));
    house.submitted("split", "{}").is(204, "");
    assert_eq!(house.ended(&run)["result"]["split"], "{}");
    assert!(house.service.says("yaml"), "{}", house.service.said());
}

#[test]
fn structured_a_file_is_resolved_first_and_its_content_parsed() {
    let house = House::new();
    fs::write(house.work.path().join("lanes.json"), r#"{"lanes": []}"#).unwrap();
    let agents = declared(&json!({"submit_format": "json", "allow_file_submit": true}));
    let run = house.launch(&flow(&[ask("split", "")], &agents));
    let body = format!("@file:{}/lanes.json", house.work.path().display());
    house.submitted("split", &body).is(204, "");
    assert_eq!(house.ended(&run)["result"]["split"], json!({"lanes": []}));
}

#[test]
fn structured_a_verdict_contract_compares_what_was_submitted() {
    let house = House::new();
    let contract = json!({"channel": "body", "values": ["PASS", "FAIL"]});
    let gate = |ctx: Value| json!({"split": {"verdict": contract, "ctx": ctx}});
    let run = house.launch(&flow(&[ask("split", "")], &gate(json!({}))));
    let claimed = house.claim("split");
    for body in ["pass", "\"PASS\"", "PASS!", ""] {
        house
            .post(&claimed, "submit", body)
            .is(422, "VERDICT_VIOLATION");
    }
    house.post(&claimed, "submit", "PASS\n").is(204, "");
    assert_eq!(house.ended(&run)["status"], "completed");
    let run = house.launch(&flow(
        &[ask("split", "")],
        &gate(json!({"submit_format": "json"})),
    ));
    let claimed = house.claim("split");
    house
        .post(&claimed, "submit", "\"PASS\"")
        .is(422, "VERDICT_VIOLATION");
    house
        .post(&claimed, "submit?ok=false", "\"out of luck\"")
        .is(204, "");
    assert_eq!(house.ended(&run)["status"], "failed");
}

#[test]
fn structured_parts_stay_strings() {
    let house = House::new();
    let agents = declared(&json!({"submit_format": "json"}));
    let run = house.launch(&flow(&[ask("split", "")], &agents));
    let claimed = house.claim("split");
    house
        .post(&claimed, "artifact?name=part", r#"{"a": 1}"#)
        .is(204, "");
    house.post(&claimed, "submit", r#"{"a": 1}"#).is(204, "");
    let value = json!({"out": {"a": 1}, "parts": {"part": r#"{"a": 1}"#}});
    assert_eq!(house.ended(&run)["result"]["split"], value);
}
