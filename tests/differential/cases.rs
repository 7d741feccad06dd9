//! One case: a tool's arguments, and the arguments of the command that they stand for.
//!
//! The shapes are written from SPEC R2 here, not taken from the tool, so that a tool with another
//! shape fails.

use serde_json::{Map, Value, json};

use super::random::Random;
use super::tree::{PATHS, TYPED_PATHS};

/// What is asked of a tool and of GNU's command.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) args: Vec<String>,
}

/// `pwd` is not among them: it prints what no command of the host's can.
const TOOLS: &[&str] = &[
    "grep", "grep", "grep", "ls", "cat", "find", "find", "head", "tail", "wc", "sort", "sort",
    "uniq", "cut", "stat", "file", "du",
];

const GLOBS: &[&str] = &[
    "*",
    "*.txt",
    "?",
    "??",
    "[a-m]*",
    "[!a-m]*",
    "*e*",
    ".*",
    "\\*",
    "[[:upper:]]*",
    "d*",
    "[",
    "leaf",
    "*ö*",
    "-n",
];

const FIELDS: &[&str] = &[
    "1", "2", "2-", "1,3", "3-5,1", "99", "2-3,3-4", "1-1", "1-,3", "5,1,3",
];

const DELIMITERS: &[&str] = &[",", ":", " ", "e", "\"", "-", "\u{7f}"];

const PATTERN_PIECES: &[&str] = &[
    "a",
    "e",
    "the",
    "The",
    "line",
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
    "\u{e9}",
    "--",
];

impl Case {
    /// A case of one path behind `--`, after these options.
    pub(crate) fn of_path(tool: &'static str, options: &[&str], path: &str) -> Self {
        let mut args: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        args.extend(["--".to_owned(), operand(path)]);
        Self {
            tool,
            arguments: json!({ "path": path }),
            args,
        }
    }

    pub(crate) fn random(random: &mut Random) -> Self {
        let tool = random.of(TOOLS);
        match tool {
            "grep" => grep(random),
            "find" => find(random),
            "file" => Self::of_path(tool, &[], random.of(TYPED_PATHS)),
            _ => {
                let mut arguments = Map::new();
                let options = options(tool, random, &mut arguments);
                let options: Vec<&str> = options.iter().map(String::as_str).collect();
                let mut case = Self::of_path(tool, &options, random.of(PATHS));
                let object = case.arguments.as_object_mut().unwrap();
                object.extend(arguments);
                case
            }
        }
    }
}

/// A path as R3 hands it on.
fn operand(path: &str) -> String {
    if path.starts_with(['-', '!', '(', ')', ',']) {
        format!("./{path}")
    } else {
        path.to_owned()
    }
}

/// The options before `--`, and the arguments that ask for them.
fn options(tool: &str, random: &mut Random, arguments: &mut Map<String, Value>) -> Vec<String> {
    let mut options = Vec::new();
    match tool {
        "ls" => {
            options.push("-1".to_owned());
            flags(random, &[("all", "-a")], arguments, &mut options);
        }
        "head" | "tail" => {
            let lines = random.of(&[None, Some(1), Some(2), Some(3), Some(1_000)]);
            options.extend(["-n".to_owned(), lines.unwrap_or(20).to_string()]);
            lines.map(|lines| arguments.insert("lines".to_owned(), json!(lines)));
        }
        "wc" => {
            let metrics = [
                (None, "-l"),
                (Some("lines"), "-l"),
                (Some("words"), "-w"),
                (Some("bytes"), "-c"),
            ];
            let (metric, option) = random.of(&metrics);
            options.push(option.to_owned());
            metric.map(|metric| arguments.insert("metric".to_owned(), json!(metric)));
        }
        "sort" => {
            let all = [("reverse", "-r"), ("numeric", "-n"), ("unique", "-u")];
            flags(random, &all, arguments, &mut options);
        }
        "uniq" => {
            let all = [("count", "-c"), ("ignoreCase", "-i")];
            flags(random, &all, arguments, &mut options);
        }
        "cut" => {
            if random.once_in(2) {
                let delimiter = random.of(DELIMITERS);
                arguments.insert("delimiter".to_owned(), json!(delimiter));
                options.extend(["-d".to_owned(), delimiter.to_owned()]);
            }
            let fields = random.of(FIELDS);
            arguments.insert("fields".to_owned(), json!(fields));
            options.extend(["-f".to_owned(), fields.to_owned()]);
        }
        "du" => {
            let depth = random.of(&[None, Some(0), Some(1), Some(2), Some(32)]);
            let shown = depth.unwrap_or(1);
            options.extend(["-k".to_owned(), format!("--max-depth={shown}")]);
            depth.map(|depth| arguments.insert("maxDepth".to_owned(), json!(depth)));
        }
        _ => {}
    }
    options
}

/// Each flag or not; some are asked for as `false`.
fn flags(
    random: &mut Random,
    all: &[(&str, &str)],
    arguments: &mut Map<String, Value>,
    options: &mut Vec<String>,
) {
    for (name, option) in all {
        let asked = random.of(&[None, Some(false), Some(true), Some(true)]);
        asked.map(|asked| arguments.insert((*name).to_owned(), json!(asked)));
        if asked == Some(true) {
            options.push((*option).to_owned());
        }
    }
}

fn grep(random: &mut Random) -> Case {
    let mut arguments = Map::new();
    let mut args = vec!["-n".to_owned()];
    let all = [
        ("recursive", "-R"),
        ("ignoreCase", "-i"),
        ("fixedStrings", "-F"),
    ];
    flags(random, &all, &mut arguments, &mut args);
    let pieces = 1 + random.below(4);
    let pattern: String = (0..pieces).map(|_| random.of(PATTERN_PIECES)).collect();
    let paths: Vec<&str> = (0..=random.below(3)).map(|_| random.of(PATHS)).collect();
    args.extend(["--".to_owned(), pattern.clone()]);
    args.extend(paths.iter().map(|path| operand(path)));
    arguments.insert("pattern".to_owned(), json!(pattern));
    arguments.insert("paths".to_owned(), json!(paths));
    Case {
        tool: "grep",
        arguments: arguments.into(),
        args,
    }
}

fn find(random: &mut Random) -> Case {
    let mut arguments = Map::new();
    let path = random.of(&[
        None,
        Some("folder"),
        Some("-n"),
        Some("!bang"),
        Some("links"),
    ]);
    path.map(|path| arguments.insert("path".to_owned(), json!(path)));
    let depth = random.of(&[None, Some(0), Some(1), Some(2), Some(32)]);
    depth.map(|depth| arguments.insert("maxDepth".to_owned(), json!(depth)));
    let mut args = vec![
        operand(path.unwrap_or(".")),
        "-maxdepth".to_owned(),
        depth.unwrap_or(8).to_string(),
    ];
    if random.once_in(3) {
        let (kind, letter) = random.of(&[("file", "f"), ("directory", "d")]);
        arguments.insert("type".to_owned(), json!(kind));
        args.extend(["-type".to_owned(), letter.to_owned()]);
    }
    if random.once_in(2) {
        let glob = random.of(GLOBS);
        arguments.insert("name".to_owned(), json!(glob));
        args.extend(["-name".to_owned(), glob.to_owned()]);
    }
    args.push("-print".to_owned());
    Case {
        tool: "find",
        arguments: arguments.into(),
        args,
    }
}
