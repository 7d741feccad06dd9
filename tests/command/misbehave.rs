//! The misbehaving plugin through the real command: the table of exits and codes, and the memory of
//! the process (SPEC S5, E, L1).

use serde_json::{Value, json};

use crate::support::{Output, tidegate};

/// What a misbehaving tool may cost beyond an idle process.
const MEMORY_KIB: u64 = 128 * 1024;

fn misbehave(tool: &str, limits: &[&str]) -> Output {
    let allow = format!("tool={tool}");
    let plugin = "guests/dist/misbehave.wasm";
    let mut arguments = vec![
        "call", tool, "--plugin", plugin, "--allow", &allow, "--json",
    ];
    for limit in limits {
        arguments.extend(["--limit", limit]);
    }
    tidegate(&arguments)
}

/// Peak memory of a process that loads the plugin and calls nothing; also fills the cache, so that
/// compiling is not measured.
fn idle_peak_kib() -> u64 {
    let tools = [
        "tools",
        "--plugin",
        "guests/dist/misbehave.wasm",
        "--allow",
        "tool=counter",
    ];
    tidegate(&tools);
    tidegate(&tools).peak_kib
}

#[test]
fn s5_each_limit_ends_its_call_with_its_code_and_little_memory() {
    let idle_kib = idle_peak_kib();
    assert!(idle_kib > 0);
    let deadline: &[&str] = &["deadline_ms=500"];
    for (tool, limits, exit, status, code) in [
        ("spin", deadline, 1, "timeout", "LIMIT_DEADLINE"),
        (
            "spin",
            &["deadline_ms=5000", "cpu_ms=200"],
            1,
            "failed",
            "LIMIT_CPU",
        ),
        ("sleep", deadline, 1, "timeout", "LIMIT_DEADLINE"),
        ("grow", &[], 1, "failed", "LIMIT_MEMORY"),
        ("handles", &[], 1, "failed", "LIMIT_HANDLES"),
        ("random", &[], 1, "failed", "LIMIT_HOST_ALLOCATION"),
        ("huge_result", &[], 1, "failed", "LIMIT_RESULT"),
        ("panic", &[], 1, "failed", "TOOL_TRAPPED"),
        ("recurse", &[], 1, "failed", "TOOL_TRAPPED"),
    ] {
        let output = misbehave(tool, limits);
        let result = output.json();
        assert_eq!(output.exit, exit, "{tool}: {output:?}");
        assert_eq!(result["status"], status, "{tool}");
        assert_eq!(result["error"]["code"], code, "{tool}");
        assert_eq!(result["source"], tool);
        let grown_kib = output.peak_kib.saturating_sub(idle_kib);
        assert!(grown_kib < MEMORY_KIB, "{tool}: {grown_kib} KiB over idle");
    }
}

#[test]
fn s5_messages_name_the_limit_and_its_value() {
    for (tool, limit) in [
        ("spin", "deadline_ms = 300"),
        ("grow", "memory_bytes = 16777216"),
        ("handles", "handles = 100"),
        ("random", "host_allocation_bytes = 65536"),
        ("huge_result", "result_bytes = 1000"),
    ] {
        let output = misbehave(tool, &[&limit.replace(" = ", "=")]);
        let message = output.json()["error"]["message"].clone();
        assert!(
            message.as_str().unwrap().contains(limit),
            "{tool}: {message}"
        );
    }
}

#[test]
fn e_a_broken_contract_is_an_error_and_no_result() {
    for tool in ["deep_json", "unsafe_error"] {
        let output = misbehave(tool, &[]);
        assert_eq!(output.exit, 1, "{tool}");
        let document = output.json();
        assert_eq!(document["error"]["code"], "INVALID_RESULT", "{tool}");
        assert_eq!(document.as_object().unwrap().len(), 1, "{document}");
        assert!(
            !output.stdout.contains("password"),
            "the unsafe text is not repeated"
        );
    }
}

/// CASES WA06.
#[test]
fn wa06_a_flood_succeeds_and_metadata_says_what_was_kept_and_dropped() {
    for (tool, stream, bound) in [
        ("flood_stdout", "stdout", 65_536),
        ("flood_stderr", "stderr", 8_192),
    ] {
        let output = misbehave(tool, &[]);
        assert_eq!(output.exit, 0, "{tool}: {}", output.stderr);
        let result = output.json();
        assert_eq!(result["status"], "success");
        let printed = &result["metadata"][stream];
        let kept = printed["text"].as_str().unwrap().len();
        assert!(kept <= bound, "{tool} kept {kept}");
        assert_eq!(printed["omittedBytes"], json!(64_000_000 - kept), "{tool}");
    }
}

#[test]
fn t4_a_liar_gets_the_hosts_own_id_and_source() {
    let output = misbehave("liar", &[]);
    let result = output.json();
    assert_eq!(output.exit, 0);
    assert_eq!(result["source"], "liar");
    assert!(result["callId"].as_str().unwrap().starts_with("call-"));
}

#[test]
fn s6_a_counter_counts_to_one_every_time() {
    for _ in 0..3 {
        let output = misbehave("counter", &[]);
        assert_eq!(
            (output.exit, &output.json()["content"]),
            (0, &Value::from("1"))
        );
    }
}
