//! Folders that hold a FIFO, a loop, a swap, or no end (CASES FS06, FS07, FS08, FS10).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{ask, commands};

/// The arguments of a tool that goes through a folder.
fn walking(tool: &str, pattern: &str, path: &str) -> Value {
    match tool {
        "grep" => json!({"pattern": pattern, "paths": [path], "recursive": true}),
        "ls" => json!({"path": path, "all": true}),
        _ => json!({"path": path, "maxDepth": 32}),
    }
}

#[test]
fn fs06_what_is_no_file_is_told_and_never_waited_for() {
    let fixture = commands();
    fixture.write("f", "x\n");
    let fifo = fixture.path("ff");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let tools = fixture.tools();
    let start = Instant::now();
    for tool in ["cat", "wc", "head", "tail", "sort", "uniq", "cut"] {
        let arguments = match tool {
            "cut" => json!({"path": "ff", "fields": "1"}),
            _ => json!({"path": "ff"}),
        };
        let answer = ask(&tools, tool, arguments).unwrap();
        assert_eq!((answer.exit, &*answer.stdout), (Some(1), ""), "{tool}");
        assert!(answer.stderr.contains("not a regular file"), "{answer:?}");
        assert!(
            answer.message.contains("a path is not a regular file"),
            "{answer:?}"
        );
    }
    let grep = |arguments| ask(&tools, "grep", arguments).unwrap();
    let walked = grep(walking("grep", "x", "."));
    walked.is(0, "./f:1:x\n", "");
    let named = grep(json!({"pattern": "x", "paths": ["ff"]}));
    named.is(2, "", "grep: ff: not a regular file\n");
    ask(&tools, "file", json!({"path": "ff"}))
        .unwrap()
        .is(0, "ff: fifo (named pipe)\n", "");
    ask(&tools, "ls", json!({})).unwrap().is(0, "f\nff\n", "");
    let status = ask(&tools, "stat", json!({"path": "ff"})).unwrap();
    assert!(status.stdout.contains("fifo\n"), "{status:?}");
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    // Nobody holds the pipe open: it could not be opened for writing without waiting otherwise.
    let writer = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
    let opened = rustix::fs::open(&fifo, writer, rustix::fs::Mode::empty());
    assert_eq!(
        opened.unwrap_err(),
        rustix::io::Errno::NXIO,
        "no reader stays behind"
    );
}

/// Puts a folder and a link that leads out in the place of each other, again and again.
fn swap(place: &Path, aside: &Path, outside: &Path, rounds: u32) {
    for _ in 0..rounds {
        fs::rename(place, aside).unwrap();
        symlink(outside, place).unwrap();
        fs::remove_file(place).unwrap();
        fs::rename(aside, place).unwrap();
    }
}

#[test]
fn fs07_a_folder_that_becomes_a_link_on_the_way_leads_nowhere() {
    let outside = tempfile::tempdir().unwrap();
    let secret = "the-secret-beside";
    fs::write(outside.path().join(secret), secret).unwrap();
    let fixture = commands();
    fixture.write("d/inner/file", "text the\n");
    let (place, aside) = (fixture.path("d"), fixture.path("aside"));
    let is_over = AtomicBool::new(false);
    let tools = fixture.tools();
    thread::scope(|scope| {
        scope.spawn(|| {
            swap(&place, &aside, outside.path(), 10_000);
            is_over.store(true, Ordering::SeqCst);
        });
        let mut rounds = 0;
        while rounds < 5 || !is_over.load(Ordering::SeqCst) {
            for tool in ["find", "du", "grep", "ls"] {
                for path in [".", "d"] {
                    let answer = ask(&tools, tool, walking(tool, "the", path)).unwrap();
                    let said = answer.result.to_string();
                    assert!(!said.contains(secret), "{tool} {path}: {said}");
                }
            }
            rounds += 1;
        }
    });
}

#[test]
fn fs08_a_loop_of_links_is_told_once_and_followed_never() {
    let fixture = commands();
    fixture.write("loop/x/f", "hit\n");
    symlink("..", fixture.path("loop/x/up")).unwrap();
    symlink("b", fixture.path("a")).unwrap();
    symlink("a", fixture.path("b")).unwrap();
    let tools = fixture.tools();
    let ask = |tool, arguments| ask(&tools, tool, arguments).unwrap();
    ask("grep", walking("grep", "hit", "loop")).is(
        0,
        "loop/x/f:1:hit\n",
        "grep: loop/x/up: warning: recursive directory loop\n",
    );
    let found = ask("find", walking("find", "", "loop"));
    found.is(0, "loop\nloop/x\nloop/x/f\nloop/x/up\n", "");
    let used = ask("du", walking("du", "", "loop"));
    assert_eq!(
        (used.exit, used.stdout.lines().count()),
        (Some(0), 2),
        "{used:?}"
    );
    let circle = "Too many levels of symbolic links\n";
    ask("cat", json!({"path": "a"})).is(1, "", &format!("cat: a: {circle}"));
    ask("ls", json!({"path": "a"})).is(2, "", &format!("ls: cannot access 'a': {circle}"));
    let read = ask("grep", json!({"pattern": "x", "paths": ["a"]}));
    read.is(2, "", &format!("grep: a: {circle}"));
    assert!(
        read.message.contains("lead in a circle"),
        "{}",
        read.message
    );
    ask("find", json!({"path": "a"})).is(0, "a\n", "");
}

#[test]
fn fs10_three_thousand_folders_in_each_other_are_survived() {
    let fixture = commands();
    // No path reaches the deepest folder: the lower part is made apart and moved.
    let (upper, lower) = ("d/".repeat(1_400), "d/".repeat(1_600));
    fs::create_dir_all(fixture.path(&upper)).unwrap();
    fs::create_dir_all(fixture.path("lower").join(lower)).unwrap();
    fs::rename(fixture.path("lower"), fixture.path(&upper).join("d")).unwrap();
    let tools = fixture.tools();
    let start = Instant::now();
    let searched = ask(&tools, "grep", walking("grep", "x", ".")).unwrap();
    assert_eq!((&*searched.status, searched.exit), ("failed", Some(2)));
    assert_eq!(searched.code, "COMMAND_EXIT_NONZERO");
    let found = ask(&tools, "find", walking("find", "", ".")).unwrap();
    assert_eq!((found.exit, found.stdout.lines().count()), (Some(0), 33));
    let used = ask(&tools, "du", walking("du", "", ".")).unwrap();
    assert!(
        used.exit.is_some() && used.stdout.ends_with("\t.\n"),
        "{used:?}"
    );
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
    // The tree is too deep for its removal by path: its halves are parted again.
    fs::rename(fixture.path(&upper).join("d"), fixture.path("lower")).unwrap();
}
