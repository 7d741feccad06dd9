//! Admission: how many calls of one runtime run at once, and how many may wait (SPEC X2).
//!
//! A plain bounded queue, first come first served. Waiting counts against the deadline and ends at
//! once when the caller cancels.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tidegate_contract::{CallError, Failure, Status};
use tidegate_engine::Deadline;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Hands out permits to run.
#[derive(Debug)]
pub(crate) struct Admission {
    permits: Arc<Semaphore>,
    total: u32,
    waiting: AtomicUsize,
    queue: usize,
    /// Cancelled when the runtime closes: calls that wait are refused then.
    closing: CancellationToken,
}

/// A call may run while it holds this.
#[derive(Debug)]
pub(crate) struct Permit {
    _permit: OwnedSemaphorePermit,
}

/// Why a call was not admitted.
enum Refused {
    Cancelled,
    Deadline,
    Closed,
}

impl Admission {
    pub(crate) fn new(concurrency: u32, queue: usize) -> Self {
        let permits = usize::try_from(concurrency).unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            permits: Arc::new(Semaphore::new(permits.min(Semaphore::MAX_PERMITS))),
            total: concurrency,
            waiting: AtomicUsize::new(0),
            queue,
            closing: CancellationToken::new(),
        }
    }

    /// Waits for a permit.
    ///
    /// # Errors
    ///
    /// [`CallError::QueueFull`] at once when too many wait already, [`CallError::Ended`] when the
    /// caller cancels or the deadline passes first, [`CallError::Closed`] after `close`.
    pub(crate) async fn admit(
        &self,
        cancel: &CancellationToken,
        deadline: Deadline,
    ) -> Result<Permit, CallError> {
        if let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() {
            return Ok(Permit { _permit: permit });
        }
        if self.permits.is_closed() {
            return Err(CallError::Closed);
        }
        let _place = Place::take(&self.waiting, self.queue)?;
        let admitted = tokio::select! {
            biased;
            () = self.closing.cancelled() => Err(Refused::Closed),
            () = cancel.cancelled() => Err(Refused::Cancelled),
            permit = Arc::clone(&self.permits).acquire_owned() => permit.map_err(|_closed| Refused::Closed),
            () = tokio::time::sleep_until(deadline.at.into()) => Err(Refused::Deadline),
        };
        match admitted {
            Ok(permit) => Ok(Permit { _permit: permit }),
            Err(Refused::Closed) => Err(CallError::Closed),
            Err(Refused::Cancelled) => Err(CallError::Ended {
                status: Status::Cancelled,
                failure: Failure::cancelled(),
            }),
            Err(Refused::Deadline) => Err(CallError::Ended {
                status: Status::Timeout,
                failure: Failure::deadline(deadline.after_ms),
            }),
        }
    }

    /// Refuses new calls, those that wait among them, and waits until no call runs.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        if self.permits.is_closed() {
            return;
        }
        // Every permit taken means that nothing runs; `close` then wakes nobody but late comers.
        let all = Arc::clone(&self.permits)
            .acquire_many_owned(self.total)
            .await;
        self.permits.close();
        drop(all);
    }
}

/// A place in the queue, given back when dropped.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize, queue: usize) -> Result<Self, CallError> {
        let before = waiting.fetch_add(1, Ordering::SeqCst);
        let place = Self(waiting);
        if before < queue {
            Ok(place)
        } else {
            Err(CallError::QueueFull { limit: queue })
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
