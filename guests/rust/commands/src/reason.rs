//! Why a command failed, as a sentence of our own.
//!
//! A message of a command may hold names from the workspace and is never quoted. Its known endings
//! are recognised; anything else stays where it is, in the structured content.

/// How a message ends, and what that means.
const ENDINGS: [(&str, &str); 12] = [
    (
        "No such file or directory",
        "there is no such file or folder",
    ),
    ("Permission denied", "a file or folder may not be read"),
    (
        "Operation not permitted",
        "a file or folder may not be read",
    ),
    ("Is a directory", "a path is a folder"),
    (
        "Not a directory",
        "a path leads through something that is no folder",
    ),
    ("not a regular file", "a path is not a regular file"),
    (
        "Too many levels of symbolic links",
        "symbolic links lead in a circle",
    ),
    ("File name too long", "a name is too long"),
    (
        "warning: recursive directory loop",
        "a folder holds a link to itself",
    ),
    ("pattern too large", "the pattern is too large"),
    ("Regular expression too big", "the pattern is too large"),
    ("memory exhausted", "it ran out of memory"),
];

/// How `grep` begins to say what is wrong with a pattern.
const PATTERN_FAULTS: [&str; 4] = [
    "grep: Unmatched ",
    "grep: Invalid ",
    "grep: Trailing backslash",
    "grep: character class syntax is ",
];

/// What the first line of a command's standard error says, if it is something that is known.
pub(crate) fn of(stderr: &str) -> Option<&'static str> {
    let first = stderr.lines().next()?;
    let ending = ENDINGS.iter().find(|(ending, _)| first.ends_with(ending));
    match ending {
        Some((_, reason)) => Some(reason),
        None if PATTERN_FAULTS.iter().any(|start| first.starts_with(start)) => {
            Some("the pattern is not valid")
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_messages_get_a_sentence_and_others_none() {
        for (stderr, reason) in [
            (
                "cat: x: No such file or directory\n",
                Some("there is no such file or folder"),
            ),
            (
                "grep: a: Permission denied\ngrep: b: Is a directory\n",
                Some("a file or folder may not be read"),
            ),
            (
                "grep: Unmatched [, [^, [:, [., or [=\n",
                Some("the pattern is not valid"),
            ),
            (
                "grep: Invalid x: Is a directory\n",
                Some("a path is a folder"),
            ),
            ("cut: something else\n", None),
            ("sort: Invalid x\n", None),
            ("", None),
        ] {
            assert_eq!(of(stderr), reason, "{stderr}");
        }
    }
}
