//! What was asked of a tool: its arguments as typed values, already checked.
//!
//! The rules that a schema can express are checked here once more, since an operator can switch
//! the host's check off. Deliberately absent: what the commands look like, which `shape` knows.

use std::ops::RangeInclusive;

use crate::bindings::exports::tidegate::plugin::tools::Problem;
use crate::fields::Fields;
use crate::path::WorkspacePath;
use crate::syntax;

/// How many lines `head` and `tail` show: the range and the default (SPEC R1).
const LINES: (RangeInclusive<u32>, u32) = (1..=1_000, 20);

/// How deep `find` and `du` look: the range, and the default of each (SPEC R1).
const DEPTH: RangeInclusive<u32> = 0..=32;
const FIND_DEPTH: u32 = 8;
const DU_DEPTH: u32 = 1;

/// One call of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Arguments {
    Grep(Grep),
    Ls {
        path: WorkspacePath,
        all: bool,
    },
    Cat {
        path: WorkspacePath,
    },
    Find {
        path: WorkspacePath,
        name: Option<String>,
        kind: Option<Kind>,
        max_depth: u32,
    },
    Head {
        path: WorkspacePath,
        lines: u32,
    },
    Tail {
        path: WorkspacePath,
        lines: u32,
    },
    Wc {
        path: WorkspacePath,
        metric: Metric,
    },
    Sort {
        path: WorkspacePath,
        reverse: bool,
        numeric: bool,
        unique: bool,
    },
    Uniq {
        path: WorkspacePath,
        count: bool,
        ignore_case: bool,
    },
    Cut {
        path: WorkspacePath,
        fields: String,
        delimiter: Option<String>,
    },
    Stat {
        path: WorkspacePath,
    },
    File {
        path: WorkspacePath,
    },
    Du {
        path: WorkspacePath,
        max_depth: u32,
    },
    Pwd,
}

/// What `grep` looks for, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grep {
    pub(crate) pattern: String,
    pub(crate) paths: Vec<WorkspacePath>,
    pub(crate) recursive: bool,
    pub(crate) ignore_case: bool,
    pub(crate) fixed_strings: bool,
}

/// What `find` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
}

/// What `wc` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Metric {
    Lines,
    Words,
    Bytes,
}

impl Arguments {
    /// Reads the arguments of the tool of this name.
    ///
    /// # Errors
    /// Every problem that there is, each with its place.
    pub(crate) fn read(tool: &str, arguments: &str) -> Result<Self, Vec<Problem>> {
        let mut fields = Fields::open(arguments)?;
        let read = match tool {
            "grep" => grep(&mut fields),
            "ls" => Some(ls(&mut fields)),
            "cat" => fields.path().map(|path| Self::Cat { path }),
            "find" => Some(find(&mut fields)),
            "head" => lines(&mut fields).map(|(path, lines)| Self::Head { path, lines }),
            "tail" => lines(&mut fields).map(|(path, lines)| Self::Tail { path, lines }),
            "wc" => wc(&mut fields),
            "sort" => sort(&mut fields),
            "uniq" => uniq(&mut fields),
            "cut" => cut(&mut fields),
            "stat" => fields.path().map(|path| Self::Stat { path }),
            "file" => fields.path().map(|path| Self::File { path }),
            "du" => du(&mut fields),
            "pwd" => Some(Self::Pwd),
            _ => {
                return Err(vec![Problem {
                    pointer: String::new(),
                    reason: "this plugin has no tool of that name".to_owned(),
                }]);
            }
        };
        fields.finish(read)
    }
}

// Each function takes every field before it gives up for want of one: what was not taken would be
// called unknown.

fn grep(fields: &mut Fields) -> Option<Arguments> {
    let pattern = fields.required("pattern", syntax::pattern);
    let paths = fields.paths();
    let recursive = fields.flag("recursive");
    let ignore_case = fields.flag("ignoreCase");
    let fixed_strings = fields.flag("fixedStrings");
    Some(Arguments::Grep(Grep {
        pattern: pattern?,
        paths: paths?,
        recursive,
        ignore_case,
        fixed_strings,
    }))
}

fn ls(fields: &mut Fields) -> Arguments {
    Arguments::Ls {
        path: fields.path_or_workspace(),
        all: fields.flag("all"),
    }
}

fn find(fields: &mut Fields) -> Arguments {
    Arguments::Find {
        path: fields.path_or_workspace(),
        name: fields.optional("name", syntax::name_glob),
        kind: fields.optional("type", kind),
        max_depth: fields.number("maxDepth", &DEPTH, FIND_DEPTH),
    }
}

fn lines(fields: &mut Fields) -> Option<(WorkspacePath, u32)> {
    let path = fields.path();
    let (range, default) = LINES;
    let lines = fields.number("lines", &range, default);
    Some((path?, lines))
}

fn wc(fields: &mut Fields) -> Option<Arguments> {
    let path = fields.path();
    let metric = fields.optional("metric", metric);
    Some(Arguments::Wc {
        path: path?,
        metric: metric.unwrap_or(Metric::Lines),
    })
}

fn sort(fields: &mut Fields) -> Option<Arguments> {
    let path = fields.path();
    let reverse = fields.flag("reverse");
    let numeric = fields.flag("numeric");
    let unique = fields.flag("unique");
    Some(Arguments::Sort {
        path: path?,
        reverse,
        numeric,
        unique,
    })
}

fn uniq(fields: &mut Fields) -> Option<Arguments> {
    let path = fields.path();
    let count = fields.flag("count");
    let ignore_case = fields.flag("ignoreCase");
    Some(Arguments::Uniq {
        path: path?,
        count,
        ignore_case,
    })
}

fn cut(fields: &mut Fields) -> Option<Arguments> {
    let path = fields.path();
    let list = fields.required("fields", syntax::field_list);
    let delimiter = fields.optional("delimiter", syntax::delimiter);
    Some(Arguments::Cut {
        path: path?,
        fields: list?,
        delimiter,
    })
}

fn du(fields: &mut Fields) -> Option<Arguments> {
    let path = fields.path();
    let max_depth = fields.number("maxDepth", &DEPTH, DU_DEPTH);
    Some(Arguments::Du {
        path: path?,
        max_depth,
    })
}

fn kind(text: &str) -> Result<Kind, &'static str> {
    match text {
        "file" => Ok(Kind::File),
        "directory" => Ok(Kind::Directory),
        _ => Err("must be `file` or `directory`"),
    }
}

fn metric(text: &str) -> Result<Metric, &'static str> {
    match text {
        "lines" => Ok(Metric::Lines),
        "words" => Ok(Metric::Words),
        "bytes" => Ok(Metric::Bytes),
        _ => Err("must be `lines`, `words` or `bytes`"),
    }
}

#[cfg(test)]
mod tests;
