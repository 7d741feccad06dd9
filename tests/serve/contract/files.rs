//! "Files are the server's job", and "Keep worker defaults generic".

use std::fs;

use serde_json::json;

use super::{ask, flow};
use crate::serve::house::{House, one_step};

#[test]
fn files_the_final_body_is_wrapped_and_each_part_raw() {
    let house = House::new();
    let run = house.launch(&one_step());
    let claimed = house.claim("planner");
    let part = "---\nnot: wrapped\n---\r\n\u{feff}caf\u{e9}";
    house
        .post(&claimed, "artifact?name=plan.txt", part)
        .is(204, "");
    house.post(&claimed, "submit", "the body").is(204, "");
    assert_eq!(house.file(&run, "plan.txt").as_deref(), Some(part));
    let document = house.file(&run, "plan.md").unwrap();
    let (front, body) = document.split_once("\n---\n\n").unwrap();
    assert_eq!(body, "the body");
    for line in [
        "---",
        "step: \"plan\"",
        "attempt: 1",
        "ok: true",
        "verdict: pass",
    ] {
        assert!(front.lines().any(|found| found == line), "{line}: {front}");
    }
    house.ended(&run);
}

#[test]
fn files_are_there_for_the_next_step_to_read() {
    let house = House::new();
    let agents = json!({"plan": {}, "next": {}});
    house.launch(&flow(&[ask("plan", ""), ask("next", "")], &agents));
    let plan = house.claim("plan");
    house
        .post(&plan, "artifact?name=plan.txt", "the plan")
        .is(204, "");
    house.post(&plan, "submit", "done").is(204, "");
    let payload = house.payload(&house.claim("next"));
    let pointers = payload["context"]["steps"].as_array().unwrap();
    let read = |name: &str| {
        let pointer = pointers
            .iter()
            .find(|pointer| pointer["name"] == name)
            .unwrap();
        let path = pointer["file_path"].as_str().unwrap();
        fs::read_to_string(house.work.path().join(path)).unwrap()
    };
    assert_eq!(read("plan/plan.txt"), "the plan");
    assert!(read("plan").ends_with("\n\ndone"));
}

#[test]
fn files_a_name_that_is_no_plain_one_keeps_its_data_and_has_no_file() {
    let house = House::with("", &["-v"]);
    let run = house.launch(&one_step());
    let claimed = house.claim("planner");
    for name in ["a/b", "a\\b", "..", "con", "dot."] {
        let encoded = name.replace('/', "%2F").replace('\\', "%5C");
        let staged = house.post(&claimed, &format!("artifact?name={encoded}"), "kept");
        staged.is(204, "");
    }
    for name in ["a..b", ".env"] {
        house
            .post(&claimed, &format!("artifact?name={name}"), "kept")
            .is(204, "");
    }
    house.post(&claimed, "submit", "done").is(204, "");
    let parts = house.ended(&run)["result"]["parts"].clone();
    assert_eq!(parts.as_object().unwrap().len(), 7, "{parts}");
    let names = fs::read_dir(house.folder(&run)).unwrap();
    let mut names: Vec<_> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, [".env", "a..b", "plan.md"]);
    assert!(
        house.service.says("gets no file"),
        "{}",
        house.service.said()
    );
}

#[test]
fn files_without_a_root_are_skipped_or_the_launch_is_refused() {
    let house = House::with("", &["-v"]);
    let launched = house.try_launch(&json!({"blueprint": one_step()}));
    let run = launched.is(202, "").json()["run"]
        .as_str()
        .unwrap()
        .to_owned();
    house.submitted("planner", "done").is(204, "");
    assert_eq!(house.ended(&run)["result"], "done");
    assert!(
        house.service.says("lacks a file"),
        "{}",
        house.service.said()
    );
    let strict = house.try_launch(&json!({"blueprint": one_step(), "check_policy": "strict"}));
    strict.is(400, "INVALID_REQUEST");
    let mut blueprint = one_step();
    blueprint["check_policy"] = json!("strict");
    house.launch(&blueprint);
    let claimed = house.claim("planner");
    let staged = house.post(&claimed, "artifact?name=a%2Fb", "x");
    staged.is(422, "PROJECTION_REFUSED");
}

#[test]
fn files_move_by_the_blueprints_placement_and_the_agent_is_told_nothing_new() {
    let house = House::new();
    let mut blueprint = one_step();
    let mut payloads = Vec::new();
    for template in [None, Some("out/{task_id}/{step}")] {
        if let Some(template) = template {
            blueprint["projection_placement"] = json!(template);
        }
        let run = house.launch(&blueprint);
        let claimed = house.claim("planner");
        let mut payload = house.payload(&claimed);
        for key in ["task_id", "context"] {
            payload.as_object_mut().unwrap().remove(key);
        }
        payloads.push(payload);
        house.post(&claimed, "submit", "done").is(204, "");
        let task = house.ended(&run)["task"].as_str().unwrap().to_owned();
        let moved = house.work.path().join(format!("out/{task}/plan/plan.md"));
        assert_eq!(moved.exists(), template.is_some());
        assert_eq!(house.file(&run, "plan.md").is_none(), template.is_some());
    }
    assert_eq!(payloads[0], payloads[1]);
}
