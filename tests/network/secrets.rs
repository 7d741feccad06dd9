//! Headers that the host adds: on the wire for their origin alone, and nowhere in what comes back
//! (SPEC S7).

use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate_contract::CallError;
use tidegate_sandbox::{Injection, Network, Secret};

use super::addresses::Names;
use super::calling::{Probe, assert_ok, by_name, grant, to, with};
use crate::support::server::{Answer, Authority, Request, Server};
use crate::support::{Fixture, root, tidegate_with};

const SECRET: &str = "sk-test-0123456789abcdef";

fn injection(origin: &str, header: &str, prefix: &str) -> Injection {
    let secret = Secret::new(SECRET.to_owned()).unwrap();
    Injection::new(origin, header, prefix, secret).unwrap()
}

/// A probe that may reach a server, and for which the host adds a header there.
fn keyed(server: &Server, header: &str, prefix: &str) -> Probe {
    let mut fixture = Fixture::new(&[&grant(server)]);
    fixture.inject = vec![injection(&server.origin(), header, prefix)];
    Probe::of(&fixture)
}

/// What a call gave, or `SECRET_IN_RESULT`.
fn ended(probe: &Probe, tool: &str, arguments: Value) -> Result<Value, ()> {
    match probe.try_call(tool, arguments) {
        Ok(result) => Ok(result),
        Err(CallError::SecretInResult) => {
            let error = CallError::SecretInResult;
            assert_eq!(error.code(), "SECRET_IN_RESULT");
            assert!(!error.to_string().contains(SECRET));
            Err(())
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn s7_an_injected_header_is_on_the_wire_and_not_in_the_guest() {
    let server = Server::start(|_request| Answer::ok("a"));
    let needle: String = SECRET.chars().rev().collect();
    for (header, prefix) in [
        ("Authorization", "Bearer "),
        ("x-api-key", ""),
        ("Cookie", "key="),
    ] {
        let probe = keyed(&server, header, prefix);
        let hunt = with(to(&server, "/"), json!({ "needle_reversed": needle }));
        let result = probe.call("hunt", hunt);
        assert_eq!(result["content"], "found: 0", "{header}: {result}");
        assert_eq!(result["structuredContent"]["status"], 200);
        let request = server.requests().pop().unwrap();
        let sent = format!("{prefix}{SECRET}");
        assert_eq!(request.header(header), Some(sent.as_str()));
    }
    // The hunt finds what is there.
    let own = json!({"needle_reversed": needle, "headers": [["x-own", SECRET]]});
    let result = Probe::reaching(&server).call("hunt", with(to(&server, "/"), own));
    assert_ne!(result["structuredContent"]["found"], 0, "{result}");
}

#[test]
fn s7_an_injected_header_takes_the_place_of_the_guests_own() {
    let server = Server::start(|_request| Answer::ok("a"));
    let probe = keyed(&server, "X-Key", "");
    for own in [
        json!([]),
        json!([["x-key", "mine"]]),
        json!([["X-KEY", "mine"], ["x-key", "other"], ["x-Key", ""]]),
    ] {
        assert_ok(&probe.http(with(to(&server, "/"), json!({ "headers": own }))));
        let request = server.requests().pop().unwrap();
        assert_eq!(
            (request.count("x-key"), request.header("x-key")),
            (1, Some(SECRET))
        );
    }
    let other = json!({"headers": [["x-keys", "mine"]]});
    assert_ok(&probe.http(with(to(&server, "/"), other)));
    assert_eq!(
        server.requests().pop().unwrap().header("x-keys"),
        Some("mine")
    );
}

/// The same host and port in the other scheme, the same in another port, the same address by name.
#[test]
fn s7_an_injected_header_is_for_one_origin() {
    let authority = Authority::new();
    let script = |_request: &Request| Answer::ok("a");
    let identity = authority.identity(&["h.test", "127.0.0.1"], &["h2", "http/1.1"]);
    let (secure, plain) = (Server::secure(identity, script), Server::start(script));
    let allow = [
        grant(&secure),
        grant(&plain),
        format!("network=https://h.test:{},127.0.0.1", secure.port()),
        format!("network=http://h.test:{},127.0.0.1", plain.port()),
    ];
    for (keyed, scheme) in [(&secure, "https"), (&plain, "http")] {
        let mut fixture = Fixture::new(&allow.each_ref().map(String::as_str));
        let network = Network::default().with_resolver(Names::leading_to(&["127.0.0.1"]));
        fixture.network = network
            .with_authorities(authority.pem().as_bytes())
            .unwrap();
        let other = if scheme == "http" { "https" } else { "http" };
        fixture.inject = vec![
            injection(&format!("{scheme}://H.test:{}", keyed.port()), "x-key", ""),
            injection(&format!("{other}://h.test:{}", keyed.port()), "x-key", ""),
            injection(&format!("{scheme}://h.test"), "x-key", ""),
            injection(&format!("{scheme}://test:{}", keyed.port()), "x-key", ""),
        ];
        let probe = Probe::of(&fixture);
        for (server, own_scheme) in [(&secure, "https"), (&plain, "http")] {
            for host in ["h.test", "H.TEST.", "127.0.0.1"] {
                assert_ok(&probe.http(by_name(own_scheme, host, server)));
                let request = server.requests().pop().unwrap();
                let is_for_it = own_scheme == scheme && host != "127.0.0.1";
                assert_eq!(
                    request.count("x-key"),
                    usize::from(is_for_it),
                    "{own_scheme}://{host}"
                );
            }
        }
    }
}

/// The whole request comes back, in one way or another.
#[test]
fn s7_a_server_that_echoes_the_secret_makes_the_result_unfit() {
    let server = Server::start(|request| {
        let sent = request.header("x-key").unwrap_or_default().to_owned();
        match request.target.as_str() {
            "/body" => Answer::ok(format!("you said {sent}, did you not")),
            "/raw" => Answer::ok(&request.raw),
            "/gzip" => Answer::gzip(sent),
            "/error" => Answer::status(401).send(format!("bad key {sent}")),
            "/header" => Answer::ok("").header("x-echo", format!("a{sent}b")),
            "/location" => Answer::redirect(302, &format!("http://h.test/?key={sent}")),
            "/trailer" => Answer::ok("a").trailer("x-echo", sent),
            "/half" => Answer::ok(sent).header("content-length", "1000").close(),
            "/encoded" => Answer::ok("c2stdGVzdC0wMTIzNDU2Nzg5YWJjZGVm"),
            "/backwards" => Answer::ok(sent.chars().rev().collect::<String>()),
            "/start" => Answer::ok(sent.strip_suffix('f').unwrap_or_default()),
            _ => Answer::ok("nothing"),
        }
    });
    let probe = keyed(&server, "x-key", "Token ");
    let paths = [
        "/body",
        "/raw",
        "/gzip",
        "/error",
        "/header",
        "/location",
        "/trailer",
        "/half",
        // A bound may have cut the rest of it.
        "/start",
    ];
    for path in paths {
        assert_eq!(ended(&probe, "http", to(&server, path)), Err(()), "{path}");
        // Of what was not read nothing can be told.
        let unread = with(to(&server, path), json!({"read": "none"}));
        let is_in_head = ["/header", "/location"].contains(&path);
        assert_eq!(ended(&probe, "http", unread).is_err(), is_in_head, "{path}");
    }
    // What was encoded is not recognised, which the docs say.
    for path in ["/encoded", "/backwards", "/"] {
        assert!(ended(&probe, "http", to(&server, path)).is_ok(), "{path}");
    }
    assert!(ended(&Probe::reaching(&server), "http", to(&server, "/body")).is_ok());
}

/// A probe with a key that it never uses, whose caller knows it too.
fn idle(allow: &[&str]) -> (Fixture, Probe) {
    let mut fixture = Fixture::new(allow);
    fixture.write("key.txt", format!("the key is {SECRET}.\n"));
    fixture.inject = vec![injection("http://h.test", "x-key", "")];
    let probe = Probe::of(&fixture);
    (fixture, probe)
}

#[test]
fn s7_wherever_a_secret_stands_in_a_result_there_is_none() {
    let (_fixture, probe) = idle(&["read", "network=http://h.test"]);
    let digits = |byte| format!("{byte:02x}");
    let hex = SECRET.bytes().map(digits).collect::<Vec<_>>().concat();
    let (start, end) = hex.split_at(hex.len() / 2);
    let long = format!("{}{SECRET}{}", "a".repeat(100_000), "b".repeat(100_000));
    for (place, tool, arguments) in [
        ("structured", "echo", json!({ "value": SECRET })),
        (
            "nested",
            "echo",
            json!({"value": [[{"a": [1, null, {"b": format!("x{SECRET}y")}]}]]}),
        ),
        ("key", "echo", json!({"value": {format!("x{SECRET}"): 1}})),
        ("long", "echo", json!({ "value": long })),
        ("content", "fs", json!({"op": "read", "path": "key.txt"})),
        (
            "stdout",
            "write_split",
            json!({"stream": "stdout", "chunks": [hex]}),
        ),
        (
            "stderr",
            "write_split",
            json!({"stream": "stderr", "chunks": [start, end]}),
        ),
        (
            "cut output",
            "write_split",
            json!({"stream": "stdout", "chunks": [start]}),
        ),
        ("denied file", "fs", json!({"op": "mkdir", "path": SECRET})),
        (
            "denied command",
            "exec",
            json!({"command": SECRET, "args": []}),
        ),
        (
            "denied host",
            "http",
            json!({"authority": format!("{SECRET}.test"), "path": "/"}),
        ),
        (
            "denied name",
            "net",
            json!({"op": "resolve", "host": SECRET}),
        ),
    ] {
        assert_eq!(ended(&probe, tool, arguments), Err(()), "{place}");
    }
    for (tool, arguments) in [
        ("echo", json!({"value": "sk-test-0123456789abcde."})),
        ("echo", json!({"value": "sk-test"})),
        ("echo", json!({"value": SECRET.to_uppercase()})),
        ("fs", json!({"op": "read", "path": "key.txt.not"})),
        ("write_split", json!({"stream": "stdout", "chunks": [end]})),
    ] {
        assert!(ended(&probe, tool, arguments).is_ok());
    }
}

#[test]
fn s7_a_number_can_be_a_secret() {
    let mut fixture = Fixture::new(&["network=http://h.test"]);
    let secret = Secret::new("1234567890123456".to_owned()).unwrap();
    fixture.inject = vec![Injection::new("http://h.test", "x-key", "", secret).unwrap()];
    let probe = Probe::of(&fixture);
    let number = json!({"value": [1_234_567_890_123_456_u64]});
    assert_eq!(ended(&probe, "echo", number), Err(()));
    assert!(ended(&probe, "echo", json!({"value": 1_234_567_890_123_455_u64})).is_ok());
}

/// The log is for the operator, who need not see it either.
#[test]
fn s7_a_log_line_shows_no_secret() {
    let folder = TempDir::new().unwrap();
    let component = root()
        .join("guests/dist/probe.wasm")
        .canonicalize()
        .unwrap();
    let config = format!(
        "sandbox: {{ tools: \"*\", network: [\"http://h.test\"] }}\nplugins:\n  - name: probe\n    \
         component: {}\n    grants: {{ network: [\"http://h.test\"] }}\n    inject:\n      - {{ origin: \
         \"http://h.test\", header: X-Key, secret: key }}\nsecrets: {{ key: {{ env: THE_KEY }} }}\n",
        component.display(),
    );
    std::fs::write(folder.path().join("a.yaml"), config).unwrap();
    let long = format!("{}{SECRET}", "a".repeat(4_090));
    for (tool, arguments) in [
        (
            "log",
            json!({"level": "error", "text": format!("first {SECRET}\nlast {SECRET}")}),
        ),
        (
            "log",
            json!({"level": "error", "text": format!("first {long}")}),
        ),
        (
            "progress",
            json!({"steps": 1, "total": 1, "note": format!("first {SECRET}")}),
        ),
    ] {
        let arguments = arguments.to_string();
        let words = [
            "call", tool, &arguments, "--json", "-vvv", "--config", "a.yaml",
        ];
        let output = tidegate_with(folder.path(), &words, "", &[("THE_KEY", SECRET)]);
        assert_eq!(output.exit, 0, "{}", output.stderr);
        assert!(output.stderr.contains("first "), "{}", output.stderr);
        // Not the start of it either, where the line is cut.
        assert!(!output.stderr.contains("sk-test"), "{}", output.stderr);
        assert!(!output.stdout.contains("sk-test"), "{}", output.stdout);
    }
}
