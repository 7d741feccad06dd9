//! Headings and links, in JavaScript.

use serde_json::{Value, json};

use super::{answer, call, component, folder_with};

fn ask(tool: &str, text: &str, more: &Value) -> Option<Value> {
    let markdown = component("markdown")?;
    let folder = folder_with("note.md", text);
    let mut arguments = more.clone();
    arguments["path"] = json!("note.md");
    Some(answer(&call(folder.path(), &markdown, tool, &arguments)))
}

/// Level, text and line of each heading.
fn check_headings(text: &str, expected: &[(u64, &str, u64)]) {
    let Some(found) = ask("markdown_outline", text, &json!({})) else {
        return;
    };
    let expected: Vec<Value> = expected
        .iter()
        .map(|(level, text, line)| json!({"level": level, "text": text, "line": line}))
        .collect();
    assert_eq!(found["headings"], json!(expected), "{text:?}");
    assert_eq!(found["truncated"], json!(false));
}

#[test]
fn p2_headings_are_found_and_what_only_looks_like_one_is_not() {
    check_headings("# A\n\n## B ##\n", &[(1, "A", 1), (2, "B", 3)]);
    check_headings("\u{feff}# A #b\r\n#\n", &[(1, "A #b", 1), (1, "", 2)]);
    check_headings(
        "Two\nlines\n===\n\nMore\n---\n",
        &[(1, "Two lines", 1), (2, "More", 5)],
    );
    check_headings("####### no\n#no\n    # code\n\\# no\n", &[]);
    check_headings(
        "```sh\n# no\n```\n~~~\n# no\n```\n~~~\n# yes\n",
        &[(1, "yes", 8)],
    );
    check_headings(
        "---\ntitle: x\n---\n# yes\n<!-- \n# no\n-->\n# too\n",
        &[(1, "yes", 4), (1, "too", 8)],
    );
    check_headings(
        "> # quoted\n- # listed\n",
        &[(1, "quoted", 1), (1, "listed", 2)],
    );
    check_headings("- a\n- b\n---\n***\n", &[(2, "b", 2)]);
}

#[test]
fn p2_headings_are_cut_by_level_and_number() {
    let text = "# A\n## B\n### C\n## D\n";
    let levels = ask("markdown_outline", text, &json!({"maxLevel": 2}));
    let Some(levels) = levels else { return };
    assert_eq!(levels["headings"].as_array().unwrap().len(), 3);
    let cut = ask("markdown_outline", text, &json!({"limit": 3})).unwrap();
    assert_eq!(cut["headings"].as_array().unwrap().len(), 3);
    assert_eq!(cut["truncated"], json!(true));
    let whole = ask("markdown_outline", text, &json!({"limit": 4})).unwrap();
    assert_eq!(whole["truncated"], json!(false));
}

/// Kind, text, target and line of each link.
fn check_links(text: &str, expected: &[(&str, &str, &str, u64)]) {
    let Some(found) = ask("markdown_links", text, &json!({})) else {
        return;
    };
    let found: Vec<Value> = found["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| json!([link["kind"], link["text"], link["target"], link["line"]]))
        .collect();
    let expected: Vec<Value> = expected
        .iter()
        .map(|(kind, text, target, line)| json!([kind, text, target, line]))
        .collect();
    assert_eq!(found, expected, "{text:?}");
}

#[test]
fn p2_links_are_found_with_targets_and_lines() {
    check_links(
        "[a](b)\n\nx [c\nd](<e f> 't') y\n",
        &[("link", "a", "b", 1), ("link", "c d", "e f", 3)],
    );
    check_links(
        "![i](p.png) [![j](q)](r)\n",
        &[
            ("image", "i", "p.png", 1),
            ("image", "j", "q", 1),
            ("link", "![j](q)", "r", 1),
        ],
    );
    check_links(
        "<https://x.example/a?b> <mailto:a@b.example> <b>\n",
        &[
            (
                "autolink",
                "https://x.example/a?b",
                "https://x.example/a?b",
                1,
            ),
            ("autolink", "mailto:a@b.example", "mailto:a@b.example", 1),
        ],
    );
    check_links("[a](b(c)d) [e](f\n", &[("link", "a", "b(c)d", 1)]);
    check_links("`[a](b)` \\[a](b)\n\n    [a](b)\n", &[]);
}

#[test]
fn p2_links_by_reference_are_resolved_wherever_the_definition_stands() {
    let text = "[One][x], [X], [none][y], [two].\n\n[x]: /to \"T\"\n[two]:\n  <u v>\n";
    check_links(
        text,
        &[
            ("link", "One", "/to", 1),
            ("link", "X", "/to", 1),
            ("link", "two", "u v", 1),
        ],
    );
}

#[test]
fn p2_links_of_one_kind_are_returned_alone() {
    let text = "[a](b) ![c](d) <e:f>\n";
    for (kind, target) in [("link", "b"), ("image", "d")] {
        let Some(found) = ask("markdown_links", text, &json!({"kind": kind})) else {
            return;
        };
        assert_eq!(found["links"].as_array().unwrap().len(), 1, "{found}");
        assert_eq!(found["links"][0]["target"], json!(target));
    }
}
