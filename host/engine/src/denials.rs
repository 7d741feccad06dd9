//! What a call was denied while it ran, kept small.

use tidegate_sandbox::Denial;

/// Distinct denials in the order they were met.
#[derive(Debug, Default)]
pub(crate) struct Denials(Vec<Denial>);

impl Denials {
    /// Most denials kept of one call: enough to fix the grants, too few to fill memory.
    pub(crate) const KEPT: usize = 16;

    pub(crate) fn record(&mut self, denial: Denial) {
        if self.0.len() < Self::KEPT && !self.0.contains(&denial) {
            self.0.push(denial);
        }
    }

    /// Takes over what a command of the call was denied.
    pub(crate) fn append(&mut self, other: Self) {
        other.0.into_iter().for_each(|denial| self.record(denial));
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}
