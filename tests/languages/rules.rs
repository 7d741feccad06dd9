//! What holds for every tool: what it declares, which paths it takes, and what it says of a file that
//! it can't read.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{answer, call, call_with, code, tools};
use crate::support::tidegate;

#[test]
fn t1_p2_every_tool_declares_what_it_touches_and_closed_schemas() {
    for (tool, component) in tools() {
        let permit = format!("tool={}", tool.name);
        let listed = [
            "tools", "--json", "--plugin", &component, "--allow", &permit,
        ];
        let listed = tidegate(&listed).json();
        assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
        let definition = &listed[0];
        assert_eq!(definition["name"], json!(tool.name));
        assert_eq!(definition["effects"], json!(["read"]));
        for schema in ["inputSchema", "outputSchema"] {
            let schema = &definition[schema];
            assert_eq!(schema["additionalProperties"], json!(false), "{schema}");
            assert!(
                schema["required"]
                    .as_array()
                    .unwrap()
                    .contains(&json!("path"))
            );
        }
        let path = &definition["inputSchema"]["properties"]["path"];
        assert_eq!(
            (&path["minLength"], &path["maxLength"]),
            (&json!(1), &json!(1024))
        );
    }
}

#[test]
fn p1_p2_a_path_that_leads_elsewhere_is_refused_before_anything_runs() {
    for (tool, component) in tools() {
        let folder = TempDir::new().unwrap();
        let long = "x".repeat(1_025);
        for path in [
            "",
            "/etc/passwd",
            "..",
            "a/../b",
            "a//b",
            "a/",
            "a\\b",
            "a\0b",
            "a\nb",
            &long,
        ] {
            let arguments = tool.arguments(path, &json!({}));
            let output = call(folder.path(), &component, tool.name, &arguments);
            let ended = (output.exit, &*code(&output));
            assert_eq!(ended, (2, "INVALID_ARGUMENTS"), "{tool:?} {path:?}");
            assert!(output.stdout.contains("#/path"), "{}", output.stdout);
        }
        for (arguments, place) in [
            (tool.arguments("a", &json!({"extra": 1})), "extra"),
            (json!({}), "path"),
        ] {
            let output = call(folder.path(), &component, tool.name, &arguments);
            assert_eq!(output.exit, 2);
            assert!(output.stdout.contains(place), "{}", output.stdout);
        }
    }
}

/// The host's schema check can be off; the plugin's own answer then keeps the rules too.
#[test]
fn p1_p2_without_the_schema_check_wrong_arguments_are_still_no_trap() {
    for (tool, component) in tools() {
        let folder = TempDir::new().unwrap();
        let config = format!(
            "sandbox: {{ tools: \"*\", read: true }}\nplugins:\n  - name: p\n    component: {component}\n    schema_check: false\n",
        );
        fs::write(folder.path().join("c.yaml"), config).unwrap();
        for arguments in [
            json!({}),
            json!({"path": 1}),
            json!({"path": null}),
            tool.arguments("x", &json!({"limit": "many", "algorithm": 1, "extra": []})),
            tool.arguments("x", &json!({"where": 1, "aggregate": [1], "groupBy": {}})),
        ] {
            let arguments = arguments.to_string();
            let words = [
                "call", tool.name, &arguments, "--config", "c.yaml", "--json",
            ];
            let output = crate::support::tidegate_in(folder.path(), &words);
            assert_eq!(
                code(&output),
                "INVALID_ARGUMENTS",
                "{} {arguments}",
                tool.name
            );
        }
    }
}

#[test]
fn p2_c7_a_file_that_cannot_be_read_is_a_failure_without_a_path_of_the_host() {
    for (tool, component) in tools() {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("folder")).unwrap();
        fs::write(at("file"), tool.text).unwrap();
        symlink("/etc/passwd", at("out")).unwrap();
        symlink("file", at("in")).unwrap();
        assert!(
            Command::new("mkfifo")
                .arg(at("fifo"))
                .status()
                .unwrap()
                .success()
        );
        for (path, expected) in [
            ("missing", "NOT_FOUND"),
            ("missing/file", "NOT_FOUND"),
            ("file/below", "NOT_FOUND"),
            ("folder", "NOT_A_FILE"),
            (".", "NOT_A_FILE"),
            ("fifo", "NOT_A_FILE"),
            ("out", "READ_DENIED"),
        ] {
            let arguments = tool.arguments(path, &json!({}));
            let output = call(folder.path(), &component, tool.name, &arguments);
            assert_eq!(
                (output.exit, &*code(&output)),
                (1, expected),
                "{tool:?} {path}"
            );
            let host = folder.path().to_str().unwrap();
            assert!(!output.stdout.contains(host), "{}", output.stdout);
            let printed = &output.json()["metadata"]["stderr"];
            assert_eq!(printed, &Value::Null, "nothing is printed");
        }
        for path in ["file", "./file", "in"] {
            let arguments = tool.arguments(path, &json!({}));
            answer(&call(folder.path(), &component, tool.name, &arguments));
        }
    }
}

#[test]
fn s2_p2_a_grant_of_a_folder_is_read_by_its_own_name_and_no_other() {
    for (tool, component) in tools() {
        let folder = TempDir::new().unwrap();
        for name in ["a", "b"] {
            fs::create_dir_all(folder.path().join(name).join("in")).unwrap();
            fs::write(folder.path().join(name).join("in/file"), tool.text).unwrap();
        }
        fs::write(folder.path().join("file"), tool.text).unwrap();
        let ask = |path: &str, allow: &[&str]| {
            let arguments = tool.arguments(path, &json!({}));
            call_with(folder.path(), &component, tool.name, &arguments, allow)
        };
        let one = ["--allow", "read=a"];
        answer(&ask("a/in/file", &one));
        assert_eq!(code(&ask("file", &one)), "READ_DENIED", "{tool:?}");
        assert_eq!(code(&ask("b/in/file", &one)), "READ_DENIED", "{tool:?}");
        assert_eq!(code(&ask("a/missing", &one)), "NOT_FOUND", "{tool:?}");
        let both = ["--allow", "read=b", "--allow", "read=a/in"];
        answer(&ask("b/in/file", &both));
        answer(&ask("a/in/file", &both));
    }
}
