//! FIFOs, sockets and devices in the workspace: nothing opens them, nothing waits (FS06).

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use serde_json::{Value, json};
use tidegate::Runtime;

use super::asking::{ask, assert_ended, assert_says, own_engine, runtime_on, timed};
use super::files::operations;
use crate::support::Fixture;

const AT_ONCE: Duration = Duration::from_secs(1);

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// A device that reads as `/dev/zero` does, where this user may make one and the disk allows it.
fn zeros(path: &Path) -> bool {
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, path, FileType::CharacterDevice, mode, makedev(1, 5)).is_ok()
}

/// A workspace with one of each kind and a link, each by its name and the type bits of its mode.
fn irregular() -> (Fixture, Vec<(&'static str, u64)>, UnixListener) {
    let fixture = Fixture::new(&["read", "write"]);
    fixture.write("a.txt", "regular");
    fifo(&fixture.path("ff"));
    let listener = UnixListener::bind(fixture.path("sock")).unwrap();
    std::os::unix::fs::symlink("ff", fixture.path("to_ff")).unwrap();
    let mut kinds = vec![("ff", 0o010_000), ("sock", 0o140_000), ("to_ff", 0o010_000)];
    if zeros(&fixture.path("zero")) {
        kinds.push(("zero", 0o020_000));
    }
    (fixture, kinds, listener)
}

/// What one operation says, which must come at once.
async fn at_once(runtime: &Runtime, tool: &str, arguments: Value) -> Value {
    let told = arguments.to_string();
    let (result, elapsed) = timed(ask(runtime, tool, arguments)).await;
    assert!(elapsed < AT_ONCE, "{tool} {told}: {elapsed:?}");
    result
}

/// The engine has one slot and three threads: had any of these calls left one blocked, the later
/// ones would never start.
#[tokio::test]
async fn fs06_what_is_neither_file_nor_folder_is_never_opened_and_blocks_nothing() {
    let (fixture, kinds, listener) = irregular();
    let engine = own_engine(1);
    let runtime = runtime_on(&engine, &fixture, "probe").await;
    for (path, kind) in kinds {
        // Setting times by path is a test of its own.
        for operation in operations(path)
            .into_iter()
            .filter(|row| row["op"] != "set_times")
        {
            let told = operation.to_string();
            let flags = &operation["flags"];
            let expected = match operation["op"].as_str().unwrap() {
                "stat" => "ok",
                "list" => "not-directory",
                _ if *flags == json!(["read", "directory"]) => "not-directory",
                _ if *flags == json!(["write", "create", "exclusive"]) => "exist",
                _ => "unsupported",
            };
            let result = at_once(&runtime, "fs", operation).await;
            let answer = result["content"].as_str().unwrap();
            // A socket can't even be opened, to see that it is no folder.
            let fits = answer == expected || (path == "sock" && answer == "unsupported");
            assert!(fits, "{told}: {answer}");
        }
        let asked = json!({"path": path, "follow": true});
        let status = at_once(&runtime, "file_status", asked).await;
        assert_says(&status, "ok");
        let mode = status["structuredContent"]["mode"].as_u64().unwrap();
        assert_eq!(mode & 0o170_000, kind, "{path}");
    }
    let read = at_once(&runtime, "fs", json!({"op": "read", "path": "a.txt"})).await;
    assert_says(&read, "regular");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "nobody has connected");
}

/// Nothing needs to be opened for that; whether it is done or refused, it is at once.
#[tokio::test]
async fn fs06_setting_the_times_of_a_fifo_by_its_path_waits_for_nobody() {
    let (fixture, kinds, _listener) = irregular();
    let engine = own_engine(1);
    let runtime = runtime_on(&engine, &fixture, "probe").await;
    for (path, _kind) in kinds {
        let told = json!({"op": "set_times", "path": path, "seconds": 1});
        at_once(&runtime, "fs", told).await;
    }
    assert_says(
        &at_once(&runtime, "fs", json!({"op": "read", "path": "a.txt"})).await,
        "regular",
    );
}

#[tokio::test]
async fn fs06_a_reading_tool_says_that_it_is_no_file() {
    let (fixture, kinds, _listener) = irregular();
    let runtime = runtime_on(&own_engine(1), &fixture, "read-text").await;
    for (path, _kind) in kinds {
        let result = at_once(&runtime, "read_text", json!({ "path": path })).await;
        assert_ended(&result, "failed", "NOT_A_FILE", "regular file");
    }
    let result = at_once(&runtime, "read_text", json!({"path": "a.txt"})).await;
    assert_says(&result, "regular");
}

/// With a writer or a reader at the other end an open would not block; it is refused all the same,
/// and the other end notices nothing.
#[tokio::test]
async fn fs06_a_fifo_with_somebody_at_the_other_end_is_refused_as_well() {
    let fixture = Fixture::new(&["read", "write"]);
    fifo(&fixture.path("ff"));
    let mut options = std::fs::OpenOptions::new();
    let mut other = options
        .read(true)
        .write(true)
        .open(fixture.path("ff"))
        .unwrap();
    std::io::Write::write_all(&mut other, b"secret").unwrap();
    let runtime = fixture.runtime(&["probe"]).await;
    for op in ["read", "read_stream", "write", "set_size"] {
        let result = at_once(&runtime, "fs", json!({"op": op, "path": "ff"})).await;
        assert_says(&result, "unsupported");
    }
    let mut buffer = [0; 64];
    let read = std::io::Read::read(&mut other, &mut buffer).unwrap();
    assert_eq!(
        &buffer[..read],
        b"secret",
        "nothing was taken and nothing added"
    );
}

/// They can be named, moved and removed like anything in a folder that may be written.
#[tokio::test]
async fn fs06_irregular_files_are_listed_moved_and_removed() {
    let (fixture, kinds, _listener) = irregular();
    let runtime = fixture.runtime(&["probe"]).await;
    let list = at_once(&runtime, "fs", json!({"op": "list"})).await;
    for (path, _kind) in &kinds {
        assert!(
            list["structuredContent"]
                .as_array()
                .unwrap()
                .contains(&json!(path)),
            "{list}"
        );
    }
    let moved = at_once(
        &runtime,
        "fs",
        json!({"op": "rename", "path": "ff", "to": "gg"}),
    )
    .await;
    assert_says(&moved, "ok");
    assert_says(
        &at_once(&runtime, "fs", json!({"op": "unlink", "path": "gg"})).await,
        "ok",
    );
}
