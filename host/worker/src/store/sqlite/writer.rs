//! The one thread that writes. Jobs that come while a commit is on its way to the disk share the
//! next one, and each is answered only after its commit.
//!
//! A job that nobody waits for may be in no hurry: it is done in its turn, and goes to the disk with
//! the next job that is waited for, or after [`LATER`]. So what was queued first is never lost while
//! what was queued after it is kept.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::statements;
use crate::error::StoreError;

/// Jobs that may wait; whoever brings one more waits before the queue.
const QUEUE: usize = 1_024;

/// Jobs that share one commit, so that none waits for a stream without end.
const BATCH: usize = 256;

/// How long a commit may be put off in which nobody waits for anything.
const LATER: Duration = Duration::from_millis(5);

/// What a commit came to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Commit {
    Kept,
    Lost,
}

/// Tells whoever waits for a job how its commit ended.
type Reply = Box<dyn FnOnce(Commit)>;

type Work = Box<dyn FnOnce(&Connection) -> Reply + Send>;

struct Job {
    work: Work,
    hurry: Hurry,
}

/// Whether somebody waits for a job's commit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hurry {
    Now,
    Later,
}

/// The handle of the thread; dropping it ends the thread after the jobs that wait.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Option<SyncSender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread over its connection.
    pub(super) fn start(connection: Connection) -> Result<Self, StoreError> {
        let (jobs, waiting) = mpsc::sync_channel(QUEUE);
        let thread = thread::Builder::new()
            .name("worker-store".to_owned())
            .spawn(move || run(&connection, &waiting))
            .map_err(|error| StoreError::Database(Box::new(error)))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Runs a job in the next commit and waits for it. A job that answers an error leaves nothing.
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
        self.queue(job, Hurry::Now, move |outcome| drop(answer.send(outcome)))?;
        answered.recv().map_err(|_closed| StoreError::Closed)?
    }

    /// The same for whoever must not block its thread. Dropping the future takes nothing back.
    pub(super) async fn write_soon<T>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        self.queue(job, Hurry::Now, move |outcome| drop(answer.send(outcome)))?;
        answered.await.map_err(|_closed| StoreError::Closed)?
    }

    /// Runs a job that nobody waits for, in its turn, and tells `done` after its commit.
    pub(super) fn write_later<T>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
        done: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) -> Result<(), StoreError>
    where
        T: Send + 'static,
    {
        self.queue(job, Hurry::Later, done)
    }

    fn queue<T, E>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
        hurry: Hurry,
        answer: impl FnOnce(Result<T, E>) + Send + 'static,
    ) -> Result<(), StoreError>
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
        let jobs = self.jobs.as_ref().ok_or(StoreError::Closed)?;
        let job = Job { work, hurry };
        jobs.send(job).map_err(|_closed| StoreError::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            // It panicked: whoever waited has been told that the store is closed.
        }
    }
}

fn lost() -> StoreError {
    StoreError::Database("the commit failed".into())
}

fn run(connection: &Connection, waiting: &Receiver<Job>) {
    while let Ok(first) = waiting.recv() {
        let begun = statements::execute(connection, "BEGIN IMMEDIATE", []);
        let mut hurry = first.hurry;
        let mut replies = vec![(first.work)(connection)];
        let until = Instant::now() + LATER;
        while replies.len() < BATCH
            && let Some(job) = next(waiting, hurry, until)
        {
            if job.hurry == Hurry::Now {
                hurry = Hurry::Now;
            }
            replies.push((job.work)(connection));
        }
        let committed = begun.and_then(|_| statements::execute(connection, "COMMIT", []));
        let commit = match committed {
            Ok(_) => Commit::Kept,
            Err(_told_to_each_that_waits) => {
                if connection.execute_batch("ROLLBACK").is_err() {
                    // SQLite has rolled back by itself, or there was no transaction.
                }
                Commit::Lost
            }
        };
        for reply in replies {
            reply(commit);
        }
    }
}

/// The next job of a commit; where nobody waits for it yet, it is waited for.
fn next(waiting: &Receiver<Job>, hurry: Hurry, until: Instant) -> Option<Job> {
    match hurry {
        Hurry::Now => waiting.try_recv().ok(),
        Hurry::Later => {
            let left = until.saturating_duration_since(Instant::now());
            waiting.recv_timeout(left).ok()
        }
    }
}

