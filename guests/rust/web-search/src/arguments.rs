//! What was asked for: the arguments of a call as typed values, already checked (SPEC W1).
//!
//! The rules that a schema can express are checked here once more, since an operator can switch
//! the host's check off. A reason never repeats a value.

use serde_json::{Map, Value};

use crate::bindings::exports::tidegate::plugin::tools::Problem;
use crate::definition::NAME;

/// The longest query, in characters and in words.
const QUERY_CHARACTERS: usize = 600;
const QUERY_WORDS: usize = 75;

/// How many results there are at most, and when not told.
const MAX_LIMIT: usize = 20;
const DEFAULT_LIMIT: usize = 5;

/// One search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// One line without white space around it.
    pub(crate) query: String,
    /// From 1 to 20.
    pub(crate) limit: usize,
}

impl Arguments {
    /// Reads the arguments of the tool of this name.
    ///
    /// # Errors
    /// Every problem that there is, each with its place.
    pub(crate) fn read(tool: &str, arguments: &str) -> Result<Self, Vec<Problem>> {
        let refuse = |reason: &str| vec![problem("", reason)];
        if tool != NAME {
            return Err(refuse("this plugin has no tool of that name"));
        }
        let mut left: Map<String, Value> = match serde_json::from_str(arguments) {
            Ok(Value::Object(left)) => left,
            Ok(_) => return Err(refuse("the arguments must be an object")),
            Err(_syntax) => return Err(refuse("the arguments are not JSON")),
        };
        let query = query(left.remove("query").as_ref());
        let limit = limit(left.remove("limit").as_ref());
        let mut problems: Vec<Problem> = left.keys().map(|key| unknown(key)).collect();
        let mut keep = |place: &str, reason: &str| problems.push(problem(place, reason));
        let query = query.map_err(|reason| keep("/query", reason));
        let limit = limit.map_err(|reason| keep("/limit", reason));
        match (query, limit) {
            (Ok(query), Ok(limit)) if problems.is_empty() => Ok(Self { query, limit }),
            _ => Err(problems),
        }
    }
}

fn query(value: Option<&Value>) -> Result<String, &'static str> {
    let text = match value {
        None => return Err("is required"),
        Some(Value::String(text)) => text,
        Some(_) => return Err("must be a string"),
    };
    if text.chars().count() > QUERY_CHARACTERS {
        return Err("must have at most 600 characters");
    }
    if text.chars().any(breaks_the_line) {
        return Err("must be one line without control characters");
    }
    let query = text.trim();
    match query.split_whitespace().count() {
        0 => Err("must not be blank"),
        1..=QUERY_WORDS => Ok(query.to_owned()),
        _ => Err("must have at most 75 words"),
    }
}

/// Whether a character ends a line somewhere, or is a control character other than a tab.
fn breaks_the_line(character: char) -> bool {
    match character {
        '\t' => false,
        '\u{2028}' | '\u{2029}' => true,
        other => other.is_control(),
    }
}

/// A number of results. `5.0` is one too, since JSON Schema takes it for an integer.
fn limit(value: Option<&Value>) -> Result<usize, &'static str> {
    let number = match value {
        None => return Ok(DEFAULT_LIMIT),
        Some(Value::Number(number)) => number.to_string(),
        Some(_) => String::new(),
    };
    let whole = number.strip_suffix(".0").unwrap_or(&number);
    match whole.parse() {
        Ok(limit @ 1..=MAX_LIMIT) => Ok(limit),
        _ => Err("must be a whole number from 1 to 20"),
    }
}

fn unknown(key: &str) -> Problem {
    // A key as one token of a JSON Pointer (RFC 6901, section 3).
    let token = key.replace('~', "~0").replace('/', "~1");
    problem(
        &format!("/{token}"),
        "is not an argument of this tool; there are query, limit",
    )
}

fn problem(pointer: &str, reason: &str) -> Problem {
    Problem {
        pointer: pointer.to_owned(),
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests;
