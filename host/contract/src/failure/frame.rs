//! Stack frames of JavaScript, Rust, Python and their like.
//!
//! A frame is told by a source location where one runs, not by the mere name of a file:
//! "main.rs:10" alone passes, "at main.rs:10" and "main.rs:10:5" do not.

use super::scan::{Finding, Kind, Scan, is_in};

/// What source files end in.
const SOURCES: &str = "\
    c cc cjs clj cpp cs cts cxx dart erl ex exs fs go groovy h hpp hs java jl js jsx kt kts \
    lua m mjs ml mm mts nim php pl pm py pyx rb rs scala svelte swift ts tsx vue zig";

/// Texts that stand in no message but a trace.
const MARKS: [&str; 10] = [
    "traceback (most recent call last)",
    "stack backtrace:",
    "rust_begin_unwind",
    "core::panicking::",
    "std::panicking::",
    "std::rt::lang_start",
    "wasm-function[",
    "(native method)",
    "(<anonymous>)",
    "(unknown source)",
];

/// No mark is longer.
const MARK_CHARACTERS: usize = 40;

/// How many words may stand between "at" and its location: `at async new Foo (file.js:1:2)`.
const WORDS_AFTER_AT: usize = 5;

/// How much of a word is looked at before a line number, in bytes.
const FILE_BYTES: usize = 256;

/// One word: a run without white space.
struct Word {
    start: usize,
    end: usize,
    text: String,
}

/// Adds every stack frame in the text.
pub(crate) fn find(scan: &Scan, found: &mut Vec<Finding>) {
    let words = words(scan);
    for (index, word) in words.iter().enumerate() {
        let before = words.get(..index).unwrap_or_default();
        let after = words.get(index + 1..).unwrap_or_default();
        let rest = scan.word(word.start, (word.end + MARK_CHARACTERS).min(scan.len()));
        let mark = MARKS.iter().find(|mark| {
            word.text.contains(mark.split(' ').next().unwrap_or(mark)) && rest.contains(**mark)
        });
        let range = match mark {
            Some(mark) => {
                let end = word.start + mark.len();
                Some((word.start, scan.skip(end, |letter| !letter.is_whitespace())))
            }
            None => located(before, word, after)
                .or_else(|| python(before, word, after))
                .or_else(|| numbered(before, word, after))
                .or_else(|| goroutine(before, word, after)),
        };
        if let Some((start, end)) = range {
            let kind = Kind::Frame;
            found.push(Finding { start, end, kind });
        }
    }
}

fn words(scan: &Scan) -> Vec<Word> {
    let mut words = Vec::new();
    let mut at = scan.skip(0, char::is_whitespace);
    while at < scan.len() {
        let end = scan.skip(at, |letter| !letter.is_whitespace());
        words.push(Word {
            start: at,
            end,
            text: scan.word(at, end),
        });
        at = scan.skip(end, char::is_whitespace);
    }
    words
}

/// What follows the name in `name:10:5`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Location {
    /// A source file and a line.
    Line,
    /// A source file, line and column, or a line that says it is in a function.
    Exact,
    /// Something else with two numbers.
    Numbers,
}

/// The location that a word holds.
fn location(word: &str) -> Option<Location> {
    let mut rest = word;
    let mut name_end = 0;
    while let Some(colon) = rest.find(':') {
        let name = word.get(..name_end + colon)?;
        let tail = word.get(name_end + colon + 1..)?;
        let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
        let after = tail.get(digits..).unwrap_or_default();
        let column = after.strip_prefix(':').unwrap_or_default();
        let has_column = column.starts_with(|digit: char| digit.is_ascii_digit());
        if is_source(name) && tail.starts_with("line") {
            return Some(Location::Exact);
        }
        if digits > 0 && is_source(name) {
            let is_exact = has_column || column.starts_with("in");
            return Some(if is_exact {
                Location::Exact
            } else {
                Location::Line
            });
        }
        let is_named = name.ends_with(|last: char| last.is_alphabetic() || last == '>');
        if digits > 0 && has_column && is_named {
            return Some(Location::Numbers);
        }
        name_end += colon + 1;
        rest = tail;
    }
    let (name, tail) = word.split_once(".php(")?;
    let is_call = !name.is_empty() && tail.starts_with(|digit: char| digit.is_ascii_digit());
    is_call.then_some(Location::Exact)
}

