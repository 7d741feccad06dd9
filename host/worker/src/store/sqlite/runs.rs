//! What the store keeps of runs that are flows, for the part of this crate that runs them. What a run
//! waits for is written without blocking a thread.

use rusqlite::{Connection, params};
use serde_json::Value;
use tidegate_contract::Tenant;

use super::super::{
    AttemptId, AttemptRecord, Claim, Event, Files, Kept, NewAttempt, Run, RunRecord, RunStatus,
};
use super::{SqliteStore, events, flows, retention, writes};
use crate::attempt::Close;
use crate::error::StoreError;
use crate::step::StepKey;
use crate::token::CredentialDigest;

/// Events that are read at once.
const EVENTS_AT_ONCE: u32 = 256;

/// What is noted of a place of a flow.
#[derive(Debug)]
pub(crate) struct Note {
    /// The run.
    pub(crate) run: String,
    /// The place.
    pub(crate) place: String,
    /// What it ended with, as JSON; `None` where it starts.
    pub(crate) value: Option<String>,
    /// What whoever follows the run is told.
    pub(crate) event: Option<(&'static str, Value)>,
}

impl Note {
    fn write(self) -> impl FnOnce(&Connection) -> Result<(), StoreError> + Send + 'static {
        move |connection| {
            flows::journal(connection, (&self.run, &self.place), self.value.as_deref())?;
            if let Some((kind, data)) = self.event {
                events::record(connection, &self.run, kind, data)?;
            }
            Ok(())
        }
    }
}

impl SqliteStore {
    /// Keeps a run with what its flow is made of, where its tenant may have one more open.
    pub(crate) fn begin_run(
        &self,
        run: &Run,
        plan: String,
        open_runs: u64,
    ) -> Result<(), StoreError> {
        let run = run.clone();
        self.writer.write(move |connection| {
            retention::check_open(connection, (&run.tenant, open_runs))?;
            writes::create_run(connection, &run, Some(&plan))
        })
    }

    /// Ends a run and answers the attempts that were closed with it; `None` where it had ended.
    pub(crate) fn finish_run(
        &self,
        run: &str,
        status: RunStatus,
        (outcome, files): (Option<Value>, Files),
    ) -> Result<Option<Vec<AttemptId>>, StoreError> {
        let run = run.to_owned();
        self.writer.write(move |connection| {
            flows::finish(connection, &run, (status, outcome.as_ref(), files))
        })
    }

    /// Keeps an attempt that a flow dispatches, in one commit with the start of its step.
    pub(crate) async fn dispatch_soon(
        &self,
        attempt: NewAttempt,
        started: Value,
    ) -> Result<Kept, StoreError> {
        let dispatch = self.writer.write_soon(move |connection| {
            events::record(connection, &attempt.run, "step.started", started)?;
            writes::dispatch(connection, &attempt)
        });
        dispatch.await
    }

    /// Closes an attempt that nobody waits for any more.
    pub(crate) async fn cancel_soon(&self, attempt: AttemptId) -> Result<(), StoreError> {
        let close = self.writer.write_soon(move |connection| {
            let meant = ("id = ?2", params![attempt.0]);
            writes::close(connection, Close::Cancel, meant).map(drop)
        });
        close.await
    }

    pub(crate) fn record(&self, tenant: &Tenant, run: &str) -> Result<RunRecord, StoreError> {
        self.read(|connection| flows::record(connection, (tenant, run)))
    }

    pub(crate) fn open_records(&self) -> Result<Vec<RunRecord>, StoreError> {
        self.read(flows::open)
    }

    /// Runs that have ended and whose files may not have outlived a crash of the machine.
    pub(crate) fn unsynced_runs(&self) -> Result<Vec<Run>, StoreError> {
        self.read(flows::unsynced)
    }

    /// Notes that the files of a run that has ended outlive a crash of the machine.
    pub(crate) fn synced(&self, run: &str) -> Result<(), StoreError> {
        let run = run.to_owned();
        self.writer
            .write(move |connection| flows::synced(connection, &run))
    }

    pub(crate) fn attempt_records(&self, run: &str) -> Result<Vec<AttemptRecord>, StoreError> {
        self.read(|connection| flows::attempts(connection, run))
    }

    pub(crate) fn attempt_at(
        &self,
        run: &str,
        place: &str,
    ) -> Result<Option<AttemptRecord>, StoreError> {
        self.read(|connection| flows::attempt_at(connection, (run, place)))
    }

    /// Hands out the oldest attempt that waits for an agent. Where there is none, nothing is written.
    pub(crate) async fn claim(
        &self,
        (tenant, agent): (&Tenant, &str),
        credential: CredentialDigest,
        now_ms: u64,
    ) -> Result<Option<AttemptId>, StoreError> {
        let (tenant, agent) = (tenant.clone(), agent.to_owned());
        let claim = self.writer.write_soon(move |connection| {
            let claim = Claim {
                tenant: &tenant,
                agent: &agent,
                credential,
                now_ms,
            };
            flows::claim(connection, &claim)
        });
        claim.await
    }

    /// Lets an attempt wait again whose claim nobody took; answers its run, where it was open still.
    pub(crate) async fn put_back(
        &self,
        attempt: AttemptId,
        credential: CredentialDigest,
    ) -> Result<Option<String>, StoreError> {
        let back = self
            .writer
            .write_soon(move |connection| flows::put_back(connection, attempt, &credential));
        back.await
    }

    pub(crate) fn rekick(
        &self,
        run: &str,
        step: Option<StepKey>,
    ) -> Result<Vec<(Kept, Option<String>)>, StoreError> {
        let run = run.to_owned();
        self.writer
            .write(move |connection| flows::rekick(connection, &run, step.as_ref()))
    }

    pub(crate) fn next_expiry(&self) -> Result<Option<u64>, StoreError> {
        self.read(flows::next_expiry)
    }

    pub(crate) fn places(&self, run: &str) -> Result<Vec<(String, bool)>, StoreError> {
        self.read(|connection| flows::places(connection, run))
    }

    pub(crate) fn value_at(&self, run: &str, place: &str) -> Result<Option<Value>, StoreError> {
        self.read(|connection| flows::value_at(connection, (run, place)))
    }

    /// Notes what became of a place, in one commit with the event that says so.
    pub(crate) async fn journal(&self, note: Note) -> Result<(), StoreError> {
        self.writer.write_soon(note.write()).await
    }

    /// The same where nothing is lost with the note: it goes to the disk before, or with, whatever is
    /// kept after it. `done` is told then.
    pub(crate) fn journal_later(
        &self,
        note: Note,
        done: impl FnOnce(Result<(), StoreError>) + Send + 'static,
    ) {
        self.writer.write_later(note.write(), done);
    }

    pub(crate) fn audit(
        &self,
        (run, step): (&str, &str),
        name: &str,
        text: String,
    ) -> Result<(), StoreError> {
        let (run, step, name) = (run.to_owned(), step.to_owned(), name.to_owned());
        self.writer
            .write(move |connection| flows::audit(connection, (&run, &step), (&name, &text)))
    }

    pub(crate) fn events_after(&self, run: &str, after: u64) -> Result<Vec<Event>, StoreError> {
        self.read(|connection| events::after(connection, run, (after, EVENTS_AT_ONCE)))
    }
}
