//! One commit: jobs one after the other in one transaction, then the sync, then the answers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Connection;

use super::super::statements;
use crate::error::StoreError;

/// What a commit came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Commit {
    Kept,
    Lost,
}

/// Tells whoever waits for a job how its commit ended.
pub(super) type Reply = Box<dyn FnOnce(Commit)>;

/// A job, up to the commit.
pub(super) type Work = Box<dyn FnOnce(&Connection) -> Reply + Send>;

pub(super) fn lost() -> StoreError {
    StoreError::Database("the commit failed".into())
}

/// Runs jobs in one transaction, in their order, and commits them; whom to tell, and what.
pub(super) fn commit(
    connection: &Connection,
    jobs: impl Iterator<Item = Work>,
) -> (Vec<Reply>, Commit) {
    if !connection.is_autocommit() {
        // A panic has broken the last one off: nobody was told that it is kept.
        roll_back(connection);
    }
    let begun = statements::execute(connection, "BEGIN IMMEDIATE", []);
    let replies = jobs.map(|work| work(connection)).collect();
    let committed = begun.and_then(|_| statements::execute(connection, "COMMIT", []));
    if committed.is_ok() {
        return (replies, Commit::Kept);
    }
    // Each that waits is told.
    roll_back(connection);
    (replies, Commit::Lost)
}

fn roll_back(connection: &Connection) {
    if connection.execute_batch("ROLLBACK").is_err() {
        // SQLite has rolled back by itself, or there was no transaction.
    }
}

/// Tells each how it ended; a panic of one keeps nothing from the others.
pub(super) fn tell(replies: Vec<Reply>, commit: Commit) {
    for reply in replies {
        if catch_unwind(AssertUnwindSafe(|| reply(commit))).is_err() {
            tracing::error!("whoever was to be told of a commit panicked");
        }
    }
}

/// Runs a job so that its failure, or its panic, takes back its own writes alone.
pub(super) fn within_savepoint<T, E>(
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
    // What it has left half done in the database is taken back, and it has nothing else.
    let ran = catch_unwind(AssertUnwindSafe(|| job(connection)));
    let outcome = ran.unwrap_or_else(|_panic| {
        Err(StoreError::Database("the write did not end by itself".into()).into())
    });
    if outcome.is_err() {
        statements::execute(connection, "ROLLBACK TO job", [])?;
    }
    statements::execute(connection, "RELEASE job", [])?;
    outcome
}
