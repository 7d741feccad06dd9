//! When one call must end: its deadline, its CPU budget and its caller's wish.

use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tidegate_sandbox::Denial;
use tokio_util::sync::CancellationToken;

use crate::breach::Breach;
use crate::courtesy::Courtesy;
use crate::overrun::Overrun;
use crate::progress::ProgressSink;
use crate::ticker::{Alarm, TICK};

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
        Self::since(Instant::now(), after_ms)
    }

    /// A deadline that many milliseconds from when the caller asked.
    #[must_use]
    pub fn since(asked: Instant, after_ms: u64) -> Self {
        Self {
            at: asked + Duration::from_millis(after_ms),
            after_ms,
        }
    }
}

/// Watches one call on the thread that runs it. A command of the call is watched by a clone, which is
/// taken back when it has ended.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    deadline: Deadline,
    started: Instant,
    cpu_budget: Duration,
    /// The thread's CPU time when the call started, from the first tick on: reading that clock costs
    /// as much as a tenth of a short call, and a short call sees no tick.
    cpu_start: Option<Duration>,
    courtesy: Courtesy,
    /// The clock that ticks when the deadline passes.
    alarm: Option<Alarm>,
    cancel: CancellationToken,
    /// What ends the call from outside of its thread, once it has asked for the network.
    overrun: Option<Arc<Overrun>>,
    /// Who is told how far the guest is.
    progress: Option<ProgressSink>,
}

impl Watch {
    /// Watches a call that starts now.
    pub(crate) fn start(
        deadline: Deadline,
        cpu_budget: Duration,
        cancel: CancellationToken,
        courtesy: Courtesy,
    ) -> Self {
        Self {
            deadline,
            started: Instant::now(),
            cpu_budget,
            cpu_start: None,
            courtesy,
            alarm: None,
            cancel,
            overrun: None,
            progress: None,
        }
    }

    /// Tells somebody how far the guest is.
    pub(crate) fn reporting_to(mut self, progress: Option<ProgressSink>) -> Self {
        self.progress = progress;
        self
    }

    /// Has the clock tick when the deadline passes.
    pub(crate) fn alarm(&mut self, alarm: Alarm) {
        alarm.set(self.deadline.at);
        self.alarm = Some(alarm);
    }

    pub(crate) fn progress(&self) -> Option<&ProgressSink> {
        self.progress.as_ref()
    }

    /// Whether the call was over before it started.
    pub(crate) fn ended_before(&self) -> Option<Breach> {
        self.ended(self.started)
    }

    fn ended(&self, now: Instant) -> Option<Breach> {
        if self.cancel.is_cancelled() {
            return Some(Breach::Cancelled);
        }
        if let Some(breach) = self.overrun() {
            return Some(breach);
        }
        (now >= self.deadline.at).then_some(Breach::Deadline)
    }

    /// The bound that is passed at this tick, if one is. Must be asked on the thread that runs the
    /// guest, at every tick at which the guest computes.
    pub(crate) fn breach(&mut self) -> Option<Breach> {
        if let Some(breach) = self.ended(Instant::now()) {
            return Some(breach);
        }
        if let Some(alarm) = &self.alarm {
            alarm.set(self.deadline.at);
        }
        let now = thread_cpu_time();
        // Before its first tick a guest has computed since its start, and for one tick at most.
        let before = self.started.elapsed().min(TICK);
        let start = *self
            .cpu_start
            .get_or_insert_with(|| now.saturating_sub(before));
        let computed = now.saturating_sub(start);
        self.courtesy.after(computed);
        (computed >= self.cpu_budget).then_some(Breach::Cpu)
    }

    /// Ends the watch. Must be asked on the thread that ran the guest.
    pub(crate) fn end(&mut self) {
        self.courtesy.end();
        if let Some(overrun) = &self.overrun {
            overrun.close();
        }
    }

    pub(crate) fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// Ends when the guest may wait no longer, and says why. Must be asked where timers are.
    pub(crate) async fn passed(&self) -> Breach {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Breach::Cancelled,
            breach = async {
                match &self.overrun {
                    Some(overrun) => overrun.ended().await,
                    None => pending().await,
                }
            } => breach,
            () = tokio::time::sleep_until(self.deadline.at.into()) => Breach::Deadline,
        }
    }

    /// The notes that are written from other threads, from now on.
    pub(crate) fn notes(&mut self) -> &Arc<Overrun> {
        self.overrun.get_or_insert_default()
    }

    /// The bound that was passed outside of the call's thread, if one was.
    pub(crate) fn overrun(&self) -> Option<Breach> {
        self.overrun.as_ref()?.breach()
    }

    /// What was denied outside of the call's thread.
    pub(crate) fn take_denials(&self) -> Vec<Denial> {
        let overrun = self.overrun.as_ref();
        overrun
            .map(|notes| notes.take_denials())
            .unwrap_or_default()
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
