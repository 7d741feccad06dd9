//! How far a running guest says it is, for whoever waits for it.
//!
//! Deliberately absent: what is made of it. A report is passed on from the guest's thread, at most ten
//! times a second, and changes nothing of the call.

use std::fmt;
use std::sync::Arc;

/// One report. The numbers are the plugin's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallProgress<'a> {
    /// How much is done.
    pub done: u64,
    /// How much there is to do, where the plugin knows.
    pub total: Option<u64>,
    /// What it does: one line, bounded, without secrets; may be empty.
    pub note: &'a str,
}

/// Takes the reports of one call. It is called on the guest's thread, so it must not wait.
#[derive(Clone)]
pub struct ProgressSink(Arc<dyn Fn(&CallProgress<'_>) + Send + Sync>);

impl fmt::Debug for ProgressSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressSink")
    }
}

impl ProgressSink {
    /// Hands each report to a function.
    #[must_use]
    pub fn new(take: impl Fn(&CallProgress<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    pub(crate) fn report(&self, progress: &CallProgress<'_>) {
        (self.0)(progress);
    }
}
