//! Servers that take their time: the deadline of the call ends every wait, and the guest's own bounds
//! end theirs (CASES NE12, WA07, WA16).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::calling::{Probe, assert_ended, assert_ok, assert_told, grant, to, with};
use crate::support::Fixture;
use crate::support::server::{Answer, Authority, Moment, Server, Setup};

/// How soon a connection is closed that nobody waits on any more.
const SOON: Duration = Duration::from_millis(500);

fn limited(server: &Server, deadline_ms: u64) -> Probe {
    Probe::of(&Fixture::new(&[&grant(server)]).limit("deadline_ms", deadline_ms))
}

/// Calls until the deadline; it must be that which ends it.
fn check_deadline(server: &Server, deadline_ms: u64, more: Value) {
    let told = more.to_string();
    let probe = limited(server, deadline_ms);
    let start = Instant::now();
    let result = probe.http(with(to(server, "/"), more));
    let elapsed = start.elapsed();
    let says = format!("deadline_ms = {deadline_ms}");
    assert_ended(&result, "timeout", "LIMIT_DEADLINE", &says);
    let deadline = Duration::from_millis(deadline_ms);
    assert!(elapsed >= deadline, "{told}: {elapsed:?}");
    let late = if deadline_ms < 1_000 { 1_000 } else { 500 };
    assert!(
        elapsed < deadline + Duration::from_millis(late),
        "{told}: {elapsed:?}"
    );
    assert!(
        server.closed_within(SOON),
        "{told}: the connection stays open"
    );
}

const DRIP: Duration = Duration::from_millis(100);

#[test]
fn ne12_a_body_that_drips_ends_at_the_deadline_and_is_no_success() {
    let server = Server::start(|request| match request.target.as_str() {
        "/short" => Answer::ok("").drip("short", Duration::from_millis(10)),
        _ => Answer::ok("").drip(vec![b'a'; 1_000], DRIP),
    });
    check_deadline(&server, 2_000, json!({"between_bytes_timeout_ms": 1_000}));
    assert_ok(&limited(&server, 2_000).http(to(&server, "/short")));
}

#[test]
fn ne12_a_head_that_drips_ends_at_the_deadline_and_is_no_success() {
    let head =
        "HTTP/1.1 200 OK\r\nx-long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n\r\n";
    let server = Server::start(move |_request| Answer::raw("").drip(head, DRIP));
    check_deadline(&server, 2_000, json!({"first_byte_timeout_ms": 60_000}));
    let server = Server::start(|_request| {
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
        Answer::raw("").drip(head, Duration::from_millis(5))
    });
    assert_ok(&limited(&server, 2_000).http(to(&server, "/")));
}

/// Chunks, coded bytes and interim responses are pieces too.
#[test]
fn ne12_whatever_drips_ends_at_the_deadline() {
    let scripts: [fn() -> Answer; 3] = [
        || Answer::ok("").chunked().drip(vec![b'a'; 1_000], DRIP),
        || {
            let body = crate::support::server::gzip(&[b'a'; 1_000]);
            Answer::status(200)
                .header("content-encoding", "gzip")
                .drip(body, DRIP)
        },
        || Answer::raw("").drip("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100), DRIP),
    ];
    for script in scripts {
        let server = Server::start(move |_request| script());
        check_deadline(&server, 1_000, json!({}));
    }
}

/// A few may come before the answer; a flood would keep the host busy with nothing.
#[test]
fn ne12_interim_answers_without_end_are_no_answer() {
    for times in [1, 64] {
        let server = Server::start(move |_request| Answer::ok("a").after(103, times));
        assert_ok(&limited(&server, 5_000).http(to(&server, "/")));
    }
    let server = Server::start(|_request| Answer::ok("a").after(100, u64::MAX));
    let result = limited(&server, 5_000).http(to(&server, "/"));
    assert_told(&result, "HTTP-protocol-error");
    assert!(server.closed_within(SOON));
}

#[test]
fn wa07_a_server_that_never_answers_is_left_at_the_deadline() {
    let silent = |moment| {
        let setup = Setup {
            moment,
            ..Setup::default()
        };
        Server::with(setup, |_request| Answer::silence())
    };
    // A body that nobody reads fills what is between the two.
    for body_bytes in [0, 100, 64 << 20] {
        for moment in [Moment::Connection, Moment::Head, Moment::Request] {
            if moment != Moment::Head && body_bytes > 100 {
                continue;
            }
            let post = json!({"method": "POST", "body_bytes": body_bytes});
            check_deadline(&silent(moment), 500, post);
        }
    }
}

#[test]
fn wa07_half_an_answer_is_left_at_the_deadline() {
    for half in [
        "H",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nx-t: ",
        "HTTP/1.1 100 Continue\r\n\r\n",
    ] {
        let server = Server::start(move |_request| Answer::raw(half).hang());
        check_deadline(&server, 500, json!({}));
    }
    let server = Server::start(|_request| Answer::raw("HTTP/1.1 204 No\r\n\r\n"));
    assert_ok(&limited(&server, 500).http(to(&server, "/")));
}

/// Connected to by the kernel, but accepted by nobody.
#[test]
fn wa07_a_listener_that_never_accepts_is_left_at_the_deadline() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    let trusted = Authority::new();
    for scheme in ["http", "https"] {
        let allow = format!("network={scheme}://{authority}");
        let mut fixture = Fixture::new(&[&allow]).limit("deadline_ms", 500);
        let network = fixture.network.with_authorities(trusted.pem().as_bytes());
        fixture.network = network.unwrap();
        let probe = Probe::of(&fixture);
        let start = Instant::now();
        let result = probe.http(json!({"scheme": scheme, "authority": authority, "path": "/"}));
        assert_ended(&result, "timeout", "LIMIT_DEADLINE", "deadline_ms = 500");
        assert!(start.elapsed() < Duration::from_millis(1_500));
    }
}

