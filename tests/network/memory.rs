//! The memory of the real command while a server or a guest asks for more than there is: a process of
//! its own for each (CASES NE11, NE14, WA01).

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::calling::{to, with};
use crate::support::server::{Answer, Authority, BROTLI_ZEROS, Server, gzip_zeros, zstd_zeros};
use crate::support::{Output, root, tidegate};

/// In KiB.
const MIB: u64 = 1_024;

/// An origin of a call that asks nobody.
const NOWHERE: &str = "http://127.0.0.1:1";

/// Calls the probe, which may reach one origin; `more` is put before its plugin in the config.
fn called(tool: &str, arguments: &Value, origin: &str, more: &str) -> Output {
    let folder = TempDir::new().unwrap();
    let component = root()
        .join("guests/dist/probe.wasm")
        .canonicalize()
        .unwrap();
    let network = format!("network: [\"{origin}\"]");
    let config = format!(
        "{more}\nsandbox: {{ tools: \"*\", {network} }}\nplugins:\n  - name: probe\n    \
         component: {}\n    grants: {{ {network} }}\n",
        component.display(),
    );
    let file = folder.path().join("probe.yaml");
    std::fs::write(&file, config).unwrap();
    let arguments = arguments.to_string();
    let words = [
        "call",
        tool,
        &arguments,
        "--json",
        "--config",
        file.to_str().unwrap(),
    ];
    let output = tidegate(&words);
    assert!(
        output.elapsed < Duration::from_secs(30),
        "{tool}: {output:?}"
    );
    output
}

fn got(server: &Server, more: &str) -> Output {
    called("http", &to(server, "/"), &server.origin(), more)
}

/// The most that a call takes that asks for little.
fn quiet() -> u64 {
    let server = Server::start(|_request| Answer::ok("a"));
    assert_eq!(got(&server, "").json()["content"], "ok");
    got(&server, "").peak_kib
}

#[test]
fn ne11_a_body_that_decodes_to_a_huge_one_is_never_resident() {
    let quiet = quiet();
    let bodies = [
        ("gzip", gzip_zeros(128 << 20), "LIMIT_HTTP"),
        ("br", BROTLI_ZEROS.to_vec(), ""),
        ("zstd", zstd_zeros(1_024), ""),
        ("gzip, gzip", gzip_zeros(128 << 20), ""),
    ];
    for (coding, body, code) in bodies {
        let server = Server::start(move |_request| Answer::encoded(coding, &body));
        let output = got(&server, "");
        let result = output.json();
        if code.is_empty() {
            assert_eq!(
                result["content"], "HTTP-response-content-coding",
                "{coding}"
            );
        } else {
            assert_eq!(result["error"]["code"], code, "{coding}");
        }
        let grown = output.peak_kib.saturating_sub(quiet);
        assert!(grown < 24 * MIB, "{coding}: {grown} KiB");
    }
}

/// A server that sends faster than the guest reads fills no memory of the host.
#[test]
fn ne11_an_endless_body_that_is_read_slowly_is_not_kept() {
    let quiet = quiet();
    let server = Server::start(|_request| Answer::status(200).endless(vec![b'a'; 16_384]));
    let slowly = json!({"read_pause_ms": 500});
    let arguments = with(to(&server, "/"), slowly);
    let output = called(
        "http",
        &arguments,
        &server.origin(),
        "limits: { deadline_ms: 3000 }",
    );
    assert_eq!(output.json()["error"]["code"], "LIMIT_DEADLINE");
    let grown = output.peak_kib.saturating_sub(quiet);
    assert!(grown < 16 * MIB, "{grown} KiB");
}

