//! Symbolic links that lead out, and making such links (FS02, FS04, FS05).

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tidegate::Workspace;
use tidegate_sandbox::files::{self, OpenRequest};

use super::asking::{ask, assert_ended, assert_says};
use super::files::{Beside, assert_denied};
use crate::support::Fixture;

#[tokio::test]
async fn fs02_the_links_themselves_are_shown() {
    let beside = Beside::new(&["read"]);
    symlink("/etc/hostname", beside.fixture.path("abs")).unwrap();
    symlink("../ws-secret/k", beside.fixture.path("rel_out")).unwrap();
    symlink("a.txt", beside.fixture.path("good")).unwrap();
    let runtime = beside.fixture.runtime(&["probe"]).await;
    let list = ask(&runtime, "fs", json!({"op": "list"})).await;
    assert_says(&list, "a.txt\nabs\ngood\nreal\nrel_out");
    for link in ["abs", "rel_out", "good"] {
        let status = ask(&runtime, "fs", json!({"op": "lstat", "path": link})).await;
        assert_eq!(
            status["structuredContent"]["type"], "symbolic-link",
            "{link}"
        );
    }
    let read = ask(&runtime, "fs", json!({"op": "read", "path": "good"})).await;
    assert_says(&read, "keep");
}

#[tokio::test]
async fn fs02_a_reading_tool_denies_all_three_links_alike() {
    let beside = Beside::new(&["read"]);
    symlink("/etc/hostname", beside.fixture.path("abs")).unwrap();
    symlink("../ws-secret/k", beside.fixture.path("rel_out")).unwrap();
    symlink(
        beside.fixture.path("a.txt"),
        beside.fixture.path("abs_inside"),
    )
    .unwrap();
    let runtime = beside.fixture.runtime(&["read-text"]).await;
    let mut errors = Vec::new();
    for path in ["abs", "rel_out", "abs_inside"] {
        let result = ask(&runtime, "read_text", json!({ "path": path })).await;
        assert_ended(&result, "failed", "READ_DENIED", "may not read");
        errors.push(result["error"].clone());
    }
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
}

/// Each descriptor of the host by its number; `tests/tables/paths.jsonl` has the other ways.
#[tokio::test]
async fn fs04_the_descriptors_of_the_host_are_out_of_reach() {
    let beside = Beside::new(&["read", "write"]);
    beside.add_links();
    let runtime = beside.fixture.runtime(&["probe"]).await;
    for descriptor in 0..10 {
        for path in [
            format!("p/{descriptor}"),
            format!("rel/{descriptor}"),
            format!("/proc/self/fd/{descriptor}"),
        ] {
            for op in ["read", "list", "stat", "write"] {
                assert_denied(&runtime, json!({"op": op, "path": path})).await;
            }
        }
    }
}

#[tokio::test]
async fn fs05_links_that_lead_out_are_not_made() {
    let beside = Beside::new(&["read", "write"]);
    beside.fixture.write("real/deep/f", "");
    let runtime = beside.fixture.runtime(&["probe"]).await;
    let outer = beside.outer().to_owned();
    for (path, target) in [
        ("x", "../../../../etc"),
        ("x", ".."),
        ("x", "../ws-secret/k"),
        ("x", "/etc/hostname"),
        ("x", "/"),
        ("x", &format!("{outer}/ws/a.txt")),
        ("x", "real/../../ws-secret"),
        ("x", "real/deep/../../../ws-secret"),
        ("x", "./.."),
        ("real/x", "../../ws-secret"),
        ("real/deep/x", "../../../ws-secret"),
        ("real/../x", "../ws-secret"),
        ("real/deep/../x", "../../ws-secret"),
    ] {
        assert_denied(
            &runtime,
            json!({"op": "symlink", "path": path, "target": target}),
        )
        .await;
    }
    assert_eq!(
        leading_out(beside.fixture.workspace.path()),
        Vec::<PathBuf>::new()
    );
    for (path, target) in [
        ("in", "a.txt"),
        ("real/in", "inner.txt"),
        ("far", "real/inner.txt"),
    ] {
        let told = json!({"op": "symlink", "path": path, "target": target});
        assert_says(&ask(&runtime, "fs", told).await, "ok");
        assert_says(
            &ask(&runtime, "fs", json!({"op": "stat", "path": path})).await,
            "ok",
        );
    }
}

/// The links below a folder that a program outside the sandbox would follow out of it.
fn leading_out(folder: &Path) -> Vec<PathBuf> {
    let top = folder.canonicalize().unwrap();
    let mut found = Vec::new();
    let mut ahead = vec![folder.to_owned()];
    while let Some(path) = ahead.pop() {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_symlink() {
                if path
                    .canonicalize()
                    .is_ok_and(|target| !target.starts_with(&top))
                {
                    found.push(path);
                }
            } else if path.is_dir() {
                ahead.push(path);
            }
        }
    }
    found
}