/// Whatever takes any time takes more than none, and less than ages.
#[test]
fn wa16_a_bound_of_nothing_or_of_ages_is_a_bound() {
    let late = Duration::from_millis(50);
    let server = Server::start(move |_request| {
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n";
        Answer::raw("").pause(late).send(head).drip("ab", late)
    });
    let probe = limited(&server, 5_000);
    let bounds = [
        "connect_timeout_ms",
        "first_byte_timeout_ms",
        "between_bytes_timeout_ms",
    ];
    for bound in bounds {
        // 584 years as nanoseconds, and more than fit.
        for ages in [18_446_744_073_709_u64, u64::MAX / 1_000_000 + 1, u64::MAX] {
            assert_ok(&probe.http(with(to(&server, "/"), json!({bound: ages}))));
        }
    }
    for (bound, told) in [
        ("first_byte_timeout_ms", "HTTP-response-timeout"),
        ("between_bytes_timeout_ms", "connection-read-timeout"),
    ] {
        assert_told(&probe.http(with(to(&server, "/"), json!({bound: 0}))), told);
    }
    let all = |value: u64| {
        bounds
            .into_iter()
            .map(move |bound| (bound.to_owned(), json!(value)))
    };
    for (value, is_enough) in [(0, false), (2_000, true), (u64::MAX, true)] {
        let result = probe.http(with(to(&server, "/"), all(value).collect()));
        assert_eq!(result["content"] == "ok", is_enough, "{value}: {result}");
    }
}

/// A handshake that never comes is part of connecting.
#[test]
fn wa16_connecting_in_no_time_is_told_as_such() {
    let authority = Authority::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut fixture = Fixture::new(&[&format!("network=https://{address}")]);
    let network = fixture.network.with_authorities(authority.pem().as_bytes());
    fixture.network = network.unwrap();
    let probe = Probe::of(&fixture);
    for wait_ms in [0, 1, 100] {
        let result = probe.http(json!({
            "scheme": "https", "authority": address, "path": "/", "connect_timeout_ms": wait_ms,
        }));
        assert_told(&result, "connection-timeout");
    }
}

#[test]
fn wa16_each_bound_of_the_guest_ends_its_own_wait() {
    let server = Server::start(|request| match request.target.as_str() {
        "/head" => Answer::silence(),
        _ => Answer::ok("a").hang(),
    });
    let probe = limited(&server, 5_000);
    for (path, bound, told) in [
        ("/head", "first_byte_timeout_ms", "HTTP-response-timeout"),
        (
            "/body",
            "between_bytes_timeout_ms",
            "connection-read-timeout",
        ),
    ] {
        let start = Instant::now();
        let result = probe.http(with(to(&server, path), json!({bound: 200})));
        assert_told(&result, told);
        let elapsed = start.elapsed();
        assert!(elapsed >= Duration::from_millis(200), "{path}: {elapsed:?}");
        assert!(elapsed < Duration::from_secs(3), "{path}: {elapsed:?}");
        assert!(server.closed_within(SOON), "{path}");
    }
}
