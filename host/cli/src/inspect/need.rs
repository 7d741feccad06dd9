//! Which grant an import is denied without (SPEC P3, S1).

use super::Import;

/// Interfaces by the start of their names, and the kinds of grants that they need. Longer ones first.
const NEEDS: [(&str, &[&str]); 12] = [
    ("wasi:filesystem/", &["read", "write"]),
    ("wasi:sockets/", &["network"]),
    ("wasi:http/", &["network"]),
    ("wasi:cli/environment", &["env"]),
    ("wasi:cli/", &[]),
    ("wasi:clocks/", &[]),
    ("wasi:random/", &[]),
    ("wasi:io/", &[]),
    ("tidegate:plugin/exec", &["execute"]),
    ("tidegate:plugin/file-status", &["read"]),
    ("tidegate:plugin/", &[]),
    ("", &["not in this host"]),
];

impl Import {
    pub(super) fn new(name: String) -> Self {
        let needs = NEEDS.iter().find(|(start, _)| name.starts_with(start));
        let needs = needs.map(|(_, needs)| needs.to_vec()).unwrap_or_default();
        Self { name, needs }
    }
}
