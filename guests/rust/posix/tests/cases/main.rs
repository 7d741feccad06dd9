//! The faults that other tools had, each named by its row in the list of cases, and the rules that
//! a comparison with GNU cannot show.

#![cfg(not(target_family = "wasm"))]
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test ends where it cannot go on"
)]

mod folder;
mod limits;
mod names;

use folder::Folder;

#[test]
fn only_the_fixed_shapes_are_taken() {
    let folder = Folder::new("shapes");
    folder.write("in", "b\na\n");
    let check = |arguments: &[&str], expected: &str| {
        folder.run(arguments).is(2, "", expected);
    };
    check(
        &["sort", "-o", "out", "--", "in"],
        "sort: unknown option -o\n",
    );
    check(
        &["grep", "-n", "-B", "1", "--", "x", "in"],
        "grep: unknown option -B\n",
    );
    check(&["cat", "--help"], "cat: unknown option --help\n");
    check(&["cat", "in"], "cat: the only shape is: cat -- path\n");
    check(
        &["sort", "--compress-program=sh", "--", "in"],
        "sort: unknown option --compress-program=sh\n",
    );
    check(
        &["uniq", "--", "in", "out"],
        "uniq: the only shape is: uniq [-c] [-i] -- path\n",
    );
    check(
        &["find", ".", "-maxdepth", "1", "-delete", "-print"],
        "find: unknown option -delete\n",
    );
    check(&["tac", "--", "in"], "posix: unknown command tac\n");
    check(&["pwd", "-P"], "pwd: unknown option -P\n");
    assert!(!folder.path().join("out").exists());
    folder.run(&["pwd"]).is(0, "/workspace\n", "");
}

#[test]
fn cm03_what_starts_with_a_dash_is_a_pattern_or_a_path() {
    let folder = Folder::new("cm03");
    folder.write("-n", "--file=x\n");
    folder.write("--help", "-e\n");
    folder.run(&["cat", "--", "-n"]).is(0, "--file=x\n", "");
    folder
        .run(&["wc", "-l", "--", "--help"])
        .is(0, "1 --help\n", "");
    folder
        .run(&["grep", "-n", "--", "-e", "--help"])
        .is(0, "1:-e\n", "");
    folder
        .run(&["grep", "-n", "--", "--file=x", "-n"])
        .is(0, "1:--file=x\n", "");
    folder
        .run(&["find", "./-n", "-maxdepth", "0", "-print"])
        .is(0, "./-n\n", "");
}

#[test]
fn cm05_no_match_a_bad_pattern_and_a_missing_file_differ() {
    let folder = Folder::new("cm05");
    folder.write("f", "one\n");
    folder.run(&["grep", "-n", "--", "two", "f"]).is(1, "", "");
    folder
        .run(&["grep", "-n", "--", "\\(", "f"])
        .is(2, "", "grep: Unmatched ( or \\(\n");
    let missing = "grep: missing: No such file or directory\n";
    folder
        .run(&["grep", "-n", "--", "one", "missing", "f"])
        .is(2, "f:1:one\n", missing);
    folder
        .run(&["grep", "-n", "--", "one", "missing"])
        .is(2, "", missing);
    folder.run(&["grep", "-n", "--", "\\(a\\)\\1", "f"]).is(
        2,
        "",
        "grep: back-references are not supported\n",
    );
}

#[test]
fn cm09_a_delimiter_is_one_character_of_any_length() {
    let folder = Folder::new("cm09");
    folder.write("zones", "zone1§zone2§zone3\nnodelim\n");
    folder
        .run(&["cut", "-d", "§", "-f", "2", "--", "zones"])
        .is(0, "zone2\nnodelim\n", "");
    folder
        .run(&["cut", "-d", "§", "-f", "1,3", "--", "zones"])
        .is(0, "zone1§zone3\nnodelim\n", "");
}

#[test]
fn cm10_a_last_line_without_newline_is_a_line() {
    let folder = Folder::new("cm10");
    folder.write("f", "one\ntwo");
    folder.run(&["wc", "-l", "--", "f"]).is(0, "1 f\n", "");
    folder.run(&["tail", "-n", "1", "--", "f"]).is(0, "two", "");
    folder
        .run(&["head", "-n", "2", "--", "f"])
        .is(0, "one\ntwo", "");
    folder
        .run(&["grep", "-n", "--", "two", "f"])
        .is(0, "2:two\n", "");
}

