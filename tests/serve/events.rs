//! The events of a run as a stream (SPEC I2).

use serde_json::Value;

use super::client::Request;
use super::house::{As, House, one_step};

/// The events of a stream's text: number, kind, data.
fn events(text: &str) -> Vec<(u64, String, Value)> {
    let blocks = text.split("\n\n").filter(|block| block.starts_with("id: "));
    blocks
        .map(|block| {
            let mut lines = block.lines();
            let mut value = |name: &str| {
                let line = lines.next().unwrap();
                line.strip_prefix(name).unwrap().to_owned()
            };
            let (id, kind, data) = (value("id: "), value("event: "), value("data: "));
            (
                id.parse().unwrap(),
                kind,
                serde_json::from_str(&data).unwrap(),
            )
        })
        .collect()
}

#[test]
fn i2_a_run_is_followed_to_its_end_and_again_from_anywhere() {
    let house = House::new();
    let run = house.launch(&one_step());
    let path = format!("/v1/runs/{run}/events");
    let mut following = house.service.connect();
    following.start(&Request::get(&path).bearer(&As::Observer.token()));
    let head = following.head().unwrap();
    assert_eq!(head.status, 200);
    assert_eq!(head.field("content-type"), Some("text/event-stream"));
    assert_eq!(head.field("cache-control"), Some("no-store"));
    let claimed = house.claim("planner");
    house
        .post(&claimed, "artifact?name=secret-name", "secret-text")
        .is(204, "");
    house.post(&claimed, "submit", "secret-body").is(204, "");
    let mut text = Vec::new();
    while let Some(chunk) = following.chunk() {
        text.extend(chunk);
    }
    let text = String::from_utf8(text).unwrap();
    assert!(
        !text.contains("secret-body") && !text.contains("secret-text"),
        "{text}"
    );
    assert!(!text.contains(&claimed.handle), "{text}");
    let all = events(&text);
    let kinds: Vec<&str> = all.iter().map(|(_, kind, _)| &**kind).collect();
    assert_eq!(kinds.first(), Some(&"run.started"), "{text}");
    assert_eq!(kinds.last(), Some(&"run.ended"), "{text}");
    for kind in [
        "attempt.dispatched",
        "attempt.claimed",
        "attempt.staged",
        "attempt.submitted",
    ] {
        assert!(kinds.contains(&kind), "{kind}: {text}");
    }
    let numbers: Vec<u64> = all.iter().map(|(id, ..)| *id).collect();
    assert!(
        numbers.is_sorted_by(|left, right| left < right),
        "{numbers:?}"
    );
    for (at, number) in numbers.iter().enumerate() {
        let after = Request::get(&path).field("Last-Event-ID", &number.to_string());
        let rest = house.ask(As::Observer, after);
        assert_eq!(
            events(&rest.is(200, "").text()),
            all[at + 1..],
            "after {number}"
        );
    }
    for bad in ["", "x", "-1", "1.5", "18446744073709551616"] {
        let after = Request::get(&path).field("Last-Event-ID", bad);
        house.ask(As::Observer, after).is(400, "INVALID_REQUEST");
    }
    let absent = Request::get("/v1/runs/R-0/events");
    house.ask(As::Observer, absent).is(404, "NOT_FOUND");
}

#[test]
fn i2_a_stream_shows_that_it_lives_and_ends_with_the_service() {
    let mut house = House::with(", limits: { heartbeat_ms: 10 }", &[]);
    let run = house.launch(&one_step());
    let mut following = house.service.connect();
    let path = format!("/v1/runs/{run}/events");
    following.start(&Request::get(&path).bearer(&As::Observer.token()));
    following.head().unwrap();
    let mut signs = 0;
    while signs < 3 {
        let chunk = following.chunk().unwrap();
        signs += usize::from(chunk == b":\n\n");
    }
    house.service.signal(rustix::process::Signal::TERM);
    while following.chunk().is_some() {}
    assert_eq!(house.service.exit(), Some(0));
}
