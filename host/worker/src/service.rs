//! What a worker can do with its credential, and what an operator's side does for it, over a store.
//!
//! Each operation answers a value or a [`WorkerError`]; a door makes wire answers of both.
//! Deliberately absent: HTTP, waiting, and the flow that decides which step is next.

mod files;
mod inside;
mod runs;
mod submit;
mod waiting;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::fs::Dir;

use crate::content::{self, Conditions, Served};
use crate::error::WorkerError;
use crate::file_body;
use crate::part::PartName;
use crate::payload::{Payload, Pointer};
use crate::projection::CheckPolicy;
use crate::step::StepKey;
use crate::store::{Access, Admission, Attempt, Output, Staged, Store, sha256_hex};
use crate::token::{Credential, Throttle, Verb};

pub use runs::{Dispatch, Dispatched, Outcome};
pub use submit::Submit;
pub(crate) use waiting::Waiting;

/// The largest body of a part or a submit where nobody says: 2 MiB.
pub const BODY_BYTES: usize = 2 * 1024 * 1024;

/// The service of one host. Cheap to share behind an `Arc`; its calls block their thread.
pub struct Service {
    store: Arc<dyn Store>,
    /// The open folder of each run, where it has one.
    roots: Mutex<HashMap<String, Arc<Dir>>>,
    /// What was last written of each run.
    written: Mutex<HashMap<String, Arc<Mutex<Written>>>>,
    throttle: Mutex<Throttle>,
    waiting: Arc<Waiting>,
    body_bytes: usize,
}

/// The attempt whose files were last written, of each step of one run. Held while files of the run are
/// written, so that an older attempt never writes over a newer one's.
type Written = HashMap<StepKey, u32>;

impl fmt::Debug for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { body_bytes, .. } = self;
        write!(formatter, "Service {{ body_bytes: {body_bytes}, .. }}")
    }
}

/// Who asks, and when.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// The credential as it came, without its scheme; empty when none did.
    pub credential: &'a str,
    /// Whom failed look-ups are counted for, for example the peer's address.
    pub peer: &'a str,
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
}

impl fmt::Debug for Caller<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { peer, now_ms, .. } = self;
        write!(
            formatter,
            "Caller {{ peer: {peer:?}, now_ms: {now_ms}, .. }}"
        )
    }
}

/// A part or a submit was taken (204).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// One line each, for the operator's log; never for the worker.
    pub warnings: Vec<String>,
}

impl Service {
    /// A service over a store, taking bodies of at most `body_bytes` ([`BODY_BYTES`] is usual).
    #[must_use]
    pub fn new(store: Arc<dyn Store>, body_bytes: usize) -> Self {
        Self {
            store,
            roots: Mutex::default(),
            written: Mutex::default(),
            throttle: Mutex::default(),
            waiting: Arc::default(),
            body_bytes,
        }
    }

    /// The current attempt's payload.
    ///
    /// # Errors
    ///
    /// As for every operation of a worker: `Unauthorized`, `Forbidden`, `Gone`, `Throttled`, `Store`.
    pub fn prompt(&self, caller: Caller<'_>) -> Result<Payload, WorkerError> {
        let (_, admission) = self.enter(caller)?;
        admission.standing.admit(Verb::Prompt, caller.now_ms)?;
        let outputs = self.store.outputs(&admission.attempt.run.id)?;
        Ok(self.payload(&admission.attempt, &outputs))
    }

    /// The same for whoever must not block its thread: `None` where it could take longer than a
    /// look-up by a key, or is no success.
    pub fn prompt_at_once(&self, caller: Caller<'_>) -> Option<Payload> {
        let access = Access::Credential(Credential::parse(caller.credential)?.digest());
        let (admission, outputs) = self.store.look_up_at_once(access).ok()??;
        let admitted = admission.standing.admit(Verb::Prompt, caller.now_ms);
        admitted.ok()?;
        Some(self.payload(&admission.attempt, &outputs))
    }

    /// The system prompt that a payload refers to.
    ///
    /// # Errors
    ///
    /// As [`prompt`](Self::prompt), and `NotFound` when there is none.
    pub fn system(&self, caller: Caller<'_>) -> Result<String, WorkerError> {
        let (_, admission) = self.enter(caller)?;
        admission.standing.admit(Verb::System, caller.now_ms)?;
        let system = admission.attempt.order.system;
        if system.is_empty() {
            return Err(WorkerError::NotFound);
        }
        Ok(system)
    }

    /// An output of an earlier step of the same run: its final body, or a part of it. What the
    /// attempt's policy hides is not there.
    ///
    /// # Errors
    ///
    /// As [`prompt`](Self::prompt), `NotFound`, and `RangeNotSatisfiable`.
    pub fn content(
        &self,
        caller: Caller<'_>,
        step: &str,
        part: Option<&str>,
        conditions: Conditions<'_>,
    ) -> Result<Served, WorkerError> {
        let (_, admission) = self.enter(caller)?;
        admission.standing.admit(Verb::Content, caller.now_ms)?;
        let attempt = admission.attempt;
        let missing = |_malformed: WorkerError| WorkerError::NotFound;
        let step = StepKey::parse(step).map_err(missing)?;
        let part = part.map(PartName::parse).transpose().map_err(missing)?;
        if step == attempt.step || !attempt.order.policy.shows_step(step.name()) {
            return Err(WorkerError::NotFound);
        }
        let text = self.store.output(&attempt.run.id, &step, part.as_ref())?;
        let text = text.ok_or(WorkerError::NotFound)?;
        let sha256 = sha256_hex(text.as_bytes());
        content::serve(text.into_bytes(), &sha256, conditions)
    }

