//! The official conformance suite against `POST /mcp`, in both eras: what it finds is what the table in
//! `docs/mcp.md` says, scenario by scenario.
//!
//! The suite has no way to send a token, so a proxy of a few lines adds one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp::installed::{Node, node};
use crate::mcp::made::{MadeTool, Said, plugin};
use crate::serve::service::Service;
use crate::support::root;

const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

/// What a scenario came to, as the table says it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Passes,
    /// These checks fail, and others pass.
    AllBut(BTreeSet<String>),
    Fails,
}

#[test]
fn m5_the_conformance_suite_finds_what_the_docs_say() {
    let Some(node) = node() else { return };
    let service = service();
    let proxy = Proxy::start(node, &service);
    let listed = table();
    for revision in REVISIONS {
        let found = run(node, &proxy, revision);
        let listed = &listed[revision];
        let names = |verdicts: &BTreeMap<String, Verdict>| -> Vec<String> {
            verdicts.keys().cloned().collect()
        };
        assert_eq!(names(&found), names(listed), "scenarios of {revision}");
        let others = found.iter().filter(|(scenario, verdict)| {
            match &listed[*scenario] {
                // Why it fails is for the suite to say: what it looks at is not there.
                Verdict::Fails => **verdict == Verdict::Passes,
                other => other != *verdict,
            }
        });
        let others: Vec<_> = others.collect();
        assert!(others.is_empty(), "{revision}: {others:#?}");
    }
}

/// A service with the tools that the suite asks for by name, as far as a plugin can be one of them.
fn service() -> Service {
    let (folder, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fs::write(folder.path().join("made.wasm"), plugin(&tools())).unwrap();
    let options = ["--plugin", "made.wasm", "--allow", "tool=*"];
    Service::over("{}", &options, (folder, state))
}

fn tools() -> [MadeTool; 6] {
    let object = || json!({"type": "object"}).to_string();
    let (mut steps, wait) = (String::new(), wait(120));
    for done in [0, 50, 100] {
        let report = format!(
            "(call $progress (i64.const {done}) (i32.const 1) (i64.const 100) (i32.const 0) (i32.const 0))"
        );
        steps.extend([report.as_str(), &wait]);
    }
    [
        MadeTool {
            name: "test_simple_text",
            schema: object(),
            does: String::new(),
            said: Said::Text("This is a simple text response for testing."),
        },
        MadeTool {
            name: "test_error_handling",
            schema: object(),
            does: String::new(),
            said: Said::Failure("This tool intentionally returns an error for testing"),
        },
        MadeTool {
            name: "test_tool_with_progress",
            schema: object(),
            does: steps,
            said: Said::Text("done"),
        },
        MadeTool {
            name: "test_logging_tool",
            schema: object(),
            does: "(call $log (i32.const 2) (i32.const 0) (i32.const 0))".to_owned(),
            said: Said::Text("logged"),
        },
        MadeTool {
            name: "test_parameter_in_a_header",
            schema: json!({
                "type": "object",
                "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
            })
            .to_string(),
            does: String::new(),
            said: Said::Text("done"),
        },
        MadeTool {
            name: "json_schema_2020_12_tool",
            schema: rich_schema().to_string(),
            does: String::new(),
            said: Said::Text("done"),
        },
    ]
}

/// Computes until so much of the call's time is gone: reports that come faster than ten a second are
/// left out.
fn wait(ms: u32) -> String {
    format!(
        "(local.set $until (i64.sub (call $remaining) (i64.const {ms})))
        (loop $again (br_if $again (i64.gt_u (call $remaining) (local.get $until))))"
    )
}

/// Words of JSON Schema 2020-12 that a host must not lose.
fn rich_schema() -> Value {
    let text = json!({"type": "string"});
    let address = json!({
        "$anchor": "addressDef", "type": "object", "properties": {"street": text, "city": text},
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": address},
        "properties": {
            "name": text, "address": {"$ref": "#/$defs/address"}, "phone": text, "email": text,
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

/// Adds the operator's token to what the suite asks.
struct Proxy {
    child: Child,
    url: String,
}

impl Proxy {
    fn start(node: &Node, service: &Service) -> Self {
        let mut child = node
            .script("bearer.mjs")
            .args([format!("http://{}", service.address), service.token()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut port).unwrap();
        let url = format!("http://127.0.0.1:{}/mcp", port.trim());
        Self { child, url }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What the suite finds, by scenario.
fn run(node: &Node, proxy: &Proxy, revision: &str) -> BTreeMap<String, Verdict> {
    let results = TempDir::new().unwrap();
    let said = Command::new(&node.program)
        .arg(node.package("conformance/dist/index.js"))
        .args(["server", "--timeout", "20000", "--url", &proxy.url])
        .args(["--requirements", revision, "--output-dir"])
        .arg(results.path())
        .output()
        .unwrap();
    let found: BTreeMap<_, _> = fs::read_dir(results.path())
        .unwrap()
        .map(|folder| verdict(&folder.unwrap().path()))
        .collect();
    let stderr = String::from_utf8_lossy(&said.stderr);
    assert!(!found.is_empty(), "the suite did not run: {stderr}");
    found
}

/// The name and the verdict of one scenario: its folder is named after it and the time.
fn verdict(folder: &Path) -> (String, Verdict) {
    let name = folder.file_name().unwrap().to_str().unwrap();
    let name = name.strip_prefix("server-").unwrap();
    let (name, _time) = name.split_at(name.len() - "-2026-07-28T12-00-00-000Z".len());
    let checks = fs::read(folder.join("checks.json")).unwrap();
    let checks: Vec<Value> = serde_json::from_slice(&checks).unwrap();
    // That messages have the right shape is a check of every scenario, and says nothing of this one.
    let own = |check: &&Value| !check["id"].as_str().unwrap().starts_with("wire-schema");
    let with = |status: &str| -> BTreeSet<String> {
        let checks = checks.iter().filter(own);
        checks
            .filter(|check| check["status"] == status)
            .map(|check| check["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let shapes = checks.iter().filter(|check| !own(check));
    for check in shapes {
        assert_ne!(check["status"], "FAILURE", "{name}: {check}");
    }
    let (passed, failed) = (with("SUCCESS"), with("FAILURE"));
    let verdict = match (passed.is_empty(), failed.is_empty()) {
        (false, true) => Verdict::Passes,
        (false, false) => Verdict::AllBut(failed),
        (true, _) => Verdict::Fails,
    };
    (name.to_owned(), verdict)
}

/// The table in `docs/mcp.md`: a scenario, its verdict for each revision, and why.
fn table() -> BTreeMap<&'static str, BTreeMap<String, Verdict>> {
    let page = fs::read_to_string(root().join("docs/mcp.md")).unwrap();
    let (_, table) = page.split_once("| scenario |").unwrap();
    let mut listed: BTreeMap<&str, BTreeMap<String, Verdict>> = BTreeMap::new();
    for line in table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
    {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        for (revision, cell) in REVISIONS.into_iter().zip(&cells[1..]) {
            let verdict = match *cell {
                "" => continue,
                "passes" => Verdict::Passes,
                "no" => Verdict::Fails,
                other => Verdict::AllBut(quoted(other)),
            };
            for scenario in quoted(cells[0]) {
                listed
                    .entry(revision)
                    .or_default()
                    .insert(scenario, verdict.clone());
            }
        }
    }
    listed
}

/// What stands between backticks.
fn quoted(text: &str) -> BTreeSet<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.map(str::to_owned).collect()
}
