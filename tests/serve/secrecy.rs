//! No credential that somebody put in the wrong place reaches a log, an answer or a count
//! (CASES IO06), and no answer says what is inside (CASES IO08).

use serde_json::json;

use super::client::Request;
use super::house::{As, House, one_step};
use super::service::Service;

const SECRET: &str = "cap_TEST123";

#[test]
fn io06_a_secret_in_a_query_a_path_or_a_referer_is_nowhere_said_again() {
    let service = Service::start(&["-vv"]);
    let token = service.token();
    let query = format!("?token={SECRET}");
    let referer = format!("http://localhost/x{query}");
    let call = json!({"name": SECRET, "arguments": {SECRET: SECRET}, SECRET: 1});
    service.call(&call).is(400, "INVALID_CALL");
    let mut answers = Vec::new();
    for path in [
        format!("/x{query}"),
        format!("/v1/worker/prompt{query}"),
        format!("/v1/worker/content/{SECRET}"),
        format!("/v1/worker/content/plan/{SECRET}{query}"),
        format!("/v1/worker/artifact{query}"),
        format!("/v1/worker/submit?ok={SECRET}"),
        format!("/v1/calls{query}"),
        format!("/{SECRET}"),
        format!("/healthz{query}"),
    ] {
        for method in ["GET", "POST"] {
            let request = Request::new(method, &path).field("Referer", &referer);
            let request = request.field("Cookie", SECRET);
            for credential in [SECRET, &token, &format!("wh-{}", "0".repeat(32))] {
                answers.push(service.send(&request.clone().bearer(credential)));
            }
            answers.push(service.send(&request.clone().field("Origin", SECRET)));
            answers.push(service.send(&request.field("Host", SECRET)));
        }
    }
    for fields in [
        format!("{SECRET} x: y"),
        format!("Host: {SECRET}\r\nHost: {SECRET}"),
    ] {
        let mut connection = service.connect();
        connection.write(format!("{SECRET} /{SECRET} HTTP/1.1\r\n{fields}\r\n\r\n"));
        answers.push(connection.read("GET").unwrap());
    }
    let metrics = service.get("/metrics");
    for answer in answers.iter().chain([&metrics]) {
        let shown = format!("{:?} {}", answer.fields, answer.text());
        assert!(!shown.contains(SECRET), "{shown}");
        assert!(!shown.contains(&token), "{shown}");
    }
    let said = service.said();
    assert!(said.contains("answered"), "the log is on: {said}");
    assert!(!said.contains(SECRET), "{said}");
    assert!(!said.contains(&token), "{said}");
}

#[test]
fn io06_a_whole_run_is_logged_without_a_credential_and_without_a_word_of_it() {
    let house = House::with("", &["-vv"]);
    let run = house.launch(&one_step());
    let claimed = house.claim("planner");
    house.get(&claimed, "prompt").is(200, "");
    let part = house.post(&claimed, "artifact?name=notes%2Fa", "private-part");
    part.is(204, "");
    house
        .post(&claimed, "artifact?name=", &claimed.handle)
        .is(400, "INVALID_PART_NAME");
    let query = format!("submit?token={}", claimed.handle);
    house
        .post(&claimed, &query, "private-body")
        .is(400, "INVALID_REQUEST");
    house.post(&claimed, "submit", "private-body").is(204, "");
    house.ended(&run);
    let said = house.service.said();
    assert!(said.contains("route=\"/v1/worker/submit\""), "{said}");
    let operator = As::Operator.token();
    for secret in [
        &*claimed.handle,
        &operator,
        "private-",
        "plan it",
        "You plan.",
    ] {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
    // Nor is a credential in what is kept.
    for entry in std::fs::read_dir(house.service.state.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let holds = |secret: &str| {
            bytes
                .windows(secret.len())
                .any(|part| part == secret.as_bytes())
        };
        assert!(!holds(&claimed.handle) && !holds(&operator));
    }
}

#[test]
fn io08_an_answer_holds_no_path_of_the_host() {
    let service = Service::start(&["--allow", "plugin=read-text"]);
    let state = service.state.path().to_str().unwrap().to_owned();
    let folder = service.folder.path().to_str().unwrap().to_owned();
    for path in ["absent", "../x", "/etc/passwd", "a\u{1b}[31m"] {
        let call = json!({"name": "read_text", "arguments": {"path": path}});
        let shown = service.call(&call).text();
        assert!(
            !shown.contains(&state) && !shown.contains(&folder),
            "{shown}"
        );
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }
}
