//! The thread that a guest computes on and blocks in its host calls.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Which thread runs a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum RunOn {
    /// One of the engine's own, so that the caller's thread goes on serving others.
    #[default]
    GuestThread,
    /// The one that polls the call's future: for a caller that has nothing else to do until the call
    /// ends. It saves the hop to another thread and back. The future must be driven by one thread
    /// from start to end ([`Engine::block_on`](crate::Engine::block_on)), since the CPU limit counts
    /// that thread's time.
    CallerThread,
    /// The one that polls the call's future, after tokio has given all else that waited for this
    /// thread to another: for a task that was spawned for the call, or a thread of the caller's own
    /// that waits for it. It saves the way back from another thread; see
    /// [`in_place`](Self::in_place).
    InPlace,
}

impl RunOn {
    /// [`InPlace`](Self::InPlace) where tokio can give a thread's tasks to another, which a runtime of
    /// one thread can't; a guest's own thread elsewhere.
    #[must_use]
    pub fn in_place() -> Self {
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => Self::InPlace,
            _ => Self::GuestThread,
        }
    }

    /// Whether the thread that polls the call's future runs the guest too.
    pub(crate) fn is_here(self) -> bool {
        self != Self::GuestThread
    }

    /// Runs the guest on this thread.
    pub(crate) fn hold<T>(self, guest: impl FnOnce() -> T) -> T {
        match self {
            Self::InPlace => tokio::task::block_in_place(guest),
            Self::GuestThread | Self::CallerThread => guest(),
        }
    }
}
