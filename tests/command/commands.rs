//! The command tools as people and scripts call them (SPEC L2, R1, R5, T3; CASES CM05).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Output, binary, command, tidegate_in};

pub(super) const ALL: [&str; 2] = ["--allow", "plugin=commands"];

/// A folder with something to find.
pub(super) fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.txt"), "first\nTODO: second\n").unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    fs::write(folder.path().join("sub/b.txt"), "TODO\n").unwrap();
    folder
}

pub(super) fn call(folder: &TempDir, tool: &str, arguments: &Value, more: &[&str]) -> Output {
    let arguments = arguments.to_string();
    let words = ["call", tool, &arguments];
    tidegate_in(folder.path(), &[&words, more].concat())
}

pub(super) fn grep(pattern: &str) -> Value {
    json!({"pattern": pattern, "paths": ["."], "recursive": true})
}

#[test]
fn l2_one_allow_is_enough_for_every_command_tool() {
    let folder = folder();
    let found = call(&folder, "grep", &grep("TODO"), &ALL);
    assert_eq!((found.exit, &*found.stderr), (0, ""));
    assert_eq!(found.stdout, "./a.txt:2:TODO: second\n./sub/b.txt:1:TODO\n");
    for (tool, arguments, stdout) in [
        ("ls", json!({}), "a.txt\nsub\n"),
        ("cat", json!({"path": "sub/b.txt"}), "TODO\n"),
        ("find", json!({"type": "directory"}), ".\n./sub\n"),
        ("head", json!({"path": "a.txt", "lines": 1}), "first\n"),
        (
            "tail",
            json!({"path": "a.txt", "lines": 1}),
            "TODO: second\n",
        ),
        (
            "wc",
            json!({"path": "a.txt", "metric": "bytes"}),
            "19 a.txt\n",
        ),
        ("sort", json!({"path": "a.txt"}), "TODO: second\nfirst\n"),
        (
            "uniq",
            json!({"path": "sub/b.txt", "count": true}),
            "      1 TODO\n",
        ),
        (
            "cut",
            json!({"path": "a.txt", "fields": "1", "delimiter": ":"}),
            "first\nTODO\n",
        ),
        ("file", json!({"path": "a.txt"}), "a.txt: ASCII text\n"),
        ("pwd", json!({}), "/workspace\n"),
    ] {
        let output = call(&folder, tool, &arguments, &ALL);
        assert_eq!(
            (output.exit, &*output.stdout),
            (0, stdout),
            "{tool}: {}",
            output.stderr
        );
    }
    let used = call(&folder, "du", &json!({"path": "."}), &ALL);
    assert!(used.stdout.ends_with("\t.\n"), "{}", used.stdout);
    let status = call(&folder, "stat", &json!({"path": "a.txt"}), &ALL);
    assert!(
        status.stdout.starts_with("  File: a.txt\n  Size: 19"),
        "{}",
        status.stdout
    );
}

#[test]
fn t3_a_denial_comes_before_execute_and_says_what_to_grant() {
    let folder = folder();
    for (allowed, denied, hint) in [
        (&[][..], "tool:grep", "--allow tool=grep"),
        (&["tool=grep"], "read:.", "--allow read"),
        (&["tool=grep", "read"], "execute:", "--allow execute="),
        (&["tool=grep", "execute=grep"], "read:.", "--allow read"),
        (
            &["tool=ls", "read", "execute=grep"],
            "tool:grep",
            "--allow tool=grep",
        ),
    ] {
        let mut options = vec!["--json"];
        for allow in allowed {
            options.extend(["--allow", allow]);
        }
        let output = call(&folder, "grep", &grep("TODO"), &options);
        let error = &output.json()["error"];
        assert_eq!(
            (output.exit, &error["code"]),
            (2, &json!("PERMISSION_DENIED")),
            "{allowed:?}"
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(denied), "{allowed:?}: {message}");
        assert!(message.contains(hint), "{allowed:?}: {message}");
    }
    let exact = [
        "--allow",
        "tool=grep",
        "--allow",
        "read",
        "--allow",
        "execute=grep",
    ];
    assert_eq!(call(&folder, "grep", &grep("TODO"), &exact).exit, 0);
}

