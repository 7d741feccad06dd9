//! Projects of `tidegate new` in each language: a sink and a worker are written, built and tested by the
//! projects' own scripts. The tools are in [`page`](super::page).

use tempfile::TempDir;

use super::{C, GO, JAVASCRIPT, Language, PYTHON, RUST, succeeds};

/// Writes, builds and tests one project.
fn check(language: Language, kind: &str) {
    if !language.is_here() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let name = format!("{kind}-{}", language.name);
    let new = format!("tidegate new {name} --lang {} --kind {kind}", language.name);
    let script = format!("{new}; cd {name}; ./build.sh; ./test.sh; tidegate check {name}.wasm");
    let Some(said) = succeeds(language, folder.path(), &script) else {
        return;
    };
    assert!(said.contains(&format!("made {name} with ")), "{said}");
    assert!(said.contains("\nok: "), "{said}");
    assert!(!said.contains("FAILED"), "{said}");
}

#[test]
fn p3_a_new_sink_and_a_new_worker_in_rust_build_and_pass_their_tests() {
    check(RUST, "sink");
    check(RUST, "worker");
}

#[test]
fn p3_a_new_sink_in_python_builds_and_passes_its_tests() {
    check(PYTHON, "sink");
}

#[test]
fn p3_a_new_worker_in_python_builds_and_passes_its_tests() {
    check(PYTHON, "worker");
}

#[test]
fn p3_a_new_sink_and_a_new_worker_in_javascript_build_and_pass_their_tests() {
    check(JAVASCRIPT, "sink");
    check(JAVASCRIPT, "worker");
}

#[test]
fn p3_a_new_sink_and_a_new_worker_in_c_build_and_pass_their_tests() {
    check(C, "sink");
    check(C, "worker");
}

#[test]
fn p3_a_new_sink_and_a_new_worker_in_go_build_and_pass_their_tests() {
    check(GO, "sink");
    check(GO, "worker");
}