/// Runs a job so that its failure takes back its own writes alone.
fn within_savepoint<T, E>(
    connection: &Connection,
    job: impl FnOnce(&Connection) -> Result<T, E>,
) -> Result<T, E>
where
    E: From<StoreError> + From<rusqlite::Error>,
{
    if connection.is_autocommit() {
        // `BEGIN` failed: without it each statement would be a commit of its own.
        return Err(lost().into());
    }
    statements::execute(connection, "SAVEPOINT job", [])?;
    let outcome = job(connection);
    if outcome.is_err() {
        statements::execute(connection, "ROLLBACK TO job", [])?;
    }
    statements::execute(connection, "RELEASE job", [])?;
    outcome
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    fn writer() -> Writer {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t (n INTEGER)")
            .unwrap();
        Writer::start(connection).unwrap()
    }

    fn insert(connection: &Connection, n: i64) -> Result<(), StoreError> {
        connection.execute("INSERT INTO t VALUES (?1)", [n])?;
        Ok(())
    }

    fn sum(writer: &Writer) -> i64 {
        let query = "SELECT coalesce(sum(n), 0) FROM t";
        let sum = writer.write::<i64, StoreError>(move |connection| {
            Ok(connection.query_row(query, [], |row| row.get(0))?)
        });
        sum.unwrap()
    }

    #[test]
    fn i10_jobs_that_wait_share_a_commit_and_are_answered_after_it() {
        let writer = writer();
        let events = Arc::new(Mutex::new(Vec::new()));
        let (open, gate) = mpsc::channel();
        let (replied, replies) = mpsc::channel();
        let jobs = writer.jobs.as_ref().unwrap();
        let mut gate = Some(gate);
        for n in 1..=3 {
            let (events, replied, gate) = (Arc::clone(&events), replied.clone(), gate.take());
            let work: Work = Box::new(move |connection| {
                if let Some(gate) = gate {
                    gate.recv().unwrap();
                }
                insert(connection, n).unwrap();
                events.lock().unwrap().push(format!("ran {n}"));
                Box::new(move |commit| {
                    assert!(commit == Commit::Kept);
                    events.lock().unwrap().push(format!("answered {n}"));
                    replied.send(()).unwrap();
                })
            });
            let hurry = Hurry::Now;
            jobs.send(Job { work, hurry }).unwrap();
        }
        open.send(()).unwrap();
        for _ in 1..=3 {
            replies.recv().unwrap();
        }
        let expected = [
            "ran 1",
            "ran 2",
            "ran 3",
            "answered 1",
            "answered 2",
            "answered 3",
        ];
        assert_eq!(*events.lock().unwrap(), expected);
        assert_eq!(sum(&writer), 6);
    }

    #[test]
    fn i10_what_nobody_waits_for_is_kept_with_what_comes_after_it_or_soon() {
        let writer = writer();
        let (told, done) = mpsc::channel();
        let later = |n: i64| {
            let told = told.clone();
            let tell = move |outcome: Result<(), StoreError>| told.send((n, outcome.is_ok()));
            let write = move |connection: &Connection| insert(connection, n);
            writer
                .write_later(write, move |outcome| tell(outcome).unwrap())
                .unwrap();
        };
        later(1);
        assert_eq!(sum(&writer), 1);
        assert_eq!(
            done.try_recv(),
            Ok((1, true)),
            "told before what came after"
        );
        later(10);
        assert_eq!(done.recv(), Ok((10, true)), "though nothing comes after");
        assert_eq!(sum(&writer), 11);
    }

    #[test]
    fn i10_a_refused_job_leaves_nothing_and_spoils_no_other() {
        let writer = writer();
        let kept = writer.write(|connection| insert(connection, 1));
        let refused = writer.write(|connection| {
            insert(connection, 10)?;
            Err::<(), _>(StoreError::Missing)
        });
        let after = writer.write(|connection| insert(connection, 100));
        assert!(kept.is_ok() && after.is_ok());
        assert!(matches!(refused, Err(StoreError::Missing)));
        assert_eq!(sum(&writer), 101);
    }

    #[test]
    fn i10_a_job_whose_commit_fails_is_never_acknowledged() {
        let writer = writer();
        let broken = writer.write(|connection| {
            insert(connection, 1)?;
            // Ends the transaction that the commit is to end.
            connection.execute_batch("ROLLBACK; BEGIN")?;
            Ok::<(), StoreError>(())
        });
        assert!(broken.is_err());
        assert_eq!(sum(&writer), 0);
    }
}
