//! The rules of the house that a machine keeps: who may import whom, one place for ambient
//! authority, one `unsafe`, no long files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::root;

/// Who may depend on which of our crates, and on which guarded dependencies.
const IMPORTS: [(&str, &[&str], &[&str]); 7] = [
    ("host/contract", &[], &["serde", "serde_json", "thiserror"]),
    (
        "host/sandbox",
        &["tidegate-contract"],
        &[
            "async-compression",
            "bytes",
            "cap-fs-ext",
            "cap-primitives",
            "cap-std",
            "close_fds",
            "http",
            "http-body",
            "http-body-util",
            "hyper",
            "hyper-util",
            "landlock",
            "libc",
            "rustix",
            "rustls",
            "rustls-native-certs",
            "seccompiler",
            "sha2",
            "thiserror",
            "tokio",
            "tokio-rustls",
            "tokio-util",
            "tower-service",
            "url",
            "zeroize",
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
            "http",
            "http-body",
            "http-body-util",
            "pollster",
            "rustix",
            "serde_json",
            "sha2",
            "thiserror",
            "tokio",
            "tokio-util",
            "tracing",
            "wasmparser",
            "wasmtime",
            "wasmtime-wasi",
            "wasmtime-wasi-http",
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
        "host/mcp",
        &["tidegate", "tidegate-contract", "tidegate-sandbox"],
        &[
            "bytes",
            "http",
            "http-body",
            "http-body-util",
            "rmcp",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "tokio-util",
            "tracing",
        ],
    ),
    (
        "host/worker",
        &["tidegate", "tidegate-contract", "tidegate-sandbox"],
        &[
            "cap-fs-ext",
            "cap-std",
            "rusqlite",
            "serde",
            "serde_json",
            "sha2",
            "subtle",
            "thiserror",
            "tokio",
            "tokio-util",
            "tracing",
            "unicode-normalization",
        ],
    ),
    (
        "host/cli",
        &[
            "tidegate",
            "tidegate-contract",
            "tidegate-engine",
            "tidegate-mcp",
            "tidegate-sandbox",
            "tidegate-worker",
        ],
        &[
            "anyhow",
            "axum",
            "bytes",
            "clap",
            "clap_complete",
            "clap_mangen",
            "http",
            "http-body",
            "http-body-util",
            "hyper",
            "hyper-util",
            "indicatif",
            "serde",
            "serde-saphyr",
            "serde_json",
            "sha2",
            "signal-hook",
            "thiserror",
            "tokio",
            "tokio-util",
            "tower-service",
            "tracing",
            "tracing-subscriber",
        ],
    ),
];

/// The names under `[dependencies]` of a manifest, those of one target only among them.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut listed = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            listed = section == "dependencies]" || section.ends_with(".dependencies]");
        } else if listed && let Some((name, _)) = line.split_once('=') {
            names.insert(name.trim().to_owned());
        }
    }
    names
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
    for file in holders(&doors) {
        let is_door = file.starts_with("host/sandbox/src/ambient/");
        assert!(is_door || file == "host/sandbox/src/ambient.rs", "{file}");
    }
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

/// Crates whose types may change with their next version, and so stay out of ours.
const FOREIGN: [&str; 5] = [
    "wasmtime",
    "wasmtime_wasi",
    "wasmtime_wasi_io",
    "cap_std",
    "cap_primitives",
];

/// Public lines that name one of them on purpose, with the reason.
const INTENDED: [(&str, &str); 3] = [
    // What the compiler or the linker said, for whoever prints the causes of an error.
    ("engine/src/error.rs", "Start(#[source] wasmtime::Error)"),
    ("engine/src/error.rs", "source: wasmtime::Error"),
    // An open folder is a capability: handing one over is the point.
    ("engine/src/engine.rs", "pub cache: Option<Dir>"),
];

/// Names that a file takes from those crates by `use`.
fn foreign_names(source: &str) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = FOREIGN.iter().map(|&name| format!("{name}::")).collect();
    let uses = source.split("\nuse ").skip(1);
    for import in uses.filter_map(|rest| rest.split_once(';').map(|(import, _)| import)) {
        let krate = import.split("::").next().unwrap_or_default();
        if FOREIGN.contains(&krate) {
            let listed = import.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            let types = listed.filter(|word| word.starts_with(char::is_uppercase));
            names.extend(types.map(str::to_owned));
        }
    }
    names
}

/// Public items and the fields of public enums, each as one line without its body.
fn public_lines(source: &str) -> Vec<String> {
    let source = source.split("\n#[cfg(test)]").next().unwrap_or_default();
    let mut lines = Vec::new();
    let mut in_enum = false;
    let mut item: Option<String> = None;
    for line in source.lines() {
        let text = line.trim();
        in_enum |= text.starts_with("pub enum ");
        in_enum &= line != "}";
        let starts = text.starts_with("pub ") || (in_enum && !text.starts_with("//"));
        if let Some(open) = &mut item {
            open.push(' ');
            open.push_str(text);
        } else if starts && !text.starts_with("pub use ") && !text.starts_with("pub mod ") {
            item = Some(text.to_owned());
        }
        if item
            .as_ref()
            .is_some_and(|item| item.ends_with(['{', ';', ',', '}']))
        {
            lines.extend(item.take());
        }
    }
    lines
}

#[test]
fn x6_no_foreign_type_is_in_a_public_name_unless_it_is_meant_to_be() {
    let mut met = BTreeSet::new();
    for folder in ["contract", "sandbox", "engine", "interaction"] {
        for path in sources(&format!("host/{folder}/src")) {
            let shown = path.display().to_string();
            // The two work on open folders and are for the host's own crates: `tidegate` shows
            // nothing of them but `Workspace`.
            if shown.ends_with("sandbox/src/ambient.rs") || shown.ends_with("sandbox/src/files.rs")
            {
                continue;
            }
            let source = fs::read_to_string(&path).unwrap();
            let foreign = foreign_names(&source);
            for line in public_lines(&source) {
                let words: Vec<&str> = line
                    .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
                    .collect();
                let named = foreign.iter().find(|name| {
                    words.iter().any(|word| {
                        word == name || (name.ends_with("::") && word.starts_with(&***name))
                    })
                });
                let Some(named) = named else { continue };
                let intended = INTENDED
                    .iter()
                    .position(|(file, text)| shown.ends_with(file) && line.contains(text));
                assert!(intended.is_some(), "{shown} shows `{named}`: {line}");
                met.extend(intended);
            }
        }
    }
    assert_eq!(
        met.len(),
        INTENDED.len(),
        "an intended line is gone: {met:?}"
    );
}
