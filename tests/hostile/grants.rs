//! Grants of some folders and of one kind of access: what is beside, above and below them
//! (SPEC S1, S2).

use serde_json::json;
use tidegate::Runtime;

use super::asking::{ask, assert_says, denied};
use super::files::{Beside, assert_denied, operations, snapshot};
use crate::support::Fixture;

/// `probe`'s answer to one operation in one granted folder.
async fn within(runtime: &Runtime, dir: &str, op: &str, path: &str) -> String {
    let told = json!({"op": op, "dir": dir, "path": path});
    ask(runtime, "fs", told).await["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn s2_a_grant_of_one_folder_is_that_folder_and_what_is_below_it() {
    let fixture = Fixture::new(&["read=docs"]);
    fixture.write("docs/a.txt", "in docs");
    fixture.write("docs/deep/b.txt", "deep");
    fixture.write("docs-secret/k", "secret");
    fixture.write("other.txt", "other");
    let runtime = fixture.runtime(&["probe", "read-text"]).await;
    assert_says(
        &ask(&runtime, "fs", json!({"op": "preopens"})).await,
        "docs",
    );
    assert_eq!(within(&runtime, "docs", "read", "a.txt").await, "in docs");
    assert_eq!(
        within(&runtime, "docs", "read", "deep/../a.txt").await,
        "in docs"
    );
    assert_eq!(within(&runtime, "docs", "list", "deep").await, "b.txt");
    for path in [
        "../other.txt",
        "../docs-secret/k",
        "deep/../../other.txt",
        "..",
        "../docs/a.txt",
    ] {
        for mut operation in operations(path) {
            operation["dir"] = json!("docs");
            assert_denied(&runtime, operation).await;
        }
    }
    for (path, code) in [
        ("docs/a.txt", None),
        ("other.txt", Some("READ_DENIED")),
        ("docs-secret/k", Some("READ_DENIED")),
        ("docs/../other.txt", Some("READ_DENIED")),
        ("docs/../docs-secret/k", Some("READ_DENIED")),
    ] {
        let result = ask(&runtime, "read_text", json!({ "path": path })).await;
        assert_eq!(result["error"]["code"].as_str(), code, "{path}: {result}");
    }
}

#[tokio::test]
async fn s2_a_write_grant_inside_a_read_grant_opens_that_folder_only() {
    let fixture = Fixture::new(&["read", "write=out"]);
    fixture.write("a.txt", "keep");
    fixture.write("out/old.txt", "old");
    fixture.write("outer/k", "keep");
    let runtime = fixture.runtime(&["probe"]).await;
    assert_says(
        &ask(&runtime, "fs", json!({"op": "preopens"})).await,
        "out\n.",
    );
    // Inside: both.
    assert_eq!(within(&runtime, "out", "read", "old.txt").await, "old");
    assert_eq!(within(&runtime, "out", "write", "new.txt").await, "ok");
    assert_eq!(within(&runtime, ".", "read", "out/new.txt").await, "probe");
    // Around: reading only, also where the inner folder is reached through the outer one.
    assert_eq!(within(&runtime, ".", "read", "a.txt").await, "keep");
    let before = (snapshot(&fixture.path("outer")), fixture.read("a.txt"));
    for (dir, path) in [
        (".", "a.txt"),
        (".", "outer/k"),
        ("out", "../a.txt"),
        ("out", "../outer/k"),
    ] {
        for op in [
            "write",
            "unlink",
            "mkdir",
            "set_times",
            "open_truncate_readonly",
        ] {
            assert_denied(&runtime, json!({"op": op, "dir": dir, "path": path})).await;
        }
    }
    for op in ["link", "rename"] {
        for (dir, path, to_dir, to) in [
            (".", "a.txt", "out", "b.txt"),
            ("out", "old.txt", ".", "b.txt"),
            ("out", "old.txt", ".", "out/b.txt"),
            ("out", "../a.txt", "out", "b.txt"),
            ("out", "old.txt", "out", "../b.txt"),
        ] {
            let told = json!({"op": op, "dir": dir, "path": path, "to_dir": to_dir, "to": to});
            assert_denied(&runtime, told).await;
        }
    }
    assert_eq!(
        (snapshot(&fixture.path("outer")), fixture.read("a.txt")),
        before
    );
    assert_eq!(fixture.read("out/old.txt"), "old");
}

#[tokio::test]
async fn s2_a_write_only_grant_neither_reads_nor_lists() {
    let fixture = Fixture::new(&["write=out"]);
    fixture.write("out/secret.txt", "secret");
    fixture.write("out/deep/k", "secret");
    let runtime = fixture.runtime(&["probe"]).await;
    for (op, path) in [
        ("read", "secret.txt"),
        ("read_stream", "secret.txt"),
        ("list", "."),
        ("list", "deep"),
        ("read", "deep/k"),
    ] {
        assert_denied(&runtime, json!({"op": op, "path": path})).await;
    }
    for flags in [
        json!(["read"]),
        json!([]),
        json!(["read", "write"]),
        json!(["read", "create"]),
    ] {
        assert_denied(
            &runtime,
            json!({"op": "open", "path": "secret.txt", "flags": flags}),
        )
        .await;
    }
    // It writes.
    assert_says(
        &ask(
            &runtime,
            "fs",
            json!({"op": "write", "path": "deep/new.txt"}),
        )
        .await,
        "ok",
    );
    assert_says(
        &ask(&runtime, "fs", json!({"op": "mkdir", "path": "made"})).await,
        "ok",
    );
    assert_eq!(fixture.read("out/deep/new.txt"), "probe");
    let status = ask(&runtime, "file_status", json!({"path": "out/secret.txt"})).await;
    assert_says(&status, "PERMISSION_DENIED");
}

/// Moving or linking is no way to read what may only be written.
#[tokio::test]
async fn s2_a_write_only_file_does_not_move_to_where_it_could_be_read() {
    let fixture = Fixture::new(&["write=in", "read=out", "write=out"]);
    fixture.write("in/secret.txt", "secret");
    fixture.write("in/deep/k", "secret");
    fixture.write("out/a.txt", "mine");
    let runtime = fixture.runtime(&["probe"]).await;
    for op in ["link", "rename"] {
        for path in ["secret.txt", "deep", "deep/k"] {
            let told = json!({"op": op, "dir": "in", "path": path, "to_dir": "out", "to": "b"});
            assert_denied(&runtime, told).await;
        }
    }
    assert_eq!(within(&runtime, "out", "list", ".").await, "a.txt");
    // The other way the plugin gives away what it may read: allowed, and no longer readable.
    let told =
        json!({"op": "rename", "dir": "out", "path": "a.txt", "to_dir": "in", "to": "a.txt"});
    assert_says(&ask(&runtime, "fs", told).await, "ok");
    assert_denied(
        &runtime,
        json!({"op": "read", "dir": "in", "path": "a.txt"}),
    )
    .await;
}

#[tokio::test]
async fn s2_an_absolute_grant_is_that_folder_only() {
    let outside = tempfile::TempDir::new().unwrap();
    std::fs::create_dir(outside.path().join("data")).unwrap();
    std::fs::write(outside.path().join("data/a.txt"), "granted").unwrap();
    std::fs::write(outside.path().join("k"), "secret").unwrap();
    let data = outside.path().join("data");
    let data = data.to_str().unwrap();
    let fixture = Fixture::new(&[&format!("read={data}")]);
    fixture.write("a.txt", "workspace");
    let runtime = fixture.runtime(&["probe"]).await;
    assert_says(&ask(&runtime, "fs", json!({"op": "preopens"})).await, data);
    assert_eq!(within(&runtime, data, "read", "a.txt").await, "granted");
    assert_eq!(
        within(&runtime, ".", "read", "a.txt").await,
        "no-such-preopen"
    );
    let absolute = format!("{data}/a.txt");
    for path in [
        "../k",
        "../data/a.txt",
        "..",
        absolute.as_str(),
        "/etc/hostname",
    ] {
        for mut operation in operations(path) {
            operation["dir"] = json!(data);
            assert_denied(&runtime, operation).await;
        }
    }
    assert_denied(
        &runtime,
        json!({"op": "write", "dir": data, "path": "a.txt"}),
    )
    .await;
    let status = |path: &str| ask(&runtime, "file_status", json!({ "path": path }));
    assert_says(&status(&absolute).await, "ok");
    for path in [
        format!("{data}/../k"),
        format!("{data}-x"),
        "a.txt".to_owned(),
        "/".to_owned(),
    ] {
        assert_says(&status(&path).await, "PERMISSION_DENIED");
    }
}

/// The grant is the folder that was opened, not its name: a later swap changes nothing.
#[tokio::test]
async fn s2_a_granted_folder_that_is_swapped_for_a_link_stays_the_folder_it_was() {
    let beside = Beside::new(&["read=docs", "write=docs"]);
    beside.fixture.write("docs/a.txt", "as granted");
    let before = beside.secrets();
    let runtime = beside.fixture.runtime(&["probe"]).await;
    std::fs::rename(beside.fixture.path("docs"), beside.fixture.path("moved")).unwrap();
    std::os::unix::fs::symlink("../ws-secret", beside.fixture.path("docs")).unwrap();
    assert_eq!(
        within(&runtime, "docs", "read", "a.txt").await,
        "as granted"
    );
    assert_eq!(within(&runtime, "docs", "read", "k").await, "no-entry");
    assert_eq!(within(&runtime, "docs", "write", "new").await, "ok");
    assert_eq!(beside.fixture.read("moved/new"), "probe");
    assert_eq!(beside.secrets(), before);
    let status = ask(&runtime, "file_status", json!({"path": "docs/k"})).await;
    assert_says(&status, "NOT_FOUND");
}

/// What is recorded is what the plugin asked for, bounded: no place to hide data or forge a line.
#[tokio::test]
async fn t3_recorded_denials_are_bounded_distinct_and_on_one_line() {
    let runtime = Fixture::new(&["read"]).runtime(&["probe"]).await;
    let path = format!("../a\nb\u{1b}[2K{}", "x".repeat(200));
    let result = ask(&runtime, "fs", json!({"op": "read", "path": path})).await;
    let [name] = denied(&result).try_into().unwrap();
    assert!(name.starts_with("read:../a"), "{name}");
    assert!(
        name.contains("[2Kxxx") && !name.contains(char::is_control),
        "{name}"
    );
    assert!(name.len() <= "read:".len() + 128, "{}", name.len());
}
