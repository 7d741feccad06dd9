//! `/v1/worker/` over the wire: what a worker fetches and what it sends (SPEC I1 to I8).

use std::fs;

use serde_json::{Value, json};

use super::client::Request;
use super::house::{Claimed, House, one_step, step};

/// The pointer of a name in a payload.
fn pointer(payload: &Value, name: &str) -> Value {
    let steps = payload["context"]["steps"].as_array().unwrap();
    let found = steps.iter().find(|step| step["name"] == name);
    found
        .unwrap_or_else(|| panic!("{name} in {payload}"))
        .clone()
}

/// `plan` of `planner`, then `build` of `builder`.
fn two_steps() -> Value {
    json!({
        "id": "two",
        "flow": {"seq": [
            step("plan", "planner", json!("plan it")),
            step("build", "builder", json!("build it")),
        ]},
        "agents": {"planner": {}, "builder": {}},
    })
}

#[test]
fn in_fetch_the_prompt_is_put_together_at_fetch_time_and_is_the_holders_alone() {
    let house = House::new();
    house.launch(&one_step());
    let claimed = house.claim("planner");
    let payload = house.get(&claimed, "prompt").is(200, "").json();
    assert_eq!(payload["prompt"], "plan it");
    assert_eq!(payload["system"], "You plan.");
    assert_eq!(payload["attempt"], 1);
    assert_eq!(payload["agent"], "planner");
    assert_eq!(payload["task_id"], claimed.document["task"]);
    let work_dir = house.work.path().to_str().unwrap();
    assert_eq!(payload["context"]["work_dir"], work_dir);
    assert_eq!(
        house.get(&claimed, "system").is(200, "").text(),
        "You plan."
    );
    house
        .get(&claimed, "prompt?step=plan")
        .is(400, "INVALID_REQUEST");
    let prompt = Request::new("HEAD", "/v1/worker/prompt").bearer(&claimed.handle);
    assert_eq!(house.service.send(&prompt).status, 200);
}

#[test]
fn out_parts_and_the_final_body_become_the_next_steps_files() {
    let house = House::new();
    house.launch(&two_steps());
    let planner = house.claim("planner");
    let plan = "# Plan\r\n\tcaf\u{e9}";
    house
        .post(&planner, "artifact?name=notes.md", "first")
        .is(204, "");
    house
        .post(&planner, "artifact?name=notes.md", plan)
        .is(204, "");
    let done = house.post(&planner, "submit", "done");
    assert_eq!(
        (done.is(204, "").body.len(), done.field("content-type")),
        (0, None)
    );
    let builder = house.claim("builder");
    let payload = house.get(&builder, "prompt").json();
    assert_eq!(payload["prompt"], "build it");
    for (name, text) in [("plan", "done"), ("plan/notes.md", plan)] {
        let pointer = pointer(&payload, name);
        let url = pointer["content_url"].as_str().unwrap();
        let served = house.get(&builder, url.strip_prefix("/v1/worker/").unwrap());
        assert_eq!(served.is(200, "").text(), text);
        assert_eq!(pointer["size_bytes"], text.len());
        let file = house
            .work
            .path()
            .join(pointer["file_path"].as_str().unwrap());
        let file = fs::read_to_string(file).unwrap();
        assert!(
            file == text || file.ends_with(&format!("\n\n{text}")),
            "{file}"
        );
    }
}

