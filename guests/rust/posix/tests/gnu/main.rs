//! The commands beside GNU's: over one generated tree, with random arguments, both have to give
//! the same output, the same errors and the same exit code.
//!
//! What differs on purpose (README.md) is left out of the tree or brought to one form here.

#![cfg(not(target_family = "wasm"))]
#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test ends where it cannot go on, and says what it does"
)]

mod random;
mod tree;

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use random::Random;

/// How many argument sets are tried.
const ROUNDS: usize = 400;

/// What one run gave.
#[derive(Debug, PartialEq, Eq)]
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

#[test]
fn output_errors_and_exit_codes_are_gnu_s() {
    if let Some(missing) = missing_tool() {
        println!("skipped: {missing} is not installed");
        return;
    }
    let seed = std::env::var("POSIX_TEST_SEED").map_or_else(|_| 1, |seed| seed.parse().unwrap());
    println!("seed {seed}: POSIX_TEST_SEED chooses another");
    let tree = tree::Tree::new("gnu");
    let mut random = Random::new(seed);
    for round in 0..ROUNDS {
        let arguments = arguments(&mut random);
        let gnu = run(Path::new(&arguments[0]), &arguments, tree.path());
        let ours = run(
            Path::new(env!("CARGO_BIN_EXE_posix")),
            &arguments,
            tree.path(),
        );
        assert!(
            ours == gnu,
            "round {round} of seed {seed}: {arguments:?}\n{}",
            difference(&ours, &gnu)
        );
    }
}

/// The first tool that is not there in the version whose messages are known.
fn missing_tool() -> Option<String> {
    const TOOLS: &[(&str, &[&str])] = &[
        ("file-5.44", &["file"]),
        ("(GNU findutils) 4.9.0", &["find"]),
        ("(GNU grep) 3.8", &["grep"]),
        (
            "(GNU coreutils) 9.1",
            &[
                "cat", "cut", "du", "head", "ls", "sort", "stat", "tail", "uniq", "wc",
            ],
        ),
    ];
    let is_there = |tool: &str, version: &str| {
        let output = Command::new(tool).arg("--version").output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(version))
    };
    TOOLS.iter().find_map(|(version, tools)| {
        let missing = tools.iter().find(|tool| !is_there(tool, version))?;
        Some(format!("{missing} {version}"))
    })
}

fn run(program: &Path, arguments: &[String], folder: &Path) -> Run {
    let output = Command::new(program)
        .arg0(&arguments[0])
        .args(&arguments[1..])
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .output()
        .unwrap();
    let command = arguments[0].as_str();
    Run {
        code: output.status.code(),
        stdout: comparable(command, &output.stdout),
        stderr: comparable(command, &output.stderr),
    }
}

/// The lines that one run has and the other has not.
fn difference(ours: &Run, gnu: &Run) -> String {
    let lines = |run: &Run| -> Vec<String> {
        let code = format!("exit code {:?}", run.code);
        let output = run.stdout.lines().chain(run.stderr.lines());
        output.map(str::to_owned).chain([code]).collect()
    };
    let (ours, gnu) = (lines(ours), lines(gnu));
    let only = |mark: &str, these: &[String], those: &[String]| -> String {
        let missing = these.iter().filter(|line| !those.contains(line));
        let marked: Vec<String> = missing
            .map(|line| format!("{mark} {line:.200}\n"))
            .collect();
        marked.concat()
    };
    only("ours", &ours, &gnu) + &only("gnu ", &gnu, &ours)
}

/// The output with what may differ brought to one form.
fn comparable(command: &str, output: &[u8]) -> String {
    let lines = output.split_inclusive(|byte| *byte == b'\n');
    let mut lines: Vec<String> = lines
        .map(|line| match command {
            "stat" => without_names(&String::from_utf8_lossy(line)),
            // File content need not be UTF-8.
            _ => escaped(line),
        })
        .collect();
    if matches!(command, "find" | "grep" | "du") {
        lines.sort();
    }
    lines.concat()
}

/// A line without bytes that are no text; its end stays one.
fn escaped(line: &[u8]) -> String {
    match line.strip_suffix(b"\n") {
        Some(line) => line.escape_ascii().to_string() + "\n",
        None => line.escape_ascii().to_string(),
    }
}

/// A line of `stat` without the names of user and group. The birth is not known to us, and each
/// of the two runs may count as an access.
fn without_names(line: &str) -> String {
    if line.starts_with(" Birth:") || line.starts_with("Access: 2") {
        return String::new();
    }
    let mut rest = line;
    let mut kept = String::new();
    while let Some((before, name)) = rest.split_once('/') {
        let is_name = before.contains("id: (") && name.contains(')');
        kept.push_str(before);
        rest = if is_name {
            name.trim_start_matches(|character| character != ')')
        } else {
            kept.push('/');
            name
        };
    }
    kept + rest
}

