//! What one address, one token and one tenant may have at once, and how long an ended run is kept (SPEC
//! C8, X7, I10).

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::client::Request;
use super::house::{As, House, one_step};
use super::service::Service;

/// Asks again and again until it is so, for a minute at most.
fn until(mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_mins(1);
    while !is_so() {
        assert!(Instant::now() < end, "it took too long");
        thread::yield_now();
    }
}

#[test]
fn x7_an_address_has_its_share_of_the_connections() {
    let service = Service::configured("serve: { limits: { peer_connections: 2 } }", &[]);
    let mut open = [service.connect(), service.connect()];
    for connection in &mut open {
        connection.send(&Request::get("/healthz")).is(200, "");
    }
    let mut over = service.connect();
    let answer = over.read("GET").unwrap();
    answer.is(503, "TOO_MANY_CONNECTIONS");
    assert_eq!(answer.field("connection"), Some("close"));
    assert!(answer.field("retry-after").is_some());
    assert!(over.is_over());
    let [first, mut second] = open;
    second.send(&Request::get("/healthz")).is(200, "");
    let token = service.token();
    let counts = second.send(&Request::get("/metrics").bearer(&token)).text();
    let refused = "tidegate_http_connections_refused_total 1";
    assert!(counts.lines().any(|line| line == refused), "{counts}");
    drop(first);
    // As soon as the service has seen its end.
    let is_taken = || {
        let mut next = service.connect();
        next.write_on("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
        next.read("GET").is_some_and(|answer| answer.status == 200)
    };
    until(is_taken);
}

#[test]
fn x7_a_token_has_its_share_of_the_streams_of_events() {
    let house = House::with(", limits: { token_streams: 2 }", &[]);
    let run = house.launch(&one_step());
    let path = format!("/v1/runs/{run}/events");
    let follow = |who: As| {
        let mut following = house.service.connect();
        following.start(&Request::get(&path).bearer(&who.token()));
        let head = following.head().unwrap();
        (following, head.status)
    };
    let open = [follow(As::Observer), follow(As::Observer)];
    assert_eq!(open.each_ref().map(|(_, status)| *status), [200, 200]);
    let ask = || house.ask(As::Observer, Request::get(&path));
    let answer = ask();
    answer.is(429, "TOO_MANY_STREAMS");
    assert!(answer.field("retry-after").is_some());
    let [first, _second] = open;
    drop(first);
    until(|| follow(As::Observer).1 == 200);
}

#[test]
fn i2_a_tenant_has_its_share_of_open_runs() {
    let house = House::with(", limits: { open_runs: 2 }", &[]);
    let launch = |who: As| {
        let launch = json!({"blueprint": one_step()});
        house.ask(who, Request::post("/v1/flows").json(&launch))
    };
    let run = launch(As::Operator).is(202, "").json()["run"].clone();
    launch(As::Operator).is(202, "");
    launch(As::Operator).is(429, "TOO_MANY_RUNS");
    launch(As::Stranger).is(202, "");
    let cancel = format!("/v1/runs/{}/cancel", run.as_str().unwrap());
    house.ask(As::Operator, Request::post(&cancel)).is(200, "");
    launch(As::Operator).is(202, "");
    launch(As::Operator).is(429, "TOO_MANY_RUNS");
}

#[test]
fn i10_an_ended_run_that_is_old_is_gone_after_a_start_and_an_open_one_stays() {
    let house = House::with(", limits: { ended_ms: 1 }", &[]);
    let (old, open) = (house.launch(&one_step()), house.launch(&one_step()));
    let cancel = format!("/v1/runs/{old}/cancel");
    house.ask(As::Operator, Request::post(&cancel)).is(200, "");
    let house = house.restarted();
    let view = || house.ask(As::Operator, Request::get(&format!("/v1/runs/{old}")));
    until(|| view().status != 200);
    view().is(404, "NOT_FOUND");
    assert_eq!(house.view(&open)["status"], "running");
}
