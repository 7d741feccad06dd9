//! Every way in which a worker's request ends without an answer: its code, its number, its text.
//!
//! The code and the text may be shown to whoever asked. Deliberately absent: paths of the host, other
//! tasks' names, and the text of a token.

use tidegate_contract::Failure;
use tidegate_contract::failure::host_failure;
use tidegate_sandbox::SandboxError;

/// Why a request was refused. Each variant is what the worker can do about it.
///
/// Source: SPEC I2, I3, I6 to I8.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// A query value can't be understood, or two contradict each other: correct it.
    #[error("invalid request: {reason}")]
    InvalidRequest {
        /// What is wrong with which value.
        reason: String,
    },
    /// A part's name is empty, too long or holds a NUL: choose another.
    #[error("invalid part name: {reason}")]
    InvalidPartName {
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The body names a file, which the step, the agent and the blueprint don't allow, or the run has
    /// no folder of work.
    #[error("a body that starts with `@file:` is not allowed for this step")]
    FileSubmitNotAllowed,
    /// The credential is missing, malformed, unknown or expired.
    #[error("the credential is not valid")]
    Unauthorized,
    /// The credential's role does not have this verb.
    #[error("the credential does not permit this")]
    Forbidden,
    /// The body names a file outside the work's folder.
    #[error("the file is outside the work's folder")]
    FileOutside,
    /// There is no such thing here; nothing is said of other tasks.
    #[error("there is no such thing here")]
    NotFound,
    /// A run of this id is there already: choose another.
    #[error("a run of this id is there already")]
    RunExists,
    /// The attempt was completed by another body.
    #[error("the attempt was already completed by another submit")]
    SubmitConflict,
    /// The attempt has settled, was started anew, or its run has ended: fetch a new dispatch.
    #[error("the attempt is over")]
    Gone,
    /// A body is larger than the limit.
    #[error("the body is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The limit.
        limit_bytes: usize,
    },
    /// The attempt has staged as many parts, or as much in them, as it may.
    #[error("an attempt stages at most {limit} parts, of {limit_bytes} bytes in all")]
    TooManyParts {
        /// How many.
        limit: usize,
        /// How much.
        limit_bytes: usize,
    },
    /// A body or a part is not UTF-8.
    #[error("the body is not UTF-8 at byte {at_byte}")]
    NotText {
        /// Offset of the first bad byte, from 0.
        at_byte: usize,
    },
    /// No part of the content is in the range.
    #[error("the range is outside the content of {size_bytes} bytes")]
    RangeNotSatisfiable {
        /// The size of the content.
        size_bytes: u64,
    },
    /// The step declares `submit_format: "json"` and the body does not parse.
    #[error("the agent `{agent}` submits JSON and the body is not: {reason}; it starts `{start}`")]
    NotJson {
        /// The agent's name.
        agent: String,
        /// What the parser said.
        reason: String,
        /// The start of the body, cut and on one line.
        start: String,
    },
    /// The body or the `verdict` part is outside the verdict contract.
    #[error("verdict contract violation: {reason}")]
    VerdictViolation {
        /// What was found and what is declared.
        reason: String,
    },
    /// Under a strict policy: a file can't be written, and the step has failed.
    #[error("the file can't be written and the policy is strict: {reason}")]
    ProjectionRefused {
        /// What is wrong.
        reason: String,
    },
    /// Too many credentials were not found: wait.
    #[error("too many unknown credentials; try again in {retry_after_ms} ms")]
    Throttled {
        /// How long to wait.
        retry_after_ms: u64,
    },
    /// The tenant has as many open runs as it may: end some, or wait.
    #[error("the tenant has {limit} open runs, which is all it may have")]
    TooManyRuns {
        /// How many.
        limit: u64,
    },
    /// The service takes nothing new: try later, or elsewhere.
    #[error("the service is closing")]
    Closed,
    /// The store failed: our fault.
    #[error("the worker's store failed")]
    Store(#[source] StoreError),
}

impl From<StoreError> for WorkerError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Missing => Self::NotFound,
            StoreError::Exists => Self::RunExists,
            StoreError::Full { limit } => Self::TooManyRuns { limit },
            other => Self::Store(other),
        }
    }
}