/// One command with random arguments of its shape.
fn arguments(random: &mut Random) -> Vec<String> {
    const COMMANDS: &[&str] = &[
        "cat", "cut", "du", "file", "find", "grep", "grep", "grep", "head", "ls", "sort", "sort",
        "stat", "tail", "uniq", "wc",
    ];
    let command = random.of(COMMANDS);
    let mut arguments = vec![command];
    let path = random.of(tree::PATHS);
    match command {
        "find" => {
            // The caller never lets a path start like an expression.
            let path = if path.starts_with('-') { "." } else { path };
            arguments.extend([path, "-maxdepth", random.of(&["0", "1", "2", "32"])]);
            if random.one_in(3) {
                arguments.extend(["-type", random.of(&["f", "d"])]);
            }
            if random.one_in(2) {
                arguments.extend(["-name", random.of(GLOBS)]);
            }
            arguments.push("-print");
            return owned(&arguments);
        }
        "grep" => return grep(random),
        "cut" => {
            if random.one_in(2) {
                arguments.extend(["-d", random.of(&[" ", ":", "e", "\n", ""])]);
            }
            arguments.extend(["-f", random.of(FIELDS)]);
        }
        "du" => arguments.extend([
            "-k",
            random.of(&["--max-depth=0", "--max-depth=1", "--max-depth=9"]),
        ]),
        "head" | "tail" => arguments.extend(["-n", random.of(&["0", "1", "2", "20", "1000", "x"])]),
        "ls" => {
            arguments.push("-1");
            arguments.extend(random.some(&["-a"]));
        }
        "sort" => arguments.extend(random.some(&["-r", "-n", "-u"])),
        "uniq" => arguments.extend(random.some(&["-c", "-i"])),
        "wc" => arguments.push(random.of(&["-l", "-w", "-c"])),
        _ => {}
    }
    let path = match command {
        "file" => random.of(tree::TYPED_PATHS),
        _ => path,
    };
    arguments.extend(["--", path]);
    owned(&arguments)
}

fn grep(random: &mut Random) -> Vec<String> {
    let mut arguments = vec!["grep", "-n"];
    arguments.extend(random.some(&["-R", "-i", "-F"]));
    let pieces = random.below(4) + 1;
    let pattern: String = (0..pieces).map(|_| random.of(PIECES)).collect();
    arguments.extend(["--", &pattern]);
    for _ in 0..=random.below(3) {
        arguments.push(random.of(tree::PATHS));
    }
    owned(&arguments)
}

fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(|&argument| argument.into()).collect()
}

const GLOBS: &[&str] = &[
    "*",
    "*.txt",
    "?",
    "[a-m]*",
    "[!a-m]*",
    "*e*",
    ".*",
    "\\*",
    "[[:upper:]]*",
    "d*",
    "[",
    "",
];

const FIELDS: &[&str] = &[
    "1", "2", "2-", "-2", "1,3", "3-5,1", "-", "0", "x", "5-2", "1-,3", "99", "2-3,3-4",
];

const PIECES: &[&str] = &[
    "a",
    "e",
    "o",
    "the",
    " ",
    ".",
    "*",
    "\\+",
    "\\?",
    "\\{2\\}",
    "\\{1,2\\}",
    "\\(",
    "\\)",
    "\\|",
    "^",
    "$",
    "[a-e]",
    "[^a-z]",
    "[[:digit:]]",
    "[[:space:]]",
    "\\<",
    "\\>",
    "\\b",
    "\\w",
    "\\s",
    "\\.",
    "[",
    "1",
    "-",
    "\n",
    "line",
    "\u{e9}",
];

#[test]
fn the_comparison_can_fail() {
    assert_ne!(comparable("cat", b"\xff\n"), comparable("cat", b"\xfe\n"));
    assert_ne!(comparable("cat", b"a\n"), comparable("cat", b"a"));
    assert_eq!(comparable("find", b"b\na\n"), comparable("find", b"a\nb\n"));
    let line = "Access: (0644/-rw-r--r--)  Uid: (    0/    root)   Gid: (    0/    root)\n";
    let plain = "Access: (0644/-rw-r--r--)  Uid: (    0)   Gid: (    0)\n";
    assert_eq!(without_names(line), plain);
    assert_eq!(without_names(plain), plain);
}
