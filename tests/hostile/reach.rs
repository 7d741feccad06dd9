//! Reaching for what was not granted: environment, network, commands, the status of files. Each is
//! denied, the plugin may go on, and the host records it (SPEC S1, S3, S4, T3).

use std::net::{TcpListener, UdpSocket};

use serde_json::{Value, json};
use tidegate_contract::failure::check_message;

use super::asking::{ask, assert_says, denied};
use super::files::Beside;
use crate::support::{Fixture, nothing};

#[tokio::test]
async fn s1_without_a_grant_the_environment_is_empty() {
    assert!(
        std::env::vars().count() > 3,
        "this process has an environment to leak"
    );
    let result = ask(
        &Fixture::new(&[]).runtime(&["probe"]).await,
        "env",
        nothing(),
    )
    .await;
    let found = &result["structuredContent"];
    assert_eq!(found["environment"], json!([]));
    assert_eq!(
        found["arguments"],
        json!(["probe"]),
        "the plugin's name and no path"
    );
    assert!(
        matches!(found["initialCwd"].as_str(), None | Some("." | "/")),
        "{found}"
    );
}

#[tokio::test]
async fn s1_an_environment_grant_is_for_exact_names() {
    let path = std::env::var("PATH").unwrap();
    for (allow, expected) in [
        ("env=PATH", json!([["PATH", path]])),
        ("env=path", json!([])),
        ("env=PAT", json!([])),
        ("env=TIDEGATE_ABSENT", json!([])),
    ] {
        let result = ask(
            &Fixture::new(&[allow]).runtime(&["probe"]).await,
            "env",
            nothing(),
        )
        .await;
        assert_eq!(
            result["structuredContent"]["environment"], expected,
            "{allow}"
        );
    }
}

/// Sockets of this process and its ends on the loopback.
fn bound_udp() -> usize {
    std::fs::read_to_string("/proc/self/net/udp")
        .unwrap()
        .lines()
        .count()
}

#[tokio::test]
async fn s3_a_grant_of_an_origin_opens_no_raw_socket() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    datagrams.set_nonblocking(true).unwrap();
    let (tcp, udp) = (
        listener.local_addr().unwrap().port(),
        datagrams.local_addr().unwrap().port(),
    );
    let before = bound_udp();
    let runtime = Fixture::new(&["network=http://127.0.0.1"])
        .runtime(&["probe"])
        .await;
    for (op, host, port) in [
        ("tcp_connect", "127.0.0.1", tcp),
        ("tcp_connect", "::1", tcp),
        ("tcp_connect", "::ffff:127.0.0.1", tcp),
        ("tcp_connect", "169.254.169.254", 80),
        ("tcp_connect", "10.0.0.5", 443),
        ("tcp_bind", "127.0.0.1", 0),
        ("tcp_bind", "0.0.0.0", 0),
        ("tcp_listen", "127.0.0.1", 0),
        ("tcp_listen", "::", 0),
        ("udp_bind", "127.0.0.1", 0),
        ("udp_connect", "127.0.0.1", udp),
        ("udp_send", "127.0.0.1", udp),
        ("udp_send", "8.8.8.8", 53),
    ] {
        let result = ask(
            &runtime,
            "net",
            json!({"op": op, "host": host, "port": port}),
        )
        .await;
        let answer = result["content"].as_str().unwrap();
        // A mapped address may be refused for its form, before anybody asks who may be reached.
        let refused = answer == "access-denied"
            || (host.starts_with("::ffff") && answer == "invalid-argument");
        assert!(refused, "{op} {host} {port}: {result}");
    }
    assert!(listener.accept().is_err(), "nobody has connected");
    assert!(datagrams.recv(&mut [0; 16]).is_err(), "nothing was sent");
    assert!(bound_udp() <= before + 1, "no socket stays bound");
}

/// SPEC T3: what the plugin reached for is named beside its result, as far as it named it itself.
#[tokio::test]
async fn t3_every_denied_use_of_the_network_is_recorded() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    let mut missing = Vec::new();
    for (op, host) in [
        ("tcp_connect", "127.0.0.1"),
        ("tcp_bind", "127.0.0.1"),
        ("tcp_listen", "127.0.0.1"),
        ("tcp_listen", ""),
        ("udp_bind", "127.0.0.1"),
        ("udp_connect", "127.0.0.1"),
        ("udp_send", "127.0.0.1"),
        ("resolve", "localhost"),
        ("resolve", "example.invalid"),
        ("resolve", "127.0.0.1"),
    ] {
        let result = ask(&runtime, "net", json!({"op": op, "host": host, "port": 9})).await;
        assert_ne!(result["content"], "ok", "{op} {host}: {result}");
        if !denied(&result)
            .iter()
            .any(|name| name.starts_with("network:"))
        {
            missing.push((op, host));
        }
    }
    assert_eq!(missing, [], "denied and not recorded");
}