fn link(path: &str, target: &str) -> Value {
    json!({"op": "symlink", "path": path, "target": target})
}

fn mkdir(path: &str) -> Value {
    json!({"op": "mkdir", "path": path})
}

/// Links or renames from one path to another.
fn from_to(op: &str, path: &str, to: &str) -> Value {
    json!({"op": op, "path": path, "to": to})
}

/// Steps that are harmless one by one.
fn series() -> [(&'static str, Vec<Value>); 6] {
    let deep = [mkdir("d"), mkdir("d/e")];
    let then = |steps: &[Value]| [&deep, steps].concat();
    [
        (
            "a target through a link to here",
            vec![link("here", "."), link("x", "here/../ws-secret")],
        ),
        (
            "a place through a link to here",
            vec![link("here", "."), link("here/x", "../ws-secret")],
        ),
        (
            "a link made deep and moved up",
            then(&[link("d/e/x", "../.."), from_to("rename", "d/e/x", "x")]),
        ),
        (
            "a folder with a link, moved up",
            then(&[link("d/e/x", "../.."), from_to("rename", "d/e", "e")]),
        ),
        (
            "a link linked further up",
            then(&[link("d/e/x", "../.."), from_to("link", "d/e/x", "x")]),
        ),
        (
            "a folder on the way swapped for a link",
            then(&[
                link("x", "d/e/../.."),
                from_to("rename", "d/e", "e"),
                link("d/e", "../real"),
            ]),
        ),
    ]
}

/// Through a link to a folder, or by moving what was made, is no way either.
#[tokio::test]
async fn fs05_no_series_of_steps_makes_a_link_that_leads_out() {
    let mut made = Vec::new();
    for (what, steps) in series() {
        let beside = Beside::new(&["read", "write"]);
        let runtime = beside.fixture.runtime(&["probe"]).await;
        for step in steps {
            ask(&runtime, "fs", step).await;
        }
        if !leading_out(beside.fixture.workspace.path()).is_empty() {
            made.push(what);
        }
    }
    assert_eq!(made, Vec::<&str>::new());
}

/// Whoever made the link: readers of the host go through the open folder and refuse.
#[test]
fn fs05_readers_of_the_host_refuse_links_that_lead_out() {
    let beside = Beside::new(&[]);
    for (link, target) in [
        ("x", "../../../../../../../../etc"),
        ("y", "/etc"),
        ("z", "../ws-secret"),
    ] {
        symlink(target, beside.fixture.path(link)).unwrap();
    }
    let workspace = Workspace::open(beside.fixture.workspace.path()).unwrap();
    let folder = std::fs::File::open(beside.fixture.workspace.path()).unwrap();
    for path in ["x/hostname", "y/hostname", "z/k", "x", "y", "z"] {
        let refused = std::io::ErrorKind::PermissionDenied;
        let kind = |error: std::io::Error| error.kind();
        assert_eq!(
            workspace.dir().open(path).map_err(kind).unwrap_err(),
            refused,
            "{path}"
        );
        assert_eq!(
            workspace.dir().read(path).map_err(kind).unwrap_err(),
            refused,
            "{path}"
        );
        assert_eq!(
            workspace.dir().metadata(path).map_err(kind).unwrap_err(),
            refused,
            "{path}"
        );
        let request = OpenRequest {
            read: true,
            follow: true,
            ..OpenRequest::default()
        };
        let opened = files::open(&folder, Path::new(path), request);
        assert_eq!(opened.map_err(kind).unwrap_err(), refused, "{path}");
        let status = files::status(&folder, Path::new(path), files::Follow::Yes);
        assert_eq!(status.map_err(kind).unwrap_err(), refused, "{path}");
    }
    assert!(workspace.dir().open("a.txt").is_ok());
}

/// Links in a circle, and very many of them, end at once.
#[tokio::test]
async fn fs02_links_in_a_circle_end_with_an_error() {
    let fixture = Fixture::new(&["read", "write"]);
    for (link, target) in [("a", "b"), ("b", "a"), ("self", "self"), ("in", "in/x")] {
        symlink(target, fixture.path(link)).unwrap();
    }
    for hop in 0..60 {
        symlink(
            format!("hop{}", hop + 1),
            fixture.path(&format!("hop{hop}")),
        )
        .unwrap();
    }
    fixture.write("hop60", "end");
    let runtime = fixture.runtime(&["probe"]).await;
    for path in ["a", "b", "self", "in", "a/x", "hop0"] {
        for op in ["read", "stat", "list", "write"] {
            let result = ask(&runtime, "fs", json!({"op": op, "path": path})).await;
            assert_says(&result, "loop");
        }
    }
}
