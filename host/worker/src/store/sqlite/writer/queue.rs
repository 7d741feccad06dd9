//! The jobs that wait, and who leads the next commit. At most one does at any time.

use std::collections::VecDeque;
use std::fmt;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::Hurry;
use super::batch::{self, Work};

/// Jobs that may wait; whoever brings one more waits before the queue.
const QUEUE: usize = 1_024;

/// Jobs that share one commit, so that none waits for a stream without end.
const BATCH: usize = 256;

/// How long a commit may be put off in which nobody waits for anything.
const LATER: Duration = Duration::from_millis(5);

/// How long after a commit that several waited for the next one is the thread's: where many write,
/// one that leads for itself alone would have a sync for itself, and the others wait for it.
const CROWD: Duration = Duration::from_millis(2);

pub(super) struct Job {
    pub(super) work: Work,
    pub(super) hurry: Hurry,
}

/// Who leads a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    /// Whoever brought the first job of it.
    Caller,
    /// The thread of the store.
    Thread,
}

/// What callers and the thread share.
pub(super) struct Shared {
    queue: Mutex<Queue>,
    /// Wakes the thread.
    news: Condvar,
    /// Wakes who waits before the queue.
    room: Condvar,
    /// Taken by whoever leads.
    connection: Mutex<Connection>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// How many of them somebody waits for.
    urgent: usize,
    /// When those that are put off have to be kept.
    until: Option<Instant>,
    lead: Option<Lead>,
    /// When several have last shared a commit.
    shared: Option<Instant>,
    /// The thread sleeps until it is woken.
    is_asleep: bool,
    is_closed: bool,
}

impl Queue {
    /// Whether a commit is to be led now.
    fn is_due(&self, now: Instant) -> bool {
        self.urgent > 0
            || self.jobs.len() >= BATCH
            || self.until.is_some_and(|until| until <= now)
            || (self.is_closed && !self.jobs.is_empty())
    }

    fn is_crowded(&self, now: Instant) -> bool {
        self.shared
            .is_some_and(|shared| now.saturating_duration_since(shared) < CROWD)
    }
}

/// The lead of one commit; dropping it hands the lead on.
pub(super) struct Leading<'a>(&'a Shared);

impl Leading<'_> {
    /// Does what waits, and commits it.
    pub(super) fn commit(self) {
        self.0.commit();
    }
}

impl Drop for Leading<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.lead = queue.is_due(Instant::now()).then_some(Lead::Thread);
        if queue.lead.is_some() || (queue.is_asleep && !queue.jobs.is_empty()) {
            self.0.news.notify_one();
        }
    }
}

impl Shared {
    pub(super) fn new(connection: Connection) -> Self {
        Self {
            queue: Mutex::default(),
            news: Condvar::new(),
            room: Condvar::new(),
            connection: Mutex::new(connection),
        }
    }

    /// Nothing is changed while it is locked that a panic could leave half done.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a job. Where nobody leads and a commit is due, `lead` does: the answer is the caller's
    /// lead, where it is to be that one.
    pub(super) fn push(&self, job: Job, lead: Lead) -> Option<Leading<'_>> {
        let mut queue = self.queue();
        while queue.jobs.len() >= QUEUE && queue.lead.is_some() {
            // Whoever leads needs nothing from those who wait here.
            let woken = self.room.wait(queue);
            queue = woken.unwrap_or_else(PoisonError::into_inner);
        }
        let now = Instant::now();
        match job.hurry {
            Hurry::Now => queue.urgent += 1,
            Hurry::Later => {
                queue.until.get_or_insert(now + LATER);
            }
        }
        queue.jobs.push_back(job);
        if queue.lead.is_some() {
            return None;
        }
        if !queue.is_due(now) {
            if queue.is_asleep {
                self.news.notify_one();
            }
            return None;
        }
        if lead == Lead::Caller && !queue.is_crowded(now) {
            queue.lead = Some(Lead::Caller);
            return Some(Leading(self));
        }
        queue.lead = Some(Lead::Thread);
        self.news.notify_one();
        None
    }

    /// The next job of a commit that is led.
    fn next(&self) -> Option<Job> {
        let mut queue = self.queue();
        let was_full = queue.jobs.len() >= QUEUE;
        let job = queue.jobs.pop_front()?;
        if job.hurry == Hurry::Now {
            queue.urgent -= 1;
        }
        if queue.jobs.is_empty() {
            queue.until = None;
        }
        if was_full {
            self.room.notify_all();
        }
        Some(job)
    }

    /// The connection, where nobody leads.
    pub(super) fn at_rest(&self) -> Option<MutexGuard<'_, Connection>> {
        let connection = self.connection.try_lock().ok()?;
        // Else a panic has broken a commit off.
        connection.is_autocommit().then_some(connection)
    }

    /// One commit, by whoever leads.
    fn commit(&self) {
        let mut urgent = 0_usize;
        let jobs = iter::from_fn(|| self.next()).take(BATCH).map(|job| {
            urgent += usize::from(job.hurry == Hurry::Now);
            job.work
        });
        let connection = self.connection.lock();
        // A commit that a panic broke off is rolled back by the next.
        let connection = connection.unwrap_or_else(PoisonError::into_inner);
        let (replies, commit) = batch::commit(&connection, jobs);
        drop(connection);
        if urgent > 1 {
            self.queue().shared = Some(Instant::now());
        }
        batch::tell(replies, commit);
    }

    /// The life of the thread: it leads where it is told to, and where what was put off is due.
    pub(super) fn serve(&self) {
        let mut queue = self.queue();
        loop {
            let now = Instant::now();
            if queue.lead.is_none() && queue.is_due(now) {
                queue.lead = Some(Lead::Thread);
            }
            if queue.lead == Some(Lead::Thread) {
                drop(queue);
                let led = catch_unwind(AssertUnwindSafe(|| self.commit()));
                if led.is_err() {
                    tracing::error!("a commit of the worker's store was broken off by a panic");
                }
                queue = self.queue();
                queue.lead = None;
            } else if queue.lead.is_none() && queue.is_closed {
                return;
            } else {
                queue = self.sleep(queue, now);
            }
        }
    }

    /// Until the thread is woken, or has something to do by itself.
    fn sleep<'a>(
        &'a self,
        mut queue: MutexGuard<'a, Queue>,
        now: Instant,
    ) -> MutexGuard<'a, Queue> {
        // Whoever leads takes along what was put off.
        let until = queue.until.filter(|_| queue.lead.is_none());
        if let Some(until) = until {
            let left = until.saturating_duration_since(now);
            let woken = self.news.wait_timeout(queue, left);
            return woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        queue.is_asleep = true;
        let woken = self.news.wait(queue);
        let mut queue = woken.unwrap_or_else(PoisonError::into_inner);
        queue.is_asleep = false;
        queue
    }

    /// Ends the thread once nothing waits.
    pub(super) fn close(&self) {
        self.queue().is_closed = true;
        self.news.notify_one();
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Shared { .. }")
    }
}
