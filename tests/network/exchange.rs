//! A request of a guest on the wire, and its answer in the guest (SPEC S3).

use serde_json::{Value, json};

use crate::support::server::{Answer, Server};
use crate::support::{Fixture, call, engine};

/// Calls the probe's `http` with these arguments over a server, of which `allow` is granted.
fn exchange(allow: &str, arguments: Value) -> Value {
    let fixture = Fixture::new(&[allow]);
    let runtime = engine().block_on(fixture.runtime(&["probe"]));
    let made = runtime.act_tool(call("http", arguments), tidegate::InvokeOptions::default());
    serde_json::to_value(engine().block_on(made).unwrap()).unwrap()
}

#[test]
fn wa05_a_request_has_exactly_one_host() {
    let server = Server::start(|_request| Answer::ok("hello"));
    let origin = server.origin();
    let authority = origin.strip_prefix("http://").unwrap();
    let result = exchange(
        &format!("network={origin}"),
        json!({"scheme": "http", "authority": authority, "path": "/a?b=c"}),
    );
    assert_eq!(result["content"], "ok", "{result}");
    assert_eq!(result["structuredContent"]["body"], "hello", "{result}");
    let requests = server.requests();
    let [request] = requests.as_slice() else {
        panic!("{} requests", requests.len());
    };
    assert_eq!(request.target, "/a?b=c");
    assert_eq!(request.count("host"), 1);
    assert_eq!(request.header("host"), Some(authority));
}
