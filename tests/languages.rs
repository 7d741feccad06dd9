//! The guests in C, Go, JavaScript and Python as people call them (SPEC P2): each tool through the
//! real binary. A guest that `cargo xtask guests` left out, for want of an answer from a registry, is
//! passed over here too, which the test says.

mod bounds;
mod calendar;
mod digest;
mod markdown;
mod rules;
mod table;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Output, command, root, tidegate_in};

/// One tool and what it takes beside a path.
#[derive(Clone, Copy, Debug)]
struct Tool {
    guest: &'static str,
    name: &'static str,
    /// More arguments that a call needs, as JSON.
    needs: &'static str,
    /// A small text that it takes.
    text: &'static str,
    /// The longest file that it takes, in bytes.
    most_bytes: u64,
    /// Memory in which it takes such a file, in bytes.
    memory_bytes: u64,
}

/// Every tool.
const TOOLS: [Tool; 5] = [
    Tool {
        guest: "digest",
        name: "digest",
        needs: "{}",
        text: "abc",
        most_bytes: 268_435_456,
        memory_bytes: 1 << 20,
    },
    Tool {
        guest: "markdown",
        name: "markdown_outline",
        needs: "{}",
        text: "# Head\n",
        most_bytes: 524_288,
        memory_bytes: 4 << 20,
    },
    Tool {
        guest: "markdown",
        name: "markdown_links",
        needs: "{}",
        text: "[a](b)\n",
        most_bytes: 524_288,
        memory_bytes: 4 << 20,
    },
    Tool {
        guest: "calendar",
        name: "free_busy",
        needs: r#"{"from":"2026-03-01T00:00:00Z","to":"2026-04-01T00:00:00Z"}"#,
        text: "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n",
        most_bytes: 4_194_304,
        memory_bytes: 16 << 20,
    },
    Tool {
        guest: "table",
        name: "table_query",
        needs: r#"{"aggregate":[{"op":"count"}]}"#,
        text: "a,b\n1,2\n",
        most_bytes: 4_194_304,
        memory_bytes: 32 << 20,
    },
];

/// The tools whose guests are built.
fn tools() -> impl Iterator<Item = (Tool, String)> {
    TOOLS
        .into_iter()
        .filter_map(|tool| Some((tool, component(tool.guest)?)))
}

impl Tool {
    /// Its arguments with a path and more.
    fn arguments(self, path: &str, more: &Value) -> Value {
        let mut arguments: Value = serde_json::from_str(self.needs).unwrap();
        arguments["path"] = path.into();
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        arguments
    }
}

/// The component of a guest, in the cache of compiled ones; none where the guest is left out.
///
/// Compiling `CPython` takes its time: it is done once, and other tests wait.
#[expect(clippy::print_stderr, reason = "a test that proves nothing says so")]
fn component(guest: &str) -> Option<String> {
    static COMPILED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let dist = root().join("guests/dist").canonicalize().unwrap();
    let path = dist.join(format!("{guest}.wasm"));
    if let Ok(reason) = fs::read_to_string(dist.join(format!("{guest}.left-out"))) {
        eprintln!("{guest} is left out: {reason}");
        return None;
    }
    assert!(path.is_file(), "{guest}: run `cargo xtask guests`");
    let path = path.to_str().unwrap().to_owned();
    let mut compiled = COMPILED.lock().unwrap();
    if compiled.insert(path.clone()) {
        let tools = ["tools", "--plugin", &path];
        let output = command(&root(), &tools, &[]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    Some(path)
}

/// A folder with one file in it.
fn folder_with(name: &str, text: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(name), text).unwrap();
    folder
}

/// Calls a tool that may read the whole folder.
fn call(folder: &Path, component: &str, tool: &str, arguments: &Value) -> Output {
    call_with(folder, component, tool, arguments, &["--allow", "read"])
}

/// Calls a tool under other grants.
fn call_with(
    folder: &Path,
    component: &str,
    tool: &str,
    arguments: &Value,
    more: &[&str],
) -> Output {
    let arguments = arguments.to_string();
    let permit = format!("tool={tool}");
    let words = ["call", tool, &arguments, "--plugin", component, "--json"];
    let granted = ["--allow", &permit];
    tidegate_in(folder, &[&words[..], &granted, more].concat())
}

/// The structured content of a success.
fn answer(output: &Output) -> Value {
    let result = output.json();
    assert_eq!(result["status"], json!("success"), "{result}");
    assert_eq!(output.exit, 0);
    result["structuredContent"].clone()
}

/// The code of what is no success: of a failed result or of a refusal.
fn code(output: &Output) -> String {
    output.json()["error"]["code"].as_str().unwrap().to_owned()
}
