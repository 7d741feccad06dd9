//! The definitions against SPEC R1 and the bounds of the contract.

use serde_json::{Value, json};

use super::*;

const NAMES: [&str; 14] = [
    "grep", "ls", "cat", "find", "head", "tail", "wc", "sort", "uniq", "cut", "stat", "file", "du",
    "pwd",
];

/// The input schema of a tool.
fn input(name: &str) -> Value {
    let definition = all().into_iter().find(|tool| tool.name == name);
    serde_json::from_str(&definition.expect(name).input_schema).expect(name)
}

#[test]
fn r1_there_are_fourteen_tools_that_read_and_execute_and_ask_nobody() {
    let names: Vec<String> = all().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, NAMES);
    for tool in all() {
        assert!(matches!(tool.effects[..], [Effect::Read, Effect::Execute]));
        assert!(!tool.requires_approval);
        let description = tool.description.expect("a description");
        assert!(
            description.len() < 1_024 && !description.contains("  "),
            "{description}"
        );
    }
}

#[test]
fn r1_each_tool_has_exactly_these_arguments() {
    for (name, all, required) in [
        (
            "grep",
            &[
                "pattern",
                "paths",
                "recursive",
                "ignoreCase",
                "fixedStrings",
            ][..],
            &["pattern", "paths"][..],
        ),
        ("ls", &["path", "all"], &[]),
        ("cat", &["path"], &["path"]),
        ("find", &["path", "name", "type", "maxDepth"], &[]),
        ("head", &["path", "lines"], &["path"]),
        ("tail", &["path", "lines"], &["path"]),
        ("wc", &["path", "metric"], &["path"]),
        ("sort", &["path", "reverse", "numeric", "unique"], &["path"]),
        ("uniq", &["path", "count", "ignoreCase"], &["path"]),
        ("cut", &["path", "fields", "delimiter"], &["path", "fields"]),
        ("stat", &["path"], &["path"]),
        ("file", &["path"], &["path"]),
        ("du", &["path", "maxDepth"], &["path"]),
        ("pwd", &[], &[]),
    ] {
        let schema = input(name);
        let properties = schema["properties"].as_object().expect(name);
        assert_eq!(properties.len(), all.len(), "{name}");
        assert!(
            all.iter().all(|key| properties.contains_key(*key)),
            "{name}"
        );
        assert!(
            properties
                .values()
                .all(|property| property["description"].is_string())
        );
        assert_eq!(schema["required"], json!(required), "{name}");
        assert_eq!(schema["additionalProperties"], json!(false), "{name}");
        assert_eq!(schema["type"], json!("object"), "{name}");
    }
}

#[test]
fn r1_the_ranges_and_defaults_are_in_the_schemas() {
    for (name, key, least, most, default) in [
        ("find", "maxDepth", 0, 32, 8),
        ("head", "lines", 1, 1_000, 20),
        ("tail", "lines", 1, 1_000, 20),
        ("du", "maxDepth", 0, 32, 1),
    ] {
        let property = &input(name)["properties"][key];
        assert_eq!(property["type"], json!("integer"));
        assert_eq!(property["minimum"], json!(least));
        assert_eq!(property["maximum"], json!(most));
        assert_eq!(property["default"], json!(default));
    }
    let paths = &input("grep")["properties"]["paths"];
    assert_eq!(
        (&paths["minItems"], &paths["maxItems"]),
        (&json!(1), &json!(16))
    );
    let metric = &input("wc")["properties"]["metric"];
    assert_eq!(metric["enum"], json!(["lines", "words", "bytes"]));
    assert_eq!(metric["default"], json!("lines"));
    let kind = &input("find")["properties"]["type"];
    assert_eq!(kind["enum"], json!(["file", "directory"]));
}

#[test]
fn r4_the_output_schema_has_the_six_fields_and_what_was_omitted() {
    for tool in all() {
        let schema = tool.output_schema.expect("an output schema");
        let schema: Value = serde_json::from_str(&schema).expect("JSON");
        let required = [
            "command",
            "args",
            "stdout",
            "stderr",
            "exitCode",
            "truncated",
        ];
        assert_eq!(schema["required"], json!(required));
        assert_eq!(schema["properties"]["command"]["const"], json!(tool.name));
        assert_eq!(
            schema["properties"].as_object().expect("properties").len(),
            10
        );
    }
}