    /// Stages a named part; the last text of a name wins. Never completes the attempt.
    ///
    /// # Errors
    ///
    /// As [`prompt`](Self::prompt), `InvalidPartName`, `TooLarge`, `NotText`,
    /// `VerdictViolation`, what a file that the body names can be refused for, and `ProjectionRefused` under a strict policy.
    pub fn artifact(
        &self,
        caller: Caller<'_>,
        name: &str,
        body: &[u8],
    ) -> Result<Accepted, WorkerError> {
        let (access, admission) = self.enter(caller)?;
        admission.standing.admit(Verb::Artifact, caller.now_ms)?;
        let name = PartName::parse(name)?;
        let attempt = &admission.attempt;
        let text = self.text(attempt, body)?;
        self.stage(access, attempt, (&name, &text), caller.now_ms)
    }

    /// Keeps a part of an attempt, if the rules let it.
    fn stage(
        &self,
        access: Access,
        attempt: &Attempt,
        (name, text): (&PartName, &str),
        now_ms: u64,
    ) -> Result<Accepted, WorkerError> {
        if name.is_the_auditors() {
            return Err(WorkerError::InvalidPartName {
                reason: "names that start with `audit:` are the auditor's",
            });
        }
        if let Some(contract) = &attempt.order.contract {
            contract.check_part(name.as_str(), text)?;
        }
        let warning = |unfit| format!("part {:?} gets no file: {unfit}", name.as_str());
        let staged = self.store.stage(access, now_ms, name, text)?;
        // Of a strict policy the attempt may be over.
        self.waiting.ring(attempt.id, &attempt.run.id);
        match staged {
            Staged::Kept(unfit) => {
                let is_silent = attempt.run.launch.check_policy == CheckPolicy::Silent;
                let warnings = unfit.filter(|_| !is_silent).map(warning);
                Ok(Accepted {
                    warnings: warnings.into_iter().collect(),
                })
            }
            Staged::Failed(unfit) => Err(WorkerError::ProjectionRefused {
                reason: unfit.to_string(),
            }),
        }
    }

    /// Looks a credential up, or counts that it was not found.
    fn enter(&self, caller: Caller<'_>) -> Result<(Access, Admission), WorkerError> {
        let credential = Credential::parse(caller.credential).ok_or(WorkerError::Unauthorized)?;
        let access = Access::Credential(credential.digest());
        if let Some(admission) = self.store.look_up(access)? {
            return Ok((access, admission));
        }
        // Asked only now: others at the same address guess, and a good credential is still good.
        let mut throttle = self.throttle.lock().unwrap_or_else(PoisonError::into_inner);
        throttle
            .check(caller.peer, caller.now_ms)
            .map_err(|retry_after_ms| WorkerError::Throttled { retry_after_ms })?;
        throttle.count_failure(caller.peer, caller.now_ms);
        Err(WorkerError::Unauthorized)
    }

    /// A body as text, byte for byte: its own, or that of the file it names.
    fn text(&self, attempt: &Attempt, body: &[u8]) -> Result<String, WorkerError> {
        self.bounded(body)?;
        let text = utf8(body.to_vec())?;
        let Some(named) = file_body::named(&text) else {
            return Ok(text);
        };
        // The run's folder is the work's wherever the launch names one.
        let work_dir = attempt.run.launch.work_dir.as_deref();
        let work_dir = work_dir.filter(|_| attempt.order.allow_file_submit);
        let (work_dir, root) = work_dir
            .zip(self.root(&attempt.run.id))
            .ok_or(WorkerError::FileSubmitNotAllowed)?;
        utf8(file_body::read(named, work_dir, &root, self.body_bytes)?)
    }

    fn bounded(&self, body: &[u8]) -> Result<(), WorkerError> {
        let limit_bytes = self.body_bytes;
        if body.len() > limit_bytes {
            return Err(WorkerError::TooLarge { limit_bytes });
        }
        Ok(())
    }

    /// The payload, with pointers to what other steps of the run have left, as the attempt's policy
    /// shows them.
    fn payload(&self, attempt: &Attempt, outputs: &[Output]) -> Payload {
        let has_root = self.root(&attempt.run.id).is_some();
        let shown = outputs.iter().filter(|output| {
            output.step != attempt.step && attempt.order.policy.shows_step(output.step.name())
        });
        let pointer = |output: &Output| {
            let folder = has_root.then(|| attempt.run.folder(&output.step, output.number));
            Pointer::to(output, folder.as_deref())
        };
        let pointers: Vec<Pointer> = shown.map(pointer).collect();
        Payload::of(attempt, &pointers)
    }
}

fn utf8(bytes: Vec<u8>) -> Result<String, WorkerError> {
    String::from_utf8(bytes).map_err(|error| WorkerError::NotText {
        at_byte: error.utf8_error().valid_up_to(),
    })
}
