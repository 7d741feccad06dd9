//! How the service ends: what runs is let to its end, within its time (SPEC X5, L5).

use rustix::process::Signal;
use serde_json::json;

use super::client::{Connection, Request};
use super::service::Service;
use crate::support::root;

/// A service with a tool that runs until it is cancelled, and a call of it under way.
fn spinning(drain_ms: u64) -> (Service, Connection) {
    let plugin = root()
        .join("guests/dist/misbehave.wasm")
        .canonicalize()
        .unwrap();
    let config = format!("serve: {{ limits: {{ drain_ms: {drain_ms} }} }}");
    let options = [
        "-vv",
        "--plugin",
        plugin.to_str().unwrap(),
        "--allow",
        "tool=spin",
        "--limit",
        "cpu_ms=3600000",
        "--limit",
        "deadline_ms=3600000",
    ];
    let service = Service::configured(&config, &options);
    let mut connection = service.connect();
    let call = json!({"name": "spin", "arguments": {}});
    connection.start(
        &Request::post("/v1/calls")
            .bearer(&service.token())
            .json(&call),
    );
    assert!(service.says("instantiate: done"), "{}", service.said());
    (service, connection)
}

#[test]
fn x5_a_signal_ends_an_idle_service_with_success() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut service = Service::start(&[]);
        let mut idle = service.connect();
        idle.send(&Request::get("/healthz")).is(200, "");
        service.signal(signal);
        assert!(idle.is_over());
        assert_eq!(service.exit(), Some(0), "{}", service.said());
    }
}

#[test]
fn x5_what_does_not_end_in_time_is_cancelled_and_still_answered() {
    let (mut service, mut calling) = spinning(50);
    service.signal(Signal::TERM);
    let result = calling.read("POST").unwrap();
    assert_eq!(result.is(200, "").json()["status"], "cancelled");
    assert!(calling.is_over());
    assert_eq!(service.exit(), Some(0), "{}", service.said());
}

#[test]
fn x5_while_it_stops_no_new_connection_is_taken_and_open_ones_learn_of_it() {
    let (mut service, calling) = spinning(600_000);
    // A connection with half a request is open, and is answered to once it is whole.
    let mut half = service.connect();
    half.write("GET /readyz HTTP/1.1\r\nHo");
    half.write("st: localhost\r\n");
    service.signal(Signal::TERM);
    assert!(service.says("stopping"));
    while std::net::TcpStream::connect(service.address).is_ok() {
        std::thread::yield_now();
    }
    // Whoever waits for the call gives it up, and nothing holds the service up any more.
    drop(calling);
    drop(half);
    assert_eq!(service.exit(), Some(0), "{}", service.said());
}

#[test]
fn l5_the_second_signal_quits_at_once() {
    let (mut service, _calling) = spinning(600_000);
    service.signal(Signal::TERM);
    assert!(service.says("signal again"));
    service.signal(Signal::TERM);
    assert_eq!(service.exit(), Some(130));
}