#[test]
fn r5_a_denial_inside_execute_rejects_the_call() {
    let folder = folder();
    // Some command is granted, so the tool starts; the one that it asks for is not.
    let other = [
        "--allow",
        "tool=grep",
        "--allow",
        "read",
        "--allow",
        "execute=ls",
        "--json",
    ];
    let output = call(&folder, "grep", &grep("TODO"), &other);
    let error = &output.json()["error"];
    assert_eq!(
        (output.exit, &error["code"]),
        (2, &json!("PERMISSION_DENIED")),
        "{error}"
    );
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("execute:grep"), "{message}");
    assert!(message.contains("--allow execute=grep"), "{message}");
}

#[test]
fn r5_a_nonzero_exit_is_a_result_with_its_output() {
    let folder = folder();
    let arguments = json!({"pattern": "TODO", "paths": ["a.txt", "gone"]});
    let options = [&ALL[..], &["--json"]].concat();
    let output = call(&folder, "grep", &arguments, &options);
    let result = output.json();
    assert_eq!((output.exit, &result["status"]), (1, &json!("failed")));
    assert_eq!(result["error"]["code"], "COMMAND_EXIT_NONZERO");
    assert_eq!(result["content"], "a.txt:2:TODO: second\n");
    let structured = &result["structuredContent"];
    assert_eq!(structured["exitCode"], 2);
    assert_eq!(structured["incomplete"], true);
    assert_eq!(
        structured["args"],
        json!(["-n", "--", "TODO", "a.txt", "gone"])
    );
    assert_eq!(
        structured["stderr"],
        "grep: gone: No such file or directory\n"
    );
}

/// The root of a machine reads everything, so the command gives up that right first.
fn unprivileged(folder: &TempDir, arguments: &Value) -> Value {
    let arguments = arguments.to_string();
    let words = [
        "call",
        "grep",
        &arguments,
        "--json",
        "--allow",
        "plugin=commands",
    ];
    let plain = command(folder.path(), &words, &[]);
    let mut unprivileged = Command::new("setpriv");
    unprivileged
        .args([
            "--bounding-set=-dac_override,-dac_read_search",
            "--inh-caps=-all",
            "--",
        ])
        .arg(binary())
        .args(words)
        .current_dir(folder.path())
        .env_clear()
        .env("PATH", "/usr/bin:/bin");
    for (name, value) in plain.get_envs() {
        unprivileged.env(name, value.unwrap());
    }
    // Only the root of a machine may give up a right of that kind, and only it has it.
    let output = if rustix::process::geteuid().is_root() {
        unprivileged.output().unwrap()
    } else {
        { plain }.output().unwrap()
    };
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

#[test]
fn cm05_an_unreadable_file_is_incomplete_and_never_no_match() {
    let folder = folder();
    let closed = folder.path().join("closed");
    fs::write(&closed, "TODO: closed\n").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let both = unprivileged(
        &folder,
        &json!({"pattern": "TODO", "paths": ["closed", "a.txt"]}),
    );
    assert_eq!(both["content"], "a.txt:2:TODO: second\n", "{both}");
    assert_eq!(both["structuredContent"]["incomplete"], true);
    assert_eq!(
        both["structuredContent"]["stderr"],
        "grep: closed: Permission denied\n"
    );
    assert_eq!(both["error"]["code"], "COMMAND_EXIT_NONZERO");
    let message = both["error"]["message"].as_str().unwrap();
    assert!(message.contains("may not be read"), "{message}");
    let alone = unprivileged(&folder, &json!({"pattern": "TODO", "paths": ["closed"]}));
    assert_eq!(alone["error"]["code"], "COMMAND_EXIT_NONZERO", "{alone}");
    assert_eq!(alone["structuredContent"]["exitCode"], 2);
    let walked = unprivileged(&folder, &grep("TODO"));
    assert_eq!(walked["structuredContent"]["incomplete"], true, "{walked}");
}
