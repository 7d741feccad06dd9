//! The command tools beside spawning GNU's: what an agent pays for a `grep`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};
use tidegate_contract::Status;

use crate::samples::{at_least, at_most, ms, percentile, plain, thread_cpu, us};
use crate::tools::{By, Tools};

/// Times that a small or large command is run; the middle one counts.
const SMALL: usize = 201;
const LARGE: usize = 7;

/// Times that a small command is run before the other one is: then each costs what it costs by itself,
/// and not what the other one has left of the caches.
const BATCH: usize = 20;

/// Times that a small command is run in a loop of nothing else.
const LOOP: u32 = 2_000;

/// What is gone through so that nothing is left in the caches, in bytes.
const SWEPT: usize = 8 * 1024 * 1024;

/// Files of the tree.
const FILES: usize = 20_000;

/// All figures.
pub(crate) fn commands() {
    let folder = tempfile::TempDir::new().unwrap();
    lay_out(folder.path());
    let tools = Tools::new(folder.path(), By::Component);
    let native = Tools::new(folder.path(), By::Native);
    small(&tools, folder.path());
    small_natively(&native);
    large([&tools, &native], folder.path());
    tree([&tools, &native], folder.path());
}

/// Those of small inputs alone.
pub(crate) fn small_commands() {
    let folder = tempfile::TempDir::new().unwrap();
    lay_out_small(folder.path());
    small(&Tools::new(folder.path(), By::Component), folder.path());
}

fn lines(bytes: usize) -> String {
    let line = "the quick brown fox jumps over the lazy dog 0123456789\n";
    line.repeat(bytes / line.len())
}

/// A 5 KiB file and a folder with a few.
fn lay_out_small(folder: &Path) {
    fs::write(folder.join("small.txt"), lines(5 * 1024)).unwrap();
    let one = "and one of them is lazier\n";
    fs::write(folder.join("one.txt"), lines(5 * 1024) + one).unwrap();
    fs::create_dir(folder.join("few")).unwrap();
    for number in 0..20 {
        fs::write(folder.join(format!("few/{number}.txt")), "few\n").unwrap();
    }
}

/// The same, 10 and 100 MiB of lines, and many files.
fn lay_out(folder: &Path) {
    lay_out_small(folder);
    fs::write(folder.join("ten.txt"), lines(10 * 1024 * 1024)).unwrap();
    fs::write(folder.join("hundred.txt"), lines(100 * 1024 * 1024)).unwrap();
    for number in 0..FILES {
        let below = folder.join(format!("tree/{}", number / 200));
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join(format!("{number}.txt")), "leaf\n").unwrap();
    }
}

/// Spawns GNU's and reads all that it prints.
fn spawn(folder: &Path, words: &[&str]) -> Vec<u8> {
    let (program, arguments) = words.split_first().unwrap();
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    output.stdout
}

/// Medians of both, in seconds, one after the other in turn.
fn beside(times: usize, ours: impl FnMut(), theirs: impl FnMut()) -> (f64, f64) {
    in_batches(times, 1, ours, theirs)
}

/// The same, so many of one and then so many of the other.
fn in_batches(
    rounds: usize,
    batch: usize,
    mut ours: impl FnMut(),
    mut theirs: impl FnMut(),
) -> (f64, f64) {
    let (mut own, mut gnu) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        own.extend((0..batch).map(|_| seconds(&mut ours)));
        gnu.extend((0..batch).map(|_| seconds(&mut theirs)));
    }
    own.sort_by(f64::total_cmp);
    gnu.sort_by(f64::total_cmp);
    (percentile(&own, 50), percentile(&gnu, 50))
}

/// Processor time of this thread for one of many that nothing comes between, in seconds.
fn in_a_loop(mut ours: impl FnMut()) -> f64 {
    let start = thread_cpu();
    (0..LOOP).for_each(|_| ours());
    (thread_cpu().saturating_sub(start) / LOOP).as_secs_f64()
}

