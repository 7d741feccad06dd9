//! Where a request ends is never a matter of opinion (CASES IO12), and errors of the frame are
//! documents like all others.

use super::client::Request;
use super::service::Service;

/// A request that is answered with 200, with its Host field.
const NEXT: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

fn head(fields: &str) -> String {
    format!("POST /v1/worker/submit HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n")
}

#[test]
fn io12_an_ambiguous_frame_is_400_and_what_follows_is_no_second_request() {
    let service = Service::start(&[]);
    for fields in [
        "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 6\r\n",
        "Content-Length: 6\r\nContent-Length: 6\r\n",
        "Content-Length: 6\r\nContent-Length: 5\r\n",
        "Content-Length: 6,6\r\n",
        "Transfer-Encoding: chunked\t\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Content-Length: 0\nX: y\r\n",
        "X: y\r\n folded\r\n",
    ] {
        let mut connection = service.connect();
        connection.write(format!("{}0\r\n\r\n{NEXT}", head(fields)));
        let answer = connection.read("POST").unwrap();
        answer.is(400, "INVALID_REQUEST");
        assert_eq!(answer.field("connection"), Some("close"), "{fields:?}");
        assert!(connection.is_over(), "{fields:?}");
    }
    let metrics = service.get("/metrics").text();
    assert!(!metrics.contains("route=\"/healthz\""), "{metrics}");
}

#[test]
fn io12_requests_before_an_ambiguous_one_are_answered_first() {
    let service = Service::start(&[]);
    let mut connection = service.connect();
    let bad = head("Content-Length: 1\r\nContent-Length: 1\r\n");
    connection.write(format!("{NEXT}{NEXT}{bad}x{NEXT}"));
    connection.read("GET").unwrap().is(200, "");
    connection.read("GET").unwrap().is(200, "");
    connection.read("POST").unwrap().is(400, "INVALID_REQUEST");
    assert!(connection.is_over());
}

#[test]
fn io12_whole_requests_follow_each_other_however_they_are_cut() {
    let service = Service::start(&[]);
    let call = |fields: &str, body: &str| {
        let token = service.token();
        let of = "Content-Type: application/json\r\nAuthorization: Bearer";
        format!("POST /v1/calls HTTP/1.1\r\nHost: localhost\r\n{of} {token}\r\n{fields}\r\n{body}")
    };
    let chunks = "1;a=b\r\n{\r\n1\r\n}\r\n0\r\nX: y\r\n\r\n";
    let chunked = call("Transfer-Encoding: chunked\r\n", chunks);
    let sized = call("Content-Length: 6\r\n", "{\r\n\r\n}");
    let empty = call("", "");
    let all = format!("{chunked}{NEXT}{sized}{NEXT}{empty}{NEXT}");
    let mut whole = service.connect();
    whole.write(&all);
    let mut cut = service.connect();
    for byte in all.as_bytes() {
        cut.write([*byte]);
    }
    for connection in [&mut whole, &mut cut] {
        for _ in 0..3 {
            connection.read("POST").unwrap().is(400, "INVALID_CALL");
            connection.read("GET").unwrap().is(200, "");
        }
    }
}

#[test]
fn io12_a_body_in_chunks_that_are_none_is_400() {
    let service = Service::start(&[]);
    let token = service.token();
    for body in [
        "x\r\n",
        "3\r\nabcd\r\n",
        "-1\r\n",
        "3\nabc",
        "ffffffffffffffff\r\n",
    ] {
        let mut connection = service.connect();
        let call = Request::post("/v1/calls")
            .bearer(&token)
            .field("Content-Type", "application/json")
            .field("Transfer-Encoding", "chunked")
            .body(body);
        connection.start(&call);
        let answer = connection.read("POST").unwrap();
        answer.is(400, "INVALID_REQUEST");
        assert!(connection.is_over(), "{body:?}");
    }
}

#[test]
fn c8_a_head_is_bounded_at_its_limit() {
    let service = Service::configured("serve: { limits: { head_bytes: 1000 } }", &[]);
    for (size, status) in [(999, 200), (1000, 200), (1001, 431)] {
        let start = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ";
        let filling = "x".repeat(size - start.len() - 4);
        let mut connection = service.connect();
        connection.write(format!("{start}{filling}\r\n\r\n"));
        let answer = connection.read("GET").unwrap();
        answer.is(status, if status == 200 { "" } else { "HEAD_TOO_LARGE" });
    }
    // One that has no end is refused at the limit too.
    let mut connection = service.connect();
    connection.write_on("x".repeat(5_000));
    connection.read("GET").unwrap().is(431, "HEAD_TOO_LARGE");
    assert!(connection.is_over());
}

#[test]
fn l3_another_version_or_another_protocol_is_told_so() {
    let service = Service::start(&[]);
    for (sent, status, code) in [
        (
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            505,
            "VERSION_NOT_SUPPORTED",
        ),
        ("GET / HTTP/1.1\r\n\r\n", 400, "INVALID_REQUEST"),
        ("\u{16}\u{3}\u{1}\r\n\r\n", 400, "INVALID_REQUEST"),
        (
            "GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
            400,
            "INVALID_REQUEST",
        ),
        (
            "REFUSED / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            404,
            "NOT_FOUND",
        ),
    ] {
        let mut connection = service.connect();
        connection.write(sent);
        connection.read("GET").unwrap().is(status, code);
    }
}
