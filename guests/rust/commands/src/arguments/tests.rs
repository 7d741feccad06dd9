//! What is refused before anything runs, and at which place.

use serde_json::{Value, json};

use super::*;

/// Arguments that each tool accepts.
fn accepted() -> [(&'static str, Value); 14] {
    [
        ("grep", json!({"pattern": "x", "paths": ["a"]})),
        ("ls", json!({})),
        ("cat", json!({"path": "a"})),
        ("find", json!({})),
        ("head", json!({"path": "a"})),
        ("tail", json!({"path": "a"})),
        ("wc", json!({"path": "a"})),
        ("sort", json!({"path": "a"})),
        ("uniq", json!({"path": "a"})),
        ("cut", json!({"path": "a", "fields": "1"})),
        ("stat", json!({"path": "a"})),
        ("file", json!({"path": "a"})),
        ("du", json!({"path": "a"})),
        ("pwd", json!({})),
    ]
}

/// The places of all problems, in order.
fn places(tool: &str, arguments: &Value) -> Vec<String> {
    match Arguments::read(tool, &arguments.to_string()) {
        Ok(_) => Vec::new(),
        Err(problems) => {
            assert!(!problems.is_empty(), "{tool} {arguments}");
            problems
                .into_iter()
                .map(|problem| problem.pointer)
                .collect()
        }
    }
}

fn with(arguments: &Value, key: &str, value: Value) -> Value {
    let mut arguments = arguments.clone();
    arguments[key] = value;
    arguments
}

#[test]
fn r1_an_unknown_field_of_any_tool_is_refused_by_its_name() {
    for (tool, arguments) in accepted() {
        assert_eq!(places(tool, &arguments), [""; 0], "{tool}");
        for key in ["exec", "args", "Path", "-o"] {
            let place = format!("/{key}");
            assert_eq!(places(tool, &with(&arguments, key, json!("x"))), [place]);
        }
        let odd = with(&arguments, "a/b~c", json!(null));
        assert_eq!(places(tool, &odd), ["/a~1b~0c"]);
        assert_eq!(places(tool, &with(&arguments, "", json!(1))), ["/"]);
    }
}

#[test]
fn r1_an_unknown_field_is_told_what_there_is() {
    let reason = |tool: &str, arguments: &Value| {
        let problems = Arguments::read(tool, &arguments.to_string()).expect_err(tool);
        problems[0].reason.clone()
    };
    let cut = reason("cut", &json!({"path": "a", "fields": "1", "keys": 1}));
    assert!(cut.ends_with("there are path, fields, delimiter"), "{cut}");
    let pwd = reason("pwd", &json!({"path": "a"}));
    assert!(pwd.ends_with("it takes no arguments"), "{pwd}");
}

#[test]
fn cm01_cm02_there_is_no_field_for_an_expression_output_or_program() {
    for key in ["-exec", "exec", "delete", "fprint", "expression"] {
        assert_eq!(places("find", &json!({key: "x"})).len(), 1);
    }
    for key in [
        "output",
        "-o",
        "compressProgram",
        "files0From",
        "keys",
        "paths",
    ] {
        assert_eq!(places("sort", &json!({"path": "in", key: "x"})).len(), 1);
    }
    let two = json!({"path": "in", "paths": ["in", "out"]});
    assert_eq!(places("uniq", &two), ["/paths"]);
}

#[test]
fn r1_a_required_field_that_is_absent_is_named() {
    for (tool, required) in [
        ("grep", &["/pattern", "/paths"][..]),
        ("cat", &["/path"]),
        ("head", &["/path"]),
        ("tail", &["/path"]),
        ("wc", &["/path"]),
        ("sort", &["/path"]),
        ("uniq", &["/path"]),
        ("cut", &["/path", "/fields"]),
        ("stat", &["/path"]),
        ("file", &["/path"]),
        ("du", &["/path"]),
        ("ls", &[]),
        ("find", &[]),
        ("pwd", &[]),
    ] {
        assert_eq!(places(tool, &json!({})), required, "{tool}");
    }
}

#[test]
fn r1_a_field_of_another_type_is_refused_where_it_stands() {
    let null = || json!(null);
    for (tool, key, bad) in [
        ("grep", "pattern", json!(1)),
        ("grep", "pattern", null()),
        ("grep", "paths", json!("a")),
        ("grep", "paths", json!([])),
        ("grep", "recursive", json!("true")),
        ("grep", "ignoreCase", json!(1)),
        ("grep", "fixedStrings", null()),
        ("ls", "path", null()),
        ("ls", "all", json!(0)),
        ("cat", "path", json!(["a"])),
        ("find", "type", json!("link")),
        ("find", "type", json!("f")),
        ("find", "name", json!("a/b")),
        ("find", "maxDepth", json!(33)),
        ("find", "maxDepth", json!(-1)),
        ("head", "lines", json!(0)),
        ("head", "lines", json!(1_001)),
        ("tail", "lines", json!("5")),
        ("wc", "metric", json!("chars")),
        ("sort", "unique", json!([])),
        ("uniq", "count", json!({})),
        ("cut", "fields", json!("-3")),
        ("cut", "fields", json!(1)),
        ("cut", "delimiter", json!("")),
        ("cut", "delimiter", json!("::")),
        ("du", "maxDepth", json!(1.5)),
        ("du", "maxDepth", null()),
    ] {
        let (_, arguments) = accepted()
            .into_iter()
            .find(|(name, _)| *name == tool)
            .expect("a tool");
        assert_eq!(
            places(tool, &with(&arguments, key, bad)),
            [format!("/{key}")]
        );
    }
}

#[test]
fn r1_grep_takes_1_to_16_paths_and_names_each_bad_one() {
    let paths = |count: usize| json!({"pattern": "x", "paths": vec!["a"; count]});
    assert_eq!(places("grep", &paths(0)), ["/paths"]);
    assert_eq!(places("grep", &paths(1)), [""; 0]);
    assert_eq!(places("grep", &paths(16)), [""; 0]);
    assert_eq!(places("grep", &paths(17)), ["/paths"]);
    let mixed = json!({"pattern": "x", "paths": ["a", "../b", "c", "/d", 5]});
    assert_eq!(places("grep", &mixed), ["/paths/1", "/paths/3", "/paths/4"]);
}

#[test]
fn r3_every_problem_of_a_call_is_told_at_once() {
    let all_wrong = json!({"path": "/x", "fields": "0", "delimiter": "\n", "only": true});
    let expected = ["/path", "/fields", "/delimiter", "/only"];
    assert_eq!(places("cut", &all_wrong), expected);
}

#[test]
fn r3_every_tool_with_a_path_refuses_one_that_leads_out() {
    for (tool, arguments) in accepted() {
        for bad in [
            "../ws-secret/k",
            "/etc/hostname",
            "c:x",
            "a\\b",
            "a//b",
            "a\0b",
            "a\nb",
        ] {
            let (key, value, place) = match tool {
                "pwd" => continue,
                "grep" => ("paths", json!([bad]), "/paths/0"),
                _ => ("path", json!(bad), "/path"),
            };
            assert_eq!(
                places(tool, &with(&arguments, key, value)),
                [place],
                "{tool} {bad:?}"
            );
        }
    }
}

#[test]
fn what_is_no_object_or_no_tool_is_refused_as_a_whole() {
    assert_eq!(places("cat", &json!(["a"])), [""]);
    assert_eq!(places("cat", &json!(null)), [""]);
    assert_eq!(places("rm", &json!({"path": "a"})), [""]);
    for text in ["", "{", "{\"path\":\"a\"} x"] {
        let problems = Arguments::read("cat", text).expect_err(text);
        assert_eq!(problems.len(), 1, "{text}");
    }
}

#[test]
fn c7_a_reason_is_one_line_that_repeats_no_value() {
    let hostile = "/etc/passwd\n\u{1b}[2Kpassword=hunter2";
    for (tool, arguments) in accepted() {
        for key in [
            "path",
            "paths",
            "pattern",
            "fields",
            "delimiter",
            "name",
            "lines",
            "more",
        ] {
            let arguments = with(&arguments, key, json!(hostile)).to_string();
            let Err(problems) = Arguments::read(tool, &arguments) else {
                assert_eq!((tool, key), ("grep", "pattern"));
                continue;
            };
            for problem in problems {
                let reason = problem.reason;
                assert!(!reason.contains(['/', '\n', '\u{1b}']), "{reason}");
                assert!(!reason.contains("hunter2"), "{reason}");
                assert!(reason.len() <= 240, "{reason}");
            }
        }
    }
}
