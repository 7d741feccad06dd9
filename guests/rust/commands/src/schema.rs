//! The schemas of the tools as JSON text (JSON Schema 2020-12), put together from parts.

/// The schema of one property, in JSON.
pub(crate) type Property = (&'static str, &'static str);

pub(crate) const PATH: Property = (
    "path",
    r#"{"type":"string","minLength":1,"maxLength":1024,"description":"Path relative to the workspace, such as docs/guide.md. Not absolute; no `..` or empty segment, no slash at the end, no backslash, colon or line break."}"#,
);

pub(crate) const PATH_OR_WORKSPACE: Property = (
    "path",
    r#"{"type":"string","minLength":1,"maxLength":1024,"default":".","description":"Path relative to the workspace, such as docs; the workspace itself if left out. Not absolute; no `..` or empty segment, no slash at the end, no backslash, colon or line break."}"#,
);

pub(crate) const PATHS: Property = (
    "paths",
    r#"{"type":"array","minItems":1,"maxItems":16,"items":{"type":"string","minLength":1,"maxLength":1024},"description":"1 to 16 paths relative to the workspace; `.` is the workspace itself. A folder needs `recursive`. Not absolute; no `..` or empty segment, no slash at the end, no backslash, colon or line break."}"#,
);

/// The input schema of a tool.
pub(crate) fn input(properties: &[Property], required: &[&str]) -> String {
    let properties: Vec<String> = properties
        .iter()
        .map(|(name, schema)| format!("\"{name}\":{schema}"))
        .collect();
    let required: Vec<String> = required.iter().map(|name| format!("\"{name}\"")).collect();
    format!(
        r#"{{"type":"object","properties":{{{}}},"required":[{}],"additionalProperties":false}}"#,
        properties.join(","),
        required.join(",")
    )
}

/// The schema of the structured content of the tool that runs `command`.
pub(crate) fn output(command: &str) -> String {
    format!(
        r#"{{"type":"object","properties":{{"command":{{"const":"{command}"}},{OUTPUT}}},"required":["command","args","stdout","stderr","exitCode","truncated"],"additionalProperties":false}}"#
    )
}

/// The properties that the output of every tool has.
const OUTPUT: &str = r#""args":{"type":"array","items":{"type":"string"},"description":"The arguments that the command got."},"stdout":{"type":"string","description":"The start of standard output. Bytes that are no UTF-8 and control characters are written as escapes such as \\x1b."},"stderr":{"type":"string","description":"The start of standard error, in the same form."},"exitCode":{"type":"integer","minimum":0,"maximum":255},"truncated":{"type":"boolean","description":"Whether something of either stream is left out."},"incomplete":{"const":true,"description":"Present where the command failed and had output before: there may be more than it shows."},"stdoutOmittedBytes":{"type":"integer","minimum":1,"description":"Bytes of standard output that are left out."},"stdoutOmittedLines":{"type":"integer","minimum":1,"description":"Lines of standard output of which nothing is shown, where their number is known."},"stderrOmittedBytes":{"type":"integer","minimum":1,"description":"Bytes of standard error that are left out."}"#;
