//! docs/authoring.md is true: its commands are run as they stand, from an empty folder to a called tool in
//! each language, and the sources that it shows are those that `tidegate new` writes.

use std::fs;

use tempfile::TempDir;

use super::{C, GO, JAVASCRIPT, Language, PYTHON, RUST, succeeds};
use crate::support::root;

fn page() -> String {
    fs::read_to_string(root().join("docs/authoring.md")).unwrap()
}

/// The section under a heading of the second level.
fn section(page: &str, heading: &str) -> String {
    let sections = page.split("\n## ");
    let start = format!("{heading}\n");
    let found = sections
        .into_iter()
        .find(|section| section.starts_with(&start));
    found.expect(heading).to_owned()
}

/// The blocks of a section that are marked so.
fn blocks(section: &str, mark: &str) -> Vec<String> {
    let mut parts = section.split("\n```");
    // What stands between fences is alternately text and code.
    let mut found = Vec::new();
    parts.next();
    while let (Some(code), _text) = (parts.next(), parts.next()) {
        if let Some(code) = code.strip_prefix(&format!("{mark}\n")) {
            found.push(code.to_owned());
        }
    }
    found
}

/// Runs all commands of a language's section in one shell, in an empty folder.
fn check(language: Language, heading: &str, marks: &str, file: &str) {
    let section = section(&page(), heading);
    let mut commands = blocks(&section, "sh");
    if language.name == RUST.name {
        commands.extend(blocks(&self::section(&page(), "Trying it"), "sh"));
    }
    let commands = commands.join("\n");
    assert!(commands.contains("tidegate call "), "{commands}");
    if !language.is_here() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let Some(said) = succeeds(language, folder.path(), &commands) else {
        return;
    };
    let name = language.name;
    let check = format!("tidegate check count-{name}/count-{name}.wasm");
    assert!(succeeds(language, folder.path(), &check).is_some());
    assert!(said.contains("4 words"), "{said}");
    assert!(!said.contains("FAILED"), "{said}");
    let written = folder.path().join(format!("count-{}", language.name));
    let written = fs::read_to_string(written.join(file)).unwrap();
    let shown = blocks(&section, marks);
    assert!(!shown.is_empty(), "{heading}");
    for shown in shown {
        assert!(
            written.contains(shown.trim_end()),
            "{heading} shows other code: {shown}"
        );
    }
}

#[test]
fn p2_p3_the_page_leads_from_an_empty_folder_to_a_called_tool_in_rust() {
    check(RUST, "Rust", "rust", "src/lib.rs");
}

#[test]
fn p2_p3_the_page_leads_from_an_empty_folder_to_a_called_tool_in_python() {
    check(PYTHON, "Python", "python", "src/plugin.py");
}

#[test]
fn p2_p3_the_page_leads_from_an_empty_folder_to_a_called_tool_in_javascript() {
    check(JAVASCRIPT, "JavaScript", "js", "src/plugin.js");
}

#[test]
fn p2_p3_the_page_leads_from_an_empty_folder_to_a_called_tool_in_c() {
    check(C, "C", "c", "src/plugin.c");
}

#[test]
fn p2_p3_the_page_leads_from_an_empty_folder_to_a_called_tool_in_go() {
    check(GO, "Go", "go", "src/plugin.go");
}
