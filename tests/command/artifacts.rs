//! What the command keeps of large results, and how it is read back (SPEC O3, L2, L4).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Output, root, tidegate_with};

/// A folder with the probe and a state folder.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let from = root().join("guests/dist/probe.wasm");
    fs::copy(from, folder.path().join("probe.wasm")).unwrap();
    folder
}

fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    let state = folder.path().join("state");
    let state = [("XDG_STATE_HOME", state.to_str().unwrap())];
    tidegate_with(folder.path(), arguments, "", &state)
}

fn call(folder: &TempDir, tool: &str, input: &Value, more: &[&str]) -> Output {
    let allow = format!("tool={tool}");
    let input = input.to_string();
    let words = [
        "call",
        tool,
        &input,
        "--plugin",
        "probe.wasm",
        "--allow",
        &allow,
        "--json",
    ];
    run(folder, &[&words, more].concat())
}

/// Calls `large`, and gives the uri of what it came to.
fn large(folder: &TempDir, bytes: u64) -> Value {
    let result = call(folder, "large", &json!({ "text": bytes }), &[]).json();
    result["references"][0]["uri"].clone()
}

#[test]
fn o3_a_large_result_is_paged_through_by_later_commands() {
    let folder = folder();
    let result = call(
        &folder,
        "large",
        &json!({ "text": 3_000_000, "word": "tide é" }),
        &[],
    );
    assert_eq!(result.exit, 0, "{}", result.stderr);
    let result = result.json();
    assert_eq!(result["content"].as_str().unwrap().len(), 1 << 20);
    let uri = &result["references"][0]["uri"];
    let (mut text, mut offset) = (String::new(), json!(0));
    loop {
        let input = json!({ "uri": uri, "offset": offset, "length": 524_288 });
        let piece = call(&folder, "read_artifact", &input, &[]).json();
        text.push_str(piece["content"].as_str().unwrap());
        if piece["structuredContent"]["eof"] == true {
            break;
        }
        offset = piece["structuredContent"]["nextOffset"].clone();
    }
    assert_eq!(text.len(), 3_000_000);
    assert!(text.starts_with(result["content"].as_str().unwrap()));
    let kept = folder.path().join("state/tidegate/artifacts");
    let mode = fs::metadata(&kept).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let kept = fs::read_dir(kept)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().is_file());
    assert_eq!(kept.count(), 1);
}

#[test]
fn o3_people_are_told_what_is_left_out_and_how_to_read_it() {
    let folder = folder();
    let words = [
        "call",
        "large",
        r#"{"text":1048577}"#,
        "--plugin",
        "probe.wasm",
    ];
    let shown = run(&folder, &[&words[..], &["--allow", "tool=large"]].concat());
    assert_eq!((shown.exit, shown.stdout.trim_end().len()), (0, 1 << 20));
    let told = "content is longer by 1 bytes; read it with: tidegate call read_artifact '";
    let (_, words) = shown.stderr.split_once(told).unwrap();
    let (input, words) = words.split_once("' ").unwrap();
    let words: Vec<&str> = words.split_whitespace().collect();
    let again = run(
        &folder,
        &[&["call", "read_artifact", input], &words[..]].concat(),
    );
    assert_eq!((again.exit, again.stdout.trim_end().len()), (0, 65_536));
    let told = again.stderr;
    assert_eq!(told, "", "the piece is whole");
}

#[test]
fn o3_reading_takes_a_grant_and_a_store() {
    let folder = folder();
    let uri = large(&folder, 2_000_000);
    let input = json!({ "uri": uri }).to_string();
    let denied = run(&folder, &["call", "read_artifact", &input, "--json"]);
    assert_eq!(denied.exit, 2);
    assert_eq!(denied.json()["error"]["code"], "PERMISSION_DENIED");
    let listed = run(
        &folder,
        &["tools", "--allow", "tool=read_artifact", "--json"],
    );
    assert!(listed.stdout.contains("read_artifact"), "{}", listed.stdout);
    // Without a folder to keep it in, a result over its bound is lost.
    let words = [
        "call",
        "large",
        r#"{"text":2000000}"#,
        "--plugin",
        "probe.wasm",
    ];
    let words = [&words[..], &["--allow", "tool=large", "--json"]].concat();
    let lost = tidegate_with(folder.path(), &words, "", &[]);
    assert_eq!(lost.json()["error"]["code"], "LIMIT_RESULT");
}

