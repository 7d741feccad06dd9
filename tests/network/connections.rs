//! Connections: whose they are, how they end, and how a guest is told apart what was never sent from
//! what may have been (SPEC S3, X3).

use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};
use tidegate::{CancellationToken, InvokeOptions};

use super::addresses::{Names, probe};
use super::calling::{Probe, assert_ok, assert_told, by_name, to, with};
use crate::support::server::{Answer, Server};
use crate::support::{call, engine};

/// How soon a connection is closed whose call is over.
const AT_ONCE: Duration = Duration::from_millis(100);

/// Longer than anything here takes, unless it hangs.
const LONG: Duration = Duration::from_secs(10);

#[test]
fn s3_calls_of_one_plugin_share_a_connection_and_plugins_never_do() {
    let server = Server::start(|_request| Answer::ok("a"));
    let (one, other) = (Probe::reaching(&server), Probe::reaching(&server));
    for _call in 0..3 {
        one.reaches(&server);
    }
    assert_eq!(server.connections(), 1);
    for _call in 0..3 {
        other.reaches(&server);
        one.reaches(&server);
    }
    assert_eq!(server.connections(), 2);
    assert_ok(&one.http(with(to(&server, "/"), json!({"times": 3}))));
    assert_eq!(server.connections(), 2);
}

/// An answer that was not read to its end is in the way of the next.
#[test]
fn s3_a_connection_with_an_answer_half_read_is_not_used_again() {
    let server = Server::start(|request| match request.target.as_str() {
        "/large" => Answer::ok(vec![b'a'; 1 << 20]),
        _ => Answer::ok("small"),
    });
    let probe = Probe::reaching(&server);
    let result = probe.http(with(to(&server, "/large"), json!({"read": 10})));
    assert_ok(&result);
    let result = probe.http(to(&server, "/"));
    assert_eq!(result["structuredContent"]["body"], "small", "{result}");
    assert_eq!(server.requests().last().unwrap().connection, 1);
}

/// Bytes that nobody asked for are not the answer to the next request.
#[test]
fn s3_what_comes_behind_an_answer_is_no_answer() {
    let server = Server::start(|request| match request.target.as_str() {
        "/two" => Answer::raw(
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\naHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil",
        ),
        _ => Answer::ok("good"),
    });
    let probe = Probe::reaching(&server);
    for _call in 0..3 {
        let result = probe.http(to(&server, "/two"));
        assert_eq!(result["structuredContent"]["body"], "a", "{result}");
        let result = probe.http(to(&server, "/"));
        assert_eq!(result["structuredContent"]["body"], "good", "{result}");
    }
}

#[test]
fn s3_what_was_never_sent_is_told_as_such() {
    let server = Server::start(|_request| Answer::ok("a"));
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string();
    let refused = Probe::granted(&[&format!("network=http://{free}")]);
    let arguments = json!({"scheme": "http", "authority": free, "path": "/"});
    assert_told(&refused.http(arguments), "connection-refused");
    let allow = format!("network=http://service.test:{},127.0.0.1", server.port());
    let names = Names::leading_to(&[""]);
    let unknown = probe(&allow, &names);
    assert_told(
        &unknown.http(by_name("http", "service.test", &server)),
        "DNS-error",
    );
    assert_eq!(server.requests().len(), 0);
}

/// The server has seen the request, or may have: it is sent once, also on a connection that was used
/// before, and the guest is told that it is unknown what became of it.
#[test]
fn s3_what_was_sent_and_not_answered_is_sent_once() {
    let endings: [fn() -> Answer; 5] = [
        || Answer::raw("").close(),
        || Answer::raw("").reset(),
        || Answer::raw("HTTP/1.1 200 OK\r\n").close(),
        || Answer::raw("HTTP/1.1 200 OK\r\ncontent-le").reset(),
        || Answer::raw("HTTP/1.1 100 Continue\r\n\r\n").close(),
    ];
    for ending in endings {
        for method in ["GET", "POST", "PUT"] {
            for is_used_before in [false, true] {
                let server = Server::start(move |request| match request.target.as_str() {
                    "/first" => Answer::ok("a"),
                    _ => ending(),
                });
                let probe = Probe::reaching(&server);
                if is_used_before {
                    assert_ok(&probe.http(to(&server, "/first")));
                }
                let body = json!({"method": method, "body": "once"});
                let result = probe.http(with(to(&server, "/"), body));
                assert_told(&result, "connection-terminated");
                let sent = server.requests();
                assert_eq!(sent.len(), 1 + usize::from(is_used_before), "{method}");
            }
        }
    }
}

