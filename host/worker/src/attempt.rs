//! The life of one attempt as a pure value: its states, what moves it, and what a worker may do in
//! each.
//!
//! A store keeps a [`Standing`] and asks it, inside the transaction that writes. Deliberately absent:
//! clocks, credentials' texts, and what the outputs are.

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::error::WorkerError;
use crate::token::{Role, Verb};
use crate::verdict::Ending;

/// Where an attempt stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Handed out; nothing has come back.
    Dispatched,
    /// At least one part is staged.
    Staged,
    /// Submitted and passed.
    Completed,
    /// Failed for a reason of its own, with no submit or one that could not be projected.
    Failed,
    /// Submitted as blocked: the step fails with its value.
    Blocked,
    /// Submitted as skipped: the step leaves no output.
    Skipped,
    /// Its run was cancelled.
    Cancelled,
    /// Its time ran out before a submit.
    Expired,
    /// A newer attempt of the step was started.
    Superseded,
}

/// Every state, in the order of life.
pub(crate) const STATES: [State; 9] = [
    State::Dispatched,
    State::Staged,
    State::Completed,
    State::Failed,
    State::Blocked,
    State::Skipped,
    State::Cancelled,
    State::Expired,
    State::Superseded,
];

impl State {
    /// The state's word, for example `superseded`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Dispatched => "dispatched",
            Self::Staged => "staged",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
            Self::Superseded => "superseded",
        }
    }

    /// The state of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        STATES.into_iter().find(|state| state.word() == word)
    }

    /// Whether the worker can still do its work.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Dispatched | Self::Staged)
    }
}

impl fmt::Display for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// What ends an attempt from outside, without its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// It failed: the worker was lost, or a strict policy was broken.
    Fail,
    /// Its run was cancelled.
    Cancel,
    /// Its time ran out.
    Expire,
    /// A newer attempt of the step was started.
    Supersede,
}

impl Close {
    /// The state that it leads to.
    #[must_use]
    pub fn state(self) -> State {
        match self {
            Self::Fail => State::Failed,
            Self::Cancel => State::Cancelled,
            Self::Expire => State::Expired,
            Self::Supersede => State::Superseded,
        }
    }
}

/// What a submit said, as a digest: two submits are the same when body and ending are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubmitDigest([u8; 32]);

impl SubmitDigest {
    /// The digest of a body as it was sent, with how it ends the attempt.
    #[must_use]
    pub fn of(body: &[u8], ending: Ending) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(ending.word().as_bytes());
        hasher.update([0]);
        hasher.update(body);
        Self(hasher.finalize().into())
    }

    /// The bytes, as a store keeps them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// One read back from a store; `None` when it has another length.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }
}

/// Whether the run that an attempt belongs to goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// Steps are still handed out and taken back.
    Open,
    /// It has ended, however.
    Ended,
}

/// Whether a credential still means its attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    /// It is the attempt's own, and the attempt is the newest of its place in the flow.
    Live,
    /// A newer attempt was started in its place.
    Severed,
}

/// All that decides what may be done with an attempt through one of its credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whose hand the credential is for.
    pub role: Role,
    /// When the credential ends, in milliseconds since 1970.
    pub expires_ms: u64,
    /// Whether the credential still means the attempt.
    pub bond: Bond,
    /// Where the attempt stands.
    pub state: State,
    /// Whether its run goes on.
    pub run: RunState,
    /// What completed it.
    pub submitted: Option<SubmitDigest>,
}

/// What a submit leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// It completes the attempt: record it.
    First,
    /// The attempt was completed by the same submit: answer alike, record nothing.
    Again,
}

impl Standing {
    /// Whether the credential serves this verb now, a submit aside.
    ///
    /// # Errors
    ///
    /// `Unauthorized` once it has expired, `Forbidden` for another role's verb, `Gone` when the
    /// attempt has settled, was started anew, or its run has ended.
    ///
    /// Source: SPEC I2, I3.
    pub fn admit(&self, verb: Verb, now_ms: u64) -> Result<(), WorkerError> {
        self.admit_role(verb, now_ms)?;
        if self.is_reachable() && self.state.is_open() {
            Ok(())
        } else {
            Err(WorkerError::Gone)
        }
    }

    /// Whether a submit completes the attempt now, or repeats the one that has.
    ///
    /// # Errors
    ///
    /// As [`admit`](Self::admit), and `SubmitConflict` when another submit has completed it.
    ///
    /// Source: SPEC I3.
    pub fn admit_submit(&self, sent: SubmitDigest, now_ms: u64) -> Result<Admitted, WorkerError> {
        self.admit_role(Verb::Submit, now_ms)?;
        if !self.is_reachable() {
            return Err(WorkerError::Gone);
        }
        match self.state {
            State::Dispatched | State::Staged => Ok(Admitted::First),
            State::Completed | State::Blocked | State::Skipped => {
                if self.submitted == Some(sent) {
                    Ok(Admitted::Again)
                } else {
                    Err(WorkerError::SubmitConflict)
                }
            }
            State::Failed | State::Cancelled | State::Expired | State::Superseded => {
                Err(WorkerError::Gone)
            }
        }
    }

    /// The state that something from outside leads to; `None` where it comes too late.
    #[must_use]
    pub fn close(state: State, close: Close) -> Option<State> {
        state.is_open().then(|| close.state())
    }

    fn admit_role(&self, verb: Verb, now_ms: u64) -> Result<(), WorkerError> {
        if now_ms >= self.expires_ms {
            return Err(WorkerError::Unauthorized);
        }
        if !self.role.may(verb) {
            return Err(WorkerError::Forbidden);
        }
        Ok(())
    }

