//! What a guest can put on the wire, and what it can't (CASES NE13, WA14).

use serde_json::{Value, json};

use super::calling::{Probe, assert_ok, to, with};
use crate::support::server::{Answer, Server};

/// Texts that would end a line or a string where somebody reads it.
const ENDS: [&str; 9] = [
    "x\r\nX-Evil: 1",
    "x\nX-Evil: 1",
    "x\rX-Evil: 1",
    "\r\n\r\nGET /evil HTTP/1.1\r\nX-Evil: 1",
    "x\0X-Evil",
    "x\r\n X-Evil: 1",
    "x\u{7f}X-Evil",
    "x\u{1}X-Evil",
    "\u{85}\u{2028}\r\nX-Evil: 1",
];

/// Checks that nothing of a request with this in it can be found on the wire as a line of its own.
fn check_harmless(server: &Server, probe: &Probe, arguments: Value) -> Value {
    let before = server.connections();
    let told = arguments.to_string();
    let result = probe.http(arguments);
    if result["content"] != "ok" {
        assert_eq!(server.connections(), before, "{told}: {result}");
        return result;
    }
    let request = server.requests().pop().unwrap();
    assert_eq!(request.count("x-evil"), 0, "{told}");
    let raw = String::from_utf8_lossy(&request.raw).into_owned();
    let lines = raw.split("\r\n");
    for line in lines {
        assert!(!line.contains(['\r', '\n', '\0']), "{told}: {line:?}");
        assert!(!line.trim_start().starts_with("X-Evil"), "{told}: {line:?}");
    }
    result
}

fn closing() -> Server {
    Server::start(|_request| Answer::ok("").header("connection", "close"))
}

#[test]
fn ne13_a_header_value_never_ends_its_line() {
    let server = closing();
    let probe = Probe::reaching(&server);
    for name in ["x-own", "user-agent", "authorization", "cookie", "referer"] {
        for value in ENDS {
            for prefix in ["", "Bearer "] {
                let headers = json!({"headers": [[name, format!("{prefix}{value}")]]});
                let result = check_harmless(&server, &probe, with(to(&server, "/"), headers));
                assert_eq!(
                    result["content"], "invalid-syntax",
                    "{name} {value:?}: {result}"
                );
            }
        }
        for value in ["plain", "a\tb", "\u{e9}", "[x] %0d%0a"] {
            let headers = json!({"headers": [[name, value]]});
            let result = check_harmless(&server, &probe, with(to(&server, "/"), headers));
            assert_ok(&result);
            let request = server.requests().pop().unwrap();
            assert_eq!(request.header(name), Some(value));
        }
    }
}

#[test]
fn ne13_a_header_name_is_a_token() {
    let server = closing();
    let probe = Probe::reaching(&server);
    let others = [
        "",
        "a b",
        "a:b",
        ":authority",
        ":path",
        "x-\u{e9}",
        "a,b",
        " a",
        "a ",
    ];
    for name in ENDS.into_iter().chain(others) {
        let headers = json!({"headers": [[name, "v"]]});
        let result = check_harmless(&server, &probe, with(to(&server, "/"), headers));
        assert_eq!(result["content"], "invalid-syntax", "{name:?}: {result}");
    }
    let headers = json!({"headers": [["X-Own!#$", "v"]]});
    assert_ok(&check_harmless(
        &server,
        &probe,
        with(to(&server, "/"), headers),
    ));
}

#[test]
fn ne13_neither_path_nor_query_ends_the_request_line() {
    let server = closing();
    let probe = Probe::reaching(&server);
    for text in ENDS {
        for path in [
            format!("/{text}"),
            format!("/a?{text}"),
            format!("/a?b={text}&c"),
        ] {
            let result = check_harmless(&server, &probe, to(&server, &path));
            assert_ne!(result["content"], "ok", "{path:?}");
        }
    }
    for path in [
        "a b",
        "/a b",
        "/a HTTP/1.1",
        "//evil.example/",
        "/\\evil.example",
        "/\u{e9}",
        "/#f",
    ] {
        check_harmless(&server, &probe, to(&server, path));
        if let Some(request) = server.requests().pop() {
            assert!(
                request.target.starts_with('/'),
                "{path:?}: {}",
                request.target
            );
            assert!(
                !request.target.contains([' ', '#']),
                "{path:?}: {}",
                request.target
            );
        }
    }
    for (path, target) in [
        ("/a%0d%0aX-Evil:%201?b=%00", "/a%0d%0aX-Evil:%201?b=%00"),
        ("/a/../b/./c", "/b/c"),
        ("/a?b=/../c", "/a?b=/../c"),
        ("?only=query", "/?only=query"),
    ] {
        assert_ok(&check_harmless(&server, &probe, to(&server, path)));
        assert_eq!(server.requests().pop().unwrap().target, target);
    }
}

#[test]
fn ne13_neither_authority_nor_method_ends_a_line() {
    let server = closing();
    let probe = Probe::reaching(&server);
    for text in ENDS {
        let own = format!("127.0.0.1:{}", server.port());
        for authority in [
            format!("{own}{text}"),
            format!("{text}{own}"),
            format!("{text}@{own}"),
        ] {
            let arguments = json!({"scheme": "http", "authority": authority, "path": "/"});
            let result = check_harmless(&server, &probe, arguments);
            assert_ne!(result["content"], "ok", "{authority:?}");
        }
        for method in [
            format!("GET {text}"),
            format!("GET / HTTP/1.1{text}"),
            text.to_owned(),
        ] {
            let arguments = with(to(&server, "/"), json!({ "method": method }));
            let result = check_harmless(&server, &probe, arguments);
            assert_ne!(result["content"], "ok", "{method:?}");
        }
    }
    probe.reaches(&server);
}

#[test]
fn wa14_headers_that_frame_or_route_are_the_hosts() {
    let server = closing();
    let probe = Probe::reaching(&server);
    for (name, value) in [
        ("Host", "victim.internal"),
        ("Transfer-Encoding", "chunked"),
        ("transfer-encoding", "gzip, chunked"),
        ("Proxy-Authorization", "x"),
        ("Proxy-Authenticate", "x"),
        ("Proxy-Connection", "close"),
        ("Connection", "close"),
        ("CONNECTION", "x-own"),
        ("Keep-Alive", "timeout=600"),
        ("Upgrade", "h2c"),
        ("HTTP2-Settings", "AAMAAABkAAQAAP__"),
    ] {
        let headers = json!({"headers": [["x-own", "1"], [name, value]]});
        let result = check_harmless(&server, &probe, with(to(&server, "/"), headers));
        assert_eq!(result["content"], "forbidden", "{name}: {result}");
    }
    assert_eq!(server.connections(), 0);
    for (name, value) in [
        ("TE", "trailers"),
        ("Expect", "100-continue"),
        ("Trailer", "x-own"),
    ] {
        let headers = json!({"headers": [[name, value]]});
        assert_ok(&check_harmless(
            &server,
            &probe,
            with(to(&server, "/"), headers),
        ));
        let request = server.requests().pop().unwrap();
        assert_eq!(
            (request.count("host"), request.count("connection")),
            (1, 0),
            "{name}"
        );
    }
}
