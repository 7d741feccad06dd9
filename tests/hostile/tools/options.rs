//! Arguments that would be options: refused by name, or read as the text that they are (CASES CM01,
//! CM02, CM03, CM07, CM09, CM11, CM14).

use serde_json::{Value, json};

use crate::support::{Fixture, ask, commands};

/// What a call is refused with before anything runs; the message has to say these words.
#[track_caller]
fn refused(fixture: &Fixture, tool: &str, arguments: Value, words: &[&str]) {
    let shown = arguments.to_string();
    let error = fixture.tool(tool, arguments).unwrap_err();
    assert_eq!(error.code(), "INVALID_ARGUMENTS", "{tool} {shown}");
    let message = error.to_string();
    for word in words {
        assert!(message.contains(word), "{tool} {shown}: {message}");
    }
}

/// The names in a workspace.
fn names(fixture: &Fixture) -> Vec<String> {
    let entries = std::fs::read_dir(fixture.workspace.path()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn cm01_an_expression_of_find_never_runs() {
    let fixture = commands();
    fixture.write("keep", "keep\n");
    let expressions = [
        "-exec",
        "-execdir",
        "-ok",
        "-delete",
        "-fls",
        "-fprint",
        "-fprintf",
        "-fls x",
        "-fprint x",
        "-fprintf x %p",
        "-exec rm keep ;",
    ];
    let tools = fixture.tools();
    for text in expressions {
        refused(&fixture, "find", json!({"type": text}), &["type"]);
        refused(&fixture, "find", json!({text: "x"}), &[text]);
        // As a path or a name it is a text like any other, and nothing is called that.
        let named = ask(&tools, "find", json!({"name": text})).unwrap();
        named.is(0, "", "");
        let path = ask(&tools, "find", json!({"path": text})).unwrap();
        assert_eq!((path.exit, path.stdout.as_str()), (Some(1), ""), "{text}");
        assert!(
            path.stderr.contains(&format!("./{text}")),
            "{}",
            path.stderr
        );
    }
    assert_eq!(names(&fixture), ["keep"]);
    assert_eq!(fixture.read("keep"), "keep\n");
}

#[test]
fn cm02_nothing_that_writes_or_runs_can_be_expressed() {
    let fixture = commands();
    fixture.write("in", "b\na\n");
    for (tool, arguments, words) in [
        ("uniq", json!({"paths": ["in", "out"]}), &["paths"][..]),
        ("uniq", json!({"path": "in", "output": "out"}), &["output"]),
        ("uniq", json!({"path": ["in", "out"]}), &["path"]),
        ("sort", json!({"path": "in", "output": "out"}), &["output"]),
        (
            "sort",
            json!({"path": "in", "args": ["-o", "out"]}),
            &["args"],
        ),
        ("sort", json!({"path": "in", "-o": "out"}), &["-o"]),
        ("sort", json!({"path": "in", "keys": "-o out"}), &["keys"]),
        (
            "sort",
            json!({"path": "in", "compressProgram": "sh"}),
            &["compressProgram"],
        ),
        (
            "sort",
            json!({"path": "in", "temporaryDirectory": "."}),
            &["temporaryDirectory"],
        ),
        (
            "sort",
            json!({"path": "in", "files0From": "list"}),
            &["files0From"],
        ),
        (
            "sort",
            json!({"path": "in", "reverse": "-o out"}),
            &["reverse"],
        ),
    ] {
        refused(&fixture, tool, arguments, words);
    }
    let tools = fixture.tools();
    for path in [
        "-o in",
        "-oout",
        "--output=out",
        "--compress-program=sh",
        "--files0-from=list",
        "-T.",
    ] {
        for tool in ["sort", "uniq"] {
            let answer = ask(&tools, tool, json!({"path": path})).unwrap();
            assert_eq!(answer.code, "COMMAND_EXIT_NONZERO", "{tool} {path}");
            assert!(answer.stderr.contains("No such file"), "{}", answer.stderr);
        }
    }
    assert_eq!(names(&fixture), ["in"], "no `out`");
    assert_eq!(fixture.read("in"), "b\na\n");
}

#[test]
fn cm03_what_starts_with_a_dash_is_a_pattern_or_a_path() {
    let fixture = commands();
    let content = "-f/etc/hostname\n--file=x\n-e\nplain\n";
    for name in ["-n", "--help", "n", "-delete"] {
        fixture.write(name, content);
    }
    let tools = fixture.tools();
    let ask = |tool, arguments| ask(&tools, tool, arguments).unwrap();
    for (number, pattern) in ["-f/etc/hostname", "--file=x", "-e"]
        .into_iter()
        .enumerate()
    {
        for path in ["n", "-n", "--help"] {
            let found = ask("grep", json!({"pattern": pattern, "paths": [path]}));
            found.is(0, &format!("{}:{pattern}\n", number + 1), "");
        }
    }
    for path in ["-n", "--help"] {
        ask("cat", json!({ "path": path })).is(0, content, "");
        ask("sort", json!({ "path": path })).is(0, &ask("sort", json!({"path": "n"})).stdout, "");
        ask("wc", json!({ "path": path })).is(0, &format!("4 ./{path}\n"), "");
        ask("head", json!({"path": path, "lines": 1})).is(0, "-f/etc/hostname\n", "");
    }
    ask("find", json!({"path": "-delete"})).is(0, "./-delete\n", "");
    assert_eq!(names(&fixture), ["--help", "-delete", "-n", "n"]);
}

#[test]
fn cm07_context_cannot_be_asked_for() {
    let fixture = commands();
    fixture.write("f", "x\n");
    for key in ["before", "after", "context", "beforeContext", "-B", "B"] {
        let arguments = json!({"pattern": "x", "paths": ["f"], key: 1_000_000});
        refused(&fixture, "grep", arguments, &[key]);
    }
}

#[test]
fn cm09_a_delimiter_is_one_character_and_lines_without_it_stay() {
    let fixture = commands();
    fixture.write("zones", "zone1§zone2§zone3\nhéllo\n");
    fixture.write("nodelim", "nodelim\n");
    let tools = fixture.tools();
    let cut = |path: &str, fields: &str, delimiter: &str| {
        let arguments = json!({"path": path, "fields": fields, "delimiter": delimiter});
        ask(&tools, "cut", arguments).unwrap()
    };
    cut("zones", "2", "§").is(0, "zone2\nhéllo\n", "");
    cut("zones", "1,3", "§").is(0, "zone1§zone3\nhéllo\n", "");
    cut("nodelim", "2", ":").is(0, "nodelim\n", "");
    for (key, value) in [
        ("onlyDelimited", json!(true)),
        ("characters", json!("1-2")),
        ("bytes", json!("1-2")),
    ] {
        let arguments = json!({"path": "nodelim", "fields": "2", key: value});
        refused(&fixture, "cut", arguments, &[key]);
    }
    for delimiter in ["", "::", "\n", "\r", "\0"] {
        let arguments = json!({"path": "zones", "fields": "1", "delimiter": delimiter});
        refused(&fixture, "cut", arguments, &["delimiter"]);
    }
}

#[test]
fn cm11_du_takes_one_path_and_counts_links_once() {
    let fixture = commands();
    let both = json!({"path": ["d1", "d2"]});
    refused(&fixture, "du", both, &["path"]);
    refused(&fixture, "du", json!({"paths": ["d1", "d2"]}), &["paths"]);
    let count = json!({"path": ".", "countLinks": true});
    refused(&fixture, "du", count, &["countLinks"]);
    fixture.write("d1/f", vec![b'x'; 128 * 1024]);
    std::fs::create_dir(fixture.path("d2")).unwrap();
    std::fs::hard_link(fixture.path("d1/f"), fixture.path("d2/f")).unwrap();
    let tools = fixture.tools();
    let size = |path: &str, shown: &str| -> u64 {
        let answer = ask(&tools, "du", json!({ "path": path })).unwrap();
        let mut lines = answer.stdout.lines();
        let size = lines.find_map(|line| line.strip_suffix(&format!("\t{shown}")));
        size.unwrap_or_else(|| panic!("{answer:?}"))
            .parse()
            .unwrap()
    };
    let (one, two) = (size(".", "./d1"), size(".", "./d2"));
    assert!((128..160).contains(&one), "{one}");
    assert!(two < 32, "{two}");
    assert!(size("d2", "d2") >= 128, "alone it counts");
}

#[test]
fn cm14_inverting_and_counting_cannot_be_asked_for() {
    let fixture = commands();
    fixture.write("f", "x\ny\n");
    let grep = |key: &str, value: Value| {
        let arguments = json!({"pattern": "x", "paths": ["f"], key: value});
        refused(&fixture, "grep", arguments, &[key]);
    };
    for key in [
        "invert",
        "invertMatch",
        "filesWithoutMatch",
        "quiet",
        "multiline",
        "count",
    ] {
        grep(key, json!(true));
    }
    grep("maxCount", json!(1));
    grep("patterns", json!([]));
    for (pattern, paths) in [
        (json!([]), json!(["f"])),
        (json!(""), json!(["f"])),
        (json!("x"), json!([])),
    ] {
        let arguments = json!({"pattern": pattern, "paths": paths});
        refused(&fixture, "grep", arguments, &[]);
    }
    refused(&fixture, "grep", json!({"paths": ["f"]}), &["pattern"]);
}