    fn is_reachable(&self) -> bool {
        self.run == RunState::Open && self.bond == Bond::Live
    }
}

impl Ending {
    /// The state that a submit with this ending leads to.
    #[must_use]
    pub fn state(self) -> State {
        match self {
            Self::Pass => State::Completed,
            Self::Blocked => State::Blocked,
            Self::Skip => State::Skipped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000;

    fn standing(state: State) -> Standing {
        Standing {
            role: Role::Worker,
            expires_ms: NOW + 1,
            bond: Bond::Live,
            state,
            run: RunState::Open,
            submitted: None,
        }
    }

    fn code<T: fmt::Debug>(answer: Result<T, WorkerError>) -> &'static str {
        answer.map_or_else(|error| error.code(), |_| "ok")
    }

    #[test]
    fn i10_each_state_has_a_word_of_its_own() {
        for state in STATES {
            assert_eq!(State::from_word(state.word()), Some(state));
        }
        assert_eq!(State::Superseded.to_string(), "superseded");
        assert_eq!(State::from_word("done"), None);
    }

    #[test]
    fn i3_after_completion_submit_alone_is_served() {
        let sent = SubmitDigest::of(b"text", Ending::Pass);
        let other = SubmitDigest::of(b"text ", Ending::Pass);
        for (state, verbs, same, different) in [
            (State::Dispatched, "ok", "ok", "ok"),
            (State::Staged, "ok", "ok", "ok"),
            (State::Completed, "ATTEMPT_GONE", "ok", "SUBMIT_CONFLICT"),
            (State::Blocked, "ATTEMPT_GONE", "ok", "SUBMIT_CONFLICT"),
            (State::Skipped, "ATTEMPT_GONE", "ok", "SUBMIT_CONFLICT"),
            (
                State::Failed,
                "ATTEMPT_GONE",
                "ATTEMPT_GONE",
                "ATTEMPT_GONE",
            ),
            (
                State::Cancelled,
                "ATTEMPT_GONE",
                "ATTEMPT_GONE",
                "ATTEMPT_GONE",
            ),
            (
                State::Expired,
                "ATTEMPT_GONE",
                "ATTEMPT_GONE",
                "ATTEMPT_GONE",
            ),
            (
                State::Superseded,
                "ATTEMPT_GONE",
                "ATTEMPT_GONE",
                "ATTEMPT_GONE",
            ),
        ] {
            let standing = Standing {
                submitted: (!state.is_open()).then_some(sent),
                ..standing(state)
            };
            for verb in [Verb::Prompt, Verb::System, Verb::Content, Verb::Artifact] {
                assert_eq!(code(standing.admit(verb, NOW)), verbs, "{state} {verb:?}");
            }
            assert_eq!(code(standing.admit_submit(sent, NOW)), same, "{state}");
            assert_eq!(
                code(standing.admit_submit(other, NOW)),
                different,
                "{state}"
            );
        }
    }

    #[test]
    fn i3_a_submit_is_the_same_only_with_the_same_ending() {
        let standing = Standing {
            submitted: Some(SubmitDigest::of(b"text", Ending::Pass)),
            ..standing(State::Completed)
        };
        let pass = standing.admit_submit(SubmitDigest::of(b"text", Ending::Pass), NOW);
        let blocked = standing.admit_submit(SubmitDigest::of(b"text", Ending::Blocked), NOW);
        assert_eq!(pass.unwrap(), Admitted::Again);
        assert_eq!(code(blocked), "SUBMIT_CONFLICT");
    }

    #[test]
    fn gap1_gap2_an_expired_credential_serves_nothing() {
        for state in [State::Dispatched, State::Completed, State::Superseded] {
            let standing = standing(state);
            let sent = SubmitDigest::of(b"", Ending::Pass);
            let late = standing.expires_ms;
            assert_eq!(code(standing.admit(Verb::Prompt, late)), "UNAUTHORIZED");
            assert_eq!(code(standing.admit_submit(sent, late)), "UNAUTHORIZED");
        }
    }

    #[test]
    fn i2_another_roles_verb_is_forbidden_in_any_state() {
        for state in STATES {
            assert_eq!(code(standing(state).admit(Verb::Launch, NOW)), "FORBIDDEN");
            let operator = Standing {
                role: Role::Operator,
                ..standing(state)
            };
            let sent = SubmitDigest::of(b"", Ending::Pass);
            assert_eq!(code(operator.admit_submit(sent, NOW)), "FORBIDDEN");
        }
    }

    #[test]
    fn gap3_after_a_rekick_or_the_runs_end_all_is_gone() {
        let sent = SubmitDigest::of(b"x", Ending::Pass);
        for state in STATES {
            let severed = Standing {
                bond: Bond::Severed,
                submitted: Some(sent),
                ..standing(state)
            };
            let ended = Standing {
                run: RunState::Ended,
                submitted: Some(sent),
                ..standing(state)
            };
            for standing in [severed, ended] {
                assert_eq!(code(standing.admit(Verb::Prompt, NOW)), "ATTEMPT_GONE");
                assert_eq!(code(standing.admit_submit(sent, NOW)), "ATTEMPT_GONE");
            }
        }
    }

    #[test]
    fn i10_what_has_settled_stays_settled() {
        for state in STATES {
            for close in [Close::Fail, Close::Cancel, Close::Expire, Close::Supersede] {
                let next = Standing::close(state, close);
                assert_eq!(
                    next,
                    state.is_open().then(|| close.state()),
                    "{state} {close:?}"
                );
            }
        }
    }
}
