//! Paths of the workspace as text: what is one, and how it is handed to a command.
//!
//! Deliberately absent: the file system. Where a path leads is decided by the host, which opens it.

use crate::syntax;

/// A path relative to the workspace with `/` between names: never absolute, never up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkspacePath(String);

impl WorkspacePath {
    /// The workspace itself.
    pub(crate) fn workspace() -> Self {
        Self(".".to_owned())
    }

    /// Reads a path.
    ///
    /// A colon is refused because elsewhere it makes a drive (`c:x`) or a stream of a file
    /// (`a.txt:s`), and a tool must not mean something else there (CASES IO02). A slash at the end
    /// is an empty segment like any other.
    ///
    /// # Errors
    /// What is wrong with it, in words that do not repeat it.
    pub(crate) fn parse(path: &str) -> Result<Self, &'static str> {
        syntax::single_line(path)?;
        if path.starts_with('/') {
            return Err("must be relative to the workspace, without a slash at the start");
        }
        if path.contains('\\') {
            return Err("must not have a backslash: names are separated by a slash");
        }
        if path.contains(':') {
            return Err("must not have a colon: drives and streams are not part of a path here");
        }
        for segment in path.split('/') {
            match segment {
                "" => return Err("must not have an empty segment or a slash at the end"),
                ".." => return Err("must not have a `..` segment"),
                _ => {}
            }
        }
        Ok(Self(path.to_owned()))
    }

    /// The path as an argument that no command takes for anything but a path: not for an option,
    /// not for standard input, not for an expression of `find` (GAP 17).
    pub(crate) fn operand(&self) -> String {
        if self.0.starts_with(['-', '!', '(', ')', ',']) {
            format!("./{}", self.0)
        } else {
            self.0.clone()
        }
    }
}

#[cfg(test)]
mod tests;
