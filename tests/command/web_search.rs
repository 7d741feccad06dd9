//! `tidegate call web_search` against a provider on loopback (SPEC W1 to W3, S7).

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::server::{Answer, Server, gzip, gzip_zeros};
use crate::support::{Output, command, tidegate_with};

const KEY: &str = "sk-test-brave-0123456789";

/// A folder whose config asks a provider at this origin.
fn folder(origin: &str, provider: &str, more: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let config = format!(
        r#"
sandbox: {{ tools: [web_search], network: ["{origin}"] }}
plugins:
  - name: search
    component: builtin:web-search
    inject: [{{ origin: "{origin}", header: X-Subscription-Token, secret: brave }}]
    config: {{ provider: {provider}, origin: "{origin}" }}
secrets: {{ brave: {{ env: BRAVE_API_KEY }} }}
{more}
"#
    );
    std::fs::write(folder.path().join("search.yaml"), config).unwrap();
    folder
}

const CALL: [&str; 6] = [
    "call",
    "web_search",
    r#"{"query":"rust wasm","limit":2}"#,
    "--config",
    "search.yaml",
    "--json",
];

fn search(folder: &TempDir, more: &[&str]) -> Output {
    let arguments = [&CALL[..], more].concat();
    tidegate_with(folder.path(), &arguments, "", &[("BRAVE_API_KEY", KEY)])
}

/// What Brave answers.
fn results(count: usize) -> Value {
    let page = |number: usize| {
        json!({
            "title": format!("Title\n  <strong>{number}</strong>"),
            "url": format!("https://example.com/{number}"),
            "description": "  a\tsnippet ",
        })
    };
    json!({"type": "search", "web": {"results": (1..=count).map(page).collect::<Vec<_>>()}})
}

#[test]
fn w1_a_search_gives_titles_urls_snippets_and_references() {
    let server = Server::start(|_request| Answer::json(&results(3)));
    let output = search(&folder(&server.origin(), "brave", ""), &[]);
    assert_eq!(output.exit, 0, "{} {}", output.stdout, output.stderr);
    let result = output.json();
    assert_eq!(
        result["structuredContent"],
        json!({
            "query": "rust wasm",
            "results": [
                {"title": "Title 1", "url": "https://example.com/1", "snippet": "a snippet"},
                {"title": "Title 2", "url": "https://example.com/2", "snippet": "a snippet"},
            ],
            "truncated": true,
        })
    );
    let uris: Vec<&Value> = result["references"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reference| &reference["uri"])
        .collect();
    assert_eq!(uris, ["https://example.com/1", "https://example.com/2"]);
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "one request");
    assert_eq!(requests[0].method, "GET");
    assert!(
        requests[0].target.starts_with("/res/v1/web/search?"),
        "{}",
        requests[0].target
    );
    assert!(requests[0].target.contains("q=rust%20wasm"));
    assert_eq!(requests[0].header("x-subscription-token"), Some(KEY));
}

#[test]
fn s7_the_key_is_on_the_wire_and_nowhere_else() {
    let server = Server::start(|request| match request.number {
        0 => Answer::json(&results(1)),
        1 => Answer::status(401),
        _ => Answer::raw("").close(),
    });
    let folder = folder(&server.origin(), "brave", "");
    for exit in [0, 1, 1] {
        let output = search(&folder, &["--audit", "audit.jsonl", "-vvv"]);
        assert_eq!(output.exit, exit, "{}", output.stdout);
        let audit = std::fs::read_to_string(folder.path().join("audit.jsonl")).unwrap();
        for said in [&output.stdout, &output.stderr, &audit] {
            assert!(!said.contains(KEY), "{said}");
        }
    }
    for request in server.requests() {
        assert_eq!(request.header("x-subscription-token"), Some(KEY));
    }
    let dry_run = search(&folder, &["--dry-run"]);
    assert!(!dry_run.stdout.contains(KEY) && !dry_run.stderr.contains(KEY));
}

#[test]
fn s7_an_answer_that_echoes_the_key_is_withheld() {
    let echo = json!({"web": {"results": [
        {"title": format!("your key is {KEY}"), "url": "https://example.com", "description": ""},
    ]}});
    let server = Server::start(move |_request| Answer::json(&echo));
    let output = search(&folder(&server.origin(), "brave", ""), &[]);
    assert_eq!(output.exit, 1);
    assert_eq!(output.json()["error"]["code"], "SECRET_IN_RESULT");
    assert!(!output.stdout.contains(KEY) && !output.stderr.contains(KEY));
}

#[test]
fn w2_another_provider_is_asked_in_its_own_way() {
    let found = json!({"query": "rust wasm", "results": [
        {"title": "One", "url": "https://example.com/1", "content": "first"},
        {"title": "Bad", "url": "javascript:alert(1)", "content": "left out"},
        {"title": "Bad", "url": "https://user:pw@example.com/", "content": "left out"},
        {"title": "Two", "url": "http://example.com/2", "content": "second"},
    ]});
    let server = Server::start(move |_request| Answer::json(&found));
    let output = search(&folder(&server.origin(), "searxng", ""), &[]);
    let result = output.json();
    assert_eq!(result["status"], "success", "{result}");
    let urls: Vec<&str> = result["structuredContent"]["results"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|page| page["url"].as_str())
        .collect();
    assert_eq!(urls, ["https://example.com/1", "http://example.com/2"]);
    let target = &server.requests()[0].target;
    assert!(target.starts_with("/search?"), "{target}");
    assert!(target.contains("format=json"), "{target}");
}

