//! A denial met while a plugin ran: the host saw a plugin reach for what it was not granted.
//!
//! Denials are recorded beside the call, so that a failed result can name them even when the plugin
//! swallowed the error it got.

use std::fmt;

/// One thing a plugin reached for without a grant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Denial {
    /// The kind of grant that is missing.
    pub kind: Kind,
    /// What was reached for: a workspace path, an origin, a command. At most 128 bytes are kept.
    pub name: String,
}

/// The kinds of grant a running plugin can miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Reading files.
    Read,
    /// Creating, changing or removing files.
    Write,
    /// Running a command.
    Execute,
    /// Reaching a network address.
    Network,
}

impl Kind {
    /// The word used in `--allow`, in the config file and in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "execute",
            Self::Network => "network",
        }
    }
}

/// Longest name kept in a denial, in bytes: enough to recognise it, too little to smuggle data.
pub const NAME_BYTES: usize = 128;

impl Denial {
    /// Records what was reached for; control characters are replaced and the name is cut.
    #[must_use]
    pub fn new(kind: Kind, name: &str) -> Self {
        let shown: String = tidegate_contract::text::cut(name, NAME_BYTES)
            .chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .collect();
        Self { kind, name: shown }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), self.name)
    }
}
