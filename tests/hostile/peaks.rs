//! The memory of the real command while a guest asks for more than it may have: a process of its
//! own for each, so that no other test is measured (WA01, WA06, WA08, WA10).

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Output, root, tidegate};

/// In KiB.
const MIB: u64 = 1_024;

/// Calls a tool of a guest without any grant but the tool itself.
fn called(guest: &str, tool: &str, arguments: &Value, limits: &[&str]) -> Output {
    let component = root().join(format!("guests/dist/{guest}.wasm"));
    let (component, arguments) = (
        component.to_str().unwrap().to_owned(),
        arguments.to_string(),
    );
    let allow = format!("tool={tool}");
    let mut words = vec![
        "call", tool, &arguments, "--json", "--plugin", &component, "--allow", &allow,
    ];
    for limit in limits {
        words.extend(["--limit", limit]);
    }
    let output = tidegate(&words);
    assert!(
        output.elapsed < Duration::from_secs(20),
        "{tool}: {output:?}"
    );
    output
}

/// The most that a call which does nothing takes, once both guests are compiled and cached.
fn quiet() -> u64 {
    called("probe", "echo", &json!({}), &[]);
    called("misbehave", "counter", &json!({}), &[]);
    let peak = called("misbehave", "counter", &json!({}), &[]).peak_kib;
    assert!(peak > MIB, "{peak} KiB is no measurement");
    peak
}

#[test]
fn wa01_what_the_guest_asks_the_host_to_allocate_is_never_allocated() {
    let quiet = quiet();
    for (tool, code) in [
        ("random", "LIMIT_HOST_ALLOCATION"),
        ("handles", "LIMIT_HANDLES"),
        ("streams", "LIMIT_HANDLES"),
    ] {
        for limits in [
            [].as_slice(),
            &["handles=65536", "host_allocation_bytes=67108864"],
        ] {
            let output = called("misbehave", tool, &json!({}), limits);
            assert_eq!(output.json()["error"]["code"], code, "{tool}");
            assert_eq!(output.exit, 1);
            let grown = output.peak_kib.saturating_sub(quiet);
            assert!(grown < 128 * MIB, "{tool} {limits:?}: {grown} KiB");
        }
    }
}

#[test]
fn wa08_memory_past_the_limit_is_never_resident() {
    let quiet = quiet();
    for (limit_mib, room_mib) in [(16, 16), (64, 16)] {
        let limit = format!("memory_bytes={}", limit_mib << 20);
        let output = called("misbehave", "grow", &json!({}), &[&limit]);
        assert_eq!(output.json()["error"]["code"], "LIMIT_MEMORY");
        let grown = output.peak_kib.saturating_sub(quiet);
        assert!(grown < (limit_mib + room_mib) * MIB, "{limit}: {grown} KiB");
    }
}

#[test]
fn wa06_a_flood_of_output_takes_no_memory() {
    let quiet = quiet();
    for tool in ["flood_stdout", "flood_stderr"] {
        let output = called("misbehave", tool, &json!({"bytes": 5_000_000}), &[]);
        assert_eq!(output.json()["status"], "success");
        let grown = output.peak_kib.saturating_sub(quiet);
        assert!(grown < 8 * MIB, "{tool}: {grown} KiB");
    }
}

/// The guest has its 200 MiB; a copy of the host would be as many again.
#[test]
fn wa10_the_host_makes_no_copy_of_a_huge_text() {
    let quiet = quiet();
    for (tool, code) in [
        ("log_huge", "LIMIT_HOST_ALLOCATION"),
        ("error_huge", "LIMIT_RESULT"),
    ] {
        let output = called("probe", tool, &json!({}), &["memory_bytes=536870912"]);
        assert_eq!(output.json()["error"]["code"], code, "{tool}");
        let grown = output.peak_kib.saturating_sub(quiet);
        assert!(grown < 300 * MIB, "{tool}: {grown} KiB");
        assert!(
            output.stdout.len() <= 1_024 && output.stderr.len() <= 1_024,
            "{output:?}"
        );
    }
}
