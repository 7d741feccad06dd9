//! What is kept of a run beside its attempts: how it stands, what its flow came to, and what
//! happened in it. Plain values; their rows are the database's.

use serde::Serialize;
use serde_json::Value;
use tidegate_contract::{Failure, JsonObject, Tenant};

use super::{AttemptId, Run};
use crate::attempt::State;
use crate::step::StepKey;
use crate::token::CredentialDigest;

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Its flow goes on, here or after the next start.
    Running,
    /// Its flow has a result.
    Completed,
    /// Its flow ended with an error.
    Failed,
    /// Its operator gave it up.
    Cancelled,
}

impl RunStatus {
    /// The word that is kept and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [
            Self::Running,
            Self::Completed,
            Self::Failed,
            Self::Cancelled,
        ];
        all.into_iter().find(|status| status.word() == word)
    }
}

/// How a worker comes by an attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Its credentials were handed out when it was dispatched.
    #[default]
    Handed,
    /// It waits for a claim.
    Waiting,
    /// It was claimed.
    Claimed,
    /// It is done inside of the host; nobody outside reaches it.
    Inside,
}

impl Reach {
    /// The word that is kept.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Handed => "handed",
            Self::Waiting => "waiting",
            Self::Claimed => "claimed",
            Self::Inside => "inside",
        }
    }

    /// The reach of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [Self::Handed, Self::Waiting, Self::Claimed, Self::Inside];
        all.into_iter().find(|reach| reach.word() == word)
    }
}

/// Whether the files of a run outlive a crash of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Files {
    /// They do.
    Synced,
    /// Nobody knows: they are made again at the next start.
    Unsynced,
}

/// By what an attempt is found.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// A credential, from outside.
    Credential(CredentialDigest),
    /// The host itself, for a worker that runs inside of it.
    Inside(AttemptId),
}

/// What a kept body is read as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// What the order's format says: it came as text.
    #[default]
    Ordered,
    /// Text: the value of a worker inside was a string.
    Text,
    /// JSON: the value of a worker inside was another.
    Json,
}

impl Reading {
    /// The word that is kept.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ordered => "ordered",
            Self::Text => "text",
            Self::Json => "json",
        }
    }

    /// The reading of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [Self::Ordered, Self::Text, Self::Json];
        all.into_iter().find(|reading| reading.word() == word)
    }
}

/// What a dispatch came to.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The attempt.
    pub id: AttemptId,
    /// Which attempt of its step, from 1.
    pub number: u32,
    /// The attempts that it takes the place of.
    pub superseded: Vec<AttemptId>,
}

/// A run as its operator sees it.
#[derive(Clone, Debug)]
pub(crate) struct RunRecord {
    /// The run.
    pub(crate) run: Run,
    /// How it stands.
    pub(crate) status: RunStatus,
    /// What its flow is made of, as JSON text; `None` where attempts are all there is of it.
    pub(crate) plan: Option<String>,
    /// The result of a completed run, the error of a failed one.
    pub(crate) outcome: Option<Value>,
    /// When it was started, in milliseconds since 1970.
    pub(crate) created_ms: u64,
    /// When it ended.
    pub(crate) ended_ms: Option<u64>,
}

/// An attempt as its operator sees it: nothing that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AttemptRecord {
    /// Its id.
    pub(crate) id: AttemptId,
    /// Its step.
    pub(crate) step: StepKey,
    /// Which attempt of the step, from 1.
    pub(crate) number: u32,
    /// Who does it.
    pub(crate) agent: String,
    /// Where it stands.
    pub(crate) state: State,
    /// How its worker comes by it.
    pub(crate) reach: Reach,
    /// Why it failed.
    pub(crate) failure: Option<Failure>,
}

/// A waiting attempt that is claimed now.
#[derive(Clone, Debug)]
pub(crate) struct Claim<'a> {
    /// Whose runs are looked at.
    pub(crate) tenant: &'a Tenant,
    /// The agent that asks for work.
    pub(crate) agent: &'a str,
    /// The credential that will mean the attempt.
    pub(crate) credential: CredentialDigest,
    /// Now, in milliseconds since 1970.
    pub(crate) now_ms: u64,
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Counts within the run, from 1.
    pub id: u64,
    /// What happened, for example `attempt.submitted`.
    pub kind: String,
    /// When, and to which step and attempt; never a body, never a credential.
    pub data: JsonObject,
}
