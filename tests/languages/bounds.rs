//! The longest file, memory, progress and cancelling of every tool.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Tool, answer, call, call_with, code, component, tools};
use crate::support::command;

/// A file of so many bytes that a tool takes. Most of it says nothing.
fn write_file(path: &Path, tool: Tool, bytes: u64) {
    let (start, end) = match tool.guest {
        "digest" => {
            // Sparse: it takes no space.
            return File::create(path).unwrap().set_len(bytes).unwrap();
        }
        "calendar" => ("BEGIN:VCALENDAR\n", "END:VCALENDAR\n"),
        "table" => ("a\n", ""),
        _ => ("", ""),
    };
    let bytes = usize::try_from(bytes).unwrap();
    let line = if tool.guest == "calendar" {
        format!("X-A:{}\n", "x".repeat(1_019))
    } else {
        format!("{}\n", "x".repeat(1_023))
    };
    let mut text = start.to_owned();
    while text.len() + 2 * line.len() + end.len() <= bytes {
        text.push_str(&line);
    }
    // The last line fills up what is left.
    let rest = bytes - text.len() - end.len();
    text.push_str(line.trim_end());
    text.push_str(&"x".repeat(rest - line.len()));
    text.push('\n');
    text.push_str(end);
    assert_eq!(text.len(), bytes);
    fs::write(path, text).unwrap();
}

#[test]
fn c8_p2_the_longest_file_is_read_in_little_memory_and_one_byte_more_is_refused() {
    for (tool, component) in tools() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("file");
        let memory = format!("memory_bytes={}", tool.memory_bytes);
        let limits = [
            "--allow",
            "read",
            "--limit",
            &memory,
            "--limit",
            "deadline_ms=110000",
        ];
        let arguments = tool.arguments("file", &json!({}));
        let ask = || call_with(folder.path(), &component, tool.name, &arguments, &limits);
        for bytes in [tool.most_bytes - 1, tool.most_bytes] {
            write_file(&path, tool, bytes);
            answer(&ask());
        }
        write_file(&path, tool, tool.most_bytes + 1);
        let output = ask();
        assert_eq!((output.exit, &*code(&output)), (1, "TOO_LARGE"), "{tool:?}");
    }
}

#[test]
fn c8_p2_the_longest_line_is_read_and_one_byte_more_is_refused() {
    for (guest, tool, most) in [
        ("markdown", "markdown_outline", 65_536),
        ("table", "table_query", 65_536),
    ] {
        let Some(component) = component(guest) else {
            continue;
        };
        let folder = TempDir::new().unwrap();
        for bytes in [most - 1, most, most + 1] {
            let text = format!("a\n{}\n", "x".repeat(bytes));
            fs::write(folder.path().join("file"), text).unwrap();
            let output = call(folder.path(), &component, tool, &json!({"path": "file"}));
            if bytes <= most {
                answer(&output);
            } else {
                assert_eq!(code(&output), "TOO_LARGE", "{tool}");
            }
        }
    }
}

#[test]
fn p1_p2_every_tool_tells_how_far_it_is() {
    for (tool, component) in tools() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("file"), tool.text).unwrap();
        let arguments = tool.arguments("file", &json!({}));
        let told = ["--allow", "read", "-v"];
        let output = call_with(folder.path(), &component, tool.name, &arguments, &told);
        answer(&output);
        assert!(
            output.stderr.contains("bytes read"),
            "{tool:?}: {}",
            output.stderr
        );
    }
}

/// Both are in the middle of a file for a second or more when they have told of its start.
#[test]
fn x3_p2_a_cancelled_call_ends_as_cancelled() {
    for (tool, component) in tools() {
        if !matches!(tool.guest, "digest" | "table") {
            continue;
        }
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("file");
        if tool.guest == "table" {
            fs::write(&path, format!("a\n{}", "1\n".repeat(2_000_000))).unwrap();
        } else {
            write_file(&path, tool, tool.most_bytes);
        }
        let result = interrupted(folder.path(), &component, tool);
        assert_eq!(result["status"], json!("cancelled"), "{result}");
        assert_eq!(result["error"]["code"], json!("CANCELLED"));
    }
}

/// The result of a call that is interrupted when it has told of progress.
fn interrupted(folder: &Path, component: &str, tool: Tool) -> Value {
    let arguments = tool.arguments("file", &json!({})).to_string();
    let permit = format!("tool={}", tool.name);
    let words = [
        "call", tool.name, &arguments, "--plugin", component, "--json", "-v", "--allow", &permit,
        "--allow", "read",
    ];
    let mut child = command(folder, &words, &[]).spawn().unwrap();
    drop(child.stdin.take());
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("bytes read") {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0, "it ended too early");
    }
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    told.read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}
