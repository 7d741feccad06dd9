//! When one call must end: its deadline, its CPU budget and its caller's wish.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio_util::sync::CancellationToken;

use crate::breach::Breach;

/// When a call ends at the latest, and the limit that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// The moment.
    pub at: Instant,
    /// Milliseconds from the caller's request to that moment; waiting counts.
    pub after_ms: u64,
}

impl Deadline {
    /// A deadline that many milliseconds from now.
    #[must_use]
    pub fn after_ms(after_ms: u64) -> Self {
        Self {
            at: Instant::now() + Duration::from_millis(after_ms),
            after_ms,
        }
    }
}

/// Watches one call on the thread that runs it.
#[derive(Debug)]
pub(crate) struct Watch {
    deadline: Deadline,
    cpu_budget: Duration,
    cpu_start: Duration,
    cancel: CancellationToken,
}

impl Watch {
    /// Starts counting CPU time of the calling thread.
    pub(crate) fn start(
        deadline: Deadline,
        cpu_budget: Duration,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            deadline,
            cpu_budget,
            cpu_start: thread_cpu_time(),
            cancel,
        }
    }

    /// The bound that is passed now, if one is. Must be asked on the thread that started it.
    pub(crate) fn breach(&self) -> Option<Breach> {
        if self.cancel.is_cancelled() {
            return Some(Breach::Cancelled);
        }
        if Instant::now() >= self.deadline.at {
            return Some(Breach::Deadline);
        }
        let used = thread_cpu_time().saturating_sub(self.cpu_start);
        (used >= self.cpu_budget).then_some(Breach::Cpu)
    }

    pub(crate) fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// A handle to wait for the cancellation.
    pub(crate) fn cancelled(&self) -> CancellationToken {
        self.cancel.clone()
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

/// CPU time used by the calling thread.
pub(crate) fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or(0);
    Duration::new(seconds, nanoseconds)
}
