//! What a plugin may do, as data: nothing by default, and only ever less.
//!
//! Deliberately absent: opening folders, resolving hosts and every other use of a grant.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};

use crate::network::{NetworkGrant, NetworkRule};
use crate::roots::{Root, Roots};
use crate::text::cut;

/// The kinds that [`parse_allow`] knows, as they are written.
const KINDS: &str = "tool=NAME, read[=DIR], write[=DIR], execute=COMMAND, network=ORIGIN, \
                     mcp=SERVER, env=NAME, stdout";

/// A set of names, or all of them. Default: none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// Every name.
    All,
    /// These and no other; names match exactly.
    These(BTreeSet<String>),
}

impl Default for Names {
    fn default() -> Self {
        Self::These(BTreeSet::new())
    }
}

impl Names {
    /// Whether a name is in the set.
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(names) => names.contains(name),
        }
    }

    /// The names that both sets have.
    #[must_use]
    pub fn narrow(&self, by: &Self) -> Self {
        match (self, by) {
            (Self::All, names) | (names, Self::All) => names.clone(),
            (Self::These(ours), Self::These(theirs)) => {
                Self::These(ours.intersection(theirs).cloned().collect())
            }
        }
    }

    /// Whether it has no name at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::All => false,
            Self::These(names) => names.is_empty(),
        }
    }

    /// Adds a name; `*` adds all.
    pub fn insert(&mut self, name: &str) {
        match self {
            Self::These(_) if name == "*" => *self = Self::All,
            Self::These(names) => {
                names.insert(name.to_owned());
            }
            Self::All => {}
        }
    }
}

impl<T: Into<String>> FromIterator<T> for Names {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Self {
        Self::These(names.into_iter().map(Into::into).collect())
    }
}

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str("*"),
            Self::These(names) => names.serialize(serializer),
        }
    }
}

/// Everything that can be granted. Default: nothing.
///
/// Source: SPEC S1.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Grant {
    /// Tools that may be called.
    pub tools: Names,
    /// MCP servers that may be asked.
    pub mcp: Names,
    /// Folders whose content may be read.
    pub read: Roots,
    /// Folders whose content may be changed.
    pub write: Roots,
    /// Origins that may be reached.
    pub network: NetworkGrant,
    /// Commands that may be run.
    pub execute: Names,
    /// Environment variables that may be seen.
    pub env: Names,
    /// Whether the process's standard output may be written to.
    pub stdout: bool,
}

impl Grant {
    /// What both grants allow. It never allows more than either.
    #[must_use]
    pub fn narrow(&self, by: &Self) -> Self {
        Self {
            tools: self.tools.narrow(&by.tools),
            mcp: self.mcp.narrow(&by.mcp),
            read: self.read.narrow(&by.read),
            write: self.write.narrow(&by.write),
            network: self.network.narrow(&by.network),
            execute: self.execute.narrow(&by.execute),
            env: self.env.narrow(&by.env),
            stdout: self.stdout && by.stdout,
        }
    }
}

impl Grant {
    /// The first thing that is in reach by this grant and not by `by`, as its kind and name. What may
    /// be called, tools and MCP servers, is left out: each call is checked by name.
    #[must_use]
    pub fn beyond(&self, by: &Self) -> Option<(&'static str, String)> {
        let names = [
            ("execute", &self.execute, &by.execute),
            ("env", &self.env, &by.env),
        ];
        let beyond = |names: &Names, by: &Names| match (names, by) {
            (_, Names::All) => None,
            (Names::All, Names::These(_)) => Some("*".to_owned()),
            (Names::These(names), by) => names.iter().find(|name| !by.allows(name)).cloned(),
        };
        for (kind, names, by) in names {
            if let Some(name) = beyond(names, by) {
                return Some((kind, name));
            }
        }
        if let Some(rule) = self.network.iter().find(|rule| !by.network.covers(rule)) {
            return Some(("network", rule.to_string()));
        }
        for (kind, roots, by) in [
            ("read", &self.read, &by.read),
            ("write", &self.write, &by.write),
        ] {
            if let Some(root) = roots.iter().find(|root| !by.allows(root)) {
                return Some((kind, root.as_str().to_owned()));
            }
        }
        (self.stdout && !by.stdout).then(|| ("stdout", "stdout".to_owned()))
    }
}

/// Why a grant could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// There is no such kind.
    #[error("unknown kind of grant `{kind}`; the kinds are {KINDS}")]
    UnknownKind {
        /// What was typed, cut to 64 bytes.
        kind: String,
    },
    /// The kind needs a value.
    #[error("{kind} needs a value: {kind}={example}")]
    ValueRequired {
        /// The kind.
        kind: &'static str,
        /// What stands after the `=`.
        example: &'static str,
    },
    /// The kind takes no value.
    #[error("{kind} takes no value")]
    NoValue {
        /// The kind.
        kind: &'static str,
    },
    /// The value of a name has a character that no name has.
    #[error("{kind} must be one name without spaces or control characters, or `*`")]
    Name {
        /// The kind.
        kind: &'static str,
    },
    /// It is no folder that can be granted.
    #[error("not a folder path: {reason}")]
    Root {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// It is no exact origin.
    #[error("not an exact origin such as https://example.com: {reason}")]
    Origin {
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// Adds one grant from its text, as `--allow` takes it: `tool=NAME`, `read[=DIR]`,
/// `write[=DIR]` (default `.`), `execute=COMMAND`, `network=ORIGIN[,ADDRESS...]`, `mcp=SERVER`,
/// `env=NAME`, `stdout`. `*` stands for every name of a tool, command, server or variable.
///
/// # Errors
/// See [`GrantError`]; nothing is added then.
///
/// Source: SPEC L2.
pub fn parse_allow(text: &str, into: &mut Grant) -> Result<(), GrantError> {
    let (kind, value) = match text.split_once('=') {
        Some((kind, value)) => (kind, Some(value)),
        None => (text, None),
    };
    match kind {
        "tool" => add_name("tool", "NAME", value, &mut into.tools),
        "execute" => add_name("execute", "COMMAND", value, &mut into.execute),
        "mcp" => add_name("mcp", "SERVER", value, &mut into.mcp),
        "env" => add_name("env", "NAME", value, &mut into.env),
        "read" => {
            into.read.insert(Root::parse(value.unwrap_or("."))?);
            Ok(())
        }
        "write" => {
            into.write.insert(Root::parse(value.unwrap_or("."))?);
            Ok(())
        }
        "network" => {
            let example = "ORIGIN";
            let kind = "network";
            let rule = value.ok_or(GrantError::ValueRequired { kind, example })?;
            into.network.insert(NetworkRule::parse(rule)?);
            Ok(())
        }
        "stdout" if value.is_some() => Err(GrantError::NoValue { kind: "stdout" }),
        "stdout" => {
            into.stdout = true;
            Ok(())
        }
        other => Err(GrantError::UnknownKind {
            kind: cut(other, 64).escape_debug().to_string(),
        }),
    }
}

fn add_name(
    kind: &'static str,
    example: &'static str,
    value: Option<&str>,
    names: &mut Names,
) -> Result<(), GrantError> {
    let name = value.unwrap_or_default();
    if name.is_empty() {
        return Err(GrantError::ValueRequired { kind, example });
    }
    if name
        .chars()
        .any(|letter| letter.is_control() || letter.is_whitespace())
    {
        return Err(GrantError::Name { kind });
    }
    names.insert(name);
    Ok(())
}
