//! What is kept of runs and attempts, behind a port (SPEC I10).
//!
//! A store decides nothing of its own: inside the transaction that writes it asks
//! [`Standing`]. What it has answered survives a crash of the machine.
//! Deliberately absent: files, and any text of a credential.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tidegate_contract::json::{self, JsonBounds};
use tidegate_contract::{Failure, JsonObject, Tenant};

use crate::attempt::{Admitted, Standing, State, SubmitDigest};
use crate::error::{StoreError, WorkerError};
use crate::fold::SubmitFormat;
use crate::part::{PartName, Unfit};
use crate::payload::ContextPolicy;
use crate::projection::{CheckPolicy, Place, Placement};
use crate::step::StepKey;
use crate::token::{CredentialDigest, LIFETIME_MS};
use crate::verdict::{Contract, Ending};

mod records;
mod sqlite;

pub use records::{Access, Event, Kept, Reach, Reading, RunStatus};
pub(crate) use records::{AttemptRecord, Claim, Files, RunRecord};
pub(crate) use sqlite::Note;
pub use sqlite::{EVENTS, SqliteStore};

/// The largest system prompt or directive.
pub(crate) const TEXT_BYTES: usize = 2 * 1024 * 1024;

/// How large and deep a kept JSON value may be: below what reading it back allows, with room for
/// what it is wrapped in.
pub(crate) const VALUE_BOUNDS: JsonBounds = JsonBounds {
    bytes: 1024 * 1024,
    depth: 120,
};

fn check_values<'a>(values: impl Iterator<Item = &'a Value>) -> Result<(), WorkerError> {
    for value in values {
        json::check(value, &VALUE_BOUNDS).map_err(|error| WorkerError::InvalidRequest {
            reason: error.to_string(),
        })?;
    }
    Ok(())
}

/// What a run was started with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Launch {
    /// The project's folder, as the launch named it: for the worker to read, not for the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_root: Option<String>,
    /// The folder of this work; files are projected below it, else below the project's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_dir: Option<String>,
    /// What the launch says of its task; a null is something said.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub task_metadata: Option<Value>,
    /// Where files stand below that folder; the default where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// What happens where a file can't be written.
    pub check_policy: CheckPolicy,
}

/// What stands there, null or not.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// A run: one walk through a blueprint for one task of one tenant.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub tenant: Tenant,
    /// The task: one for all its steps, and for later runs of it.
    pub task: String,
    /// What it was started with.
    pub launch: Launch,
}

impl Run {
    /// Where an attempt's files stand below the run's root.
    #[must_use]
    pub fn folder(&self, step: &StepKey, attempt: u32) -> Vec<String> {
        let template = self.launch.placement.as_deref();
        let placement = template.map(Placement::parse);
        // A launch is checked before it is kept.
        let placement = placement.and_then(Result::ok).unwrap_or_default();
        placement.segments(&Place {
            task: &self.task,
            run: &self.id,
            step,
            attempt,
        })
    }
}

/// What one attempt is to do, fixed when it is dispatched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Order {
    /// The system prompt; may be empty.
    pub system: String,
    /// The directive.
    pub directive: String,
    /// Other declared keys of the agent's context.
    pub context: JsonObject,
    /// Which of the context the worker sees.
    pub policy: ContextPolicy,
    /// What the final body is read as.
    pub submit_format: SubmitFormat,
    /// Whether a body may name a file in its place.
    pub allow_file_submit: bool,
    /// The verdict contract of this agent in this blueprint.
    pub contract: Option<Contract>,
    /// How long its credentials last; [`LIFETIME_MS`] where nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
}

impl Launch {
    /// Whether it can be kept: what the launch says of its task is bounded.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` when it is too large or nests too deep.
    pub fn check(&self) -> Result<(), WorkerError> {
        check_values(self.task_metadata.iter())
    }
}

impl Order {
    /// How long credentials for it last.
    #[must_use]
    pub fn lifetime_ms(&self) -> u64 {
        self.ttl_ms.unwrap_or(LIFETIME_MS)
    }