/// Every fault of a provider is the same words (SPEC W3), and no part of the URL or of an answer is
/// among them (CASES IO07).
#[test]
fn io07_what_goes_wrong_at_the_provider_is_one_failure_without_its_words() {
    for answer in [
        || Answer::status(404).send("sk-test-9 not found"),
        || Answer::status(500),
        || Answer::redirect(302, "http://169.254.169.254/latest"),
        || Answer::ok("{bad json sk-test-9"),
        || Answer::ok(r#"{"web":{"results":"#.to_owned() + &"[".repeat(100_000)),
        || Answer::ok(r#"{"web":{"results":[{"title":1e400}]}}"#),
        || Answer::raw("").close(),
        || Answer::raw("HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{").close(),
        || Answer::encoded("gzip", gzip_zeros(128 << 20)),
        || Answer::encoded("gzip", gzip(&gzip_zeros(1 << 20))),
        || Answer::encoded("br", "x"),
    ] {
        let server = Server::start(move |_request| answer());
        let output = search(&folder(&server.origin(), "brave", ""), &[]);
        let result = output.json();
        assert_eq!(output.exit, 1, "{result}");
        assert_eq!(result["error"]["code"], "WEB_SEARCH_FAILED", "{result}");
        assert_eq!(server.requests().len(), 1, "nothing is tried again");
        for word in ["sk-test-9", "rust", "127.0.0.1", "169.254"] {
            let told = result["error"]["message"].as_str().unwrap();
            assert!(!told.contains(word), "{told}");
            assert!(!output.stderr.contains("q=rust"), "{}", output.stderr);
        }
    }
}

#[test]
fn w2_the_bounds_of_the_config_hold_and_a_bound_out_of_range_is_named() {
    let server = Server::start(|_request| Answer::json(&results(20)));
    for (bounds, code) in [
        ("max_response_bytes: 100", json!("WEB_SEARCH_FAILED")),
        ("max_response_bytes: 16777216", Value::Null),
        ("timeout_ms: 2147483647", Value::Null),
    ] {
        let more = format!("interaction: {{ web_search: {{ {bounds} }} }}");
        let result = search(&folder(&server.origin(), "brave", &more), &[]).json();
        assert_eq!(result["error"]["code"], code, "{bounds}: {result}");
    }
    for bounds in [
        "max_response_bytes: 0",
        "max_response_bytes: 16777217",
        "timeout_ms: 0",
    ] {
        let more = format!("interaction: {{ web_search: {{ {bounds} }} }}");
        let output = search(&folder(&server.origin(), "brave", &more), &[]);
        assert_eq!(output.exit, 2, "{bounds}");
        let name = bounds.split(':').next().unwrap();
        assert!(output.stderr.contains(name), "{}", output.stderr);
    }
}

#[test]
fn w2_a_provider_that_is_too_slow_is_given_up_after_timeout_ms() {
    let server = Server::start(|_request| Answer::silence());
    let more = "interaction: { web_search: { timeout_ms: 300 } }";
    let output = search(&folder(&server.origin(), "brave", more), &[]);
    assert_eq!(output.json()["error"]["code"], "WEB_SEARCH_FAILED");
    assert!(output.elapsed < Duration::from_secs(10), "not the default");
}

#[test]
fn w3_permission_comes_before_arguments_and_the_origin_before_execute() {
    let server = Server::start(|_request| Answer::json(&results(1)));
    let folder = folder(&server.origin(), "brave", "");
    let call = |arguments: &str, more: &[&str]| {
        let all = [&["call", "web_search", arguments, "--json"], more].concat();
        tidegate_with(folder.path(), &all, "", &[("BRAVE_API_KEY", KEY)])
    };
    let denied = call("{}", &[]);
    assert_eq!(denied.exit, 2);
    let told = |output: &Output| output.json()["error"]["message"].to_string();
    assert!(
        told(&denied).contains("tool=web_search"),
        "{}",
        denied.stdout
    );
    let other = call(
        r#"{"query":"x"}"#,
        &[
            "--allow",
            "tool=web_search",
            "--allow",
            "network=https://other.example",
        ],
    );
    assert_eq!(other.exit, 2);
    let error = &other.json()["error"];
    assert_eq!(error["code"], "PERMISSION_DENIED", "{error}");
    let hint = "network=https://api.search.brave.com";
    assert!(told(&other).contains(hint), "{error}");
    let invalid = call(r#"{"query":"a\nb"}"#, &["--config", "search.yaml"]);
    assert_eq!(invalid.json()["error"]["code"], "INVALID_ARGUMENTS");
    assert!(server.requests().is_empty());
}

#[test]
fn w3_a_search_that_is_given_up_is_cancelled_and_its_connection_closed() {
    let server = Server::start(|_request| {
        Answer::raw("HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{\"web\"").hang()
    });
    let folder = folder(&server.origin(), "brave", "");
    let child = command(folder.path(), &CALL, &[("BRAVE_API_KEY", KEY)]).spawn();
    let child = child.unwrap();
    assert!(server.received_within(1, Duration::from_mins(1)));
    // Time for the head to arrive, so that the body is what is waited for.
    thread::sleep(Duration::from_millis(200));
    let cancelled = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert!(server.closed_within(Duration::from_secs(10)), "it hangs");
    let closed = cancelled.elapsed();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["status"], "cancelled", "{result}");
    assert_eq!(result["error"]["code"], "WEB_SEARCH_CANCELLED", "{result}");
    // How much sooner it is, `cargo xtask figures` prints.
    assert!(closed < Duration::from_secs(1), "closed after {closed:?}");
}
