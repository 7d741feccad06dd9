//! The length that a guest says its body has, and what it then writes (CASES WA15).

use serde_json::json;

use super::calling::{Probe, assert_ok, to, with};
use crate::support::server::{Answer, Server};

fn closing() -> Server {
    Server::start(|_request| Answer::ok("").header("connection", "close"))
}

#[test]
fn wa15_a_length_is_digits_and_stands_there_once() {
    let server = closing();
    let probe = Probe::reaching(&server);
    for lengths in [
        &["+5"][..],
        &["-1"],
        &["0x5"],
        &[" 5"],
        &["5 "],
        &[""],
        &["5,5"],
        &["5;5"],
        &["5.0"],
        &["1e1"],
        &["\u{665}"],
        &["18446744073709551616"],
        &["5", "6"],
        &["5", "5"],
    ] {
        let headers: Vec<_> = lengths
            .iter()
            .map(|length| ["Content-Length", *length])
            .collect();
        let post = json!({"method": "POST", "headers": headers, "body": "five!"});
        let result = probe.http(with(to(&server, "/"), post));
        assert_eq!(result["content"], "invalid-syntax", "{lengths:?}: {result}");
    }
    assert_eq!(server.connections(), 0);
    let post = json!({"method": "POST", "headers": [["Content-Length", "005"]], "body": "five!"});
    assert_ok(&probe.http(with(to(&server, "/"), post)));
    assert_eq!(server.requests()[0].header("content-length"), Some("5"));
}

#[test]
fn wa15_a_length_without_a_body_is_refused_before_a_connection_is_opened() {
    let server = closing();
    let probe = Probe::reaching(&server);
    for length in ["1", "10", "18446744073709551615"] {
        let post = json!({
            "method": "POST", "headers": [["content-length", length]], "no_body": true,
        });
        let result = probe.http(with(to(&server, "/"), post));
        assert_eq!(result["content"], "HTTP-request-body-size", "{result}");
    }
    assert_eq!(server.connections(), 0);
    let none = json!({"method": "POST", "headers": [["content-length", "0"]], "no_body": true});
    assert_ok(&probe.http(with(to(&server, "/"), none)));
}

/// A guest that writes less than it said has no answer, and the server never a whole request.
#[test]
fn wa15_a_body_shorter_than_said_is_no_request() {
    let server = closing();
    let probe = Probe::reaching(&server);
    for (length, body, drop_body) in [
        ("10", "", false),
        ("10", "", true),
        ("10", "five!", false),
        ("10", "five!", true),
        ("1", "", false),
    ] {
        let headers = [["content-length", length]];
        let post = json!({
            "method": "POST", "headers": headers, "body": body, "drop_body": drop_body,
        });
        let result = probe.http(with(to(&server, "/"), post));
        assert_ne!(
            result["content"], "ok",
            "{length} {body} {drop_body}: {result}"
        );
        assert_eq!(server.requests().len(), 0, "{length} {body} {drop_body}");
        let fault = &result["structuredContent"]["bodyError"];
        let told = if drop_body {
            json!(null)
        } else {
            json!("HTTP-request-body-size")
        };
        assert_eq!(fault["error"], told, "{result}");
    }
}

/// What a guest writes beyond what it said is not sent: it would be the start of another request.
#[test]
fn wa15_what_goes_over_the_length_is_never_sent() {
    let server = Server::start(|_request| Answer::ok(""));
    let probe = Probe::reaching(&server);
    let smuggled = "five!GET /evil HTTP/1.1\r\nhost: a\r\n\r\n";
    for length in ["0", "5"] {
        let headers = [["content-length", length]];
        let post = json!({"method": "POST", "headers": headers, "body": smuggled});
        let result = probe.http(with(to(&server, "/"), post));
        let fault = &result["structuredContent"]["bodyError"]["error"];
        // The request may be over before the rest is written.
        assert!(
            ["HTTP-request-body-size", "closed"].contains(&fault.as_str().unwrap()),
            "{result}"
        );
    }
    probe.reaches(&server);
    for bytes in server.raw() {
        let bytes = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!bytes.contains("evil"), "{bytes:?}");
    }
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.target == "/")
    );
}
