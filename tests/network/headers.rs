//! `http_header_bytes` at its edges, counted as name, value and 32 for each header, both ways
//! (SPEC S5).

use serde_json::{Value, json};

use super::calling::{Probe, assert_ended, assert_ok, grant, to, with};
use crate::support::Fixture;
use crate::support::server::{Answer, Authority, Server};

fn limited(server: &Server, limit: u64) -> Probe {
    Probe::of(&Fixture::new(&[&grant(server)]).limit("http_header_bytes", limit))
}

fn check(result: &Value, is_over: bool, limit: u64) {
    if is_over {
        let says = format!("http_header_bytes = {limit}");
        assert_ended(result, "failed", "LIMIT_HTTP", &says);
    } else {
        assert_ok(result);
    }
}

/// What the host sends in every request beside the guest's: `accept-encoding: gzip, deflate`.
const OWN: usize = 15 + 13 + 32;

#[test]
fn s5_request_headers_of_the_limit_are_sent_and_one_byte_more_is_not() {
    let server = Server::start(|_request| Answer::status(204));
    for limit in [500_usize, 4_000, 65_536] {
        let probe = limited(&server, limit.try_into().unwrap());
        let most = limit - OWN - ("x-own".len() + 32);
        for size in [most - 1, most, most + 1] {
            let before = server.requests().len();
            let headers = json!({"headers": [["x-own", "v".repeat(size)]]});
            let result = probe.http(with(to(&server, "/"), headers));
            let is_over = size > most;
            check(&result, is_over, limit.try_into().unwrap());
            assert_eq!(server.requests().len() - before, usize::from(!is_over));
        }
    }
}

#[test]
fn s5_many_small_request_headers_count_with_32_for_each() {
    let server = Server::start(|_request| Answer::status(204));
    // `x-000: a` takes 38 bytes.
    let probe = limited(&server, u64::try_from(OWN + 50 * 38).unwrap());
    for count in [49, 50, 51, 100] {
        for is_one_name in [false, true] {
            let name = |number| if is_one_name { 0 } else { number };
            let headers: Vec<_> = (0..count)
                .map(|number| [format!("x-{:03}", name(number)), "a".to_owned()])
                .collect();
            let result = probe.http(with(to(&server, "/"), json!({ "headers": headers })));
            check(&result, count > 50, u64::try_from(OWN + 50 * 38).unwrap());
        }
    }
    assert_eq!(server.requests().len(), 4);
}

/// A server over plain HTTP/1, and over TLS with each protocol; answers are as the path says.
fn servers(authority: &Authority) -> Vec<Server> {
    let script = |request: &crate::support::server::Request| {
        let mut parts = request.target.split('/').skip(1);
        let (kind, size): (_, usize) = (
            parts.next().unwrap(),
            parts.next().unwrap().parse().unwrap(),
        );
        match kind {
            // 7 + 32 bytes and the value.
            "one" => Answer::status(204).header("x-large", "v".repeat(size - 39)),
            // 40 bytes each.
            "many" => Answer::status(204).headers(size),
            "trailer" => Answer::ok("body").trailer("x-large", "v".repeat(size - 39)),
            "trailers" => (0..size).fold(Answer::ok("body"), |answer, number| {
                answer.trailer(&format!("x-{number:05}"), "a")
            }),
            _ => panic!("{kind}"),
        }
    };
    let secure = |protocol| {
        let identity = authority.identity(&["127.0.0.1"], &[protocol]);
        Server::secure(identity, script)
    };
    vec![Server::start(script), secure("http/1.1"), secure("h2")]
}

fn trusting(server: &Server, authority: &Authority, limit: u64) -> Probe {
    let mut fixture = Fixture::new(&[&grant(server)]).limit("http_header_bytes", limit);
    let network = fixture.network.with_authorities(authority.pem().as_bytes());
    fixture.network = network.unwrap();
    Probe::of(&fixture)
}

#[test]
fn s5_response_headers_of_the_limit_are_read_and_one_byte_more_ends_the_call() {
    let authority = Authority::new();
    for server in servers(&authority) {
        for limit in [400, 4_000, 65_536] {
            let probe = trusting(&server, &authority, limit);
            for size in [limit - 1, limit, limit + 1, 2 * limit] {
                let result = probe.http(to(&server, &format!("/one/{size}")));
                check(&result, size > limit, limit);
            }
            let most = limit / 40;
            for count in [most - 1, most, most + 1]
                .into_iter()
                .filter(|count| *count <= 1_000)
            {
                let result = probe.http(to(&server, &format!("/many/{count}")));
                check(&result, count > most, limit);
            }
        }
    }
}

/// Far over every limit, where HTTP/1 gives up reading and HTTP/2 still does not.
#[test]
fn s5_response_headers_over_every_limit_are_over_the_limit() {
    let authority = Authority::new();
    for server in servers(&authority) {
        for limit in [65_536, 262_144] {
            let probe = trusting(&server, &authority, limit);
            for path in ["/one/300000", "/one/1000000", "/many/7000", "/many/20000"] {
                check(&probe.http(to(&server, path)), true, limit);
            }
        }
    }
}

/// Where HTTP/2 gives up too, the guest has no answer at least.
#[test]
fn s5_response_headers_over_everything_are_no_answer() {
    let authority = Authority::new();
    for server in servers(&authority) {
        let probe = trusting(&server, &authority, 262_144);
        for path in ["/one/2000000", "/one/9000000"] {
            let result = probe.http(to(&server, path));
            let told = (&result["error"]["code"], &result["content"]);
            let limit = told.0 == "LIMIT_HTTP";
            assert!(
                limit || told.1 == "connection-terminated",
                "{path}: {result}"
            );
        }
    }
}

#[test]
fn s5_trailers_are_bounded_like_headers() {
    let authority = Authority::new();
    for server in servers(&authority) {
        let limit = 4_000;
        let probe = trusting(&server, &authority, limit);
        for size in [limit - 1, limit, limit + 1, 2 * limit, 20_000, 300_000] {
            let result = probe.http(to(&server, &format!("/trailer/{size}")));
            check(&result, size > limit, limit);
        }
        for count in [99, 100, 101, 2_000] {
            let result = probe.http(to(&server, &format!("/trailers/{count}")));
            check(&result, count > 100, limit);
        }
    }
}

/// The host counts, whether the guest looks at the error or asks on.
#[test]
fn s5_a_guest_that_goes_on_after_large_headers_ends_all_the_same() {
    let server = Server::start(|request| {
        let size = if request.number == 0 { 2_000 } else { 10 };
        Answer::status(204).header("x-large", "v".repeat(size))
    });
    let probe = limited(&server, 1_000);
    let result = probe.http(with(to(&server, "/"), json!({"times": 2, "pause_ms": 1})));
    check(&result, true, 1_000);
    probe.reaches(&server);
}
