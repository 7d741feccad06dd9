//! `tidegate completions` and `tidegate man` (SPEC L3), and help that teaches.

use crate::support::tidegate;

#[test]
fn l3_completions_know_every_command_and_option() {
    for (shell, mark) in [
        ("bash", "complete -F _tidegate"),
        ("zsh", "#compdef tidegate"),
        ("fish", "complete -c tidegate"),
    ] {
        let output = tidegate(&["completions", shell]);
        assert_eq!(output.exit, 0);
        let words = [
            mark, "deliver", "observe", "trust", "allow", "dry-run", "schema",
        ];
        for word in words {
            assert!(output.stdout.contains(word), "{shell}: {word}");
        }
    }
    let unknown = tidegate(&["completions", "cmd"]);
    assert_eq!(unknown.exit, 2);
    assert!(unknown.stderr.contains("bash"), "{}", unknown.stderr);
}

#[test]
fn l3_the_man_page_has_every_command_with_its_options() {
    let page = tidegate(&["man"]).stdout;
    assert!(page.contains(".TH tidegate 1"), "{page}");
    for word in [
        "TIDEGATE CALL",
        "TIDEGATE DELIVER",
        "TIDEGATE TRUST",
        "dry\\-run",
        "sink",
    ] {
        assert!(page.contains(word), "{word}");
    }
}

#[test]
fn l3_every_help_teaches_with_an_example() {
    for command in [
        &["call"][..],
        &["tools"],
        &["run"],
        &["observe"],
        &["deliver"],
        &["check"],
        &["config", "schema"],
        &["config", "check"],
        &["trust"],
        &["completions"],
        &["man"],
    ] {
        let output = tidegate(&[command, &["--help"]].concat());
        assert_eq!(output.exit, 0, "{command:?}");
        let example = format!("  tidegate {}", command.join(" "));
        let shown = output.stdout.contains("Example");
        let is_taught = output.stdout.contains(&example) || output.stdout.contains("| tidegate");
        assert!(shown && is_taught, "{command:?}: {}", output.stdout);
    }
}