#[test]
fn s3_half_a_body_is_no_success() {
    let endings: [fn() -> Answer; 5] = [
        || Answer::ok("half").header("content-length", "8").close(),
        || Answer::ok("half").header("content-length", "8").reset(),
        || {
            Answer::raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n")
                .close()
        },
        || Answer::raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\nhalf").close(),
        || Answer::raw("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhalf").close(),
    ];
    for ending in endings {
        let server = Server::start(move |_request| ending());
        let result = Probe::reaching(&server).http(to(&server, "/"));
        assert_ne!(result["content"], "ok", "{result}");
        let told = result["content"].as_str().unwrap();
        let faults = ["connection-terminated", "HTTP-protocol-error"];
        assert!(faults.contains(&told), "{result}");
        assert_eq!(result["structuredContent"]["step"], "read-body");
    }
}

#[test]
fn s3_what_is_no_http_is_told_as_such() {
    for bytes in [
        "SSH-2.0-server\r\n",
        "\0\0\0\0\0\0",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nx-a: b\r\n c\r\n\r\n",
    ] {
        let server = Server::start(move |_request| Answer::raw(bytes).close());
        let result = Probe::reaching(&server).http(to(&server, "/"));
        let told = result["content"].as_str().unwrap();
        let faults = ["HTTP-protocol-error", "connection-terminated"];
        assert!(faults.contains(&told), "{bytes:?}: {result}");
    }
}

/// Starts a call, waits until the server has seen it, and ends it in one of two ways.
fn check_ended(server: &Server, arguments: Value, is_dropped: bool) {
    let told = format!("{arguments} {is_dropped}");
    let Probe(runtime) = Probe::reaching(server);
    let cancel = CancellationToken::new();
    let options = InvokeOptions {
        cancel: cancel.clone(),
        ..InvokeOptions::default()
    };
    std::thread::scope(|scope| {
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let calling = scope.spawn(move || {
            let calling = runtime.act_tool(call("http", arguments), options);
            engine().block_on(async {
                tokio::select! {
                    ended = calling => Some(ended),
                    _stop = stopped => None,
                }
            })
        });
        assert!(server.received_within(1, LONG), "{told}");
        if is_dropped {
            drop(stop);
        } else {
            cancel.cancel();
        }
        assert!(
            server.closed_within(AT_ONCE),
            "{told}: the connection stays open"
        );
        let ended = calling.join().unwrap();
        if is_dropped {
            assert!(ended.is_none(), "{told}: {ended:?}");
            return;
        }
        let result = serde_json::to_value(ended.unwrap().unwrap()).unwrap();
        assert_eq!(result["status"], "cancelled", "{told}: {result}");
        assert_eq!(result["error"]["code"], "CANCELLED");
    });
}

#[test]
fn x3_a_call_that_is_cancelled_or_dropped_closes_its_connection() {
    let scripts: [fn() -> Answer; 4] = [
        || Answer::silence(),
        || Answer::ok("some").hang(),
        || Answer::status(200).endless("0123456789"),
        || Answer::ok("").drip(vec![b'a'; 10_000], Duration::from_millis(20)),
    ];
    for script in scripts {
        for is_dropped in [false, true] {
            for more in [
                json!({}),
                json!({"read_pause_ms": 60_000}),
                json!({"method": "POST", "body": "b"}),
            ] {
                let server = Server::start(move |_request| script());
                check_ended(&server, with(to(&server, "/"), more), is_dropped);
            }
        }
    }
}