fn small(tools: &Tools, folder: &Path) {
    let path = json!({"path": "small.txt"});
    let cases: [(&str, Value, &[&str]); 7] = [
        ("cat", path.clone(), &["cat", "--", "small.txt"]),
        (
            "grep, each line a match",
            json!({"pattern": "lazy", "paths": ["small.txt"]}),
            &["grep", "-n", "--", "lazy", "small.txt"],
        ),
        (
            "grep, one line a match",
            json!({"pattern": "lazier", "paths": ["one.txt"]}),
            &["grep", "-n", "--", "lazier", "one.txt"],
        ),
        ("wc", path.clone(), &["wc", "-l", "--", "small.txt"]),
        ("head", path, &["head", "-n", "20", "--", "small.txt"]),
        ("ls", json!({"path": "few"}), &["ls", "-1", "--", "few"]),
        (
            "find",
            json!({"path": "few"}),
            &["find", "few", "-maxdepth", "8", "-print"],
        ),
    ];
    for (name, arguments, words) in cases {
        // What is called and what is spawned have the same name.
        let tool = words[0];
        let result = tools.call(tool, &arguments);
        assert_eq!(result.status, Status::Success, "{result:?}");
        let ours = || drop(tools.call(tool, &arguments));
        let theirs = || drop(spawn(folder, words));
        plain(
            &format!("{name}, small, in a loop of nothing else, thread CPU"),
            &us(in_a_loop(ours)),
        );
        let mut swept = vec![0_u8; SWEPT];
        let (cold, _) = beside(SMALL, ours, || sweep(&mut swept));
        plain(&format!("{name}, small, each with swept caches"), &us(cold));
        let turn = beside(SMALL, ours, theirs);
        plain(
            &format!("{name}, small, in turn: ours / spawned"),
            &pair(turn),
        );
        let batch = in_batches(SMALL / BATCH, BATCH, ours, theirs);
        plain(
            &format!("{name}, small, in batches: ours / spawned"),
            &pair(batch),
        );
        at_least(
            &format!("{name}, small, in batches: times faster than spawning"),
            batch.1 / batch.0,
            15.0,
        );
    }
}

/// Writes to every line of a cache.
fn sweep(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().step_by(64) {
        *byte = byte.wrapping_add(1);
    }
    std::hint::black_box(bytes);
}

fn pair((ours, theirs): (f64, f64)) -> String {
    format!("{} / {}, {:.2} x", us(ours), us(theirs), theirs / ours)
}

/// The same through the native executor, confined.
fn small_natively(native: &Tools) {
    for (name, arguments) in [
        ("cat", json!({"path": "small.txt"})),
        ("grep", json!({"pattern": "lazy", "paths": ["small.txt"]})),
        ("ls", json!({"path": "few"})),
    ] {
        let mut times: Vec<f64> = (0..LARGE * 3)
            .map(|_| seconds(|| drop(native.call(name, &arguments))))
            .collect();
        times.sort_by(f64::total_cmp);
        plain(
            &format!("{name}, small, by the native executor"),
            &us(percentile(&times, 50)),
        );
    }
}

fn seconds(run: impl FnOnce()) -> f64 {
    let started = Instant::now();
    run();
    started.elapsed().as_secs_f64()
}

/// What is run over large files and many.
type Case<'a> = (&'a str, Value, Vec<&'a str>);

fn large(tools: [&Tools; 2], folder: &Path) {
    for (file, size) in [("ten.txt", "10 MiB"), ("hundred.txt", "100 MiB")] {
        let absent = "lazy dog 0123456789x";
        let path = json!({"path": file});
        let cases: [Case<'_>; 4] = [
            ("cat", path.clone(), vec!["cat", "--", file]),
            ("head", path.clone(), vec!["head", "-n", "20", "--", file]),
            ("wc", path, vec!["wc", "-l", "--", file]),
            (
                "grep",
                json!({"pattern": absent, "paths": [file]}),
                vec!["grep", "-n", "--", absent, file],
            ),
        ];
        for case in cases {
            let name = case.0;
            let (ours, theirs) = three(tools, folder, &case, size);
            if size == "100 MiB" && matches!(name, "wc" | "grep") {
                at_most(
                    &format!("{name}, {size}, to GNU's time"),
                    ours / theirs,
                    1.5,
                );
            }
        }
    }
}

/// Ours, GNU's spawned, and GNU's through the native executor; gives the first two.
fn three(
    [tools, native]: [&Tools; 2],
    folder: &Path,
    (name, arguments, words): &Case<'_>,
    what: &str,
) -> (f64, f64) {
    let (ours, theirs) = beside(
        LARGE,
        || drop(tools.call(name, arguments)),
        || drop(spawn(folder, words)),
    );
    let mut natively: Vec<f64> = (0..LARGE)
        .map(|_| seconds(|| drop(native.call(name, arguments))))
        .collect();
    natively.sort_by(f64::total_cmp);
    plain(
        &format!("{name}, {what}: ours / spawned / native executor"),
        &format!(
            "{} / {} / {}",
            ms(ours),
            ms(theirs),
            ms(percentile(&natively, 50))
        ),
    );
    (ours, theirs)
}

fn tree(tools: [&Tools; 2], folder: &Path) {
    let grep = json!({"pattern": "absent", "paths": ["tree"], "recursive": true});
    let find = json!({"path": "tree", "name": "nothing"});
    let cases: [Case<'_>; 3] = [
        (
            "grep",
            grep,
            vec!["grep", "-n", "-R", "--", "absent", "tree"],
        ),
        (
            "find",
            find,
            vec![
                "find",
                "tree",
                "-maxdepth",
                "8",
                "-name",
                "nothing",
                "-print",
            ],
        ),
        (
            "ls",
            json!({"path": "tree"}),
            vec!["ls", "-1", "--", "tree"],
        ),
    ];
    for case in cases {
        three(tools, folder, &case, &format!("{FILES} files"));
    }
}
