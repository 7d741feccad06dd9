//! What is locked: the newest known wasmtime of the line that is built on, and no version with a
//! known fault (CASES IO14, WA05). Without the network: the faults are in
//! `tests/tables/advisories.tsv`.

use std::collections::BTreeSet;
use std::fs;

use crate::support::root;

/// The newest release of the 48.0 line that is known; raise it when a newer one is out.
const WASMTIME: Version = Version([48, 0, 8]);

/// The lock files of the tree: the host's, the guests', those of the generator of bindings, of new projects and of the fuzz targets.
const LOCKS: [&str; 5] = [
    "Cargo.lock",
    "guests/rust/Cargo.lock",
    "guests/xtask/bindgen/Cargo.lock",
    "host/cli/templates/rust/Cargo.lock",
    "fuzz/Cargo.lock",
];

/// A version without what stands after `-` or `+`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version([u64; 3]);

impl Version {
    fn parse(text: &str) -> Self {
        let release = text.split(['-', '+']).next().unwrap();
        let mut numbers = release.split('.').map(|number| number.parse().unwrap());
        let mut next = || numbers.next().unwrap_or(0);
        Self([next(), next(), next()])
    }
}

/// Every package of a lock file with its version.
fn locked(lock: &str) -> Vec<(&str, Version)> {
    let packages = lock.split("[[package]]\n").skip(1);
    packages
        .map(|package| {
            let field = |name: &str| {
                let start = format!("{name} = \"");
                let line = package.lines().find_map(|line| line.strip_prefix(&start));
                line.unwrap().trim_end_matches('"')
            };
            (field("name"), Version::parse(field("version")))
        })
        .collect()
}

/// One fault: the versions of one package from `since` on, up to but not including `fixed`.
struct Advisory {
    package: &'static str,
    since: Version,
    fixed: Option<Version>,
    id: &'static str,
}

/// The table: package, first bad version, first good one (`-` where there is none), id, what it is.
fn advisories() -> Vec<Advisory> {
    let table = include_str!("tables/advisories.tsv");
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    rows.map(|line| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [package, since, fixed, id, _what] = fields[..] else {
            panic!("five fields, not {line:?}");
        };
        Advisory {
            package,
            since: Version::parse(since),
            fixed: (fixed != "-").then(|| Version::parse(fixed)),
            id,
        }
    })
    .collect()
}

/// What is locked and has a known fault.
fn faults(lock: &str) -> Vec<String> {
    let packages = locked(lock);
    let mut found = Vec::new();
    for Advisory {
        package,
        since,
        fixed,
        id,
    } in advisories()
    {
        for (name, version) in &packages {
            let is_bad = *version >= since && fixed.is_none_or(|fixed| *version < fixed);
            if *name == package && is_bad {
                let Version([major, minor, patch]) = version;
                found.push(format!("{name} {major}.{minor}.{patch}: {id}"));
            }
        }
    }
    found
}

#[test]
fn io14_no_version_with_a_known_fault_is_locked() {
    assert!(advisories().len() >= 40);
    for path in LOCKS {
        let lock = fs::read_to_string(root().join(path)).unwrap();
        assert!(!locked(&lock).is_empty(), "{path}");
        assert_eq!(faults(&lock), Vec::<String>::new(), "{path}");
    }
}

#[test]
fn io14_a_planted_version_is_found_and_its_neighbours_are_not() {
    let plant = |name: &str, version: &str| {
        faults(&format!(
            "version = 4\n\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n"
        ))
    };
    for (name, version, id) in [
        ("h2", "0.4.15", Some("RUSTSEC-2026-0258")),
        ("h2", "0.4.16", None),
        ("h2", "0.3.27", Some("RUSTSEC-2026-0258")),
        ("h22", "0.4.15", None),
        ("idna", "0.5.0", Some("RUSTSEC-2024-0421")),
        ("idna", "1.0.3", None),
        ("regex", "1.5.4", Some("RUSTSEC-2022-0013")),
        ("regex", "1.5.5", None),
        ("wasmtime-wasi-http", "48.0.0", Some("wasmtime-14190")),
        ("wasmtime-wasi-http", "48.0.8+build", None),
        ("serde_yml", "9.9.9", Some("RUSTSEC-2025-0068")),
    ] {
        let found = plant(name, version);
        let expected = id.map(|id| format!("{name} {}: {id}", version.replace("+build", "")));
        match expected {
            Some(expected) => assert!(found.contains(&expected), "{name} {version}: {found:?}"),
            None => assert_eq!(found, Vec::<String>::new(), "{name} {version}"),
        }
    }
}

#[test]
fn io14_wa05_every_wasmtime_crate_is_the_newest_of_its_line() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let packages = locked(&lock);
    let versions: BTreeSet<Version> = packages
        .iter()
        .filter(|(name, _)| *name == "wasmtime" || name.starts_with("wasmtime-"))
        .map(|(_, version)| *version)
        .collect();
    let [version] = Vec::from_iter(versions)[..] else {
        panic!("several versions of wasmtime's crates are locked");
    };
    let Version([major, minor, _]) = version;
    assert_eq!((major, minor), (48, 0));
    assert!(version >= WASMTIME, "{version:?}");
    for name in ["wasmtime", "wasmtime-wasi", "wasmtime-wasi-io"] {
        let count = packages
            .iter()
            .filter(|(locked, _)| *locked == name)
            .count();
        assert_eq!(count, 1, "{name}");
    }
}

/// A dependency comes from the registry that cargo knows by itself, or from the tree.
#[test]
fn io14_nothing_is_locked_from_anywhere_else() {
    for path in LOCKS {
        let lock = fs::read_to_string(root().join(path)).unwrap();
        let sources: BTreeSet<&str> = lock
            .lines()
            .filter_map(|line| line.strip_prefix("source = "))
            .collect();
        assert!(sources.len() <= 1, "{path}: {sources:?}");
        assert!(!lock.contains("git+"), "{path}");
    }
}
