//! `tidegate check` (SPEC P3): what it finds in components with one planted fault each, and that it
//! finds nothing in those that are shipped.

mod faults;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use self::faults::{FAULTS, failing_with, planted};
use crate::support::{Output, root, tidegate, tidegate_in};

fn checked(arguments: &[&str]) -> Output {
    tidegate(&[&["check"], arguments].concat())
}

/// The rules of a report that are broken at one level.
fn rules(report: &Value, level: &str) -> BTreeSet<String> {
    let findings = report["findings"].as_array().unwrap().iter();
    let findings = findings.filter(|finding| finding["level"] == level);
    findings
        .map(|finding| finding["rule"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn p3_a_component_without_a_fault_has_no_findings_but_its_cost() {
    let folder = TempDir::new().unwrap();
    let output = checked(&[&planted(&folder, "none"), "--json"]);
    let report = output.json();
    assert_eq!(output.exit, 0);
    assert_eq!(report["errors"], 0, "{report}");
    assert_eq!(report["warnings"], 0, "{report}");
    assert_eq!(rules(&report, "note"), BTreeSet::from(["cost".to_owned()]));
    let of: Vec<&Value> = report["figures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|figures| &figures["of"])
        .collect();
    assert_eq!(of, ["tool", "sink", "worker"]);
    for figures in report["figures"].as_array().unwrap() {
        assert!(
            figures["medianUs"].is_u64() && figures["memoryBytes"].is_u64(),
            "{figures}"
        );
        assert_eq!(figures["inputs"], figures["succeeded"], "{figures}");
    }
}

/// A workspace that the shipped tools find something in.
fn workspace() -> TempDir {
    let folder = TempDir::new().unwrap();
    let files = [
        ("a", "# Title\n\n[link](b)\nbanana\n"),
        ("table.csv", "name,count\nada,3\nbob,5\n"),
        (
            "week.ics",
            "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n",
        ),
    ];
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn p3_the_shipped_plugins_have_no_error() {
    let workspace = workspace();
    let folder = workspace.path().to_str().unwrap();
    for name in [
        "read-text",
        "commands",
        "web-search",
        "file",
        "webhook",
        "console",
    ] {
        let component = format!("builtin:{name}");
        let allow = format!("plugin={name}");
        let mut arguments = vec![component.as_str(), "--json", "--workspace", folder];
        // A search would leave the machine.
        if name != "web-search" {
            arguments.extend(["--allow", &allow]);
        }
        let output = checked(&arguments);
        let report = output.json();
        assert_eq!(
            (output.exit, &report["errors"]),
            (0, &json!(0)),
            "{name}: {report}"
        );
        let is_run = report["calls"].as_u64().unwrap() > 0;
        assert_eq!(is_run, name != "web-search", "{name}");
    }
}

#[test]
fn p3_the_example_plugins_of_every_language_have_no_error() {
    let workspace = workspace();
    let folder = workspace.path().to_str().unwrap();
    for name in [
        "outline", "shout", "posix", "digest", "markdown", "calendar", "table",
    ] {
        let component = root().join(format!("guests/dist/{name}.wasm"));
        if !component.exists() && Path::new(&component.with_extension("left-out")).exists() {
            continue;
        }
        let component = component.to_str().unwrap();
        let arguments = [
            component,
            "--json",
            "--workspace",
            folder,
            "--allow",
            "read",
        ];
        let output = checked(&arguments);
        let report = output.json();
        assert_eq!(
            (output.exit, &report["errors"]),
            (0, &json!(0)),
            "{name}: {report}"
        );
    }
}

#[test]
fn p3_functions_without_the_contract_are_checked_with_what_applies() {
    let arguments = [
        "guests/dist/shapes.wasm",
        "--json",
        "--limit",
        "deadline_ms=1000",
    ];
    let report = checked(&arguments).json();
    let about: BTreeSet<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["level"] != "note")
        .map(|finding| finding["where"]["name"].as_str().unwrap())
        .collect();
    // These two are for tests of limits: one never ends, one returns up to 4 GiB.
    assert_eq!(
        about,
        BTreeSet::from(["forms_fill", "forms_forever"]),
        "{report}"
    );
}

#[test]
fn p3_findings_are_shown_in_the_authors_terms() {
    let folder = TempDir::new().unwrap();
    let component = planted(&folder, "traps");
    let output = checked(&[&component]);
    assert_eq!(output.exit, 1);
    for said in [
        "error    traps\n",
        "tool say_word: the tool trapped",
        "with {}; it printed: ",
        "this plugin always panics here",
        "mend: Answer with a status and an error of your own",
        ": 1 error, 0 warnings, 2 notes; ",
        "seed 1\n",
    ] {
        assert!(
            output.stdout.contains(said),
            "{said:?} in {}",
            output.stdout
        );
    }
    let component = planted(&folder, "schema_contradicts");
    let output = checked(&[&component]);
    let said = "tool say_word #/properties/loud: `minLength` 9 is over `maxLength` 3\n";
    assert!(output.stdout.contains(said), "{}", output.stdout);
}

/// Checks the carried reader over one file, `a.txt`, with these lines as its author's calls.
fn checked_with(lines: &[&str]) -> Output {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.txt"), "text").unwrap();
    fs::write(folder.path().join("calls.jsonl"), lines.join("\n")).unwrap();
    let arguments = [
        "check",
        "builtin:read-text",
        "--allow",
        "read",
        "--arguments",
        "calls.jsonl",
        "--json",
    ];
    tidegate_in(folder.path(), &arguments)
}

#[test]
fn p3_an_authors_own_calls_are_made_and_compared() {
    let good = checked_with(&[
        r#"{"tool":"read_text","arguments":{"path":"a.txt"},"expect":"success"}"#,
        "",
        r#"{"tool":"read_text","arguments":{"path":"b.txt"},"expect":"failed"}"#,
        r#"{"tool":"read_text","arguments":{"path":7},"expect":"refused"}"#,
        r#"{"tool":"read_text","arguments":{"path":"c.txt"}}"#,
    ]);
    assert_eq!(good.exit, 0, "{}", good.stdout);
    assert_eq!(good.json()["figures"][0]["succeeded"], 1);
    for (arguments, expect, rule) in [
        (r#"{"path":"b.txt"}"#, r#""success""#, "example-unexpected"),
        (r#"{"path":"a.txt"}"#, r#""failed""#, "example-unexpected"),
        (r#"{"path":"a.txt"}"#, r#""refused""#, "example-unexpected"),
        (r#"{"file":"a.txt"}"#, r#""success""#, "example-refused"),
    ] {
        let line = format!(r#"{{"tool":"read_text","arguments":{arguments},"expect":{expect}}}"#);
        let output = checked_with(&[&line]);
        assert_eq!(output.exit, 1, "{line}");
        let errors = rules(&output.json(), "error");
        assert_eq!(errors, BTreeSet::from([rule.to_owned()]), "{line}");
    }
}

#[test]
fn p3_an_authors_call_that_is_denied_has_failed() {
    for (expect, is_unexpected) in [("success", true), ("refused", true), ("failed", false)] {
        let line = format!(
            r#"{{"tool":"read_text","arguments":{{"path":"/outside/a.txt"}},"expect":"{expect}"}}"#
        );
        let output = checked_with(&[&line]);
        let errors = rules(&output.json(), "error");
        assert_eq!(
            errors.contains("example-unexpected"),
            is_unexpected,
            "{expect}: {}",
            output.stdout
        );
    }
}

#[test]
fn p3_a_code_that_looks_like_a_limits_is_the_guests_own() {
    let folder = TempDir::new().unwrap();
    for (code, expected) in [
        ("LIMIT_HIGH", "never-succeeds"),
        ("LIMIT_HTTP", "error-code-reserved"),
    ] {
        let output = checked(&[&failing_with(&folder, code), "--json"]);
        let report = output.json();
        assert_eq!((output.exit, &report["errors"]), (0, &json!(0)), "{report}");
        let warnings = rules(&report, "warning");
        assert!(warnings.contains(expected), "{code}: {report}");
        let is_reserved = warnings.contains("error-code-reserved");
        assert_eq!(is_reserved, code == "LIMIT_HTTP");
    }
}

#[test]
fn p3_an_authors_call_that_is_malformed_is_named_by_its_line() {
    for (line, said) in [
        (
            r#"{"tool":"read_txt","arguments":{}}"#,
            "the component has no tool `read_txt`; did you mean `read_text`?",
        ),
        (r#"{"tool":"read_text","arguments":[]}"#, "expected a map"),
        (
            r#"{"tool":"read_text","arguments":{},"expects":"success"}"#,
            "unknown field `expects`",
        ),
        (
            r#"{"tool":"read_text","tool":"b","arguments":{}}"#,
            "duplicate",
        ),
        ("{", "EOF"),
    ] {
        let good = r#"{"tool":"read_text","arguments":{"path":"a.txt"}}"#;
        let output = checked_with(&[good, line]);
        assert_eq!(output.exit, 2, "{line}");
        let stderr = output.stderr;
        assert!(stderr.contains("calls.jsonl:2: "), "{line}: {stderr}");
        assert!(stderr.contains(said), "{line}: {stderr}");
    }
}

#[test]
fn p3_junit_has_a_case_for_each_rule_and_fails_those_that_are_broken() {
    let folder = TempDir::new().unwrap();
    let written = folder.path().join("report.xml");
    let junit = written.to_str().unwrap();
    fs::write(&written, "x".repeat(1 << 20)).unwrap();
    let output = checked(&[&planted(&folder, "error_path"), "--junit", junit]);
    assert_eq!(output.exit, 1);
    let xml = fs::read_to_string(&written).unwrap();
    assert!(xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"));
    assert!(
        xml.ends_with("</testsuites>\n"),
        "what was there before is gone"
    );
    assert_eq!(xml.matches("<failure ").count(), 1);
    assert!(
        xml.contains("name=\"error-unfit\"><failure type=\"error-unfit\""),
        "{xml}"
    );
    assert!(xml.contains("failures=\"1\""));
    let cases = xml.matches("<testcase ").count();
    assert!(xml.contains(&format!("tests=\"{cases}\"")));
    checked(&[&planted(&folder, "none"), "--junit", junit]);
    let xml = fs::read_to_string(&written).unwrap();
    assert_eq!(
        xml.matches("<testcase ").count(),
        cases,
        "the same cases, broken or not"
    );
    assert!(xml.contains("failures=\"0\""));
}

#[test]
fn p3_a_failed_check_leaves_no_report_of_an_earlier_one() {
    let folder = TempDir::new().unwrap();
    let (text, written) = (
        folder.path().join("text.wasm"),
        folder.path().join("report.xml"),
    );
    fs::write(&text, "hello").unwrap();
    fs::write(&written, "<testsuites/>").unwrap();
    let [text, junit] = [&text, &written].map(|path| path.to_str().unwrap());
    assert_eq!(checked(&[text, "--junit", junit]).exit, 2);
    assert_eq!(fs::read(&written).unwrap(), b"");
}

#[test]
fn p3_a_junit_file_is_the_users_as_any_other_and_has_to_be_writable() {
    let folder = TempDir::new().unwrap();
    let (plain, written) = (folder.path().join("plain"), folder.path().join("new.xml"));
    fs::write(&plain, "").unwrap();
    let component = planted(&folder, "none");
    let junit = written.to_str().unwrap();
    assert_eq!(checked(&[&component, "--junit", junit]).exit, 0);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&written), mode(&plain));

    let nowhere = folder.path().join("no-such-folder/report.xml");
    let nowhere = nowhere.to_str().unwrap();
    let output = checked(&[&component, "--junit", nowhere]);
    assert_eq!((output.exit, output.stdout.as_str()), (2, ""));
    assert!(output.stderr.contains(nowhere), "{}", output.stderr);

    let full = checked(&[&component, "--junit", "/dev/full"]);
    assert_eq!(full.exit, 2);
    assert!(full.stdout.contains("0 errors"), "the report is said");
    assert!(full.stderr.contains("--junit /dev/full"), "{}", full.stderr);
}

#[test]
fn p3_what_is_no_component_or_wrong_usage_is_refused() {
    let folder = TempDir::new().unwrap();
    let text = folder.path().join("text.wasm");
    fs::write(&text, "hello").unwrap();
    let module = folder.path().join("module.wasm");
    fs::write(&module, wat::parse_str("(module)").unwrap()).unwrap();
    let [text, module] = [&text, &module].map(|path| path.to_str().unwrap());
    for (arguments, said) in [
        (&[text][..], "no WebAssembly component"),
        (&[module], "core module"),
        (&["no-such.wasm"], "no-such.wasm"),
        (&["builtin:nothing"], "no carried plugin"),
        (
            &["builtin:console", "--limit", "cpu=1"],
            "unknown limit `cpu`",
        ),
        (&["builtin:console", "--allow", "reed"], "--allow reed"),
        (
            &["builtin:console", "--settings", "[]"],
            "--settings must be a JSON object",
        ),
        (&["builtin:console", "--cases", "0"], "--cases"),
        (&["builtin:console", "--cases", "1001"], "--cases"),
        (&["builtin:console", "--seed", "one"], "--seed"),
        (&[], "<FILE>"),
    ] {
        let output = checked(arguments);
        assert_eq!(output.exit, 2, "{arguments:?}");
        assert!(
            output.stderr.contains(said),
            "{arguments:?}: {}",
            output.stderr
        );
        assert_eq!(output.stdout, "");
    }
}

#[test]
fn p3_a_component_that_no_host_loads_is_a_finding() {
    let folder = TempDir::new().unwrap();
    for component in [
        r#"(component (import "acme:x/y@1.0.0" (instance (export "f" (func)))))"#,
        "(component)",
    ] {
        let path = folder.path().join("foreign.wasm");
        fs::write(&path, wat::parse_str(component).unwrap()).unwrap();
        let output = checked(&[path.to_str().unwrap(), "--json"]);
        assert_eq!(output.exit, 1);
        let errors = rules(&output.json(), "error");
        assert_eq!(errors, BTreeSet::from(["not-loadable".to_owned()]));
    }
}

/// The rows `| id | level | means | mend |` of the guide.
fn documented() -> Vec<[String; 4]> {
    let guide = fs::read_to_string(root().join("docs/check.md")).unwrap();
    let rows = guide.lines().filter(|line| line.starts_with("| `"));
    rows.filter_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [id, level, means, mend] = cells.try_into().ok()?;
        Some([id.trim_matches('`'), level, means, mend].map(str::to_owned))
    })
    .collect()
}

#[test]
fn p3_the_guide_lists_the_rules_as_they_are_in_the_program() {
    let printed: Value = checked(&["--rules", "--json"]).json();
    let rules: Vec<[String; 4]> = printed
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| {
            ["id", "level", "means", "mend"].map(|key| rule[key].as_str().unwrap().to_owned())
        })
        .collect();
    assert_eq!(documented(), rules);
    let planted: BTreeSet<&str> = FAULTS.iter().map(|(_, rule)| *rule).collect();
    let known: BTreeSet<&str> = rules.iter().map(|rule| rule[0].as_str()).collect();
    assert!(planted.is_subset(&known));
    let text = checked(&["--rules"]).stdout;
    assert!(rules.iter().all(|rule| text.contains(&rule[2])));
}
