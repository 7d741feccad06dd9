//! `tidegate deliver` to the file and webhook sinks (SPEC D2).

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::server::{Answer, Server};
use crate::support::{Output, tidegate_with};

fn folder(sandbox: &str, sink: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let config = format!("sandbox: {{ {sandbox} }}\noutput: [{{ name: out, {sink} }}]\n");
    std::fs::write(folder.path().join("sinks.yaml"), config).unwrap();
    folder
}

fn deliver(folder: &Path, id: &str, text: &str) -> Output {
    let delivery = json!({
        "deliveryId": id,
        "message": {"role": "assistant", "content": text},
    });
    let arguments = [
        "deliver",
        "--json",
        "--config",
        "sinks.yaml",
        "--audit",
        "audit.jsonl",
    ];
    tidegate_with(folder, &arguments, &delivery.to_string(), &[])
}

fn line(id: &str, text: &str) -> String {
    format!("{{\"id\":\"{id}\",\"message\":{{\"role\":\"assistant\",\"content\":\"{text}\"}}}}\n")
}

#[test]
fn d2_each_delivery_is_one_line_at_the_end_of_the_file() {
    let folder = folder(
        "read: true, write: true",
        "component: builtin:file, config: { path: out.jsonl }",
    );
    for (id, text) in [("d-1", "one"), ("d-2", "two\\nlines")] {
        let output = deliver(folder.path(), id, &text.replace("\\n", "\n"));
        assert_eq!(output.exit, 0, "{} {}", output.stdout, output.stderr);
        assert_eq!(output.json()["status"], "accepted");
    }
    let file = std::fs::read_to_string(folder.path().join("out.jsonl")).unwrap();
    assert_eq!(file, line("d-1", "one") + &line("d-2", "two\\nlines"));
}

#[test]
fn d2_a_torn_last_line_stays_a_line_of_its_own() {
    let folder = folder(
        "read: true, write: true",
        "component: builtin:file, config: { path: out.jsonl }",
    );
    let file = folder.path().join("out.jsonl");
    std::fs::write(&file, "{\"id\":\"torn\",\"mess").unwrap();
    assert_eq!(deliver(folder.path(), "d-1", "one").exit, 0);
    let expected = format!("{{\"id\":\"torn\",\"mess\n{}", line("d-1", "one"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), expected);
}

#[test]
fn d2_deliveries_at_the_same_time_never_share_a_line() {
    let folder = folder("write: true", "component: builtin:file");
    std::thread::scope(|scope| {
        for sender in 0..4 {
            let path = folder.path();
            scope.spawn(move || {
                for number in 0..5 {
                    let text = "x".repeat(20_000);
                    let output = deliver(path, &format!("d-{sender}-{number}"), &text);
                    assert_eq!(output.exit, 0, "{}", output.stdout);
                }
            });
        }
    });
    let file = std::fs::read_to_string(folder.path().join("deliveries.jsonl")).unwrap();
    let lines = file.lines().filter(|line| !line.is_empty());
    let mut ids: Vec<String> = lines
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].to_string())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 20);
}

#[test]
fn d2_a_file_out_of_reach_is_rejected_and_nothing_is_made() {
    for (sandbox, path) in [
        ("read: true", "out.jsonl"),
        ("read: true, write: true", "../out.jsonl"),
        ("read: true, write: true", "missing/out.jsonl"),
        ("read: true, write: [sub]", "out.jsonl"),
    ] {
        let sink = format!("component: builtin:file, config: {{ path: {path} }}");
        let folder = folder(sandbox, &sink);
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        let output = deliver(folder.path(), "d-1", "one");
        assert_eq!(output.exit, 1, "{sandbox} {path}: {}", output.stdout);
        assert_eq!(output.json()["status"], "rejected", "{sandbox} {path}");
        assert!(!folder.path().join(path).exists(), "{sandbox} {path}");
    }
}

fn webhook(server: &Server, more: &str) -> TempDir {
    let origin = server.origin();
    folder(
        &format!("network: [\"{origin}\"]"),
        &format!("component: builtin:webhook, config: {{ url: \"{origin}/hook\" }}{more}"),
    )
}