    /// Whether it can be kept: its texts and values are bounded.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` when one of them is too large or nests too deep.
    pub fn check(&self) -> Result<(), WorkerError> {
        if self.system.len().max(self.directive.len()) > TEXT_BYTES {
            return Err(WorkerError::InvalidRequest {
                reason: format!("a prompt is larger than {TEXT_BYTES} bytes"),
            });
        }
        check_values(self.context.values())
    }
}

/// An attempt to be handed out.
#[derive(Clone, Debug)]
pub struct NewAttempt {
    /// Its run.
    pub run: String,
    /// Its step.
    pub step: StepKey,
    /// Who is to do it.
    pub agent: String,
    /// What is to be done.
    pub order: Order,
    /// Where in the flow it stands, where a flow dispatched it.
    pub place: Option<String>,
    /// How its worker comes by it.
    pub reach: Reach,
    /// The credentials that mean it; none where it waits or stays inside.
    pub credentials: Vec<CredentialDigest>,
    /// When they end, in milliseconds since 1970; never while it waits for a claim.
    pub expires_ms: u64,
}

/// Which attempt, within one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttemptId(pub(crate) i64);

/// One attempt as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Its id.
    pub id: AttemptId,
    /// Its run.
    pub run: Run,
    /// Its step.
    pub step: StepKey,
    /// Which attempt of the step, from 1.
    pub number: u32,
    /// Who does it.
    pub agent: String,
    /// What is to be done.
    pub order: Order,
    /// Where it stands.
    pub state: State,
    /// Why its step's own file is not written.
    pub unfit: Option<Unfit>,
    /// What completed it.
    pub submission: Option<Submission>,
    /// Why it failed.
    pub failure: Option<Failure>,
}

/// What completed an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The final body.
    pub body: String,
    /// How it ends the attempt.
    pub ending: Ending,
    /// What the request said, for telling a repeated one from another.
    pub digest: SubmitDigest,
    /// What the body is read as.
    pub reading: Reading,
}

/// An attempt, seen through one of its credentials.
#[derive(Clone, Debug)]
pub struct Admission {
    /// What decides what may be done.
    pub standing: Standing,
    /// The attempt.
    pub attempt: Attempt,
}

/// A staged part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: PartName,
    /// Its text: the last that was staged.
    pub text: String,
    /// Why it gets no file.
    pub unfit: Option<Unfit>,
}

/// What staging a part led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staged {
    /// It is kept; `Some` says why it gets no file.
    Kept(Option<Unfit>),
    /// The policy is strict, so that the attempt has failed and the part is not kept.
    Failed(Unfit),
}

/// An output that workers of the run can fetch: what is known without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The step it is of.
    pub step: StepKey,
    /// The attempt that made it.
    pub number: u32,
    /// The part; the final body where it is absent.
    pub part: Option<PartName>,
    /// Its size.
    pub size_bytes: u64,
    /// Its SHA-256, in hex.
    pub sha256: String,
    /// Whether it has a file where files are written.
    pub has_file: bool,
}

/// Keeps runs and attempts. Each call blocks its thread until the answer is durable, but
/// where it says otherwise.
pub trait Store: Send + Sync {
    /// Keeps a run.
    ///
    /// # Errors
    ///
    /// `Exists` when its id is taken; else the store failed.
    fn create_run(&self, run: &Run) -> Result<(), StoreError>;

    /// Ends a run as cancelled, unless it has ended: its open attempts are closed with it, and all
    /// its credentials are dead. Answers the attempts that it closed.
    ///
    /// # Errors
    ///
    /// `Missing` when there is none; else the store failed.
    fn end_run(&self, run: &str) -> Result<Vec<AttemptId>, StoreError>;

    /// Runs that have not ended, for a start after a stop.
    ///
    /// # Errors
    ///
    /// The store failed.
    fn open_runs(&self) -> Result<Vec<Run>, StoreError>;

