//! The rules of the house that a machine keeps: who may import whom, one place for ambient
//! authority, one `unsafe`, no long files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::root;

/// Who may depend on which of our crates, and on which guarded dependencies.
const IMPORTS: [(&str, &[&str], &[&str]); 5] = [
    ("host/contract", &[], &["serde", "serde_json", "thiserror"]),
    (
        "host/sandbox",
        &["tidegate-contract"],
        &[
            "cap-fs-ext",
            "cap-primitives",
            "cap-std",
            "close_fds",
            "landlock",
            "libc",
            "rustix",
            "seccompiler",
            "sha2",
            "thiserror",
        ],
    ),
    (
        "host/engine",
        &["tidegate-contract", "tidegate-sandbox"],
        &[
            "async-trait",
            "bytes",
            "cap-primitives",
            "cap-std",
            "crc32fast",
            "pollster",
            "rustix",
            "serde_json",
            "sha2",
            "thiserror",
            "tokio",
            "tokio-util",
            "tracing",
            "wasmtime",
            "wasmtime-wasi",
            "wasmtime-wasi-io",
        ],
    ),
    (
        "host/interaction",
        &["tidegate-contract", "tidegate-engine", "tidegate-sandbox"],
        &[
            "jsonschema",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "tokio-util",
            "tracing",
        ],
    ),
    (
        "host/cli",
        &[
            "tidegate",
            "tidegate-contract",
            "tidegate-engine",
            "tidegate-sandbox",
        ],
        &[
            "anyhow",
            "clap",
            "clap_complete",
            "clap_mangen",
            "indicatif",
            "serde",
            "serde-saphyr",
            "serde_json",
            "thiserror",
            "tokio",
            "tokio-util",
            "tracing",
            "tracing-subscriber",
        ],
    ),
];

/// The names under `[dependencies]` of a manifest.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let section = manifest
        .split("\n[dependencies]\n")
        .nth(1)
        .unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    section
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0.trim().to_owned()))
        .collect()
}

#[test]
fn crates_import_only_what_the_table_allows() {
    for (folder, ours, others) in IMPORTS {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let allowed: BTreeSet<&str> = ours.iter().chain(others).copied().collect();
        for dependency in dependencies(&manifest) {
            assert!(
                allowed.contains(dependency.as_str()),
                "{folder} imports {dependency}"
            );
        }
    }
}

#[test]
fn every_host_crate_is_in_the_import_table() {
    for entry in fs::read_dir(root().join("host")).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("host/{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            assert!(IMPORTS.iter().any(|(folder, ..)| *folder == name), "{name}");
        }
    }
}

/// The Rust sources below a folder.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut ahead = vec![root().join(folder)];
    while let Some(path) = ahead.pop() {
        for entry in fs::read_dir(&path).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && name != "target" && name != "dist" {
                ahead.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "{folder}");
    found
}

fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Files of the host that hold a word in their code, comments aside.
fn holders(words: &[&str]) -> BTreeSet<String> {
    let top = root().canonicalize().unwrap();
    sources("host")
        .into_iter()
        .filter(|path| words.iter().any(|word| code(path).contains(word)))
        .map(|path| {
            let path = path.canonicalize().unwrap();
            path.strip_prefix(&top)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect()
}

fn only(files: &[&str]) -> BTreeSet<String> {
    files.iter().map(|&file| file.to_owned()).collect()
}

#[test]
fn one_file_touches_ambient_authority() {
    let doors = [
        "ambient_authority",
        "std::env::",
        "env::var",
        "fs::File::open(",
        "Command::new",
    ];
    assert_eq!(holders(&doors), only(&["host/sandbox/src/ambient.rs"]));
}

#[test]
fn only_the_engine_names_wasmtime() {
    for file in holders(&["wasmtime::", "wasmtime_wasi"]) {
        assert!(file.starts_with("host/engine/"), "{file}");
    }
}

#[test]
fn there_is_one_unsafe_block_and_it_says_why() {
    assert_eq!(
        holders(&["unsafe {", "unsafe fn", "unsafe impl"]),
        only(&["host/engine/src/cache.rs"])
    );
    let cache = fs::read_to_string(root().join("host/engine/src/cache.rs")).unwrap();
    assert_eq!(cache.matches("unsafe {").count(), 1);
    assert!(cache.contains("// SAFETY:"));
}

#[test]
fn one_function_builds_every_store() {
    assert_eq!(
        holders(&["Store::new("]),
        only(&["host/engine/src/store.rs"])
    );
}

#[test]
fn no_source_is_longer_than_500_lines() {
    for folder in ["host", "guests", "tests", "fuzz"] {
        for path in sources(folder) {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= 500, "{}: {lines} lines", path.display());
        }
    }
}

#[test]
fn every_module_says_what_it_is_for() {
    for folder in ["host", "guests", "tests", "fuzz"] {
        for path in sources(folder) {
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.starts_with("//!"), "{}", path.display());
        }
    }
}
