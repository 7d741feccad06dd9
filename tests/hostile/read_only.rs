//! Files that may be read and not changed, and numbers out of range for those that may
//! (SPEC S2; WA01, WA03, WA04, WA16).

use serde_json::json;

use super::asking::{ask, assert_says, denied};
use super::files::{Beside, assert_denied, snapshot};
use crate::support::Fixture;

#[tokio::test]
async fn wa03_truncating_a_read_only_file_is_not_permitted() {
    let beside = Beside::new(&["read"]);
    let before = snapshot(beside.fixture.workspace.path());
    let runtime = beside.fixture.runtime(&["probe"]).await;
    assert_denied(
        &runtime,
        json!({"op": "open_truncate_readonly", "path": "a.txt"}),
    )
    .await;
    for flags in [
        json!(["truncate"]),
        json!(["read", "truncate"]),
        json!(["write"]),
        json!(["read", "write"]),
        json!(["write", "truncate"]),
        json!(["create"]),
        json!(["read", "create"]),
        json!(["create", "exclusive"]),
        json!(["exclusive"]),
        json!(["read", "create", "truncate"]),
        json!(["mutate-directory"]),
        json!(["read", "mutate-directory"]),
    ] {
        for path in ["a.txt", "real", "absent.txt"] {
            assert_denied(
                &runtime,
                json!({"op": "open", "path": path, "flags": flags}),
            )
            .await;
        }
    }
    assert_eq!(snapshot(beside.fixture.workspace.path()), before);
    let read = json!({"op": "read", "path": "a.txt"});
    assert_eq!(beside.fixture.probe_files(read).await, "keep");
}

#[tokio::test]
async fn s2_a_read_grant_allows_no_change_of_any_kind_and_each_try_is_recorded() {
    let beside = Beside::new(&["read"]);
    std::os::unix::fs::symlink("a.txt", beside.fixture.path("link")).unwrap();
    let before = snapshot(beside.fixture.workspace.path());
    let runtime = beside.fixture.runtime(&["probe"]).await;
    for (operation, recorded) in [
        (json!({"op": "write", "path": "new.txt"}), "write:new.txt"),
        (json!({"op": "write", "path": "a.txt"}), "write:a.txt"),
        (json!({"op": "write", "path": "link"}), "write:link"),
        (
            json!({"op": "set_size", "path": "a.txt"}),
            "write:an open file",
        ),
        (
            json!({"op": "set_times", "path": "a.txt", "seconds": 1}),
            "write:a.txt",
        ),
        (
            json!({"op": "handle_set_times", "path": "a.txt", "seconds": 1}),
            "write:an open file",
        ),
        (
            json!({"op": "symlink", "path": "l", "target": "a.txt"}),
            "write:l",
        ),
        (
            json!({"op": "link", "path": "a.txt", "to": "b.txt"}),
            "write:b.txt",
        ),
        (
            json!({"op": "rename", "path": "a.txt", "to": "b.txt"}),
            "write:a.txt",
        ),
        (json!({"op": "unlink", "path": "a.txt"}), "write:a.txt"),
        (json!({"op": "rmdir", "path": "real"}), "write:real"),
        (json!({"op": "mkdir", "path": "made"}), "write:made"),
    ] {
        let result = ask(&runtime, "fs", operation.clone()).await;
        assert_says(&result, "not-permitted");
        assert_eq!(denied(&result), [recorded], "{operation}");
    }
    assert_eq!(snapshot(beside.fixture.workspace.path()), before);
}

#[tokio::test]
async fn wa04_a_read_only_file_is_neither_linked_nor_moved_to_where_it_could_be_written() {
    for allow in [
        ["read=ro", "write=rw", "read=rw"],
        ["read=ro", "write=rw", "read=ro"],
        ["read", "write=rw", "read"],
    ] {
        let fixture = Fixture::new(&allow);
        fixture.write("ro/a", "keep");
        fixture.write("rw/mine", "mine");
        let before = snapshot(&fixture.path("ro"));
        let runtime = fixture.runtime(&["probe"]).await;
        let (from, path) = if allow[0] == "read" {
            (".", "ro/a")
        } else {
            ("ro", "a")
        };
        for operation in ["link", "rename"] {
            let told =
                json!({"op": operation, "dir": from, "path": path, "to_dir": "rw", "to": "b"});
            assert_denied(&runtime, told).await;
            // And the other way, over what is there.
            let told =
                json!({"op": operation, "dir": "rw", "path": "mine", "to_dir": from, "to": path});
            assert_denied(&runtime, told).await;
        }
        assert_says(
            &ask(
                &runtime,
                "fs",
                json!({"op": "write", "dir": "rw", "path": "b"}),
            )
            .await,
            "ok",
        );
        assert_eq!(snapshot(&fixture.path("ro")), before, "{allow:?}");
        assert_eq!(fixture.read("rw/mine"), "mine");
    }
}

#[tokio::test]
async fn wa16_times_out_of_range_are_errors_of_the_guest_and_no_panic() {
    let fixture = Fixture::new(&["read", "write"]);
    fixture.write("a.txt", "keep");
    let runtime = fixture.runtime(&["probe"]).await;
    let past_i64 = u64::try_from(i64::MAX).unwrap() + 1;
    for (seconds, nanoseconds) in [
        (u64::MAX, 1_999_999_999_u32),
        (u64::MAX, 0),
        (u64::MAX, 999_999_999),
        (u64::MAX - 1, u32::MAX),
        (past_i64, 0),
        (past_i64 - 1, u32::MAX),
    ] {
        for operation in ["set_times", "handle_set_times"] {
            let told = json!({
                "op": operation, "path": "a.txt", "seconds": seconds, "nanoseconds": nanoseconds,
            });
            let answer = ask(&runtime, "fs", told.clone()).await["content"].clone();
            assert!(
                ["overflow", "invalid"].contains(&answer.as_str().unwrap()),
                "{told}: {answer}"
            );
        }
    }
    for (seconds, nanoseconds) in [
        (0, u32::MAX),
        (1, 1_000_000_000),
        (253_402_300_800_u64, 0),
        (1 << 40, 1),
    ] {
        let told = json!({
            "op": "set_times", "path": "a.txt", "seconds": seconds, "nanoseconds": nanoseconds,
        });
        ask(&runtime, "fs", told).await;
        assert_says(
            &ask(&runtime, "fs", json!({"op": "stat", "path": "a.txt"})).await,
            "ok",
        );
        let status = ask(&runtime, "file_status", json!({"path": "a.txt"})).await;
        assert_says(&status, "ok");
    }
    assert_eq!(fixture.read("a.txt"), "keep");
}

/// The length of a read is a wish: what is not there takes no memory.
#[tokio::test]
async fn wa01_a_read_of_more_than_there_is_gives_what_there_is() {
    let fixture = Fixture::new(&["read"]);
    fixture.write("a.txt", "keep");
    let runtime = fixture.runtime(&["probe"]).await;
    for op in ["read", "read_stream"] {
        for bytes in [5, 1 << 40, u64::MAX] {
            let told = json!({"op": op, "path": "a.txt", "bytes": bytes});
            assert_says(&ask(&runtime, "fs", told).await, "keep");
        }
    }
}
