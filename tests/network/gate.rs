//! The gate judges parsed URLs: what is written around a host, or written oddly, changes nothing
//! (SPEC S3; CASES NE04, NE05, NE06, NE07, WA13).

use serde_json::{Value, json};

use super::calling::{Probe, assert_ok, assert_told, denied, grant, to, with};
use crate::support::server::{Answer, Server};

/// What no record and no message may show of a URL.
const PRIVATE: [&str; 4] = ["user-of-url", "word-of-url", "path-of-url", "query-of-url"];

/// Asks for an authority with a path and a query that are nobody's business.
fn reach(probe: &Probe, scheme: &str, authority: &str) -> Value {
    let result = probe.http(json!({
        "scheme": scheme,
        "authority": authority,
        "path": "/path-of-url?q=query-of-url",
    }));
    let record = result["metadata"].to_string();
    for private in PRIVATE {
        assert!(!record.contains(private), "{authority}: {record}");
    }
    result
}

/// Checks that each authority is refused the guest with one of these errors, with nobody asked.
fn check_refused(server: &Server, authorities: &[String]) {
    let probe = Probe::reaching(server);
    for authority in authorities {
        let result = reach(&probe, "http", authority);
        let told = result["content"].as_str().unwrap();
        let refusals = ["HTTP-request-denied", "HTTP-request-URI-invalid", "refused"];
        assert!(refusals.contains(&told), "{authority}: {result}");
        // What is no authority never comes as far as the gate.
        let is_judged = told == "HTTP-request-denied";
        let count = denied(&result).len();
        assert!(
            count == 1 || (count == 0 && !is_judged),
            "{authority}: {result}"
        );
    }
    assert_eq!(server.connections(), 0);
    probe.reaches(server);
}

#[test]
fn ne05_a_host_is_what_the_parser_says_and_no_part_of_the_text() {
    let server = Server::start(|_request| Answer::ok(""));
    let own = format!("127.0.0.1:{}", server.port());
    let port = server.port();
    check_refused(
        &server,
        &[
            format!("{own}@evil.example"),
            format!("user-of-url:word-of-url@{own}"),
            format!("user-of-url@{own}"),
            format!(":word-of-url@{own}"),
            format!("evil.example\\@{own}"),
            format!("evil.example#@{own}"),
            format!("evil.example?@{own}"),
            format!("evil.example/{own}"),
            format!("{own}.evil.example"),
            format!("127.0.0.1.evil.example:{port}"),
            format!("evil.example%2f@{own}"),
            format!("127.0.0.1:{port}0"),
            format!("127.0.0.1:{port}:80"),
            "127.0.0.1".to_owned(),
            format!("127.0.0.2:{port}"),
            format!("localhost:{port}"),
            format!("[::1]:{port}"),
            String::new(),
        ],
    );
}

/// To the parser an empty user is none: what is judged and sent is the host alone.
#[test]
fn ne05_an_empty_user_is_no_user() {
    let server = Server::start(|_request| Answer::ok(""));
    let own = format!("127.0.0.1:{}", server.port());
    let probe = Probe::reaching(&server);
    for authority in [format!("@{own}"), format!(":@{own}")] {
        assert_ok(&reach(&probe, "http", &authority));
        let request = server.requests().pop().unwrap();
        assert_eq!(request.header("host"), Some(own.as_str()));
        assert_eq!(request.count("authorization"), 0);
    }
    let result = reach(&probe, "http", "@evil.example");
    assert_eq!(denied(&result), ["network:http://evil.example"]);
}

#[test]
fn ne05_without_any_grant_a_denial_shows_no_user_path_or_query() {
    let probe = Probe::granted(&[]);
    for (authority, record) in [
        ("evil.example", "network:http://evil.example"),
        (
            "user-of-url:word-of-url@evil.example",
            "network:http://evil.example",
        ),
        (
            "user-of-url@EVIL.example.:8080",
            "network:http://evil.example:8080",
        ),
        (
            "word-of-url@[::ffff:127.0.0.1]",
            "network:http://[::ffff:7f00:1]",
        ),
    ] {
        let result = reach(&probe, "http", authority);
        assert_told(&result, "HTTP-request-denied");
        let shown = denied(&result);
        let [shown] = shown.as_slice() else {
            panic!("{authority}: {shown:?}");
        };
        // A mapped address may be shown in either of its forms.
        let other = "network:http://[::ffff:127.0.0.1]";
        assert!(
            shown == record || (record.contains("ffff") && shown == other),
            "{authority}: {shown}"
        );
    }
}

