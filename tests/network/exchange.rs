//! A request of a guest on the wire, and its answer in the guest (SPEC S3; CASES WA05).

use std::net::Ipv6Addr;

use serde_json::json;

use super::calling::{Probe, assert_ok, to, with};
use crate::support::server::{Answer, Server, Setup};

#[test]
fn wa05_a_request_has_exactly_one_host() {
    let server = Server::start(|request| {
        let status = if request.count("host") == 1 { 200 } else { 400 };
        Answer::status(status).send("hello")
    });
    let result = Probe::reaching(&server).http(to(&server, "/a?b=c"));
    assert_ok(&result);
    assert_eq!(result["structuredContent"]["status"], 200, "{result}");
    assert_eq!(result["structuredContent"]["body"], "hello", "{result}");
    let requests = server.requests();
    let [request] = requests.as_slice() else {
        panic!("{} requests", requests.len());
    };
    assert_eq!(request.target, "/a?b=c");
    assert_eq!(request.count("host"), 1);
    let authority = format!("127.0.0.1:{}", server.port());
    assert_eq!(request.header("host"), Some(authority.as_str()));
}

#[test]
fn wa05_the_one_host_names_an_ipv6_literal_with_its_port() {
    let setup = Setup {
        address: Ipv6Addr::LOCALHOST.into(),
        ..Setup::default()
    };
    let server = Server::with(setup, |_request| Answer::ok("six"));
    let probe = Probe::reaching(&server);
    for host in ["[::1]", "[0:0:0:0:0:0:0:1]", "[::0001]"] {
        let authority = format!("{host}:{}", server.port());
        assert_ok(&probe.http(json!({"scheme": "http", "authority": authority, "path": "/"})));
        let request = server.requests().pop().unwrap();
        let own = format!("[::1]:{}", server.port());
        assert_eq!(
            (request.count("host"), request.header("host")),
            (1, Some(own.as_str()))
        );
    }
}

/// However the guest spells it, and however often, none of its own gets there.
#[test]
fn wa05_a_host_of_the_guest_is_never_a_second_one() {
    let server = Server::start(|_request| Answer::ok(""));
    let probe = Probe::reaching(&server);
    let authority = format!("127.0.0.1:{}", server.port());
    for names in [
        &["host"][..],
        &["Host"],
        &["HOST", "hOsT"],
        &["x-other", "Host"],
    ] {
        let headers: Vec<_> = names
            .iter()
            .map(|name| [*name, "victim.internal"])
            .collect();
        let result = probe.http(with(to(&server, "/"), json!({ "headers": headers })));
        assert_eq!(result["content"], "forbidden", "{names:?}: {result}");
        assert_eq!(result["structuredContent"]["step"], "append-header");
        let headers = json!({"headers": [["x-host", "victim.internal"]]});
        assert_ok(&probe.http(with(to(&server, "/"), headers)));
        let request = server.requests().pop().unwrap();
        assert_eq!(request.count("host"), 1, "{names:?}");
        assert_eq!(request.header("host"), Some(authority.as_str()));
    }
}

#[test]
fn s3_a_body_arrives_as_it_was_written_whatever_its_framing() {
    let server = Server::start(|request| Answer::ok(&request.body));
    let probe = Probe::reaching(&server);
    for (headers, framing) in [
        (json!([]), "transfer-encoding"),
        (json!([["content-length", "5"]]), "content-length"),
        (json!([["Content-Length", "5"]]), "content-length"),
    ] {
        let post = json!({"method": "POST", "headers": headers, "body": "five!"});
        let result = probe.http(with(to(&server, "/"), post));
        assert_ok(&result);
        assert_eq!(result["structuredContent"]["body"], "five!", "{result}");
        let request = server.requests().pop().unwrap();
        assert_eq!(request.body, b"five!");
        let framings = ["transfer-encoding", "content-length"];
        let found: Vec<_> = framings
            .iter()
            .filter(|name| request.count(name) == 1)
            .collect();
        assert_eq!(found, [&framing]);
    }
}

/// A response of each framing, and what stands behind it.
#[test]
fn s3_an_answer_is_read_to_its_end_whatever_its_framing() {
    let server = Server::start(|request| match request.target.as_str() {
        "/length" => Answer::ok("body"),
        "/chunks" => Answer::ok("bo").send("dy").trailer("x-behind", "t"),
        "/close" => Answer::status(200)
            .header("connection", "close")
            .send("body"),
        "/interim" => Answer::ok("body").after(103, 3),
        _ => Answer::status(204),
    });
    let probe = Probe::reaching(&server);
    for (path, body, trailers) in [
        ("/length", "body", json!(null)),
        ("/chunks", "body", json!([["x-behind", "t"]])),
        ("/close", "body", json!(null)),
        ("/interim", "body", json!(null)),
        ("/nothing", "", json!(null)),
    ] {
        let result = probe.http(to(&server, path));
        assert_ok(&result);
        assert_eq!(result["structuredContent"]["body"], body, "{path}");
        assert_eq!(result["structuredContent"]["trailers"], trailers, "{path}");
    }
}
