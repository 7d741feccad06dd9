//! The store over `SQLite`: a log that is written ahead and synced at every commit, one connection
//! that writes, a few that read.
//!
//! The database is opened by path, inside a folder that is this user's alone: `SQLite` makes files
//! beside it and takes no handle. Deliberately absent: a second process on the same folder.

mod events;
mod flows;
mod reads;
mod retention;
mod runs;
mod schema;
mod statements;
mod writer;
mod writes;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tidegate_contract::Failure;
use tidegate_sandbox::ambient;

use super::{
    Access, Admission, Attempt, AttemptId, Files, Kept, NewAttempt, Output, Part, Run, RunStatus,
    Staged, Store, Submission,
};
use crate::attempt::Admitted;
use crate::error::{StoreError, WorkerError};
use crate::part::PartName;
use crate::step::StepKey;
use writer::Writer;

pub use events::EVENTS;
pub(crate) use runs::Note;

/// The database's name in its folder.
const FILE: &str = "worker.sqlite3";

/// Connections that read, so that a large output on its way holds no other reader up.
const READERS: usize = 4;

/// Runs and attempts in one `SQLite` database.
#[derive(Debug)]
pub struct SqliteStore {
    writer: Writer,
    readers: [Mutex<Connection>; READERS],
    /// Whose turn it is where all of them read.
    turn: AtomicUsize,
}

impl SqliteStore {
    /// Opens the database of a folder, making both where they are missing, for this user alone.
    ///
    /// # Errors
    ///
    /// `Folder` when the folder is not ours alone, `TooNew` when a newer version wrote the database,
    /// `Database` when `SQLite` refuses.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        // Names the folder once more below: what SQLite opens is inside what was checked here.
        ambient::open_cache(folder).map_err(StoreError::Folder)?;
        let path = folder.join(FILE);
        let mut connection = connect(&path)?;
        schema::migrate(&mut connection)?;
        let reader = || {
            let reader = connect(&path)?;
            reader.pragma_update(None, "query_only", true)?;
            Ok::<_, StoreError>(Mutex::new(reader))
        };
        let readers = [reader()?, reader()?, reader()?, reader()?];
        Ok(Self {
            writer: Writer::start(connection)?,
            readers,
            turn: AtomicUsize::new(0),
        })
    }

    /// A connection for a query that takes a moment, where there is one without waiting.
    fn at_once(&self) -> Option<MutexGuard<'_, Connection>> {
        self.writer.at_rest().or_else(|| self.free_reader())
    }

    fn free_reader(&self) -> Option<MutexGuard<'_, Connection>> {
        let mut readers = self.readers.iter();
        readers.find_map(|reader| reader.try_lock().ok())
    }

    fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(reader) = self.free_reader() {
            return query(&reader);
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % READERS;
        let [first, ..] = &self.readers;
        let reader = self.readers.get(turn).unwrap_or(first);
        // A query that panicked has left nothing half done on a connection that only reads.
        let reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
        query(&reader)
    }
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // Every commit reaches the disk before it is answered: a crash of the machine loses none.
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    // A plan is made once for a statement, and not again for other values of it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(statements::KEPT);
    Ok(connection)
}

impl Store for SqliteStore {
    fn create_run(&self, run: &Run) -> Result<(), StoreError> {
        let run = run.clone();
        self.writer
            .write(move |connection| writes::create_run(connection, &run, None))
    }

    fn end_run(&self, run: &str) -> Result<Vec<AttemptId>, StoreError> {
        let run = run.to_owned();
        self.writer.write(move |connection| {
            let closed = flows::finish(
                connection,
                &run,
                (RunStatus::Cancelled, None, Files::Unsynced),
            )?;
            Ok(closed.unwrap_or_default())
        })
    }

    fn open_runs(&self) -> Result<Vec<Run>, StoreError> {
        self.read(reads::open_runs)
    }

    fn dispatch(&self, attempt: &NewAttempt) -> Result<Kept, StoreError> {
        let attempt = attempt.clone();
        self.writer
            .write(move |connection| writes::dispatch(connection, &attempt))
    }

    fn look_up(&self, access: Access) -> Result<Option<Admission>, StoreError> {
        self.read(|connection| reads::look_up(connection, access))
    }

    fn glance(&self, access: Access) -> Result<Option<Admission>, StoreError> {
        let free = self.at_once();
        free.map_or(Ok(None), |connection| reads::look_up(&connection, access))
    }

    fn look_up_at_once(
        &self,
        access: Access,
    ) -> Result<Option<(Admission, Vec<Output>)>, StoreError> {
        let free = self.at_once();
        free.map_or(Ok(None), |connection| reads::at_once(&connection, access))
    }

    fn stage(
        &self,
        access: Access,
        now_ms: u64,
        name: &PartName,
        text: &str,
    ) -> Result<Staged, WorkerError> {
        let (name, text) = (name.clone(), text.to_owned());
        self.writer.write(move |connection| {
            let admission = writes::admitted(connection, access)?;
            writes::stage(connection, &admission, now_ms, (&name, &text))
        })
    }

    fn submit(
        &self,
        access: Access,
        now_ms: u64,
        submission: &Submission,
    ) -> Result<Admitted, WorkerError> {
        let submission = submission.clone();
        self.writer
            .write(move |connection| writes::submit(connection, access, now_ms, &submission))
    }

    fn submit_here(
        &self,
        access: Access,
        now_ms: u64,
        submission: Submission,
        done: Box<dyn FnOnce(Result<Admitted, WorkerError>) + Send>,
    ) {
        let submit =
            move |connection: &Connection| writes::submit(connection, access, now_ms, &submission);
        self.writer.write_here(submit, done);
    }

    fn fail(&self, attempt: AttemptId, failure: &Failure) -> Result<(), StoreError> {
        let failure = failure.clone();
        self.writer
            .write(move |connection| writes::fail(connection, attempt, &failure))
    }

    fn expire(&self, now_ms: u64) -> Result<Vec<(AttemptId, String)>, StoreError> {
        self.writer
            .write(move |connection| writes::expire(connection, now_ms))
    }

    fn attempt(&self, id: AttemptId) -> Result<Attempt, StoreError> {
        self.read(|connection| reads::attempt(connection, id))
    }

    fn attempts(&self, run: &str) -> Result<Vec<AttemptId>, StoreError> {
        self.read(|connection| reads::attempts(connection, run))
    }

    fn parts(&self, attempt: AttemptId) -> Result<Vec<Part>, StoreError> {
        self.read(|connection| reads::parts(connection, attempt))
    }

    fn outputs(&self, run: &str) -> Result<Vec<Output>, StoreError> {
        self.read(|connection| reads::outputs(connection, run))
    }

    fn output(
        &self,
        run: &str,
        step: &StepKey,
        part: Option<&PartName>,
    ) -> Result<Option<String>, StoreError> {
        self.read(|connection| reads::output(connection, run, step, part))
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Box::new(error))
    }
}

impl From<rusqlite::Error> for WorkerError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// A number as `SQLite` keeps it; what is beyond its range counts as its largest.
fn kept(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