#[tokio::test]
async fn wa12_a_name_lookup_without_a_grant_is_denied_as_such() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    for host in ["localhost", "example.invalid", "127.0.0.1"] {
        let result = ask(&runtime, "net", json!({"op": "resolve", "host": host})).await;
        assert_eq!(result["content"], "access-denied", "{host}: {result}");
    }
}

#[tokio::test]
async fn s4_without_a_grant_no_command_runs_and_the_denial_is_typed_and_recorded() {
    let beside = Beside::new(&["read", "write"]);
    beside.fixture.write("echo", "#!/bin/sh\ntouch made\n");
    let runtime = beside.fixture.runtime(&["probe"]).await;
    for command in [
        "echo",
        "./echo",
        "/bin/sh",
        "sh",
        "",
        "../ws/echo",
        "echo; touch made",
        "a\nb",
    ] {
        let result = ask(
            &runtime,
            "exec",
            json!({"command": command, "args": ["-c", "touch made"]}),
        )
        .await;
        assert_says(&result, "PERMISSION_DENIED");
        let message = result["structuredContent"]["message"].as_str().unwrap();
        assert_eq!(check_message(message), Ok(()), "{command:?}");
        let [recorded] = denied(&result).try_into().unwrap();
        assert!(!recorded.contains(char::is_control), "{recorded:?}");
        let shown = command.replace(char::is_control, "");
        assert_eq!(
            recorded.replace(['?', '\u{fffd}'], ""),
            format!("execute:{shown}")
        );
    }
    assert!(!beside.fixture.path("made").exists());
}

#[tokio::test]
async fn file_status_needs_a_read_grant_that_covers_the_path() {
    let mut beside = Beside::new(&[]);
    beside.fixture.write("docs/d.txt", "d");
    for (link, target) in [
        ("docs/out", "../../ws-secret/k"),
        ("docs/up", "../a.txt"),
        ("docs/in", "d.txt"),
    ] {
        std::os::unix::fs::symlink(target, beside.fixture.path(link)).unwrap();
    }
    let outside = format!("{}/ws-secret/k", beside.outer());
    let none = [
        ("a.txt", false, false),
        (".", false, false),
        (outside.as_str(), false, false),
    ];
    check_status(&mut beside, &[], &none).await;
    check_status(&mut beside, &["write"], &none).await;
    let all = [
        ("a.txt", false, true),
        ("./docs/./d.txt", true, true),
        (".", true, true),
        ("docs/up", true, true),
        ("docs/out", false, true),
        ("docs/out", true, false),
        ("..", true, false),
        ("../ws-secret/k", false, false),
        (outside.as_str(), false, false),
        ("/etc/hostname", true, false),
    ];
    check_status(&mut beside, &["read"], &all).await;
    let docs = [
        ("docs/d.txt", false, true),
        ("./docs/d.txt", false, true),
        ("docs", true, true),
        ("docs/in", true, true),
        ("docs/up", false, true),
        ("docs/up", true, false),
        ("docs/../a.txt", false, false),
        ("a.txt", false, false),
        (".", false, false),
        ("docsx", false, false),
    ];
    check_status(&mut beside, &["read=docs"], &docs).await;
}

/// Asks for the status of paths, to follow or not, under grants: `ok`, or a denial on record.
async fn check_status(beside: &mut Beside, allow: &[&str], rows: &[(&str, bool, bool)]) {
    beside.fixture.grant = Fixture::new(allow).grant;
    let runtime = beside.fixture.runtime(&["probe"]).await;
    for (path, follow, granted) in rows {
        let told = format!("{allow:?} {path} {follow}");
        let result = ask(
            &runtime,
            "file_status",
            json!({"path": path, "follow": follow}),
        )
        .await;
        let expected = if *granted { "ok" } else { "PERMISSION_DENIED" };
        assert_eq!(result["content"], expected, "{told}: {result}");
        if *granted {
            assert_eq!(denied(&result), Vec::<String>::new(), "{told}");
            continue;
        }
        assert_eq!(denied(&result), [format!("read:{path}")], "{told}");
        let message = &result["structuredContent"]["message"];
        assert_eq!(check_message(message.as_str().unwrap()), Ok(()), "{told}");
        assert_ne!(message, &Value::Null);
    }
}
