//! Writing. Jobs that come while a commit is on its way to the disk share the next one, and each is
//! answered only after its commit.
//!
//! Nobody writes for good. Whoever may block its thread and finds nobody at it leads one commit on
//! that thread, so that a job that is alone passes no other. Where more have come meanwhile, and for
//! whoever must not block, the thread of the store leads, for as long as there are jobs.
//!
//! A job that nobody waits for may be in no hurry: it goes to the disk in its turn with the next job
//! that is waited for, or after a few milliseconds. So what was queued first is never lost while what
//! was queued after it is kept.

mod batch;
mod queue;
#[cfg(test)]
mod tests;

use std::sync::{Arc, MutexGuard, mpsc};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

use crate::error::StoreError;
use batch::{Commit, Work, lost, within_savepoint};
use queue::{Job, Lead, Leading, Shared};

/// Whether somebody waits for a job's commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hurry {
    Now,
    Later,
}

/// The handle of all that writes; dropping it ends the thread after the jobs that wait.
#[derive(Debug)]
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread, over the connection that everybody writes with.
    pub(super) fn start(connection: Connection) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared::new(connection));
        let of = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("worker-store".to_owned())
            .spawn(move || of.serve())
            .map_err(|error| StoreError::Database(Box::new(error)))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Runs a job in the next commit and waits for it, leading that where nobody else does. A job that
    /// answers an error leaves nothing.
    pub(super) fn write<T, E>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + From<rusqlite::Error> + Send + 'static,
    {
        let (answer, answered) = mpsc::sync_channel(1);
        // Nobody may wait any more: the job is done all the same.
        let done = move |outcome| drop(answer.send(outcome));
        if let Some(leading) = self.queue(job, (Hurry::Now, Lead::Caller), done) {
            leading.commit();
        }
        answered.recv().map_err(|_closed| StoreError::Closed)?
    }

    /// Runs a job in the next commit, and tells `done` after it: for a task that has nothing else to
    /// do meanwhile. It leads the commit where nobody else does, with the other tasks of its thread
    /// handed on; where its runtime can't do that, the thread of the store leads.
    pub(super) fn write_here<T, E>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        done: impl FnOnce(Result<T, E>) + Send + 'static,
    ) where
        T: Send + 'static,
        E: From<StoreError> + From<rusqlite::Error> + Send + 'static,
    {
        let many = |runtime: Handle| runtime.runtime_flavor() == RuntimeFlavor::MultiThread;
        let lead = if Handle::try_current().is_ok_and(many) {
            Lead::Caller
        } else {
            Lead::Thread
        };
        if let Some(leading) = self.queue(job, (Hurry::Now, lead), done) {
            tokio::task::block_in_place(|| leading.commit());
        }
    }

    /// Runs a job in the next commit, for whoever must not block its thread. Dropping the future takes
    /// nothing back.
    pub(super) async fn write_soon<T>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let done = move |outcome| drop(answer.send(outcome));
        drop(self.queue(job, (Hurry::Now, Lead::Thread), done));
        answered.await.map_err(|_closed| StoreError::Closed)?
    }

    /// Runs a job that nobody waits for, in its turn, and tells `done` after its commit.
    pub(super) fn write_later<T>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
        done: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) where
        T: Send + 'static,
    {
        drop(self.queue(job, (Hurry::Later, Lead::Thread), done));
    }

    /// The connection, where no commit is under way, for a query that takes a moment: nobody else writes,
    /// so that it keeps what it has read before, unlike one that only reads.
    pub(super) fn at_rest(&self) -> Option<MutexGuard<'_, Connection>> {
        self.shared.at_rest()
    }

    /// Queues a job; answers where whoever brings it is to lead its commit.
    fn queue<T, E>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        (hurry, lead): (Hurry, Lead),
        answer: impl FnOnce(Result<T, E>) + Send + 'static,
    ) -> Option<Leading<'_>>
    where
        T: Send + 'static,
        E: From<StoreError> + From<rusqlite::Error> + Send + 'static,
    {
        let work: Work = Box::new(move |connection| {
            let outcome = within_savepoint(connection, job);
            Box::new(move |commit| {
                answer(match (commit, outcome) {
                    (Commit::Lost, Ok(_)) => Err(E::from(lost())),
                    (_, outcome) => outcome,
                });
            })
        });
        self.shared.push(Job { work, hurry }, lead)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.close();
        let Some(thread) = self.thread.take() else {
            return;
        };
        if thread.thread().id() == thread::current().id() {
            // What it was to tell last held the store: it ends by itself.
            return;
        }
        if thread.join().is_err() {
            // It panicked: whoever waited has been told that the store is closed.
        }
    }
}
