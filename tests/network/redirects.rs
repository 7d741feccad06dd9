//! The host follows no redirect: a guest that does passes the gate again (SPEC S3; CASES NE01, NE10).

use serde_json::{Value, json};
use tidegate_sandbox::{Injection, Secret};

use super::addresses::Names;
use super::calling::{Probe, assert_ok, by_name, denied, grant, to};
use crate::support::Fixture;
use crate::support::server::{Answer, Server};

const KEY: &str = "key-0123456789";

/// Asks for where an answer leads, as a guest does that follows it.
fn follow(probe: &Probe, result: &Value) -> Value {
    let headers = result["structuredContent"]["headers"].as_array().unwrap();
    let location = headers.iter().find(|field| field[0] == "location");
    let location = location.unwrap()[1].as_str().unwrap();
    let (scheme, rest) = location.split_once("://").unwrap();
    let (authority, path) = rest.split_once('/').unwrap();
    let path = format!("/{path}");
    probe.http(json!({"scheme": scheme, "authority": authority, "path": path}))
}

#[test]
fn ne01_a_redirect_is_an_answer_and_nobody_goes_there() {
    let elsewhere = Server::start(|_request| Answer::ok("inside"));
    let other = format!("{}/x", elsewhere.origin());
    for status in [301, 302, 303, 307, 308] {
        for location in [
            &*other,
            "http://169.254.169.254/x",
            "http://[::1]/",
            "file:///etc/passwd",
        ] {
            let leads = location.to_owned();
            let server = Server::start(move |_request| Answer::redirect(status, &leads));
            let probe = Probe::reaching(&server);
            let result = probe.http(to(&server, "/"));
            assert_ok(&result);
            assert_eq!(result["structuredContent"]["status"], status);
            assert_eq!(server.requests().len(), 1);
            assert_eq!(denied(&result), Vec::<String>::new());
            let followed = follow(&probe, &result);
            assert_ne!(followed["content"], "ok", "{location}: {followed}");
        }
    }
    assert_eq!(elsewhere.connections(), 0);
    Probe::reaching(&elsewhere).reaches(&elsewhere);
}

#[test]
fn ne01_eleven_hops_are_eleven_requests_of_the_guest() {
    let server = Server::start(|request| Answer::redirect(302, &format!("{}x", request.target)));
    let probe = Probe::of(&Fixture::new(&[&grant(&server)]).limit("http_requests", 1));
    for hop in 1..=11 {
        assert_ok(&probe.http(to(&server, &format!("/{hop}"))));
        assert_eq!(server.requests().len(), hop);
    }
}

/// Both origins are granted and the second one gets what the guest sends, but not the key.
#[test]
fn ne10_the_key_of_an_origin_is_not_sent_where_it_redirects_to() {
    let second = Server::start(|_request| Answer::ok(""));
    let port = second.port();
    for location in [
        format!("http://127.0.0.1:{port}/x"),
        format!("http://h.test:{port}/x"),
        format!("http://H.TEST.:{port}/x"),
    ] {
        for header in ["authorization", "x-api-key", "cookie"] {
            let leads = location.clone();
            let first = Server::start(move |_request| Answer::redirect(302, &leads));
            let probe = keyed(&first, &second, header);
            let before = second.requests().len();
            let result = probe.http(by_name("http", "h.test", &first));
            assert_ok(&result);
            assert_ok(&follow(&probe, &result));
            let [sent] = &first.requests()[..] else {
                panic!("one request to the first");
            };
            assert_eq!(sent.header(header), Some(KEY));
            let [followed] = &second.requests()[before..] else {
                panic!("one request to the second");
            };
            assert_eq!(followed.count(header), 0, "{location}");
            assert!(!String::from_utf8_lossy(&followed.raw).contains(KEY));
        }
    }
}

/// A probe that may reach both, and that has a key for the first.
fn keyed(first: &Server, second: &Server, header: &str) -> Probe {
    let allow = [
        format!("network=http://h.test:{},127.0.0.1", first.port()),
        format!("network=http://h.test:{},127.0.0.1", second.port()),
        grant(second),
    ];
    let mut fixture = Fixture::new(&allow.each_ref().map(String::as_str));
    let names = Names::leading_to(&["127.0.0.1"]);
    fixture.network = fixture.network.with_resolver(names);
    let origin = format!("http://h.test:{}", first.port());
    let secret = Secret::new(KEY.to_owned()).unwrap();
    fixture.inject = vec![Injection::new(&origin, header, "", secret).unwrap()];
    Probe::of(&fixture)
}
