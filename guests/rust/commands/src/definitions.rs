//! What the tools say about themselves (SPEC R1, T1).

use crate::bindings::tidegate::plugin::types::{Effect, ToolDefinition};
use crate::schema::{self, PATH, PATH_OR_WORKSPACE, PATHS, Property};

/// One tool: its name, when to use it, its properties, and which of them must be there.
struct Tool {
    name: &'static str,
    description: &'static str,
    properties: &'static [Property],
    required: &'static [&'static str],
}

/// What all descriptions end with.
const BOUNDED: &str = "Long output is cut at its end, and `truncated` then says so.";

const TOOLS: [Tool; 14] = [
    Tool {
        name: "grep",
        description: "Searches text files for lines that match a pattern, and shows each with its \
            number; with several paths or `recursive`, also with its file. The pattern is a POSIX \
            basic regular expression: `\\|`, `\\+`, `\\?`, `\\(…\\)` and `\\{…\\}` have a \
            backslash. No match is an error of its own, COMMAND_NO_MATCH.",
        properties: &[
            (
                "pattern",
                r#"{"type":"string","minLength":1,"maxLength":4096,"description":"What to search for: a POSIX basic regular expression, or plain text with `fixedStrings`. A newline separates alternatives."}"#,
            ),
            PATHS,
            (
                "recursive",
                r#"{"type":"boolean","default":false,"description":"Search all files below the paths that are folders."}"#,
            ),
            (
                "ignoreCase",
                r#"{"type":"boolean","default":false,"description":"Take upper and lower case for the same."}"#,
            ),
            (
                "fixedStrings",
                r#"{"type":"boolean","default":false,"description":"Take the pattern for plain text, not for a regular expression."}"#,
            ),
        ],
        required: &["pattern", "paths"],
    },
    Tool {
        name: "ls",
        description: "Lists the names in one folder, one a line, sorted. For whole trees use find.",
        properties: &[
            PATH_OR_WORKSPACE,
            (
                "all",
                r#"{"type":"boolean","default":false,"description":"List names that start with a dot, too."}"#,
            ),
        ],
        required: &[],
    },
    Tool {
        name: "cat",
        description: "Shows a whole file. For the start or the end of a long one use head or tail.",
        properties: &[PATH],
        required: &["path"],
    },
    Tool {
        name: "find",
        description: "Lists files and folders below a path, one path a line, that path itself \
            first. Links are listed and not followed.",
        properties: &[
            PATH_OR_WORKSPACE,
            (
                "name",
                r#"{"type":"string","minLength":1,"maxLength":1024,"description":"Only names, without their folders, that match this glob as a whole, such as *.md. Has no slash; a backslash takes the meaning from the character after it."}"#,
            ),
            (
                "type",
                r#"{"type":"string","enum":["file","directory"],"description":"Only regular files, or only folders."}"#,
            ),
            (
                "maxDepth",
                r#"{"type":"integer","minimum":0,"maximum":32,"default":8,"description":"How many levels below the path to look; 0 is the path alone."}"#,
            ),
        ],
        required: &[],
    },
    Tool {
        name: "head",
        description: "Shows the first lines of a file.",
        properties: &[PATH, LINES],
        required: &["path"],
    },
    Tool {
        name: "tail",
        description: "Shows the last lines of a file.",
        properties: &[PATH, LINES],
        required: &["path"],
    },
    Tool {
        name: "wc",
        description: "Counts the lines, words or bytes of a file, and shows the number and the \
            path. Lines are counted by their newlines.",
        properties: &[
            PATH,
            (
                "metric",
                r#"{"type":"string","enum":["lines","words","bytes"],"default":"lines","description":"What to count."}"#,
            ),
        ],
        required: &["path"],
    },
    Tool {
        name: "sort",
        description: "Shows the lines of a file in order of their bytes. The file stays as it is.",
        properties: &[
            PATH,
            (
                "reverse",
                r#"{"type":"boolean","default":false,"description":"The last line first."}"#,
            ),
            (
                "numeric",
                r#"{"type":"boolean","default":false,"description":"In order of the number that each line starts with."}"#,
            ),
            (
                "unique",
                r#"{"type":"boolean","default":false,"description":"Show one of several lines that are equal in this order."}"#,
            ),
        ],
        required: &["path"],
    },
    Tool {
        name: "uniq",
        description: "Shows the lines of a file, and of equal ones in a row only the first. It \
            does not sort.",
        properties: &[
            PATH,
            (
                "count",
                r#"{"type":"boolean","default":false,"description":"Put before each line how many there were in a row."}"#,
            ),
            (
                "ignoreCase",
                r#"{"type":"boolean","default":false,"description":"Take upper and lower case for the same."}"#,
            ),
        ],
        required: &["path"],
    },
    Tool {
        name: "cut",
        description: "Shows chosen fields of each line of a file. A line without a delimiter is \
            shown whole.",
        properties: &[
            PATH,
            (
                "fields",
                r#"{"type":"string","minLength":1,"maxLength":1024,"pattern":"^[0-9]+(-[0-9]*)?(,[0-9]+(-[0-9]*)?)*$","description":"Which fields, counted from 1: `1`, `2-` for the second and all after it, `1,3-5`."}"#,
            ),
            (
                "delimiter",
                r#"{"type":"string","minLength":1,"maxLength":1,"description":"The one character between fields; a tab if left out."}"#,
            ),
        ],
        required: &["path", "fields"],
    },
    Tool {
        name: "stat",
        description: "Shows the status of a file, folder or link: size, type, permissions, owner, \
            links, times.",
        properties: &[PATH],
        required: &["path"],
    },
    Tool {
        name: "file",
        description: "Tells what kind of content a file has, by looking into it.",
        properties: &[PATH],
        required: &["path"],
    },
    Tool {
        name: "du",
        description: "Shows the disk space that a path takes, in KiB, and that of the folders \
            below it. A file with several names counts once.",
        properties: &[
            PATH,
            (
                "maxDepth",
                r#"{"type":"integer","minimum":0,"maximum":32,"default":1,"description":"How many levels of folders to show; deeper ones still count."}"#,
            ),
        ],
        required: &["path"],
    },
    Tool {
        name: "pwd",
        description: "Shows the name of the workspace folder as commands see it. Paths of the \
            other tools are relative to it.",
        properties: &[],
        required: &[],
    },
];

const LINES: Property = (
    "lines",
    r#"{"type":"integer","minimum":1,"maximum":1000,"default":20,"description":"How many lines."}"#,
);

/// The definitions of all tools.
pub(crate) fn all() -> Vec<ToolDefinition> {
    TOOLS.iter().map(definition).collect()
}

fn definition(tool: &Tool) -> ToolDefinition {
    ToolDefinition {
        name: tool.name.to_owned(),
        description: Some(format!("{} {BOUNDED}", tool.description)),
        input_schema: schema::input(tool.properties, tool.required),
        output_schema: Some(schema::output(tool.name)),
        effects: vec![Effect::Read, Effect::Execute],
        requires_approval: false,
    }
}

#[cfg(test)]
mod tests;