/// Whether a name ends like a source file. What stands before a bracket or quote is not part.
fn is_source(name: &str) -> bool {
    let start = name.len().saturating_sub(FILE_BYTES);
    let name = name.get(name.ceil_char_boundary(start)..).unwrap_or(name);
    let file = name
        .rsplit(['/', '\\', '(', '[', '"', '\'', '`', '<', '@'])
        .next()
        .unwrap_or(name);
    match file.rsplit_once('.') {
        Some((stem, extension)) => !stem.is_empty() && is_in(SOURCES, extension),
        None => false,
    }
}

/// A location on its own, or one that an "at" leads to.
fn located(before: &[Word], word: &Word, after: &[Word]) -> Option<(usize, usize)> {
    let is_at =
        |earlier: &&Word| matches!(earlier.text.as_str(), "at" | "(at" | "in" | "->" | "-->");
    let at = before.iter().rev().take(WORDS_AFTER_AT).find(is_at);
    let is_anonymous = word.text == "<anonymous>";
    let Some(location) = location(&word.text) else {
        let at = at.filter(|at| at.text.ends_with("at") && at.end + 1 == word.start)?;
        return is_anonymous.then_some((at.start, word.end));
    };
    let is_call = after.first().is_some_and(|next| {
        next.text.starts_with("+0x") || next.text == "in" && word.text.ends_with(':')
    });
    let start = at.filter(|at| at.text.ends_with("at")).map(|at| at.start);
    match location {
        Location::Exact => Some((start.unwrap_or(word.start), word.end)),
        Location::Line if is_call => Some((word.start, word.end)),
        Location::Line | Location::Numbers => start.map(|start| (start, word.end)),
    }
}

/// `File "app.py", line 10, in run`. `word` is the word "line".
fn python(before: &[Word], word: &Word, after: &[Word]) -> Option<(usize, usize)> {
    let number = after.first().filter(|_| word.text == "line")?;
    let name = before.last().filter(|name| name.text.ends_with(','))?;
    let is_number = number
        .text
        .starts_with(|digit: char| digit.is_ascii_digit());
    let file = name.text.trim_end_matches([',', '"', '\'']);
    let is_inside = after.get(1).is_some_and(|next| next.text == "in");
    let is_module = file.trim_start_matches(['"', '\'']).starts_with('<');
    if !is_number || !(is_source(file) || is_inside || is_module) {
        return None;
    }
    let keyword = before
        .iter()
        .rev()
        .take(8)
        .find(|earlier| earlier.text == "file");
    let end = match after.get(2) {
        Some(function) if is_inside => function.end,
        _ => number.end,
    };
    Some((keyword.unwrap_or(name).start, end))
}

/// `3: core::option::expect_failed` or `3: 0x1f - run` at the start, and any symbol with a
/// compiler's hash.
fn numbered(before: &[Word], word: &Word, after: &[Word]) -> Option<(usize, usize)> {
    let hash = word.text.rsplit_once("::h").map(|(_path, hash)| hash);
    let is_hash =
        |hash: &str| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if hash.is_some_and(is_hash) {
        return Some((word.start, word.end));
    }
    let number = word.text.strip_suffix(':').filter(|_| before.is_empty())?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let symbol = after.first().filter(|_| is_number)?;
    let is_dash = after.get(1).is_some_and(|next| next.text == "-");
    if symbol.text.starts_with("0x") && is_dash {
        return Some((word.start, after.get(2).unwrap_or(symbol).end));
    }
    // `<Tool as app::Run>::run` is a symbol with spaces inside.
    let last = if symbol.text.starts_with('<') {
        let mut words = after.iter().take(4);
        words.find(|word| word.text.contains(">::"))?
    } else {
        symbol
    };
    let is_path = last
        .text
        .split_once("::")
        .is_some_and(|(start, _rest)| !start.is_empty());
    is_path.then_some((word.start, last.end))
}

/// `goroutine 1 [running]:`.
fn goroutine(_before: &[Word], word: &Word, after: &[Word]) -> Option<(usize, usize)> {
    let state = after.get(1).filter(|state| state.text.starts_with('['))?;
    (word.text == "goroutine").then_some((word.start, state.end))
}