#[test]
fn l4_the_bounds_of_the_store_stand_in_the_file() {
    let folder = folder();
    let config = folder.path().join("tidegate.yaml");
    fs::write(
        &config,
        "artifacts: { tenant_bytes: 2500000, keep_ms: 0 }\n",
    )
    .unwrap();
    let chosen = ["--config", "tidegate.yaml"];
    let kept = |bytes: u64| {
        let result = call(&folder, "large", &json!({ "text": bytes }), &chosen);
        result.json()["references"][0]["uri"].clone()
    };
    let read = |uri: &Value| {
        let piece = call(&folder, "read_artifact", &json!({ "uri": uri }), &chosen).json();
        piece["error"]["code"]
            .as_str()
            .unwrap_or("success")
            .to_owned()
    };
    let first = kept(2_000_000);
    assert_eq!(read(&first), "success");
    let second = kept(2_000_001);
    assert_eq!(
        (read(&first), read(&second)),
        ("NOT_FOUND".to_owned(), "success".to_owned())
    );
    assert_eq!(
        kept(2_500_001),
        Value::Null,
        "larger than all that there is"
    );

    // The store is the user's: a file that was found does not bound it.
    let found = call(&folder, "large", &json!({ "text": 1 }), &[]);
    assert_eq!(found.exit, 2);
    assert!(found.stderr.contains("`artifacts`") || found.stdout.contains("`artifacts`"));
    for (wrong, says) in [
        (
            "artifacts: { age_ms: 0 }",
            "age_ms must be from 1 to 31536000000, not 0",
        ),
        (
            "artifacts: { total_bytes: 1099511627777 }",
            "total_bytes must be from 1",
        ),
        (
            "artifacts: { keep_ms: 86400001 }",
            "keep_ms must be from 0 to 86400000",
        ),
        (
            "artifacts: { total_byte: 1 }",
            "did you mean `total_bytes`?",
        ),
    ] {
        fs::write(&config, wrong).unwrap();
        let refused = call(&folder, "large", &json!({ "text": 1 }), &chosen);
        assert_eq!(refused.exit, 2, "{wrong}");
        assert!(refused.stdout.contains(says), "{wrong}: {}", refused.stdout);
        let checked = run(&folder, &["config", "check", "tidegate.yaml"]);
        assert_eq!(checked.exit, 2, "{wrong}");
    }
}

#[test]
fn t2_no_plugin_takes_the_name_of_the_hosts_own_tool() {
    let folder = folder();
    let config = "sandbox: { tools: '*' }\nplugins:\n  - { name: p, component: probe.wasm, prefix: read_ }\n";
    fs::write(folder.path().join("tidegate.yaml"), config).unwrap();
    let refused = run(&folder, &["tools"]);
    assert_eq!(refused.exit, 2);
    assert!(
        refused.stderr.contains("`read_artifact`"),
        "{}",
        refused.stderr
    );
}

/// What is kept is written from where it is: the process takes no more than one that throws it away.
#[test]
fn c8_a_kept_result_is_not_held_twice() {
    const MIB: u64 = 1_024;
    let folder = folder();
    let size = 30 * MIB * 1_024;
    let limits = ["host_allocation_bytes=67108864", "memory_bytes=268435456"];
    let limits = limits.map(|limit| ["--limit", limit]).concat();
    let input = json!({ "text": size }).to_string();
    let words = ["call", "large", &input, "--plugin", "probe.wasm", "--json"];
    let words = [&words[..], &["--allow", "tool=large"], &limits].concat();
    let lost = tidegate_with(folder.path(), &words, "", &[]);
    assert_eq!(lost.json()["error"]["code"], "LIMIT_RESULT");
    let kept = run(&folder, &words);
    assert_eq!(
        kept.json()["metadata"]["omitted"]["content"]["omittedBytes"],
        size - (1 << 20)
    );
    let grown = kept.peak_kib.saturating_sub(lost.peak_kib);
    assert!(
        grown < 15 * MIB,
        "{grown} KiB more than {} KiB",
        lost.peak_kib
    );
}
