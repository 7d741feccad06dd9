//! GNU's commands, and what they print brought to the form that a tool shows.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::cases::Case;

/// What each program must say of its version, and the Debian package that it comes from.
const PROGRAMS: [(&str, &str, &[&str]); 4] = [
    (
        "GNU coreutils",
        "coreutils",
        &[
            "ls", "cat", "head", "tail", "wc", "sort", "uniq", "cut", "stat", "du", "pwd",
        ],
    ),
    ("GNU grep", "grep", &["grep"]),
    ("GNU findutils", "findutils", &["find"]),
    ("file-", "file", &["file"]),
];

/// How one run of a GNU command ended.
pub(crate) struct Ended {
    pub(crate) exit: u64,
    /// As the tool would show it.
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Fails where a program is missing, with the line that installs it.
pub(crate) fn is_installed() {
    for (says, package, programs) in PROGRAMS {
        for program in programs {
            // The shell's `pwd` is not the program.
            let version = Command::new("env").args([program, "--version"]).output();
            let is_there =
                version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(says));
            assert!(
                is_there,
                "{program} of {says} is missing: apt-get install {package}"
            );
        }
    }
}

/// Runs a case's command in a folder, in the C locale.
pub(crate) fn run(case: &Case, folder: &Path) -> Ended {
    let output = Command::new(case.tool)
        .args(&case.args)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", case.tool));
    let exit = output.status.code().unwrap_or(-1);
    Ended {
        exit: u64::try_from(exit).unwrap(),
        stdout: shown(&output.stdout),
        stderr: shown(&output.stderr),
    }
}

/// Bytes as a tool shows them (docs/commands.md, "What is escaped"): this is the rule once more, by
/// somebody who has not seen how the tool does it.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        let mut characters = chunk.valid().chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\r' if characters.peek() == Some(&'\n') => text.push(character),
                '\n' | '\t' => text.push(character),
                '\0'..='\x1f' | '\x7f' => write!(text, "\\x{:02x}", u32::from(character)).unwrap(),
                _ if is_escaped(character) => {
                    write!(text, "\\u{{{:x}}}", u32::from(character)).unwrap();
                }
                _ => text.push(character),
            }
        }
        for byte in chunk.invalid() {
            write!(text, "\\x{byte:02x}").unwrap();
        }
    }
    text
}

/// C1, line and paragraph separators, and what turns the direction of text.
fn is_escaped(character: char) -> bool {
    const DIRECTIONS: [u32; 12] = [
        0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068,
        0x2069,
    ];
    let code = u32::from(character);
    (0x80..0xa0).contains(&code) || [0x2028, 0x2029].contains(&code) || DIRECTIONS.contains(&code)
}

/// The lines of an output with what may differ brought to one form: the order where there is none,
/// and what `stat` can't know.
pub(crate) fn comparable(tool: &str, output: &str) -> Vec<String> {
    let mut lines: Vec<String> = output
        .split_inclusive('\n')
        .map(|line| match tool {
            "stat" => without_names(line),
            _ => line.to_owned(),
        })
        .collect();
    if matches!(tool, "find" | "grep" | "du") {
        lines.sort();
    }
    lines
}

/// A line of `stat` without the names behind the numbers of user and group. The birth is not known
/// to a tool, and each of the two runs may count as an access.
fn without_names(line: &str) -> String {
    let is_time_of_access = line.starts_with("Access: ") && !line.starts_with("Access: (");
    if line.starts_with(" Birth:") || is_time_of_access {
        return String::new();
    }
    let mut kept = String::new();
    for (index, part) in line.split("id: (").enumerate() {
        if index == 0 {
            kept.push_str(part);
            continue;
        }
        let (identity, rest) = part.split_once(')').unwrap();
        let number = identity.split('/').next().unwrap();
        write!(kept, "id: ({number}){rest}").unwrap();
    }
    kept
}

#[test]
fn stat_is_compared_without_names_and_with_all_else() {
    let named = "Access: (0644/-rw-r--r--)  Uid: (    0/    root)   Gid: (    7/   staff)\n";
    let plain = "Access: (0644/-rw-r--r--)  Uid: (    0)   Gid: (    7)\n";
    assert_eq!(without_names(named), plain);
    assert_eq!(without_names(plain), plain);
    assert_eq!(without_names("  Size: 3\n"), "  Size: 3\n");
}
