//! Folders that can be granted, as normalised paths.
//!
//! Deliberately absent: the file system. A path here is text; what it leads to is decided when
//! the folder is opened.

use std::fmt;

use serde::Serialize;

use crate::grant::GrantError;

/// The longest path, in bytes; what Linux takes.
const PATH_BYTES: usize = 4096;

/// A folder: relative to the workspace (`.` or `docs/api`) or absolute (`/srv/data`).
///
/// Normalised: no `.` or empty segments, no trailing `/`; `..` is refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Root(String);

impl Root {
    /// Reads a path. `./docs/` is the same folder as `docs`.
    ///
    /// # Errors
    /// `Root` when it is empty or too long, or has a `..` segment, an empty segment or a
    /// control character.
    pub fn parse(path: &str) -> Result<Self, GrantError> {
        let refuse = |reason| Err(GrantError::Root { reason });
        if path.is_empty() {
            return refuse("it is empty; the workspace is written `.`");
        }
        if path.len() > PATH_BYTES {
            return refuse("it is longer than 4096 bytes");
        }
        if path.chars().any(char::is_control) {
            return refuse("it has a control character");
        }
        let (is_absolute, rest) = match path.strip_prefix('/') {
            Some(rest) => (true, rest),
            None => (false, path),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let mut segments = Vec::new();
        for segment in rest.split('/') {
            match segment {
                "" if is_absolute && path == "/" => {}
                "" => return refuse("it has an empty segment"),
                ".." => return refuse("it has a `..` segment"),
                "." => {}
                name => segments.push(name),
            }
        }
        let joined = segments.join("/");
        Ok(Self(match (is_absolute, joined.as_str()) {
            (true, _) => format!("/{joined}"),
            (false, "") => ".".to_owned(),
            (false, _) => joined,
        }))
    }

    /// The path as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it starts at the root of the file system.
    #[must_use]
    pub fn is_absolute(&self) -> bool {
        self.0.starts_with('/')
    }

    /// Whether the other folder is this one or inside it. A relative and an absolute folder
    /// never contain each other: where the workspace is, is not known here.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        match self.as_str() {
            "." => !other.is_absolute(),
            "/" => other.is_absolute(),
            own => match other.0.strip_prefix(own) {
                Some(rest) => rest.is_empty() || rest.starts_with('/'),
                None => false,
            },
        }
    }
}

impl fmt::Display for Root {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A set of folders, sorted, none inside another. Default: none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Roots(Vec<Root>);

impl Roots {
    /// Adds a folder, unless one that is there contains it.
    pub fn insert(&mut self, root: Root) {
        if self.allows(&root) {
            return;
        }
        self.0.retain(|held| !root.contains(held));
        let at = self.0.partition_point(|held| *held < root);
        self.0.insert(at, root);
    }

    /// Whether a folder is one of these or inside one.
    #[must_use]
    pub fn allows(&self, root: &Root) -> bool {
        self.0.iter().any(|held| held.contains(root))
    }

    /// The folders that are in both sets: the deeper one of each pair.
    #[must_use]
    pub fn narrow(&self, by: &Self) -> Self {
        let ours = self.0.iter().filter(|root| by.allows(root));
        let theirs = by.0.iter().filter(|root| self.allows(root));
        ours.chain(theirs).cloned().collect()
    }

    /// Whether there is no folder.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The folders, sorted.
    pub fn iter(&self) -> std::slice::Iter<'_, Root> {
        self.0.iter()
    }
}

impl FromIterator<Root> for Roots {
    fn from_iter<I: IntoIterator<Item = Root>>(roots: I) -> Self {
        let mut set = Self::default();
        roots.into_iter().for_each(|root| set.insert(root));
        set
    }
}

impl<'a> IntoIterator for &'a Roots {
    type Item = &'a Root;
    type IntoIter = std::slice::Iter<'a, Root>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
