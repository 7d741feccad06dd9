//! `interaction.commands` as operators write it: bounds and their edges, `no_match`, trust (SPEC R4,
//! R5, L4).

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::commands::{ALL, call, folder, grep};
use crate::support::{Output, tidegate_with};

#[test]
fn r5_no_match_is_a_failure_or_a_success_as_the_operator_says() {
    let folder = folder();
    let with = |no_match: &str| {
        let config = format!("interaction: {{ commands: {{ no_match: {no_match} }} }}\n");
        fs::write(folder.path().join("tidegate.yaml"), config).unwrap();
        call(
            &folder,
            "grep",
            &grep("nothing is like this"),
            &[&ALL[..], &["--json"]].concat(),
        )
    };
    let failed = with("failed");
    assert_eq!(failed.exit, 1);
    assert_eq!(failed.json()["error"]["code"], "COMMAND_NO_MATCH");
    let success = with("success");
    let result = success.json();
    assert_eq!(
        (success.exit, &result["status"]),
        (0, &json!("success")),
        "{result}"
    );
    assert_eq!(result["content"], "");
    assert_eq!(result["structuredContent"]["exitCode"], 1);
    let arguments = json!({"pattern": "x", "paths": ["gone"]});
    let gone = call(&folder, "grep", &arguments, &ALL);
    assert_eq!(gone.exit, 1, "an error is no missing match");
    let wrong = with("never");
    assert_eq!(wrong.exit, 2);
    assert!(
        wrong.stdout.contains("tidegate.yaml:1:"),
        "{}",
        wrong.stdout
    );
}

#[test]
fn r4_each_bound_has_edges_and_what_is_past_them_is_refused() {
    let folder = folder();
    for (key, most) in [
        ("max_entries", 10_000_u64),
        ("max_output_bytes", 1_048_576),
        ("max_error_bytes", 65_536),
    ] {
        let with = |value: &str| {
            let config = format!("interaction: {{ commands: {{ {key}: {value} }} }}\n");
            fs::write(folder.path().join("tidegate.yaml"), config).unwrap();
            call(&folder, "cat", &json!({"path": "a.txt"}), &ALL)
        };
        for value in [1, 2, most - 1, most] {
            let output = with(&value.to_string());
            assert_eq!(output.exit, 0, "{key}: {value}: {}", output.stderr);
        }
        for value in [0, most + 1, u64::from(u32::MAX)] {
            let output = with(&value.to_string());
            assert_eq!((output.exit, &*output.stdout), (2, ""), "{key}: {value}");
            let expected = format!("interaction.commands.{key}: expected 1 to {most}");
            assert!(output.stderr.contains(&expected), "{}", output.stderr);
        }
        for value in ["-1", "1.5", "many", "4294967296"] {
            let output = with(value);
            assert_eq!((output.exit, &*output.stdout), (2, ""), "{key}: {value}");
            assert!(
                output.stderr.contains("tidegate.yaml:1:"),
                "{}",
                output.stderr
            );
        }
    }
}

#[test]
fn r4_a_bound_keeps_exactly_what_it_says() {
    let folder = folder();
    let with = |settings: &str| {
        let config = format!("interaction: {{ commands: {{ {settings} }} }}\n");
        fs::write(folder.path().join("tidegate.yaml"), config).unwrap();
        call(&folder, "cat", &json!({"path": "a.txt"}), &ALL).stdout
    };
    let whole = "first\nTODO: second\n";
    for (settings, kept) in [
        ("max_output_bytes: 18", "first\nTODO: second"),
        ("max_output_bytes: 19", whole),
        ("max_output_bytes: 20", whole),
        ("max_entries: 1", "first\n"),
        ("max_entries: 2", whole),
        ("max_entries: 3", whole),
    ] {
        assert_eq!(with(settings), kept, "{settings}");
    }
}

#[test]
fn l4_a_found_file_names_no_native_program_until_it_is_trusted() {
    let folder = folder();
    let home = TempDir::new().unwrap();
    let config = "interaction:\n  commands:\n    executor: native\n    native: \
                  [{ name: cat, path: /bin/cat, also: [/etc] }]\n";
    fs::write(folder.path().join("tidegate.yaml"), config).unwrap();
    let run = |words: &[&str]| {
        let home = home.path().to_str().unwrap();
        tidegate_with(folder.path(), words, "", &[("HOME", home)])
    };
    let cat = [
        "call",
        "cat",
        r#"{"path":"a.txt"}"#,
        "--allow",
        "plugin=commands",
    ];
    let untrusted = run(&cat);
    assert_eq!((untrusted.exit, &*untrusted.stdout), (2, ""));
    for word in [
        "`interaction.commands.native[0]`",
        "/bin/cat",
        "tidegate trust",
    ] {
        assert!(untrusted.stderr.contains(word), "{}", untrusted.stderr);
    }
    let trusted = run(&["trust"]);
    assert_eq!(trusted.exit, 0, "{}", trusted.stderr);
    for reach in ["/bin/cat", "/etc"] {
        assert!(trusted.stdout.contains(reach), "{}", trusted.stdout);
    }
    let output = run(&cat);
    assert_eq!(
        (output.exit, &*output.stdout),
        (0, "first\nTODO: second\n"),
        "{}",
        output.stderr
    );
}

#[test]
fn r4_wrong_settings_of_an_entry_are_refused_before_anything_runs() {
    let folder = folder();
    for (settings, word) in [
        ("max_entries: 0", "max_entries"),
        ("max_output_bytes: 1048577", "max_output_bytes"),
        ("no_match: never", "no_match"),
        ("max_lines: 5", "max_lines"),
        ("executor: native", "executor"),
    ] {
        let config = format!(
            "plugins:\n  - name: c\n    component: builtin:commands\n    config: {{ {settings} }}\n"
        );
        fs::write(folder.path().join("tidegate.yaml"), config).unwrap();
        let options = [&ALL[..], &["--json"]].concat();
        let output = call(&folder, "cat", &json!({"path": "a.txt"}), &options);
        let result = output.json();
        assert_eq!(output.exit, 2, "{settings}: {result}");
        let message = result["error"]["message"].as_str().unwrap();
        assert!(message.contains(word), "{message}");
    }
}

#[test]
fn l4_no_variable_chooses_a_native_program() {
    let folder = folder();
    let native = "{ executor: native, native: [{ name: cat, path: /bin/cat }] }";
    let variable = [("TIDEGATE_INTERACTION__COMMANDS", native)];
    let run = |more: &[&str]| -> Output {
        let words = [
            "call",
            "cat",
            r#"{"path":"a.txt"}"#,
            "--allow",
            "plugin=commands",
        ];
        tidegate_with(folder.path(), &[&words, more].concat(), "", &variable)
    };
    let refused = run(&[]);
    assert_eq!((refused.exit, &*refused.stdout), (2, ""));
    for word in ["TIDEGATE_INTERACTION__COMMANDS", "--config-env"] {
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    let let_through = run(&["--config-env"]);
    assert_eq!(
        let_through.stdout, "first\nTODO: second\n",
        "{}",
        let_through.stderr
    );
}
