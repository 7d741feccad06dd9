//! Arguments as a caller writes them, and the one command that each becomes.

use serde_json::{Value, json};

use super::*;

/// The command line of a call that is accepted.
fn line(tool: &str, arguments: &Value) -> Vec<String> {
    let arguments = Arguments::read(tool, &arguments.to_string())
        .unwrap_or_else(|problems| panic!("{tool} {arguments}: {problems:?}"));
    let command = Command::of(arguments);
    assert_eq!(command.name, tool);
    command.args
}

fn check(tool: &str, arguments: &Value, expected: &[&str]) {
    assert_eq!(line(tool, arguments), expected, "{tool} {arguments}");
}

#[test]
fn r2_each_tool_has_its_shape_without_options() {
    for (tool, arguments, expected) in [
        (
            "grep",
            json!({"pattern": "x", "paths": ["a"]}),
            &["-n", "--", "x", "a"][..],
        ),
        ("ls", json!({}), &["-1", "--", "."]),
        ("cat", json!({"path": "a"}), &["--", "a"]),
        ("find", json!({}), &[".", "-maxdepth", "8", "-print"]),
        ("head", json!({"path": "a"}), &["-n", "20", "--", "a"]),
        ("tail", json!({"path": "a"}), &["-n", "20", "--", "a"]),
        ("wc", json!({"path": "a"}), &["-l", "--", "a"]),
        ("sort", json!({"path": "a"}), &["--", "a"]),
        ("uniq", json!({"path": "a"}), &["--", "a"]),
        (
            "cut",
            json!({"path": "a", "fields": "1"}),
            &["-f", "1", "--", "a"],
        ),
        ("stat", json!({"path": "a"}), &["--", "a"]),
        ("file", json!({"path": "a"}), &["--", "a"]),
        (
            "du",
            json!({"path": "a"}),
            &["-k", "--max-depth=1", "--", "a"],
        ),
        ("pwd", json!({}), &[]),
    ] {
        check(tool, &arguments, expected);
    }
}

#[test]
fn r2_grep_find_and_sort_have_their_options_in_this_order() {
    let grep = json!({
        "pattern": "x", "paths": ["a", "b/c"],
        "recursive": true, "ignoreCase": true, "fixedStrings": true,
    });
    let expected = ["-n", "-R", "-i", "-F", "--", "x", "a", "b/c"];
    check("grep", &grep, &expected);
    let find = json!({"path": "a", "name": "*.rs", "type": "file", "maxDepth": 0});
    let expected = [
        "a",
        "-maxdepth",
        "0",
        "-type",
        "f",
        "-name",
        "*.rs",
        "-print",
    ];
    check("find", &find, &expected);
    let folders = json!({"type": "directory"});
    let expected = [".", "-maxdepth", "8", "-type", "d", "-print"];
    check("find", &folders, &expected);
    let sort = json!({"path": "a", "reverse": true, "numeric": true, "unique": true});
    check("sort", &sort, &["-r", "-n", "-u", "--", "a"]);
}

#[test]
fn r2_the_other_tools_have_their_options_in_this_order() {
    let ls = json!({"path": "a", "all": true});
    check("ls", &ls, &["-1", "-a", "--", "a"]);
    let head = json!({"path": "a", "lines": 1});
    check("head", &head, &["-n", "1", "--", "a"]);
    let tail = json!({"path": "a", "lines": 1000});
    check("tail", &tail, &["-n", "1000", "--", "a"]);
    for (metric, option) in [("lines", "-l"), ("words", "-w"), ("bytes", "-c")] {
        let wc = json!({"path": "a", "metric": metric});
        check("wc", &wc, &[option, "--", "a"]);
    }
    let uniq = json!({"path": "a", "count": true, "ignoreCase": true});
    check("uniq", &uniq, &["-c", "-i", "--", "a"]);
    let cut = json!({"path": "a", "fields": "1,3-5", "delimiter": "§"});
    check("cut", &cut, &["-d", "§", "-f", "1,3-5", "--", "a"]);
    let du = json!({"path": "a", "maxDepth": 32});
    check("du", &du, &["-k", "--max-depth=32", "--", "a"]);
}

#[test]
fn r2_a_flag_that_is_false_adds_nothing() {
    let grep = json!({
        "pattern": "x", "paths": ["a"],
        "recursive": false, "ignoreCase": false, "fixedStrings": false,
    });
    check("grep", &grep, &["-n", "--", "x", "a"]);
    check("ls", &json!({"all": false}), &["-1", "--", "."]);
    let sort = json!({"path": "a", "reverse": false, "numeric": false, "unique": true});
    check("sort", &sort, &["-u", "--", "a"]);
}

#[test]
fn cm03_a_pattern_that_reads_like_an_option_is_a_pattern() {
    for pattern in [
        "-f/etc/hostname",
        "--file=x",
        "-e",
        "--",
        "-",
        "--help",
        "a\nb",
    ] {
        let arguments = json!({"pattern": pattern, "paths": ["a"]});
        check("grep", &arguments, &["-n", "--", pattern, "a"]);
    }
}

#[test]
fn cm03_gap_17_a_path_that_reads_like_an_option_is_a_path() {
    for path in ["-n", "--help", "-", "-delete", "!", "(", ")", ",", "-f/x"] {
        let expected = format!("./{path}");
        for tool in ["cat", "sort", "uniq", "stat", "file"] {
            check(tool, &json!({"path": path}), &["--", &expected]);
        }
        let grep = json!({"pattern": path, "paths": [path, "b"]});
        check("grep", &grep, &["-n", "--", path, &expected, "b"]);
        let find = json!({"path": path});
        check("find", &find, &[&expected, "-maxdepth", "8", "-print"]);
    }
}

#[test]
fn cm01_no_text_becomes_an_expression_of_find() {
    for text in [
        "-exec", "-execdir", "-ok", "-delete", "-fls", "-fprint", "-fprintf", "!", "(",
    ] {
        let path = format!("./{text}");
        let arguments = json!({"path": text, "name": text});
        let expected = [path.as_str(), "-maxdepth", "8", "-name", text, "-print"];
        check("find", &arguments, &expected);
    }
}

#[test]
fn cm02_no_text_becomes_an_option_or_second_operand_of_sort_or_uniq() {
    for text in [
        "-o",
        "-o in",
        "--compress-program=sh",
        "--files0-from=list",
        "-T",
    ] {
        let path = format!("./{text}");
        check("sort", &json!({"path": text}), &["--", &path]);
        check("uniq", &json!({"path": text}), &["--", &path]);
    }
    check("uniq", &json!({"path": "in out"}), &["--", "in out"]);
}
