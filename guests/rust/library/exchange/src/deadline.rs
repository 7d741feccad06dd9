//! The end of an exchange: one moment for all of it, so that no byte starts the time anew.

use std::time::{Duration, Instant};

use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::io::poll::{Pollable, poll};

use crate::fault::Fault;

/// The moment at which an exchange is over, whatever it has come to.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    started: Instant,
    time: Duration,
}

impl Deadline {
    /// The moment that lies `time` from now.
    pub fn after(time: Duration) -> Self {
        Self {
            started: Instant::now(),
            time,
        }
    }

    /// What is left in nanoseconds, at least one.
    ///
    /// # Errors
    /// [`Fault::Timeout`] once it has passed.
    pub(crate) fn remaining_ns(&self) -> Result<u64, Fault> {
        let remaining = self.time.saturating_sub(self.started.elapsed());
        if remaining.is_zero() {
            return Err(Fault::Timeout);
        }
        Ok(u64::try_from(remaining.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Waits until `awaited` is ready.
    ///
    /// # Errors
    /// [`Fault::Timeout`] if the deadline passes before.
    pub(crate) fn wait(&self, awaited: &Pollable) -> Result<(), Fault> {
        let timer = subscribe_duration(self.remaining_ns()?);
        poll(&[awaited, &timer]);
        if awaited.ready() {
            Ok(())
        } else {
            Err(Fault::Timeout)
        }
    }
}
