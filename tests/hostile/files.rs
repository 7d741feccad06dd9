//! Files and folders outside a grant: other folders, other access, other words for the same path
//! (SPEC S2; FS01, FS02, FS04). The paths are in
//! `tests/tables/paths.jsonl`.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate::{Handles, Runtime, Workspace};

use super::asking::{ask, assert_ended, assert_says, denied, refusal};
use crate::support::Fixture;

/// A workspace `ws` beside a folder `ws-secret` that holds `k` and that nothing grants.
pub(super) struct Beside {
    pub(super) fixture: Fixture,
    pub(super) outer: TempDir,
}

impl Beside {
    pub(super) fn new(allow: &[&str]) -> Self {
        let outer = TempDir::new().unwrap();
        let mut fixture = Fixture::new(allow);
        fixture.workspace = tempfile::Builder::new()
            .prefix("ws")
            .rand_bytes(0)
            .tempdir_in(outer.path())
            .unwrap();
        fixture.write("a.txt", "keep");
        fixture.write("real/inner.txt", "inner");
        std::fs::create_dir(outer.path().join("ws-secret")).unwrap();
        std::fs::write(outer.path().join("ws-secret/k"), "secret").unwrap();
        Self { fixture, outer }
    }

    /// The links, files and the FIFO that the table's paths go through.
    pub(super) fn add_links(&self) {
        let inside = self.fixture.path("a.txt");
        for (link, target) in [
            ("abs", Path::new("/etc/hostname")),
            ("rel_out", Path::new("../ws-secret/k")),
            ("new_out", Path::new("../ws-secret/new")),
            ("folder", Path::new("../ws-secret")),
            ("real/up", Path::new("../../ws-secret/k")),
            ("hop", Path::new("rel_out")),
            // Documented: a link by an absolute path is denied even where it leads inside.
            ("abs_inside", &inside),
            ("p", Path::new("/proc/self/fd")),
            ("cwd", Path::new("/proc/self/cwd")),
            ("root", Path::new("/proc/self/root")),
            ("rel", Path::new("../../../../../../../../proc/self/fd")),
            ("dots", Path::new("../../../../../../../../../..")),
            ("here", Path::new(".")),
            ("in", Path::new("a.txt")),
            ("real/back", Path::new("../a.txt")),
            ("loop", Path::new("loop")),
            ("one", Path::new("two")),
            ("two", Path::new("one")),
        ] {
            symlink(target, self.fixture.path(link)).unwrap();
        }
        for (name, content) in [
            ("-n", "dash"),
            ("..a", "dots"),
            ("a..b", "dots"),
            (".env", "dots"),
            ("caf\u{e9}", "composed"),
            ("cafe\u{301}", "decomposed"),
            ("C:\\x", "drive"),
            ("a b", "space"),
        ] {
            self.fixture.write(name, content);
        }
    }

    /// Whether a path ends, inside the workspace, at a link.
    fn is_link(&self, path: &str) -> bool {
        let full = self.fixture.path(path);
        let inside = self.fixture.workspace.path().canonicalize().unwrap();
        let folder = full.parent().map(Path::canonicalize);
        let is_inside = folder.is_some_and(|folder| folder.is_ok_and(|at| at.starts_with(inside)));
        is_inside && full.is_symlink()
    }

    /// The secret's folder, to see that nothing in it changes.
    pub(super) fn secrets(&self) -> BTreeMap<String, String> {
        snapshot(&self.outer.path().join("ws-secret"))
    }

    pub(super) fn outer(&self) -> &str {
        self.outer.path().to_str().unwrap()
    }
}

