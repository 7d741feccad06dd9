//! `http_requests` and `http_response_bytes` at their edges; a guest that makes nothing of the error
//! ends all the same (SPEC S5).

use serde_json::{Value, json};

use super::calling::{Probe, assert_ended, assert_ok, grant, to, with};
use crate::support::Fixture;
use crate::support::server::{Answer, Server};

fn limited(server: &Server, name: &str, value: u64) -> Probe {
    Probe::of(&Fixture::new(&[&grant(server)]).limit(name, value))
}

fn assert_too_many(result: &Value, limit: u64) {
    let says = format!("http_requests = {limit}");
    assert_ended(result, "failed", "LIMIT_HTTP", &says);
}

fn assert_too_large(result: &Value, limit: u64) {
    let says = format!("http_response_bytes = {limit}");
    assert_ended(result, "failed", "LIMIT_HTTP", &says);
}

#[test]
fn s5_so_many_requests_and_not_one_more() {
    let server = Server::start(|_request| Answer::ok("a"));
    for limit in [1, 3, 16] {
        let probe = limited(&server, "http_requests", limit);
        for (times, is_over) in [(limit - 1, false), (limit, false), (limit + 1, true)] {
            if times == 0 {
                continue;
            }
            let before = server.requests().len();
            let result = probe.http(with(to(&server, "/"), json!({ "times": times })));
            if is_over {
                assert_too_many(&result, limit);
            } else {
                assert_ok(&result);
            }
            let made = server.requests().len() - before;
            assert_eq!(u64::try_from(made).unwrap(), times.min(limit));
        }
    }
    let none = limited(&server, "http_requests", 0);
    let before = server.connections();
    assert_too_many(&none.http(to(&server, "/")), 0);
    assert_eq!(server.connections(), before);
}

#[test]
fn s5_requests_at_once_count_like_those_in_a_row() {
    let server = Server::start(|_request| Answer::ok("a"));
    let probe = limited(&server, "http_requests", 4);
    let result = probe.call(
        "http_many",
        with(to(&server, "/"), json!({"concurrent": 4})),
    );
    assert_eq!(result["content"], "ok: 4", "{result}");
    for concurrent in [5, 100] {
        let many = json!({ "concurrent": concurrent });
        assert_too_many(&probe.call("http_many", with(to(&server, "/"), many)), 4);
    }
    // Of what a call had sent when it ended, some is read by the server later.
    assert!(server.requests().len() <= 3 * 4);
}

/// What is denied costs nothing, and each call counts for itself.
#[test]
fn s5_a_denied_request_is_none() {
    let server = Server::start(|_request| Answer::ok("a"));
    let probe = limited(&server, "http_requests", 2);
    let other = json!({
        "scheme": "http", "authority": "127.0.0.1:1", "path": "/", "times": 20,
    });
    assert_eq!(probe.http(other)["content"], "HTTP-request-denied");
    for _call in 0..3 {
        assert_ok(&probe.http(with(to(&server, "/"), json!({"times": 2}))));
    }
}

/// A server whose answers have as many bytes as the path says, in a framing or coding.
fn sized() -> Server {
    Server::start(|request| {
        let mut parts = request.target.split('/').skip(1);
        let (kind, size) = (
            parts.next().unwrap(),
            parts.next().unwrap().parse().unwrap(),
        );
        let body = vec![b'a'; size];
        match kind {
            "length" => Answer::ok(body),
            "chunks" => Answer::ok(body).chunked(),
            "bytes" => Answer::status(200)
                .chunked()
                .repeat("a", u64::try_from(size).unwrap()),
            "trailers" => Answer::ok(body).trailer("x-behind", "t"),
            "close" => Answer::status(200).header("connection", "close").send(body),
            "gzip" => Answer::gzip(body),
            _ => panic!("{kind}"),
        }
    })
}

const KINDS: [&str; 6] = ["length", "chunks", "bytes", "trailers", "close", "gzip"];

#[test]
fn s5_a_body_of_the_limit_is_whole_and_one_byte_more_ends_the_call() {
    let server = sized();
    for limit in [1, 1_000, 65_536, 4 << 20] {
        let probe = limited(&server, "http_response_bytes", limit);
        for kind in KINDS {
            for size in [limit - 1, limit, limit + 1] {
                let result = probe.http(to(&server, &format!("/{kind}/{size}")));
                if size > limit {
                    assert_too_large(&result, limit);
                    continue;
                }
                assert_ok(&result);
                assert_eq!(result["structuredContent"]["bodyBytes"], size, "{kind}");
            }
        }
    }
}

/// The bound is for what is read: a guest that stops at the limit has passed nothing.
#[test]
fn s5_a_body_that_is_not_read_is_not_counted() {
    let server = Server::start(|_request| Answer::status(200).endless("0123456789abcdef"));
    let probe = limited(&server, "http_response_bytes", 100_000);
    for read in [json!("none"), json!(1), json!(50_000)] {
        let result = probe.http(with(to(&server, "/"), json!({ "read": read })));
        assert_ok(&result);
    }
    let result = probe.http(with(to(&server, "/"), json!({"read": 100_001})));
    assert_too_large(&result, 100_000);
}

/// The last of several requests passes the bound, or the first: nothing that comes after counts.
#[test]
fn s5_a_guest_that_goes_on_after_the_bound_ends_all_the_same() {
    let server = Server::start(|request| {
        let size = if request.number.is_multiple_of(3) {
            2_000
        } else {
            10
        };
        Answer::ok(vec![b'a'; size])
    });
    let probe = limited(&server, "http_response_bytes", 1_000);
    for times in [1, 2, 3] {
        let times = json!({ "times": times, "pause_ms": 1 });
        assert_too_large(&probe.http(with(to(&server, "/"), times)), 1_000);
        let left = server.requests().len() % 3;
        for _request in left..3 {
            probe.http(to(&server, "/"));
        }
    }
}

#[test]
fn s5_a_head_or_bodiless_answer_is_no_body() {
    let server = Server::start(|request| match request.target.as_str() {
        "/304" => Answer::status(304).header("content-length", "100000"),
        "/204" => Answer::status(204),
        _ => Answer::gzip(vec![b'a'; 100_000]),
    });
    let probe = limited(&server, "http_response_bytes", 10);
    for (method, path) in [
        ("HEAD", "/"),
        ("GET", "/304"),
        ("GET", "/204"),
        ("HEAD", "/304"),
    ] {
        let result = probe.http(with(to(&server, path), json!({ "method": method })));
        assert_ok(&result);
        assert_eq!(
            result["structuredContent"]["bodyBytes"], 0,
            "{method} {path}"
        );
    }
    assert_too_large(&probe.http(to(&server, "/")), 10);
}