    /// Keeps an attempt and answers its number. An open one of the step at the same place of the flow
    /// is superseded, and the credentials of all earlier ones there are dead.
    ///
    /// # Errors
    ///
    /// `Missing` when its run is not there or has ended; else the store failed.
    fn dispatch(&self, attempt: &NewAttempt) -> Result<Kept, StoreError>;

    /// The attempt that is meant; `None` when there is none.
    ///
    /// # Errors
    ///
    /// The store failed.
    fn look_up(&self, access: Access) -> Result<Option<Admission>, StoreError>;

    /// The same for whoever must not block its thread: `None` where there is none too, or where it
    /// would have to wait.
    ///
    /// # Errors
    ///
    /// The store failed.
    fn glance(&self, access: Access) -> Result<Option<Admission>, StoreError>;

    /// The attempt that is meant with what its run has left, for whoever must not block its thread:
    /// `None` where there is none, or where it would take longer than a look-up does.
    ///
    /// # Errors
    ///
    /// The store failed.
    fn look_up_at_once(
        &self,
        access: Access,
    ) -> Result<Option<(Admission, Vec<Output>)>, StoreError>;

    /// Stages a part, if the standing admits it now; the last text of a name wins.
    ///
    /// # Errors
    ///
    /// As [`Standing::admit`]; else the store failed.
    fn stage(
        &self,
        access: Access,
        now_ms: u64,
        name: &PartName,
        text: &str,
    ) -> Result<Staged, WorkerError>;

    /// Completes an attempt, if the standing admits it now.
    ///
    /// # Errors
    ///
    /// As [`Standing::admit_submit`]; else the store failed.
    fn submit(
        &self,
        access: Access,
        now_ms: u64,
        submission: &Submission,
    ) -> Result<Admitted, WorkerError>;

    /// The same for a task that has nothing else to do meanwhile; `done` is told once the answer is
    /// durable, whether or not the task still waits for it. The runtime's other tasks go on.
    fn submit_here(
        &self,
        access: Access,
        now_ms: u64,
        submission: Submission,
        done: Box<dyn FnOnce(Result<Admitted, WorkerError>) + Send>,
    );

    /// Closes an attempt as failed, with the reason: an open one, or one whose submit could not be
    /// projected under a strict policy. What its flow has taken already stays as it is.
    ///
    /// # Errors
    ///
    /// The store failed.
    fn fail(&self, attempt: AttemptId, failure: &Failure) -> Result<(), StoreError>;

    /// Closes open attempts whose credentials have expired, forgets those credentials, and answers
    /// the attempts that it closed, each with its run.
    ///
    /// # Errors
    ///
    /// The store failed.
    fn expire(&self, now_ms: u64) -> Result<Vec<(AttemptId, String)>, StoreError>;

    /// One attempt.
    ///
    /// # Errors
    ///
    /// `Missing` when there is none; else the store failed.
    fn attempt(&self, id: AttemptId) -> Result<Attempt, StoreError>;

    /// The attempts of a run, in the order of their dispatch.
    ///
    /// # Errors
    ///
    /// The store failed.
    fn attempts(&self, run: &str) -> Result<Vec<AttemptId>, StoreError>;

    /// The parts of an attempt, in the order in which their names were first staged.
    ///
    /// # Errors
    ///
    /// The store failed.
    fn parts(&self, attempt: AttemptId) -> Result<Vec<Part>, StoreError>;

    /// What steps of a run have left: of each step its last completed attempt.
    ///
    /// # Errors
    ///
    /// The store failed.
    fn outputs(&self, run: &str) -> Result<Vec<Output>, StoreError>;

    /// The text of one output; `None` when there is no such output.
    ///
    /// # Errors
    ///
    /// The store failed.
    fn output(
        &self,
        run: &str,
        step: &StepKey,
        part: Option<&PartName>,
    ) -> Result<Option<String>, StoreError>;
}

/// The SHA-256 of a text, in hex.
#[must_use]
pub fn sha256_hex(text: &[u8]) -> String {
    Sha256::digest(text)
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(u32::from(digit), 16))
        .collect()
}