#[test]
fn d2_a_delivery_is_posted_once_with_its_id_as_the_idempotency_key() {
    let server = Server::start(|_request| Answer::status(202));
    let output = deliver(webhook(&server, "").path(), "d-1", "one");
    assert_eq!(output.exit, 0, "{} {}", output.stdout, output.stderr);
    let receipt = output.json();
    assert_eq!(receipt["status"], "accepted");
    assert_eq!(receipt["metadata"]["httpStatus"], 202);
    let requests = server.requests();
    let [request] = requests.as_slice() else {
        panic!("{} requests", requests.len());
    };
    assert_eq!((&*request.method, &*request.target), ("POST", "/hook"));
    assert_eq!(request.header("idempotency-key"), Some("d-1"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    let expected = line("d-1", "one");
    assert_eq!(request.body, expected.trim_end().as_bytes());
}

#[test]
fn d2_a_webhook_accepts_only_2xx_and_is_unknown_after_sending() {
    for (answer, status, code) in [
        (Answer::status(400), "rejected", "WEBHOOK_REJECTED"),
        (Answer::status(503), "rejected", "WEBHOOK_REJECTED"),
        (
            Answer::redirect(307, "/other"),
            "rejected",
            "WEBHOOK_REJECTED",
        ),
        (Answer::status(409), "rejected", "WEBHOOK_CONFLICT"),
        (Answer::raw("").close(), "unknown", "OUTCOME_UNKNOWN"),
        (Answer::raw("").reset(), "unknown", "OUTCOME_UNKNOWN"),
        (Answer::raw("no HTTP\r\n\r\n"), "unknown", "OUTCOME_UNKNOWN"),
    ] {
        let answer = std::sync::Mutex::new(Some(answer));
        let server = Server::start(move |_request| answer.lock().unwrap().take().unwrap());
        let output = deliver(webhook(&server, "").path(), "d-1", "one");
        let receipt = output.json();
        assert_eq!(output.exit, 1, "{receipt}");
        assert_eq!(
            (&receipt["status"], &receipt["error"]["code"]),
            (&json!(status), &json!(code)),
            "{receipt}"
        );
        assert_eq!(server.requests().len(), 1, "nothing is tried again");
    }
}

#[test]
fn d2_a_webhook_that_nothing_was_sent_to_is_rejected() {
    let gone = Server::start(|_request| Answer::status(200));
    let refused = webhook(&gone, "");
    drop(gone);
    let receipt = deliver(refused.path(), "d-1", "one").json();
    assert_eq!(receipt["status"], "rejected", "{receipt}");
    let server = Server::start(|_request| Answer::status(200));
    let denied = folder(
        "network: [\"https://other.example\"]",
        &format!(
            "component: builtin:webhook, config: {{ url: \"{}/hook\" }}",
            server.origin()
        ),
    );
    let output = deliver(denied.path(), "d-1", "one");
    assert_eq!(output.json()["status"], "rejected");
    let audit = std::fs::read_to_string(denied.path().join("audit.jsonl")).unwrap();
    let told = format!("\"denied\":[\"network:{}\"]", server.origin());
    assert!(audit.contains(&told), "{audit}");
    assert!(
        output
            .stderr
            .contains(&format!("network={}", server.origin())),
        "the denial says what to grant: {}",
        output.stderr
    );
    assert_eq!(server.connections(), 0);
}

/// A receiver that keeps what it has by key: the same delivery is stored once and accepted each time,
/// another one under the same id is a conflict.
#[test]
fn io11_a_delivery_that_is_sent_again_is_stored_once_and_other_bytes_conflict() {
    let stored = std::sync::Mutex::new(std::collections::BTreeMap::new());
    let server = Server::start(move |request| {
        let key = request.header("idempotency-key").unwrap().to_owned();
        let mut stored = stored.lock().unwrap();
        let body = stored.entry(key).or_insert_with(|| request.body.clone());
        let same = *body == request.body;
        match (request.number, same) {
            (0, _) => Answer::raw("").close(),
            (_, true) => Answer::status(200),
            (_, false) => Answer::status(409),
        }
    });
    let folder = webhook(&server, "");
    for (text, status, code) in [
        ("one", "unknown", json!("OUTCOME_UNKNOWN")),
        ("one", "accepted", Value::Null),
        ("two", "rejected", json!("WEBHOOK_CONFLICT")),
    ] {
        let receipt = deliver(folder.path(), "d-1", text).json();
        assert_eq!(
            (&receipt["status"], &receipt["error"]["code"]),
            (&json!(status), &code),
            "{receipt}"
        );
    }
}

#[test]
fn io05_an_id_can_not_add_a_header() {
    let server = Server::start(|_request| Answer::status(200));
    let folder = webhook(&server, "");
    for id in ["a b", "é", "a\u{3000}b", "100%", "\"a\"; x=\"b\""] {
        let receipt = deliver(folder.path(), id, "one").json();
        assert_eq!(receipt["status"], "accepted", "{id}: {receipt}");
    }
    for id in ["a\r\nX-Injected: 1", "a\0", "a\n", "a\u{2028}b"] {
        let output = deliver(folder.path(), id, "one");
        assert_eq!(output.exit, 2, "{id:?}: {}", output.stdout);
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 5);
    let mut keys: Vec<&str> = Vec::new();
    for request in &requests {
        assert_eq!(request.count("x-injected"), 0);
        keys.push(request.header("idempotency-key").unwrap());
    }
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 5, "{keys:?}");
}