#[test]
fn i1_content_is_served_whole_in_part_or_not_again() {
    let house = House::new();
    house.launch(&two_steps());
    let planner = house.claim("planner");
    house
        .post(&planner, "artifact?name=a%20b%2Fc", "0123456789")
        .is(204, "");
    house.post(&planner, "submit", "done").is(204, "");
    let builder = house.claim("builder");
    let part = "/v1/worker/content/plan/a%20b%2Fc";
    let ask = |fields: &[(&str, &str)]| {
        let mut request = Request::get(part).bearer(&builder.handle);
        for (name, value) in fields {
            request = request.field(name, value);
        }
        house.service.send(&request)
    };
    let whole = ask(&[]);
    assert_eq!(whole.is(200, "").text(), "0123456789");
    assert_eq!(
        whole.field("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert_eq!(whole.field("accept-ranges"), Some("bytes"));
    let etag = whole.field("etag").unwrap();
    let same = ask(&[("If-None-Match", etag)]);
    assert_eq!(
        (same.is(304, "").body.len(), same.field("etag")),
        (0, Some(etag))
    );
    let cut = ask(&[("Range", "bytes=2-4"), ("If-Range", etag)]);
    assert_eq!(cut.is(206, "").text(), "234");
    assert_eq!(cut.field("content-range"), Some("bytes 2-4/10"));
    assert_eq!(ask(&[("Range", "bytes=-3")]).is(206, "").text(), "789");
    let beyond = ask(&[("Range", "bytes=10-")]);
    beyond.is(416, "RANGE_NOT_SATISFIABLE");
    assert_eq!(beyond.field("content-range"), Some("bytes */10"));
    let changed = [("Range", "bytes=2-4"), ("If-Range", "\"other\"")];
    ask(&changed).is(200, "");
    for absent in [
        "content/plan/x",
        "content/x",
        "content/build",
        "content/plan/%FF",
        "content/..",
    ] {
        let answer = house.get(&builder, absent);
        answer.is(404, "NOT_FOUND");
    }
}

#[test]
fn i3_a_submit_is_taken_once_and_the_same_again() {
    let house = House::new();
    house.launch(&two_steps());
    let planner = house.claim("planner");
    house.post(&planner, "submit", "done").is(204, "");
    house.post(&planner, "submit", "done").is(204, "");
    house
        .post(&planner, "submit", "other")
        .is(409, "SUBMIT_CONFLICT");
    house
        .post(&planner, "submit?verdict=blocked", "done")
        .is(409, "SUBMIT_CONFLICT");
    house
        .post(&planner, "artifact?name=a", "late")
        .is(410, "ATTEMPT_GONE");
    for path in ["prompt", "system", "content/x"] {
        house.get(&planner, path).is(410, "ATTEMPT_GONE");
    }
}

#[test]
fn i3_a_submits_query_says_one_ending_and_nothing_else() {
    let house = House::new();
    house.launch(&one_step());
    let claimed = house.claim("planner");
    for query in [
        "?ok=yes",
        "?verdict=maybe",
        "?verdict=",
        "?ok=true&verdict=blocked",
        "?ok=true&ok=true",
        "?okay=true",
        "?verdict=pass&token=x",
        "?verdict=p%61ss%",
    ] {
        let answer = house.post(&claimed, &format!("submit{query}"), "x");
        answer.is(400, "INVALID_REQUEST");
    }
    for query in ["", "?nam=a", "?name=a&name=b"] {
        let answer = house.post(&claimed, &format!("artifact{query}"), "x");
        answer.is(400, "INVALID_REQUEST");
    }
    for query in [
        "?name=",
        "?name=a%00b",
        &format!("?name={}", "a".repeat(256)),
    ] {
        let answer = house.post(&claimed, &format!("artifact{query}"), "x");
        answer.is(400, "INVALID_PART_NAME");
    }
    house
        .post(&claimed, "submit?ok=true&verdict=pass", "x")
        .is(204, "");
}

#[test]
fn gap5_bodies_are_bounded_text_and_not_trimmed() {
    let house = House::with(", limits: { body_bytes: 1000 }", &[]);
    let run = house.launch(&one_step());
    let claimed = house.claim("planner");
    for path in ["submit", "artifact?name=a"] {
        let answer = house.post(&claimed, path, "x".repeat(1001));
        answer.is(413, "BODY_TOO_LARGE");
        let answer = house.post(&claimed, path, [b'a', 0xff]);
        answer.is(415, "BODY_NOT_UTF8");
        let packed = Request::post(&format!("/v1/worker/{path}")).bearer(&claimed.handle);
        let packed = packed.field("Content-Encoding", "gzip").body("x");
        house
            .service
            .send(&packed)
            .is(415, "UNSUPPORTED_MEDIA_TYPE");
    }
    for (name, size) in [("a", 999), ("b", 1000)] {
        let path = format!("artifact?name={name}");
        house.post(&claimed, &path, "x".repeat(size)).is(204, "");
    }
    let body = format!("\u{feff} \n{}\r\n\n", "y".repeat(990));
    house.post(&claimed, "submit", &body).is(204, "");
    assert_eq!(house.ended(&run)["result"]["out"], body);
}

#[test]
fn c8_a_large_body_is_read_from_a_known_worker_alone() {
    let house = House::new();
    house.launch(&one_step());
    let claimed = house.claim("planner");
    let head = |handle: &str, size: usize| {
        let start = "POST /v1/worker/submit HTTP/1.1\r\nHost: localhost\r\n";
        format!("{start}Authorization: Bearer {handle}\r\nContent-Length: {size}\r\n\r\n")
    };
    let unknown = format!("wh-{}", "0".repeat(32));
    let mut connection = house.service.connect();
    connection.write(head(&unknown, 64 * 1024 + 1));
    // Nothing of the body was sent, and it is not waited for.
    connection.read("POST").unwrap().is(401, "UNAUTHORIZED");
    let mut connection = house.service.connect();
    connection.write(head(&unknown, 64 * 1024));
    connection.write("x".repeat(64 * 1024));
    connection.read("POST").unwrap().is(401, "UNAUTHORIZED");
    let body = "x".repeat(2 * 1024 * 1024);
    house.post(&claimed, "submit", &body).is(204, "");
    house.post(&claimed, "submit", &body).is(204, "");
}

#[test]
fn i4_i6_i7_what_a_step_declares_is_held_with_its_number() {
    let house = House::new();
    let contract = json!({"channel": "body", "values": ["PASS", "REWORK"]});
    let run = house.launch(&json!({
        "id": "declared",
        "flow": {"seq": [
            step("split", "splitter", json!("split")),
            step("gate", "gatekeeper", json!("judge")),
            step("file", "filer", json!("file")),
        ]},
        "result": {"$path": "$.split.lanes"},
        "agents": {
            "splitter": {"ctx": {"submit_format": "json"}},
            "gatekeeper": {"verdict": contract},
            "filer": {"ctx": {"allow_file_submit": true}},
        },
    }));
    let splitter = house.claim("splitter");
    let prose = house.post(&splitter, "submit", "Here it is: {}");
    let shown = prose.is(422, "BODY_NOT_JSON").text();
    assert!(
        shown.contains("splitter") && shown.contains("Here it is"),
        "{shown}"
    );
    let path = format!("@file:{}/x", house.work.path().display());
    house
        .post(&splitter, "submit", &path)
        .is(400, "FILE_SUBMIT_NOT_ALLOWED");
    house
        .post(&splitter, "submit", r#"{"lanes": [1]}"#)
        .is(204, "");
    let gate = house.claim("gatekeeper");
    house
        .post(&gate, "submit", "maybe")
        .is(422, "VERDICT_VIOLATION");
    house.post(&gate, "submit", "PASS\n").is(204, "");
    let filer = house.claim("filer");
    house.post(&filer, "submit", &path).is(404, "NOT_FOUND");
    house
        .post(&filer, "submit", "@file:x")
        .is(400, "INVALID_REQUEST");
    house
        .post(&filer, "submit", "@file:/etc/passwd")
        .is(403, "FILE_OUTSIDE");
    fs::write(house.work.path().join("x"), "from the file").unwrap();
    house.post(&filer, "submit", &path).is(204, "");
    assert_eq!(house.ended(&run)["result"], json!([1]));
}

#[test]
fn i8_under_a_strict_policy_a_name_without_a_file_fails_the_step() {
    let house = House::new();
    let mut blueprint = one_step();
    blueprint["check_policy"] = json!("strict");
    let run = house.launch(&blueprint);
    let claimed = house.claim("planner");
    let answer = house.post(&claimed, "artifact?name=a%2Fb", "x");
    answer.is(422, "PROJECTION_REFUSED");
    house.post(&claimed, "submit", "x").is(410, "ATTEMPT_GONE");
    assert_eq!(house.ended(&run)["status"], "failed");
}

#[test]
fn i2_a_workers_credential_opens_no_operators_route() {
    let house = House::new();
    let run = house.launch(&one_step());
    let claimed = house.claim("planner");
    let view = format!("/v1/runs/{run}");
    let ask = |claimed: &Claimed| {
        let request = Request::get(&view).bearer(&claimed.handle);
        house.service.send(&request)
    };
    ask(&claimed).is(403, "FORBIDDEN");
    house.post(&claimed, "submit", "x").is(204, "");
    ask(&claimed).is(403, "FORBIDDEN");
    let unknown = Request::get(&view).bearer(&format!("wh-{}", "0".repeat(32)));
    house.service.send(&unknown).is(401, "UNAUTHORIZED");
}