/// A browser reads each of these as 127.0.0.1, and so does the gate: with the grant for that address
/// they are the granted server, without it they are denied.
#[test]
fn ne04_odd_spellings_of_an_address_are_judged_as_that_address() {
    let server = Server::start(|_request| Answer::ok(""));
    let without = Probe::granted(&["network=http://127.0.0.1:1"]);
    let with = Probe::reaching(&server);
    for host in [
        "2130706433",
        "0177.0.0.1",
        "0x7f.1",
        "0x7F.0x0.0x0.0x1",
        "127.1",
        "127.0.1",
        "017700000001",
        "127.0.0.1.",
        "127%2E0%2E0%2E1",
        "0x7f000001",
    ] {
        let authority = format!("{host}:{}", server.port());
        let result = reach(&without, "http", &authority);
        let told = result["content"].as_str().unwrap();
        // The text of a percent may be refused before anybody parses it.
        assert!(
            ["HTTP-request-denied", "refused"].contains(&told),
            "{host}: {result}"
        );
        if told == "refused" {
            assert!(host.contains('%'), "{host}: {result}");
            continue;
        }
        let record = format!("network:http://127.0.0.1:{}", server.port());
        assert_eq!(denied(&result), [record], "{host}");
        let result = reach(&with, "http", &authority);
        assert_ok(&result);
        let request = server.requests().pop().unwrap();
        let own = format!("127.0.0.1:{}", server.port());
        assert_eq!(request.header("host"), Some(own.as_str()), "{host}");
    }
    let result = reach(&without, "http", "50.500");
    assert_eq!(denied(&result), ["network:http://50.0.1.244"]);
}

#[test]
fn ne06_a_dot_at_the_end_is_the_same_host_for_grant_and_denial() {
    let probe = Probe::granted(&["network=http://api.example.com"]);
    for (authority, record) in [
        ("localhost.", "network:http://localhost"),
        ("db.localhost", "network:http://db.localhost"),
        (
            "metadata.google.internal.",
            "network:http://metadata.google.internal",
        ),
        (
            "METADATA.google.internal",
            "network:http://metadata.google.internal",
        ),
        (
            "api.example.com.evil.example",
            "network:http://api.example.com.evil.example",
        ),
    ] {
        let result = reach(&probe, "http", authority);
        assert_told(&result, "HTTP-request-denied");
        assert_eq!(denied(&result), [record]);
    }
}

#[test]
fn ne05_a_grant_is_for_its_scheme_and_port_alone() {
    let server = Server::start(|_request| Answer::ok(""));
    let probe = Probe::granted(&[&grant(&server)]);
    let authority = format!("127.0.0.1:{}", server.port());
    let result = reach(&probe, "https", &authority);
    assert_told(&result, "HTTP-request-denied");
    assert_eq!(denied(&result), [format!("network:https://{authority}")]);
    for scheme in ["ftp", "file", "ws", "gopher", "HTTP", "unix"] {
        let result = reach(&probe, scheme, &authority);
        assert_ne!(result["content"], "ok", "{scheme}: {result}");
    }
    assert_eq!(server.connections(), 0);
    probe.reaches(&server);
}

#[test]
fn s3_connect_and_trace_are_no_methods() {
    let server = Server::start(|_request| Answer::ok(""));
    let probe = Probe::reaching(&server);
    for method in ["CONNECT", "TRACE", "connect"] {
        let result = probe.http(with(to(&server, "/"), json!({ "method": method })));
        if method != "connect" {
            assert_told(&result, "HTTP-request-URI-invalid");
            assert_eq!(server.connections(), 0);
        }
    }
    for method in [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW",
    ] {
        assert_ok(&probe.http(with(to(&server, "/"), json!({ "method": method }))));
        assert_eq!(server.requests().pop().unwrap().method, method);
    }
}

#[test]
fn wa13_a_body_for_a_host_that_is_not_granted_is_denied_and_the_guest_goes_on() {
    let server = Server::start(|_request| Answer::ok(""));
    for allow in [&[][..], &["network=http://127.0.0.1:1"]] {
        let probe = Probe::granted(allow);
        for bytes in [0, 1, 65_536, 1 << 20, 4 << 20] {
            for drop_body in [false, true] {
                let body = json!({
                    "method": "POST",
                    "body_bytes": bytes,
                    "drop_body": drop_body,
                });
                let result = probe.http(with(to(&server, "/"), body));
                assert_told(&result, "HTTP-request-denied");
                let record = format!("network:{}", server.origin());
                assert_eq!(denied(&result), [record], "{allow:?} {bytes}");
            }
        }
    }
    assert_eq!(server.connections(), 0);
    let body = json!({"method": "POST", "body_bytes": 1 << 20});
    assert_ok(&Probe::reaching(&server).http(with(to(&server, "/"), body)));
    assert_eq!(server.requests().pop().unwrap().body.len(), 1 << 20);
}
