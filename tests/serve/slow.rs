//! Clients that are slow, and how many there may be at once.

use std::time::{Duration, Instant};

use serde_json::json;

use super::client::Request;
use super::house::{House, step};
use super::service::Service;

#[test]
fn c8_a_head_that_does_not_come_whole_in_time_is_408() {
    let service = Service::configured("serve: { limits: { head_ms: 50 } }", &[]);
    let mut connection = service.connect();
    connection.write("GET /healthz HTTP/1.1\r\nHost: ");
    connection.read("GET").unwrap().is(408, "REQUEST_TIMEOUT");
    assert!(connection.is_over());
    // A connection on which nothing comes is closed without a word.
    assert!(service.connect().is_over());
    // And the same after a request: each head has its time.
    let mut connection = service.connect();
    connection.send(&Request::get("/healthz")).is(200, "");
    connection.write("G");
    connection.read("GET").unwrap().is(408, "REQUEST_TIMEOUT");
}

#[test]
fn c8_a_body_that_does_not_come_whole_in_time_is_408() {
    let service = Service::configured("serve: { limits: { body_ms: 50 } }", &[]);
    let mut connection = service.connect();
    let call = Request::post("/v1/calls")
        .bearer(&service.token())
        .field("Content-Type", "application/json")
        .field("Transfer-Encoding", "chunked")
        .body("3\r\n{  \r\n");
    connection.start(&call);
    connection.read("POST").unwrap().is(408, "REQUEST_TIMEOUT");
    assert!(connection.is_over());
}

#[test]
fn c8_a_kept_connection_waits_for_so_long_and_no_longer() {
    let service = Service::configured("serve: { limits: { idle_ms: 50 } }", &[]);
    let mut connection = service.connect();
    connection.send(&Request::get("/healthz")).is(200, "");
    assert!(connection.is_over());
}

#[test]
fn c8_as_many_connections_are_taken_as_there_is_room_for() {
    let service = Service::configured("serve: { limits: { connections: 2 } }", &[]);
    let mut open = [service.connect(), service.connect()];
    for connection in &mut open {
        connection.send(&Request::get("/healthz")).is(200, "");
    }
    let mut waiting = service.connect();
    waiting.start(&Request::get("/healthz"));
    let [first, mut second] = open;
    // The third is not taken: the count of open ones is two, however long one looks.
    for _ in 0..20 {
        let metrics = second.send(&Request::get("/metrics")).text();
        assert!(
            metrics.contains("tidegate_http_connections 2\n"),
            "{metrics}"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(first);
    waiting.read("GET").unwrap().is(200, "");
}

#[test]
fn c8_an_answer_that_is_not_taken_ends_its_connection() {
    let settings = ", limits: { body_bytes: 16777216, write_ms: 50 }";
    let house = House::with(settings, &[]);
    house.launch(&json!({
        "id": "large",
        "flow": {"seq": [
            step("plan", "planner", json!("plan it")),
            step("build", "builder", json!("build it")),
        ]},
        "agents": {"planner": {}, "builder": {}},
    }));
    // More than the system takes on the way.
    let planner = house.claim("planner");
    let body = "x".repeat(16 * 1024 * 1024);
    house.post(&planner, "submit", body).is(204, "");
    let builder = house.claim("builder");
    let mut deaf = house.service.connect();
    deaf.start(&Request::get("/v1/worker/content/plan").bearer(&builder.handle));
    let mut looking = house.service.connect();
    let start = Instant::now();
    loop {
        let metrics = looking.send(&Request::get("/metrics")).text();
        // Its own is the one that is left; the other was answered before it was given up.
        let is_alone = metrics.contains("tidegate_http_connections 1\n");
        if is_alone && metrics.contains("route=\"/v1/worker/content/{step}\"") {
            break;
        }
        assert!(start.elapsed() < Duration::from_mins(1), "{metrics}");
        std::thread::yield_now();
    }
}
