//! "Why OUT is a tool call — never a self-written file".

use std::fs;

use serde_json::json;

use super::{ask, flow};
use crate::serve::house::{House, one_step};

#[test]
fn out_a_submit_is_a_raw_body_whose_step_is_the_handles() {
    let house = House::new();
    let run = house.launch(&one_step());
    let text = " {\"not\": \"sniffed\"}\r\n\0\n";
    house.submitted("planner", text).is(204, "");
    assert_eq!(house.ended(&run)["result"], text);
}

#[test]
fn out_no_request_names_a_path_and_a_name_is_none() {
    let house = House::new();
    let run = house.launch(&one_step());
    let claimed = house.claim("planner");
    for query in ["path=/tmp/x", "file=x", "step=other", "task_id=T-1"] {
        let refused = house.post(&claimed, &format!("submit?{query}"), "x");
        refused.is(400, "INVALID_REQUEST");
    }
    let before = fs::read_dir(house.work.path()).unwrap().count();
    for name in ["..%2Fescaped", "%2Ftmp%2Fescaped", "a%2Fb", "a%5Cb", ".."] {
        let staged = house.post(&claimed, &format!("artifact?name={name}"), "x");
        staged.is(204, "");
    }
    house.post(&claimed, "submit", "done").is(204, "");
    house.ended(&run);
    let files: Vec<_> = fs::read_dir(house.folder(&run)).unwrap().collect();
    assert_eq!(
        (files.len(), before),
        (1, 0),
        "the step's own file alone: {files:?}"
    );
}

#[test]
fn out_staging_a_name_again_overwrites_and_completes_nothing() {
    let house = House::new();
    let run = house.launch(&one_step());
    let claimed = house.claim("planner");
    for text in ["first", "last"] {
        house
            .post(&claimed, "artifact?name=notes.md", text)
            .is(204, "");
    }
    let view = house.view(&run);
    assert_eq!(view["status"], "running");
    assert_eq!(view["steps"][0]["attempts"][0]["state"], "staged");
    house.post(&claimed, "submit", "done").is(204, "");
    let value = json!({"out": "done", "parts": {"notes.md": "last"}});
    assert_eq!(house.ended(&run)["result"], value);
}

#[test]
fn out_parts_fold_beside_the_final_body_and_the_flow_addresses_them() {
    let house = House::new();
    let next = json!({"step": {
        "name": "next", "agent": "next", "in": {"$path": "$.plan.parts[\"plan.md\"]"},
    }});
    let agents = json!({"plan": {}, "next": {}});
    let run = house.launch(&flow(&[ask("plan", ""), next], &agents));
    let plan = house.claim("plan");
    house
        .post(&plan, "artifact?name=plan.md", "# Plan")
        .is(204, "");
    house.post(&plan, "submit", "done").is(204, "");
    let next = house.claim("next");
    assert_eq!(house.payload(&next)["prompt"], "# Plan");
    house.post(&next, "submit", "no parts").is(204, "");
    let result = house.ended(&run)["result"].clone();
    assert_eq!(
        result["plan"],
        json!({"out": "done", "parts": {"plan.md": "# Plan"}})
    );
    assert_eq!(
        result["next"], "no parts",
        "the plain body where nothing was staged"
    );
}

#[test]
fn out_a_file_is_named_by_a_sentinel_that_the_server_resolves() {
    let house = House::new();
    fs::write(house.work.path().join("large.txt"), "from the file").unwrap();
    let body = format!("@file:{}/large.txt", house.work.path().display());
    house.launch(&one_step());
    house
        .submitted("planner", &body)
        .is(400, "FILE_SUBMIT_NOT_ALLOWED");
    let mut blueprint = one_step();
    blueprint["agents"]["planner"]["ctx"] = json!({"allow_file_submit": true});
    let house = House::new();
    fs::write(house.work.path().join("large.txt"), "from the file").unwrap();
    let file = |name: &str| format!("@file:{}/{name}", house.work.path().display());
    let run = house.launch(&blueprint);
    let claimed = house.claim("planner");
    let submit = |body: &str| house.post(&claimed, "submit", body);
    submit(&file("none")).is(404, "NOT_FOUND");
    submit("@file:/etc/passwd").is(403, "FILE_OUTSIDE");
    submit("@file:large.txt").is(400, "INVALID_REQUEST");
    let part = file("large.txt");
    house
        .post(&claimed, "artifact?name=part", &part)
        .is(204, "");
    submit(&part).is(204, "");
    let value = json!({"out": "from the file", "parts": {"part": "from the file"}});
    assert_eq!(house.ended(&run)["result"], value);
}
