//! `--dry-run` and `--allow plugin=NAME` (SPEC L2).

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Output, tidegate, tidegate_in, tidegate_with};

fn dry(arguments: &[&str]) -> Output {
    tidegate(&[arguments, &["--dry-run", "--json"]].concat())
}

#[test]
fn l2_a_dry_run_shows_grants_digest_and_limits_of_each_plugin_and_the_call() {
    let output = dry(&[
        "call",
        "read_text",
        r#"{"path":"rustfmt.toml"}"#,
        "--id",
        "r-1",
        "--allow",
        "tool=read_text",
        "--allow",
        "read=docs",
        "--limit",
        "cpu_ms=77",
    ]);
    assert_eq!(output.exit, 0, "{}", output.stderr);
    let plan = output.json();
    assert_eq!(plan["dryRun"], true);
    let arguments = json!({"path": "rustfmt.toml"});
    let call = json!({"id": "r-1", "name": "read_text", "arguments": arguments});
    assert_eq!(plan["would"]["call"], call);
    let plugin = &plan["plugins"][0];
    assert_eq!(plugin["name"], "read-text");
    assert_eq!(plugin["tools"], json!(["read_text"]));
    assert_eq!(plugin["grants"]["read"], json!(["docs"]));
    assert_eq!(plugin["grants"]["write"], json!([]));
    assert_eq!(plugin["limits"]["cpu_ms"], 77);
    let digest = plugin["digest"].as_str().unwrap();
    assert!(digest.starts_with("sha-256:") && digest.len() == 72);
}

#[test]
fn l2_a_dry_run_is_refused_where_the_call_would_be_and_runs_nothing() {
    for (arguments, code) in [
        (
            vec!["call", "read_text", r#"{"path":"a"}"#],
            "PERMISSION_DENIED",
        ),
        (
            vec![
                "call",
                "read_text",
                r#"{"path":"a"}"#,
                "--allow",
                "tool=read_text",
            ],
            "PERMISSION_DENIED",
        ),
        (vec!["call", "none", "--allow", "tool=none"], "UNKNOWN_TOOL"),
        (
            vec!["call", "read_text", "{}", "--allow", "plugin=read-text"],
            "INVALID_ARGUMENTS",
        ),
        (
            vec!["run", "examples/read-and-deliver.yaml"],
            "PERMISSION_DENIED",
        ),
    ] {
        let output = dry(&arguments);
        assert_eq!(output.exit, 2, "{arguments:?}");
        assert_eq!(output.json()["error"]["code"], code, "{arguments:?}");
    }
    let plugin = "guests/dist/misbehave.wasm";
    let spin = ["call", "spin", "--plugin", plugin, "--allow", "tool=spin"];
    assert_eq!(dry(&spin).exit, 0, "a tool that never ends is not run");
    let delivery = r#"{"deliveryId":"d","message":{"role":"user","content":"not printed"}}"#;
    let folder = TempDir::new().unwrap();
    let deliver = [
        "deliver",
        "--allow",
        "plugin=console",
        "--dry-run",
        "--json",
    ];
    let output = tidegate_with(folder.path(), &deliver, delivery, &[]);
    assert_eq!((output.exit, output.stdout.lines().count()), (0, 1));
    assert_eq!(output.json()["dryRun"], true);
}

#[test]
fn l2_a_dry_run_of_a_flow_lists_its_steps() {
    let output = dry(&[
        "run",
        "examples/read-and-deliver.yaml",
        "--allow",
        "plugin=read-text",
        "--allow",
        "plugin=console",
    ]);
    assert_eq!(output.exit, 0, "{}", output.stderr);
    let plan = output.json();
    assert_eq!(plan["would"]["run"], "read-and-deliver");
    let step = json!({"name": "read_0", "node": "INTERACTION.ACT.TOOL"});
    assert_eq!(plan["would"]["steps"][0], step);
    assert_eq!(plan["plugins"].as_array().map(Vec::len), Some(2));
}

#[test]
fn l2_allow_plugin_grants_exactly_what_the_carried_plugin_declares() {
    let all = tidegate(&["tools", "--allow", "tool=*", "--json"]).json();
    let folder = TempDir::new().unwrap();
    for name in ["read-text", "console"] {
        let allow = format!("plugin={name}");
        let delivery = r#"{"deliveryId":"d","message":{"role":"user","content":""}}"#;
        let arguments = [
            "deliver",
            "--allow",
            &allow,
            "--allow",
            "stdout",
            "--dry-run",
            "--json",
        ];
        let plan = tidegate_with(folder.path(), &arguments, delivery, &[]).json();
        let plugins = plan["plugins"].as_array().unwrap();
        let plugin = plugins
            .iter()
            .find(|plugin| plugin["name"] == name)
            .unwrap();
        assert_eq!(plan["sandbox"]["tools"], plugin["tools"], "{name}");
        let tools = plugin["tools"].as_array().unwrap();
        let declared = |effect: &str| {
            let mut defined = all.as_array().unwrap().iter();
            defined.any(|tool| {
                let effects = tool["effects"].as_array().unwrap();
                tools.contains(&tool["name"]) && effects.contains(&json!(effect))
            })
        };
        for (kind, effect) in [("read", "read"), ("write", "write"), ("execute", "execute")] {
            let granted = plan["sandbox"][kind] != json!([]);
            assert_eq!(granted, declared(effect), "{name}: {kind}");
        }
        assert_eq!(plan["sandbox"]["env"], json!([]));
    }
    let console = ["tools", "--allow", "plugin=console", "--json"];
    assert_eq!(tidegate(&console).json(), json!([]));
}

#[test]
fn l2_allow_of_an_unknown_plugin_names_the_carried_ones_and_the_nearest() {
    let folder = TempDir::new().unwrap();
    let output = tidegate_in(folder.path(), &["tools", "--allow", "plugin=read_txt"]);
    assert_eq!(output.exit, 2);
    for word in [
        "`read_txt`",
        "read-text, commands, web-search, file, webhook, console",
        "mean `read-text`?",
    ] {
        assert!(output.stderr.contains(word), "{}", output.stderr);
    }
}

#[test]
fn l2_the_text_of_a_dry_run_names_every_kind() {
    let arguments = [
        "call",
        "read_text",
        r#"{"path":"a"}"#,
        "--allow",
        "plugin=read-text",
    ];
    let output = tidegate(&[&arguments[..], &["--dry-run"]].concat());
    for line in [
        r#"would call read_text with {"path":"a"}"#,
        "  grant read: .",
        "  grant write: none",
        "  grant network: none",
        "  grant stdout: none",
        "  limit deadline_ms: 30000",
    ] {
        let mut lines = output.stdout.lines();
        assert!(
            lines.any(|shown| shown == line),
            "{line}: {}",
            output.stdout
        );
    }
    let kinds: Value = json!(["tools", "mcp", "read", "write", "network", "execute", "env"]);
    for kind in kinds.as_array().unwrap() {
        assert!(
            output
                .stdout
                .contains(&format!("  allow {}:", kind.as_str().unwrap()))
        );
    }
}