impl WorkerError {
    /// The stable code, for example `ATTEMPT_GONE`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidRequest { .. } => "INVALID_REQUEST",
            Self::InvalidPartName { .. } => "INVALID_PART_NAME",
            Self::FileSubmitNotAllowed => "FILE_SUBMIT_NOT_ALLOWED",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::Forbidden => "FORBIDDEN",
            Self::FileOutside => "FILE_OUTSIDE",
            Self::NotFound => "NOT_FOUND",
            Self::RunExists => "RUN_EXISTS",
            Self::SubmitConflict => "SUBMIT_CONFLICT",
            Self::Gone => "ATTEMPT_GONE",
            Self::TooLarge { .. } => "BODY_TOO_LARGE",
            Self::TooManyParts { .. } => "PARTS_TOO_LARGE",
            Self::NotText { .. } => "BODY_NOT_UTF8",
            Self::RangeNotSatisfiable { .. } => "RANGE_NOT_SATISFIABLE",
            Self::NotJson { .. } => "BODY_NOT_JSON",
            Self::VerdictViolation { .. } => "VERDICT_VIOLATION",
            Self::ProjectionRefused { .. } => "PROJECTION_REFUSED",
            Self::Throttled { .. } => "TOO_MANY_LOOKUPS",
            Self::TooManyRuns { .. } => "TOO_MANY_RUNS",
            Self::Closed => "CLOSED",
            Self::Store(_) => "HOST_FAULT",
        }
    }

    /// The status number of an answer that carries this error.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::InvalidRequest { .. }
            | Self::InvalidPartName { .. }
            | Self::FileSubmitNotAllowed => 400,
            Self::Unauthorized => 401,
            Self::Forbidden | Self::FileOutside => 403,
            Self::NotFound => 404,
            Self::RunExists | Self::SubmitConflict => 409,
            Self::Gone => 410,
            Self::TooLarge { .. } | Self::TooManyParts { .. } => 413,
            Self::NotText { .. } => 415,
            Self::RangeNotSatisfiable { .. } => 416,
            Self::NotJson { .. }
            | Self::VerdictViolation { .. }
            | Self::ProjectionRefused { .. } => 422,
            Self::Throttled { .. } | Self::TooManyRuns { .. } => 429,
            Self::Closed => 503,
            Self::Store(_) => 500,
        }
    }

    /// What may be shown to whoever asked: code and message pass the rules of public errors.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        host_failure(self.code(), self.to_string())
    }
}

/// What went wrong in the store: for the operator, never for a worker.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The folder for the store could not be made or is not ours alone.
    #[error("the worker's store can't be opened")]
    Folder(#[source] SandboxError),
    /// The database refused.
    #[error("the worker's database failed")]
    Database(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database was written by a newer version of this program.
    #[error("the worker's database has version {found}, this program knows {known}")]
    TooNew {
        /// The version found.
        found: u32,
        /// The newest version known.
        known: u32,
    },
    /// A row does not hold what this program writes.
    #[error("the worker's database has a damaged row: {reason}")]
    Damaged {
        /// Which value is wrong.
        reason: &'static str,
    },
    /// Nothing has the id that was given.
    #[error("there is no such run or attempt")]
    Missing,
    /// What was to be made is there already.
    #[error("a run of this id is there already")]
    Exists,
    /// A tenant has as many open runs as it may.
    #[error("a tenant has {limit} open runs")]
    Full {
        /// How many it may have.
        limit: u64,
    },
    /// The writer has ended.
    #[error("the worker's store is closed")]
    Closed,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_json(start: &str) -> WorkerError {
        WorkerError::NotJson {
            agent: "planner".to_owned(),
            reason: "expected value at line 1 column 1".to_owned(),
            start: start.to_owned(),
        }
    }

    #[test]
    fn i6_what_is_shown_of_a_body_names_the_agent_and_keeps_its_start() {
        let failure = not_json("Here is the plan:").to_failure();
        assert_eq!(failure.code(), "BODY_NOT_JSON");
        assert!(failure.message().contains("`planner`"));
        assert!(failure.message().contains("Here is the plan:"));
    }

    #[test]
    fn io08_what_is_shown_holds_no_secret_and_no_path_of_the_host() {
        for start in [
            "password=hunter22",
            "read /srv/hunter22/a",
            "x\u{1b}[31m hunter22 /etc/a",
        ] {
            let failure = not_json(start).to_failure();
            let message = failure.message();
            let is_kept = start.starts_with('x');
            assert_eq!(message.contains("hunter22"), is_kept, "{message}");
            assert!(!message.contains("/etc"), "{message}");
            assert!(!message.contains('\u{1b}'), "{message}");
        }
    }

    #[test]
    fn i10_the_stores_own_words_are_not_shown() {
        let error = WorkerError::from(StoreError::Database("disk I/O error at /srv/db".into()));
        assert_eq!(error.to_failure().message(), "the worker's store failed");
        assert_eq!((error.status(), error.code()), (500, "HOST_FAULT"));
        assert_eq!(WorkerError::from(StoreError::Missing).status(), 404);
        assert_eq!(WorkerError::from(StoreError::Exists).status(), 409);
    }
}
