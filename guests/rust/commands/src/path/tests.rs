//! Forms of paths that are refused, and those that are passed on.

use super::*;

fn refused(path: &str) -> &'static str {
    WorkspacePath::parse(path).expect_err(path)
}

fn operand(path: &str) -> String {
    WorkspacePath::parse(path).expect(path).operand()
}

#[test]
fn r3_a_path_outside_the_rules_is_refused_with_its_reason() {
    let table = [
        ("", "empty"),
        ("/", "relative"),
        ("/etc/hostname", "relative"),
        ("//srv/share", "relative"),
        ("..", "`..`"),
        ("a/..", "`..`"),
        ("a/../b", "`..`"),
        ("a//b", "empty segment"),
        ("a/", "slash at the end"),
        ("./", "slash at the end"),
        ("a\0b", "NUL"),
        ("a\rb", "line break"),
        ("a\nb", "line break"),
    ];
    for (path, part) in table {
        assert!(refused(path).contains(part), "{path:?}: {}", refused(path));
    }
}

#[test]
fn fs01_paths_that_lead_out_are_refused_without_being_repeated() {
    for path in ["../ws-secret/k", "real/../../ws-secret/k", "/w/ws-secret/k"] {
        assert!(!refused(path).contains("ws"), "{}", refused(path));
    }
}

#[test]
fn io02_windows_forms_are_refused_on_every_platform() {
    for path in [
        "c:x",
        "C:\\x",
        "C:",
        "foo/c:/windows/x",
        "a\\b",
        "README.md:stream",
        "\\\\srv\\share",
    ] {
        refused(path);
    }
}

#[test]
fn r3_a_path_may_have_1024_characters_and_not_1025() {
    let longest = "é".repeat(1_024);
    assert_eq!(operand(&longest), longest);
    assert_eq!(operand(&"é".repeat(1_023)).chars().count(), 1_023);
    assert!(refused(&format!("{longest}a")).contains("1024"));
}

#[test]
fn ordinary_paths_are_passed_on_as_they_are() {
    for path in [
        ".", "./a", "a/./b", "..a", "a..", "...", " ", "a b", "~", "~/x", "$HOME", "*", "a-", "é",
        "\u{1b}", "@f",
    ] {
        assert_eq!(operand(path), path);
    }
}

#[test]
fn gap_17_a_path_that_reads_like_an_option_or_expression_is_just_a_path() {
    for path in [
        "-", "--", "-n", "--help", "-delete", "!", "!x", "(", "(a", ")", ",", ",x",
    ] {
        assert_eq!(operand(path), format!("./{path}"));
    }
}

/// Every path of up to six characters out of those that matter, against the rules said once
/// more in another way.
#[test]
fn r3_no_accepted_path_leads_up_or_reads_as_anything_else() {
    let letters = ['a', '.', '/', '-', '\\', ':'];
    let mut paths = vec![String::new()];
    for _ in 0..6 {
        let longer = paths
            .iter()
            .flat_map(|path| letters.map(|letter| format!("{path}{letter}")));
        paths = longer.collect();
        for path in &paths {
            let framed = format!("/{path}/");
            let is_good =
                !path.contains(['\\', ':']) && !framed.contains("//") && !framed.contains("/../");
            let parsed = WorkspacePath::parse(path);
            assert_eq!(parsed.is_ok(), is_good, "{path}");
            if let Ok(parsed) = parsed {
                let operand = parsed.operand();
                assert!(operand.starts_with(['a', '.']), "{operand}");
                assert!(operand.ends_with(path.as_str()), "{operand}");
            }
        }
    }
}
