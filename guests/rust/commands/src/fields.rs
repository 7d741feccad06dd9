//! The fields of one object of arguments, taken one by one; what is left over is unknown.
//!
//! Every problem is collected, so that a caller can mend a call at once. A reason never repeats a
//! value. Deliberately absent: which fields a tool has, which is for `arguments` to say.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::bindings::exports::tidegate::plugin::tools::Problem;
use crate::path::WorkspacePath;
use crate::whole_number;

/// The most paths of one call (SPEC R1).
const MAX_PATHS: usize = 16;

/// How a text is read: into a value, or into what is wrong with it.
type Parse<T> = fn(&str) -> Result<T, &'static str>;

/// The fields that have not been taken yet, and the problems with those that have.
pub(crate) struct Fields {
    left: Map<String, Value>,
    known: Vec<&'static str>,
    problems: Vec<Problem>,
}

impl Fields {
    /// Opens the arguments of a call.
    pub(crate) fn open(arguments: &str) -> Result<Self, Vec<Problem>> {
        let refuse = |reason: &str| vec![problem("", reason)];
        match serde_json::from_str(arguments) {
            Ok(Value::Object(left)) => Ok(Self {
                left,
                known: Vec::new(),
                problems: Vec::new(),
            }),
            Ok(_) => Err(refuse("the arguments must be an object")),
            Err(_syntax) => Err(refuse("the arguments are not JSON")),
        }
    }

    /// A text that must be there.
    pub(crate) fn required<T>(&mut self, key: &'static str, parse: Parse<T>) -> Option<T> {
        let value = self.take_required(key)?;
        self.parse(key, &value, parse)
    }

    /// A text that may be absent.
    pub(crate) fn optional<T>(&mut self, key: &'static str, parse: Parse<T>) -> Option<T> {
        let value = self.take(key)?;
        self.parse(key, &value, parse)
    }

    /// A path that must be there.
    pub(crate) fn path(&mut self) -> Option<WorkspacePath> {
        self.required("path", WorkspacePath::parse)
    }

    /// A path, or the workspace where there is none.
    pub(crate) fn path_or_workspace(&mut self) -> WorkspacePath {
        self.optional("path", WorkspacePath::parse)
            .unwrap_or_else(WorkspacePath::workspace)
    }

    /// A list of 1 to 16 paths.
    pub(crate) fn paths(&mut self) -> Option<Vec<WorkspacePath>> {
        let items = match self.take_required("paths")? {
            Value::Array(items) if (1..=MAX_PATHS).contains(&items.len()) => items,
            _ => {
                self.refuse("paths", "must be a list of 1 to 16 paths");
                return None;
            }
        };
        let paths: Vec<WorkspacePath> = items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| {
                self.parse(&format!("paths/{index}"), item, WorkspacePath::parse)
            })
            .collect();
        (paths.len() == items.len()).then_some(paths)
    }

    /// Whether a field is `true`; an absent one is `false`.
    pub(crate) fn flag(&mut self, key: &'static str) -> bool {
        match self.take(key) {
            None => false,
            Some(Value::Bool(value)) => value,
            Some(_) => {
                self.refuse(key, "must be true or false");
                false
            }
        }
    }

    /// A number within its range, or the default where there is none.
    pub(crate) fn number(
        &mut self,
        key: &'static str,
        range: &RangeInclusive<u32>,
        default: u32,
    ) -> u32 {
        let Some(value) = self.take(key) else {
            return default;
        };
        match whole_number::read(&value, range) {
            Ok(number) => number,
            Err(reason) => {
                self.refuse(key, &reason);
                default
            }
        }
    }

    /// What was read from the fields, if there was no problem with any and none is left over.
    pub(crate) fn finish<T>(mut self, read: Option<T>) -> Result<T, Vec<Problem>> {
        let known = match self.known.as_slice() {
            [] => "it takes no arguments".to_owned(),
            names => format!("there are {}", names.join(", ")),
        };
        for key in self.left.keys() {
            // A key as one token of a JSON Pointer (RFC 6901, section 3).
            let token = key.replace('~', "~0").replace('/', "~1");
            let reason = format!("is not an argument of this tool; {known}");
            self.problems.push(problem(&format!("/{token}"), &reason));
        }
        match read {
            Some(read) if self.problems.is_empty() => Ok(read),
            _ => Err(self.problems),
        }
    }

    fn take(&mut self, key: &'static str) -> Option<Value> {
        self.known.push(key);
        self.left.remove(key)
    }

    fn take_required(&mut self, key: &'static str) -> Option<Value> {
        let value = self.take(key);
        if value.is_none() {
            self.refuse(key, "is required");
        }
        value
    }

    fn parse<T>(&mut self, place: &str, value: &Value, parse: Parse<T>) -> Option<T> {
        let parsed = match value {
            Value::String(text) => parse(text),
            _ => Err("must be a string"),
        };
        match parsed {
            Ok(parsed) => Some(parsed),
            Err(reason) => {
                self.refuse(place, reason);
                None
            }
        }
    }

    fn refuse(&mut self, place: &str, reason: &str) {
        self.problems.push(problem(&format!("/{place}"), reason));
    }
}

fn problem(pointer: &str, reason: &str) -> Problem {
    Problem {
        pointer: pointer.to_owned(),
        reason: reason.to_owned(),
    }
}