#[test]
fn cm11_a_file_with_two_names_is_counted_once() {
    let folder = Folder::new("cm11");
    folder.write("d1/f", vec![b'x'; 128 * 1024]);
    folder.write("d2/g", "");
    std::fs::remove_file(folder.path().join("d2/g")).unwrap();
    let (one, two) = (folder.path().join("d1/f"), folder.path().join("d2/f"));
    std::fs::hard_link(one, two).unwrap();
    let size = |arguments: &[&str], name: &str| -> u64 {
        let run = folder.run(arguments);
        let mut lines = run.stdout.lines();
        let size = lines.find_map(|line| line.strip_suffix(name)).unwrap();
        size.trim_end().parse().unwrap()
    };
    let together = &["du", "-k", "--max-depth=1", "--", "."];
    assert!(size(together, "./d1") >= 128);
    assert!(size(together, "./d2") < 64);
    assert!(size(&["du", "-k", "--max-depth=0", "--", "d2"], "d2") >= 128);
}

#[test]
fn cm15_a_binary_file_matches_once_and_shows_no_line() {
    let folder = Folder::new("cm15");
    folder.write("bin", b"ab\0cd\nab\n");
    folder
        .run(&["grep", "-n", "--", "ab", "bin"])
        .is(0, "", "grep: bin: binary file matches\n");
    folder.run(&["cat", "--", "bin"]).is(0, "ab\0cd\nab\n", "");
}

#[test]
fn fs02_a_link_that_leads_out_is_shown_without_its_target() {
    let folder = Folder::new("fs02");
    folder.link("/etc/hostname", "absolute");
    folder.link("../other/key", "relative");
    for name in ["absolute", "relative"] {
        let run = folder.run(&["stat", "--", name]);
        assert!(
            run.stdout.contains("-> (outside the workspace)\n"),
            "{run:?}"
        );
        let run = folder.run(&["file", "--", name]);
        assert!(
            run.stdout
                .ends_with("symbolic link to (outside the workspace)\n")
        );
    }
    folder.run(&["cat", "--", "/etc/hostname"]).is(
        1,
        "",
        "cat: /etc/hostname: Permission denied\n",
    );
}

#[test]
fn fs06_what_is_no_file_is_never_waited_for() {
    let folder = Folder::new("fs06");
    folder.write("f", "x\n");
    let made = std::process::Command::new("mkfifo")
        .arg(folder.path().join("ff"))
        .status();
    assert!(made.unwrap().success());
    let refused = |arguments: &[&str], expected: &str| {
        folder.run(arguments).is(1, "", expected);
    };
    refused(&["cat", "--", "ff"], "cat: ff: not a regular file\n");
    refused(&["wc", "-l", "--", "ff"], "wc: ff: not a regular file\n");
    refused(&["sort", "--", "ff"], "sort: ff: not a regular file\n");
    refused(&["uniq", "--", "ff"], "uniq: ff: not a regular file\n");
    refused(
        &["cut", "-f", "1", "--", "ff"],
        "cut: ff: not a regular file\n",
    );
    for command in ["head", "tail"] {
        let expected = format!("{command}: cannot open 'ff' for reading: not a regular file\n");
        refused(&[command, "-n", "1", "--", "ff"], &expected);
    }
    folder
        .run(&["grep", "-n", "--", "x", "ff"])
        .is(2, "", "grep: ff: not a regular file\n");
    folder
        .run(&["grep", "-n", "-R", "--", "x", "."])
        .is(0, "./f:1:x\n", "");
    folder
        .run(&["file", "--", "ff"])
        .is(0, "ff: fifo (named pipe)\n", "");
    folder.run(&["ls", "-1", "--", "."]).is(0, "f\nff\n", "");
    assert!(folder.run(&["stat", "--", "ff"]).stdout.contains("fifo\n"));
}

#[test]
fn fs08_a_loop_is_told_once() {
    let folder = Folder::new("fs08");
    folder.write("loop/x/f", "hit\n");
    folder.link("..", "loop/x/up");
    folder.run(&["grep", "-n", "-R", "--", "hit", "loop"]).is(
        0,
        "loop/x/f:1:hit\n",
        "grep: loop/x/up: warning: recursive directory loop\n",
    );
    folder
        .run(&["find", "loop", "-maxdepth", "32", "-print"])
        .is(0, "loop\nloop/x\nloop/x/f\nloop/x/up\n", "");
    folder.link("b", "a");
    folder.link("a", "b");
    folder
        .run(&["cat", "--", "a"])
        .is(1, "", "cat: a: Too many levels of symbolic links\n");
    folder.run(&["ls", "-1", "--", "a"]).is(
        2,
        "",
        "ls: cannot access 'a': Too many levels of symbolic links\n",
    );
}