/// Everything below a folder: mode, size, time of change, and what a file holds or a link says.
pub(super) fn snapshot(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut ahead = vec![folder.to_owned()];
    while let Some(path) = ahead.pop() {
        let metadata = path.symlink_metadata().unwrap();
        let inside = if metadata.is_dir() {
            ahead.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            String::new()
        } else if metadata.is_symlink() {
            std::fs::read_link(&path).unwrap().display().to_string()
        } else {
            std::fs::read_to_string(&path).unwrap()
        };
        let (seconds, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
        let shown = format!(
            "{:o} {} {seconds}.{nanoseconds} {inside}",
            metadata.mode(),
            metadata.nlink()
        );
        found.insert(path.display().to_string(), shown);
    }
    found
}

/// Each operation of `probe` on one path.
pub(super) fn operations(path: &str) -> Vec<Value> {
    let rows = [
        json!({"op": "read"}),
        json!({"op": "read_stream"}),
        json!({"op": "stat"}),
        json!({"op": "list"}),
        json!({"op": "open", "flags": ["read"]}),
        json!({"op": "open", "flags": ["read", "directory"]}),
        json!({"op": "open", "flags": ["write"]}),
        json!({"op": "open", "flags": ["write", "create"]}),
        json!({"op": "open", "flags": ["write", "create", "exclusive"]}),
        json!({"op": "open", "flags": ["write", "truncate"]}),
        json!({"op": "open", "flags": ["read", "write"]}),
        json!({"op": "open_truncate_readonly"}),
        json!({"op": "write"}),
        json!({"op": "set_size"}),
        json!({"op": "set_times"}),
        json!({"op": "handle_set_times"}),
    ];
    with_path(path, &rows)
}

/// Those that take a path as a name and follow no link at its end.
fn naming_operations(path: &str) -> Vec<Value> {
    let rows = [
        json!({"op": "lstat"}),
        json!({"op": "readlink"}),
        json!({"op": "symlink", "target": "a.txt"}),
        json!({"op": "link", "to": "in.txt"}),
        json!({"op": "rename", "to": "in.txt"}),
        json!({"op": "unlink"}),
        json!({"op": "rmdir"}),
        json!({"op": "mkdir"}),
    ];
    let mut rows = with_path(path, &rows);
    rows.push(json!({"op": "link", "path": "a.txt", "to": path}));
    rows.push(json!({"op": "rename", "path": "a.txt", "to": path}));
    rows
}

fn with_path(path: &str, rows: &[Value]) -> Vec<Value> {
    let with = |row: &Value| {
        let mut row = row.clone();
        row["path"] = json!(path);
        row
    };
    rows.iter().map(with).collect()
}

/// Checks that an operation is denied and that the host recorded it.
pub(super) async fn assert_denied(runtime: &Runtime, operation: Value) {
    let told = operation.to_string();
    let result = ask(runtime, "fs", operation).await;
    assert_eq!(result["content"], "not-permitted", "{told}: {result}");
    assert!(
        !denied(&result).is_empty(),
        "{told} is not recorded: {result}"
    );
}

/// A path of the table, and what reading it in the workspace comes to: `denied`, `nowhere` (any
/// answer but somebody's secret), or the text that is there.
struct Row {
    path: String,
    open: String,
}

/// The rows of the table, with the workspace's own place put in.
fn rows(beside: &Beside) -> Vec<Row> {
    let table = include_str!("../tables/paths.jsonl");
    let row = |line| {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        Row {
            path: text("path").replace("{outer}", beside.outer()),
            open: text("open"),
        }
    };
    table.lines().map(row).collect()
}

/// Whether a path leads above the folder it starts in by its text alone.
fn leads_above(path: &str) -> bool {
    let mut depth = 0_i32;
    path.starts_with('/')
        || path.split('/').any(|segment| {
            depth += match segment {
                "" | "." => 0,
                ".." => -1,
                _ => 1,
            };
            depth < 0
        })
}

#[tokio::test]
async fn fs01_fs02_fs04_no_operation_on_a_path_of_the_table_leads_out() {
    let beside = Beside::new(&["read", "write"]);
    beside.add_links();
    let before = (beside.secrets(), snapshot(beside.fixture.workspace.path()));
    let runtime = beside.fixture.runtime(&["probe"]).await;
    let rows = rows(&beside);
    let denied: Vec<&Row> = rows.iter().filter(|row| row.open == "denied").collect();
    assert!(denied.len() >= 60, "only {} rows", denied.len());
    for Row { path, .. } in denied {
        let is_link = beside.is_link(path);
        for operation in operations(path) {
            // POSIX lets nobody create over a link exclusively, wherever it leads.
            if is_link && operation["flags"] == json!(["write", "create", "exclusive"]) {
                assert_says(&ask(&runtime, "fs", operation).await, "exist");
            } else {
                assert_denied(&runtime, operation).await;
            }
        }
        if leads_above(path) {
            for operation in naming_operations(path) {
                assert_denied(&runtime, operation).await;
            }
        }
    }
    assert_eq!(
        (beside.secrets(), snapshot(beside.fixture.workspace.path())),
        before
    );
}

/// The status of files has a way of its own to resolve a path, and so has a tool that reads.
#[tokio::test]
async fn fs01_fs04_a_path_that_is_denied_is_denied_by_every_way_to_read_it() {
    let beside = Beside::new(&["read", "write"]);
    beside.add_links();
    let runtime = beside.fixture.runtime(&["probe", "read-text"]).await;
    for Row { path, .. } in rows(&beside).iter().filter(|row| row.open == "denied") {
        let result = ask(&runtime, "read_text", json!({ "path": path })).await;
        assert_ended(&result, "failed", "READ_DENIED", "may not read");
        assert!(!result.to_string().contains(beside.outer()), "{result}");
        let told = json!({"path": path, "follow": true});
        let status = ask(&runtime, "file_status", told).await;
        assert_says(&status, "PERMISSION_DENIED");
    }
}

#[tokio::test]
async fn fs01_what_is_inside_is_read_by_every_spelling_of_the_table() {
    let beside = Beside::new(&["read"]);
    beside.add_links();
    let runtime = beside.fixture.runtime(&["probe"]).await;
    let mut counted = 0;
    for Row { path, open } in rows(&beside) {
        if !matches!(open.as_str(), "denied" | "nowhere") {
            let result = ask(&runtime, "fs", json!({"op": "read", "path": path})).await;
            assert_eq!(result["content"], json!(open), "{path}");
            counted += 1;
        }
    }
    assert!(counted >= 15, "only {counted} rows");
}

#[tokio::test]
async fn fs01_every_way_out_is_the_same_public_error_without_a_host_path() {
    let beside = Beside::new(&["read"]);
    let runtime = beside.fixture.runtime(&["read-text"]).await;
    let outer = beside.outer();
    let mut answers = Vec::new();
    for path in [
        "../ws-secret/k",
        "../ws-secret/absent",
        "real/../../ws-secret/k",
        "real/../../ws-secret/absent",
        &format!("{outer}/ws-secret/k"),
        &format!("{outer}/ws-secret/absent"),
        "/etc/hostname",
        "/absent",
        "..",
    ] {
        let result = ask(&runtime, "read_text", json!({ "path": path })).await;
        assert_ended(&result, "failed", "READ_DENIED", "may not read");
        assert!(!result["error"].to_string().contains(outer), "{result}");
        assert!(!result.to_string().contains("secret\""), "{result}");
        answers.push(result["error"].clone());
    }
    assert!(
        answers.iter().all(|answer| *answer == answers[0]),
        "{answers:?}"
    );
    assert_says(
        &ask(&runtime, "read_text", json!({"path": "real/inner.txt"})).await,
        "inner",
    );
}

/// Paths that are odd and lead nowhere: any answer but the secret's, and the next call works.
#[tokio::test]
async fn fs01_odd_paths_reach_nothing_and_harm_nothing() {
    let beside = Beside::new(&["read"]);
    beside.add_links();
    let runtime = beside.fixture.runtime(&["probe"]).await;
    let odd = rows(&beside)
        .into_iter()
        .filter(|row| row.open == "nowhere");
    // Longer than a table should be wide.
    let long = ["x/".repeat(5_000), "real/../".repeat(400)];
    for path in odd.map(|row| row.path).chain(long) {
        for operation in operations(&path) {
            let result = ask(&runtime, "fs", operation.clone()).await;
            let text = result["content"].as_str().unwrap();
            assert!(!text.contains("secret"), "{operation:.100}: {result}");
        }
    }
    assert_eq!(
        ask(&runtime, "fs", json!({"op": "read", "path": "a.txt"})).await["content"],
        "keep"
    );
}

/// A granted folder that is itself a way out is not opened.
#[test]
fn s2_a_grant_of_a_link_that_leads_out_of_the_workspace_is_refused() {
    for root in ["link", "link/inner", "real/../../ws-secret"] {
        let beside = Beside::new(&[]);
        symlink("../ws-secret", beside.fixture.path("link")).unwrap();
        let mut grant = tidegate_contract::Grant::default();
        if tidegate_contract::grant::parse_allow(&format!("read={root}"), &mut grant).is_err() {
            continue;
        }
        let workspace = Workspace::open(beside.fixture.workspace.path()).unwrap();
        assert!(Handles::open(&grant, &workspace).is_err(), "{root}");
    }
}

/// A plugin without any grant has no folder at all.
#[tokio::test]
async fn s1_without_a_grant_there_are_no_files() {
    let beside = Beside::new(&[]);
    let runtime = beside.fixture.runtime(&["probe", "read-text"]).await;
    assert_says(&ask(&runtime, "fs", json!({"op": "preopens"})).await, "");
    assert_says(
        &ask(&runtime, "fs", json!({"op": "read", "path": "a.txt"})).await,
        "no-such-preopen",
    );
    let error = refusal(&runtime, "read_text", json!({"path": "a.txt"})).await;
    assert_eq!(error.code(), "PERMISSION_DENIED");
    assert!(error.to_string().contains("--allow read"), "{error}");
}
