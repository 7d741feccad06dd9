//! Places in a run: where each evaluation of a node stands, alike in every run of one flow.

use std::fmt;

/// Where in a run a node stands, for example `0.2[3].1`: from the flow's own node, `0`, by the number
/// of the child (`.2`) and by the number of the iteration or lane (`[3]`).
///
/// Each evaluation of a step has a place of its own, and a run that goes on after a restart meets the
/// same places again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place(String);

impl Place {
    /// A place that was written down before; no text is wrong, but a run meets only its own.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The place as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn root() -> Self {
        Self("0".to_owned())
    }

    /// A node that stands in this one.
    pub(super) fn of(&self, at: Inside) -> Self {
        match at {
            Inside::Child(at) => self.child(at),
            Inside::Turn => self.turn(0),
        }
    }

    /// One of the nodes that stand in a node.
    pub(super) fn child(&self, at: usize) -> Self {
        Self(format!("{self}.{at}"))
    }

    /// One iteration of a loop, or one lane of a fanout.
    pub(super) fn turn(&self, at: u32) -> Self {
        Self(format!("{self}[{at}]"))
    }
}

/// Where a node stands in another.
#[derive(Clone, Copy)]
pub(super) enum Inside {
    Child(usize),
    /// In each iteration or lane.
    Turn,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