/// Checks that a server over HTTP/2 ends a call within its bounds and fills no memory, whether the
/// guest reads or does not.
fn check_flood(answer: fn() -> Answer) {
    let quiet = quiet();
    let authority = Authority::new();
    let identity = authority.identity(&["127.0.0.1"], &["h2"]);
    let server = Server::secure(identity, move |_request| answer());
    let more = format!(
        "limits: {{ deadline_ms: 4000 }}\nnetwork: {{ ca_file: {} }}",
        authority.file().display(),
    );
    for pause_ms in [0, 60_000] {
        let arguments = with(to(&server, "/"), json!({ "read_pause_ms": pause_ms }));
        let output = called("http", &arguments, &server.origin(), &more);
        let result = output.json();
        let is_ended = ["LIMIT_HTTP", "LIMIT_DEADLINE"].map(|code| result["error"]["code"] == code);
        // The connection may be given up before either.
        let gives_up = ["connection-terminated", "HTTP-protocol-error"];
        let is_given_up = gives_up.map(|told| result["content"] == told);
        assert!(
            is_ended.into_iter().chain(is_given_up).any(|is_so| is_so),
            "{result}"
        );
        let grown = output.peak_kib.saturating_sub(quiet);
        assert!(grown < 32 * MIB, "{pause_ms}: {grown} KiB");
    }
}

/// Frames without a byte use up no window.
#[test]
fn ne14_empty_frames_without_end_are_not_kept() {
    check_flood(|| Answer::status(200).endless(""));
}

#[test]
fn ne14_a_million_empty_frames_are_not_kept() {
    check_flood(|| Answer::status(200).repeat("", 1_000_000).hang());
}

#[test]
fn ne14_interim_answers_without_end_are_not_kept() {
    check_flood(|| Answer::ok("late").after(103, u64::MAX));
}

#[test]
fn ne14_small_frames_without_end_are_not_kept() {
    check_flood(|| Answer::status(200).endless("a"));
}

#[test]
fn wa01_fields_that_are_never_let_go_take_little_memory() {
    let quiet = quiet();
    for limit in ["", "limits: { handles: 65536 }"] {
        let arguments = json!({"count": 2_000_000});
        let output = called("fields_keep", &arguments, NOWHERE, limit);
        assert_eq!(output.json()["error"]["code"], "LIMIT_HANDLES");
        let grown = output.peak_kib.saturating_sub(quiet);
        assert!(grown < 128 * MIB, "{limit}: {grown} KiB");
    }
}

/// As many fields as there may be, each as large as it may be.
#[test]
fn wa02_large_fields_take_no_more_than_their_limits() {
    let quiet = quiet();
    let arguments = json!({"count": 40_000, "bytes": 6});
    let limit = "limits: { http_header_bytes: 262144 }";
    let output = called("fields_grow", &arguments, NOWHERE, limit);
    assert_eq!(output.json()["error"]["code"], "LIMIT_HTTP");
    assert!(
        output.peak_kib.saturating_sub(quiet) < 16 * MIB,
        "{output:?}"
    );
}

/// Copies are as large as what they were made of, and each is a handle only.
#[test]
fn wa01_copies_of_fields_are_bounded_together() {
    let quiet = quiet();
    for (bytes, count) in [(60_000, 3_900), (1, 200_000)] {
        let arguments = json!({"bytes": bytes, "count": count});
        let output = called(
            "fields_copy",
            &arguments,
            NOWHERE,
            "limits: { handles: 65536 }",
        );
        let code = output.json()["error"]["code"].clone();
        assert!(
            ["LIMIT_HOST_ALLOCATION", "LIMIT_HANDLES"].contains(&code.as_str().unwrap()),
            "{code}"
        );
        let grown = output.peak_kib.saturating_sub(quiet);
        assert!(grown < 128 * MIB, "{bytes}: {grown} KiB");
    }
    let few = json!({"bytes": 1_000, "count": 1_000});
    let output = called("fields_copy", &few, NOWHERE, "");
    assert_eq!(output.json()["structuredContent"]["ok"], 1_000);
}

/// What a guest has written of a request waits in the host, whether the request is sent or not.
#[test]
fn wa01_bodies_that_are_never_sent_take_little_memory() {
    let quiet = quiet();
    let output = called("bodies_keep", &json!({"count": 4_000}), NOWHERE, "");
    let result = output.json();
    assert_eq!(result["structuredContent"]["ok"], 4_000, "{result}");
    let grown = output.peak_kib.saturating_sub(quiet);
    assert!(grown < 128 * MIB, "{grown} KiB");
}
