//! Paths and links that lead out of the workspace (CASES FS01, FS02, FS04).

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use tidegate::Runtime;

use crate::hostile::files::Beside;
use crate::support::{Answer, ask};

/// A workspace with a sibling that its name is the start of.
fn siblings() -> Beside {
    let siblings = Beside::new(&["read", "execute=*"]);
    siblings.fixture.write("real/file", "inside\n");
    siblings
}

fn link(siblings: &Beside, target: impl AsRef<std::path::Path>, name: &str) {
    symlink(target, siblings.fixture.path(name)).unwrap();
}

/// The arguments of a tool that reads one path.
fn reading(tool: &str, path: &str) -> Value {
    match tool {
        "grep" => json!({"pattern": ".", "paths": [path]}),
        "cut" => json!({"path": path, "fields": "1"}),
        _ => json!({ "path": path }),
    }
}

/// The tools that read what a path leads to.
const READERS: [&str; 8] = ["cat", "grep", "head", "tail", "wc", "sort", "uniq", "cut"];

fn read(tools: &Runtime, tool: &str, path: &str) -> Answer {
    ask(tools, tool, reading(tool, path)).unwrap()
}

#[test]
fn fs01_a_path_that_leads_out_is_refused_before_anything_runs() {
    let siblings = siblings();
    let absolute = siblings.fixture.path("../ws-secret/k");
    let absolute = absolute.to_str().unwrap();
    let tools = siblings.fixture.tools();
    let others = ["ls", "find", "stat", "file", "du"];
    for path in [
        "../ws-secret/k",
        "real/../../ws-secret/k",
        absolute,
        "/",
        "..",
        "real/..",
    ] {
        for tool in READERS.iter().chain(&others) {
            let error = ask(&tools, tool, reading(tool, path)).unwrap_err();
            assert_eq!(error.code(), "INVALID_ARGUMENTS", "{tool} {path}");
            let message = error.to_string();
            assert!(!message.contains("ws-secret"), "{message}");
        }
    }
}

#[test]
fn fs02_links_that_lead_out_are_shown_and_never_followed() {
    let siblings = siblings();
    link(&siblings, "/etc/hostname", "abs");
    link(&siblings, "../ws-secret/k", "rel_out");
    link(&siblings, siblings.fixture.path("real/file"), "abs_inside");
    link(&siblings, "real/file", "good");
    let tools = siblings.fixture.tools();
    for tool in READERS {
        for path in ["abs", "rel_out", "abs_inside"] {
            let answer = read(&tools, tool, path);
            assert_eq!(answer.code, "COMMAND_EXIT_NONZERO", "{tool} {path}");
            assert_eq!(answer.stdout, "", "{tool} {path}");
            assert!(answer.stderr.contains("Permission denied"), "{answer:?}");
            let denied = answer.result["metadata"]["denied"].to_string();
            assert!(
                denied.contains(&format!("read:{path}")),
                "{tool}: {}",
                answer.result
            );
        }
        assert_eq!(read(&tools, tool, "good").status, "success", "{tool}");
    }
    let listed = ask(&tools, "ls", json!({})).unwrap();
    listed.is(0, "a.txt\nabs\nabs_inside\ngood\nreal\nrel_out\n", "");
    for path in ["abs", "rel_out"] {
        let status = read(&tools, "stat", path);
        assert_eq!(status.exit, Some(0), "{status:?}");
        assert!(status.stdout.contains("symbolic link"), "{status:?}");
        assert!(!status.stdout.contains("ws-secret") && !status.stdout.contains("/etc"));
        read(&tools, "ls", path).is(0, &format!("{path}\n"), "");
    }
    let walked = ask(
        &tools,
        "grep",
        json!({"pattern": "s.cret", "paths": ["."], "recursive": true}),
    );
    assert!(!walked.unwrap().result.to_string().contains("secret"));
}

#[test]
fn fs04_descriptors_of_the_host_are_out_of_reach() {
    let siblings = siblings();
    link(&siblings, "/proc/self/fd", "p");
    link(&siblings, "/proc/self/fd/7", "seven");
    link(&siblings, "/proc/self/cwd", "cwd");
    link(&siblings, "/proc/self/root", "root");
    let tools = siblings.fixture.tools();
    for tool in READERS {
        for path in ["p/3", "p/7", "seven", "cwd/Cargo.toml", "root/etc/hostname"] {
            let answer = read(&tools, tool, path);
            assert_eq!(answer.stdout, "", "{tool} {path}");
            assert!(answer.stderr.contains("Permission denied"), "{answer:?}");
        }
    }
    for path in ["p/3", "cwd/src", "root/etc"] {
        for tool in ["ls", "find", "du", "stat"] {
            let answer = read(&tools, tool, path);
            assert_ne!(answer.exit, Some(0), "{tool} {path}: {answer:?}");
        }
        let told = read(&tools, "file", path);
        assert!(told.stdout.contains("cannot open"), "{told:?}");
    }
    for tool in ["find", "du"] {
        let walked = read(&tools, tool, ".");
        assert!(!walked.stdout.contains("p/"), "{tool}: {walked:?}");
    }
}
