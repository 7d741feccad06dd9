//! Inputs past every bound: long, deep, hostile.

use std::time::{Duration, Instant};

use crate::folder::Folder;

/// What an answer at once takes at most, on a machine that does other things too.
const AT_ONCE: Duration = Duration::from_secs(5);

#[test]
fn fs10_a_tree_deeper_than_any_path_is_survived() {
    let folder = Folder::new("fs10");
    // No path reaches the deepest folder, so the lower part is made elsewhere and moved.
    let (upper, lower) = ("d/".repeat(1400), "d/".repeat(1600));
    folder.folders(&upper);
    folder.folders(&format!("lower/{lower}"));
    let moved = folder.path().join(upper).join("d");
    std::fs::rename(folder.path().join("lower"), moved).unwrap();
    let found = folder.run(&["find", ".", "-maxdepth", "10000", "-print"]);
    assert_eq!(found.code, Some(1));
    assert!(found.stdout.lines().count() > 2000);
    assert!(found.stderr.ends_with("': File name too long\n"));
    let used = folder.run(&["du", "-k", "--max-depth=0", "--", "."]);
    assert_eq!(used.code, Some(1));
    assert!(used.stdout.ends_with("\t.\n"));
    assert_eq!(
        folder.run(&["grep", "-n", "-R", "--", "x", "."]).code,
        Some(2)
    );
}

#[test]
fn fs13_extreme_times_have_a_date() {
    let folder = Folder::new("fs13");
    folder.shell(
        "touch -d @-62135596801 old; touch -d @253402300800 new; touch -d @99999999999999 far",
    );
    for name in ["old", "new", "far"] {
        let run = folder.run(&["stat", "--", name]);
        assert_eq!(run.code, Some(0));
        assert!(run.stdout.contains("\nModify: "), "{run:?}");
    }
}

#[test]
fn cm06_a_long_line_is_shown_around_its_match() {
    let folder = Folder::new("cm06");
    let line = "é".repeat(450_000) + "needle" + &"é".repeat(50_000) + "\n";
    folder.write("min.js", &line);
    let run = folder.run_bounded(65_536, &["grep", "-n", "--", "needle", "min.js", "min.js"]);
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.len() <= 65_536);
    assert!(run.stdout.starts_with("min.js:1:["), "{:.80}", run.stdout);
    assert!(run.stdout.contains("éneedleé"));
    assert!(!run.stdout.contains('\u{fffd}'));
    let whole = folder.run(&["grep", "-n", "--", "needle", "min.js"]);
    assert_eq!(whole.stdout, format!("1:{line}"));
    let small = folder.run_bounded(40, &["grep", "-n", "--", "needle", "min.js"]);
    assert!(small.stdout.len() <= 40, "{small:?}");
    assert!(small.stdout.contains("needle"));
}

#[test]
fn cm12_hostile_patterns_are_refused_or_linear() {
    let folder = Folder::new("cm12");
    folder.write("f", "a".repeat(64 * 1024) + "!\n");
    let started = Instant::now();
    for pattern in [
        "\\(a\\{1000\\}\\)\\{1000\\}",
        "\\(\\(\\(\\(\\(a\\{100\\}\\)\\{100\\}\\)\\{100\\}\\)\\{100\\}\\)\\{100\\}\\)",
        "\\([^x]\\{32767\\}\\)\\{500\\}",
    ] {
        folder
            .run(&["grep", "-n", "--", pattern, "f"])
            .is(2, "", "grep: pattern too large\n");
    }
    let nested = "\\(".repeat(5000) + &"\\)".repeat(5000);
    folder
        .run(&["grep", "-n", "--", &nested, "f"])
        .is(2, "", "grep: pattern too large\n");
    let matched = folder.run(&["grep", "-n", "--", "\\(a\\+\\)\\+$", "f"]);
    matched.is(1, "", "");
    for literal in ["(?:a{1000}){1000}", "(((((a{100}){100}){100}){100}){100})"] {
        folder
            .run(&["grep", "-n", "--", literal, "f"])
            .is(1, "", "");
    }
    assert!(started.elapsed() < AT_ONCE, "{:?}", started.elapsed());
}

#[test]
fn cm13_a_huge_file_without_newline_ends_quickly() {
    let folder = Folder::new("cm13");
    let file = std::fs::File::create(folder.path().join("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    let started = Instant::now();
    for arguments in [
        &["sort", "--", "sparse"][..],
        &["uniq", "--", "sparse"],
        &["cut", "-f", "1", "--", "sparse"],
        &["tail", "-n", "1", "--", "sparse"],
    ] {
        let message = format!("{}: input too large for the memory limit\n", arguments[0]);
        folder.run(arguments).is(125, "", &message);
    }
    let whole = folder.run_bounded(65_536, &["cat", "--", "sparse"]);
    assert_eq!(whole.code, Some(0));
    assert!((65_536..4 << 20).contains(&whole.stdout.len()));
    let head = folder.run_bounded(65_536, &["head", "-n", "1", "--", "sparse"]);
    assert_eq!(head.code, Some(0));
    assert!(started.elapsed() < AT_ONCE, "{:?}", started.elapsed());
}

#[test]
fn output_that_fits_is_whole_and_output_far_past_the_bound_is_not() {
    let folder = Folder::new("bounds");
    folder.write("f", "x\n".repeat(1000));
    let run = folder.run_bounded(10, &["cat", "--", "f"]);
    assert_eq!(run.stdout.len(), 2000);
    folder.write("f", "x\n".repeat(4_000_000));
    let run = folder.run_bounded(10, &["cat", "--", "f"]);
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.len() < 4_000_000);
}
