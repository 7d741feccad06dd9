//! `tidegate inspect`: what a component says of itself (SPEC P3).

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{guest, tidegate};

fn inspected(arguments: &[&str]) -> Value {
    let arguments = [&["inspect"], arguments, &["--json"]].concat();
    let output = tidegate(&arguments);
    assert_eq!(output.exit, 0, "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

/// A built guest as a file of a folder.
fn file(folder: &TempDir, name: &str) -> String {
    let path = folder.path().join(format!("{name}.wasm"));
    std::fs::write(&path, guest(name)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn p3_inspect_names_exports_imports_needs_and_tools() {
    let report = inspected(&["builtin:commands"]);
    assert_eq!(report["sizeBytes"], guest("commands").len());
    assert!(report["digest"].as_str().unwrap().starts_with("sha-256:"));
    let export = json!("tidegate:plugin/tools@0.1.0");
    assert!(report["exports"].as_array().unwrap().contains(&export));
    let exec = json!({"name": "tidegate:plugin/exec@0.1.0", "needs": ["execute"]});
    assert!(
        report["imports"].as_array().unwrap().contains(&exec),
        "{report}"
    );
    assert_eq!(report["tools"].as_array().unwrap().len(), 14);
    assert_eq!(report["tools"][0]["inputSchema"]["type"], "object");

    let folder = TempDir::new().unwrap();
    let report = inspected(&[&file(&folder, "shout")]);
    assert_eq!(
        report["tools"][0]["name"], "shout",
        "a command is a tool of its file's name"
    );
    let imports = report["imports"].as_array().unwrap();
    let types = imports.iter().find(|import| {
        import["name"]
            .as_str()
            .unwrap()
            .starts_with("wasi:filesystem/types@")
    });
    assert_eq!(types.unwrap()["needs"], json!(["read", "write"]));
    assert!(!report["producers"].as_array().unwrap().is_empty());
}

#[test]
fn p3_inspect_shows_the_same_as_text() {
    let output = tidegate(&["inspect", "builtin:read-text"]);
    assert_eq!(output.exit, 0, "{}", output.stderr);
    for line in [
        "exports\n",
        "  tidegate:plugin/tools@0.1.0\n",
        "  read_text  (read)\n",
        "    path: string\n",
    ] {
        assert!(
            output.stdout.contains(line),
            "{line:?} in {}",
            output.stdout
        );
    }
}

#[test]
fn p3_a_difference_shows_new_needs_and_changed_tools() {
    let changes = inspected(&["builtin:commands", "--diff", "builtin:read-text"]);
    assert!(
        changes["newNeeds"]
            .as_array()
            .unwrap()
            .contains(&json!("execute")),
        "{changes}"
    );
    assert_eq!(changes["addedTools"].as_array().unwrap().len(), 14);
    assert_eq!(changes["removedTools"], json!(["read_text"]));
    let output = tidegate(&["inspect", "builtin:commands", "--diff", "builtin:read-text"]);
    assert!(
        output.stdout.contains("+ need execute\n"),
        "{}",
        output.stdout
    );
    assert!(
        output.stdout.contains("- tool read_text\n"),
        "{}",
        output.stdout
    );
}

#[test]
fn p3_what_is_no_component_is_said_to_be_none() {
    let folder = TempDir::new().unwrap();
    let module = folder.path().join("module.wasm");
    std::fs::write(&module, wat::parse_str("(module)").unwrap()).unwrap();
    let text = folder.path().join("text.wasm");
    std::fs::write(&text, "hello").unwrap();
    for (path, said) in [
        (&module, "core module"),
        (&text, "no WebAssembly component"),
    ] {
        let output = tidegate(&["inspect", path.to_str().unwrap()]);
        assert_eq!(output.exit, 2);
        assert!(output.stderr.contains(said), "{}", output.stderr);
    }
    // One that this host can't run is shown as far as it can be.
    let foreign = folder.path().join("foreign.wasm");
    let component = r#"(component (import "acme:x/y@1.0.0" (instance (export "f" (func)))))"#;
    std::fs::write(&foreign, wat::parse_str(component).unwrap()).unwrap();
    let report = inspected(&[foreign.to_str().unwrap()]);
    assert_eq!(report["imports"][0]["needs"], json!(["not in this host"]));
    assert!(
        report["unusable"].as_str().unwrap().contains("imports"),
        "{report}"
    );
}
