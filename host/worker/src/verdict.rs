//! How a submit ends its attempt, and what a verdict contract demands of it (SPEC I7).
//!
//! A contract belongs to one agent of one blueprint and travels with each attempt, so that two
//! blueprints that name an agent alike never meet. Deliberately absent: a registry of contracts.

use serde::{Deserialize, Serialize};
use tidegate_contract::text::cut;

use crate::error::WorkerError;

/// The part that a contract on parts looks at.
pub const VERDICT_PART: &str = "verdict";

/// How much of a value that was found an error repeats, in bytes.
const SHOWN_BYTES: usize = 80;

/// How a worker says its attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The step passes with its value.
    Pass,
    /// The step fails with its value.
    Blocked,
    /// The step leaves no output.
    Skip,
}

impl Ending {
    /// The word on the wire.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Blocked => "blocked",
            Self::Skip => "skip",
        }
    }

    /// The ending of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "pass" => Some(Self::Pass),
            "blocked" => Some(Self::Blocked),
            "skip" => Some(Self::Skip),
            _ => None,
        }
    }

    /// What the values of `ok` and `verdict` in a request say together; neither says pass.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` for another word than `true` and `false`, or `pass`, `blocked` and `skip`,
    /// and where the two contradict each other.
    ///
    /// Source: SPEC I3.
    pub fn of_request(ok: Option<&str>, verdict: Option<&str>) -> Result<Self, WorkerError> {
        let invalid = |reason: &str| WorkerError::InvalidRequest {
            reason: reason.to_owned(),
        };
        let ok = match ok {
            None => None,
            Some("true") => Some(true),
            Some("false") => Some(false),
            Some(_) => return Err(invalid("`ok` is `true` or `false`")),
        };
        let verdict = match verdict {
            None => None,
            Some(word) => Some(
                Self::from_word(word)
                    .ok_or_else(|| invalid("`verdict` is `pass`, `blocked` or `skip`"))?,
            ),
        };
        match (ok, verdict) {
            (None | Some(true), None | Some(Self::Pass)) => Ok(Self::Pass),
            (Some(false), None) | (None | Some(false), Some(Self::Blocked)) => Ok(Self::Blocked),
            (None | Some(true), Some(Self::Skip)) => Ok(Self::Skip),
            (Some(true), Some(Self::Blocked)) | (Some(false), Some(Self::Pass | Self::Skip)) => {
                Err(invalid("`ok` and `verdict` contradict each other"))
            }
        }
    }
}

/// Where a contract looks for the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// The submitted body.
    Body,
    /// The staged part named `verdict`.
    Part,
}

/// The closed set of values that an agent answers with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// Where the verdict is.
    pub channel: Channel,
    /// The values, compared exactly.
    pub values: Vec<String>,
}

impl Contract {
    /// Checks a part when it is staged: one named `verdict` under a contract on parts.
    ///
    /// # Errors
    ///
    /// `VerdictViolation` when its text is not among the values.
    pub fn check_part(&self, name: &str, text: &str) -> Result<(), WorkerError> {
        if self.channel == Channel::Part && name == VERDICT_PART {
            return self.member(text);
        }
        Ok(())
    }

    /// Checks a submit that passes; one that is blocked or skips is bound to nothing.
    ///
    /// `body` is the body as it was submitted, not what it parses to; `verdict` is the staged part.
    ///
    /// # Errors
    ///
    /// `VerdictViolation` when there is no verdict, or it is not among the values.
    pub fn check_submit(
        &self,
        ending: Ending,
        body: &str,
        verdict: Option<&str>,
    ) -> Result<(), WorkerError> {
        if ending != Ending::Pass {
            return Ok(());
        }
        match (self.channel, verdict) {
            (Channel::Body, _) => self.member(body),
            (Channel::Part, Some(text)) => self.member(text),
            (Channel::Part, None) => Err(WorkerError::VerdictViolation {
                reason: format!(
                    "no part named `verdict` is staged; declared values {:?}",
                    self.values
                ),
            }),
        }
    }

    /// Whether a text is one of the values, one final newline aside: editors add that one.
    fn member(&self, text: &str) -> Result<(), WorkerError> {
        let said = text.strip_suffix('\n').unwrap_or(text);
        if self.values.iter().any(|value| value == said) {
            return Ok(());
        }
        Err(WorkerError::VerdictViolation {
            reason: format!(
                "{:?} is not a member of the declared values {:?}",
                cut(said, SHOWN_BYTES),
                self.values
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract(channel: Channel) -> Contract {
        Contract {
            channel,
            values: vec!["PASS".to_owned(), "REWORK".to_owned()],
        }
    }

    #[test]
    fn i3_ok_and_verdict_together_say_one_ending() {
        for (ok, verdict, expected) in [
            (None, None, Some(Ending::Pass)),
            (Some("true"), None, Some(Ending::Pass)),
            (Some("false"), None, Some(Ending::Blocked)),
            (None, Some("pass"), Some(Ending::Pass)),
            (Some("true"), Some("pass"), Some(Ending::Pass)),
            (Some("false"), Some("pass"), None),
            (None, Some("blocked"), Some(Ending::Blocked)),
            (Some("false"), Some("blocked"), Some(Ending::Blocked)),
            (Some("true"), Some("blocked"), None),
            (None, Some("skip"), Some(Ending::Skip)),
            (Some("true"), Some("skip"), Some(Ending::Skip)),
            (Some("false"), Some("skip"), None),
            (Some("1"), None, None),
            (Some("False"), None, None),
            (Some(""), None, None),
            (None, Some("PASS"), None),
            (None, Some(""), None),
            (None, Some("failed"), None),
        ] {
            let answer = Ending::of_request(ok, verdict);
            match expected {
                Some(ending) => assert_eq!(answer.unwrap(), ending, "{ok:?} {verdict:?}"),
                None => assert_eq!(answer.unwrap_err().status(), 400, "{ok:?} {verdict:?}"),
            }
        }
    }

    #[test]
    fn i7_the_body_channel_compares_the_raw_body() {
        for (body, holds) in [
            ("PASS", true),
            ("REWORK\n", true),
            ("PASS\n\n", false),
            ("PASS ", false),
            ("pass", false),
            ("\"PASS\"", false),
            ("", false),
        ] {
            let answer = contract(Channel::Body).check_submit(Ending::Pass, body, None);
            assert_eq!(answer.is_ok(), holds, "{body:?}");
        }
        // Its parts are bound to nothing.
        contract(Channel::Body).check_part("verdict", "?").unwrap();
    }

    #[test]
    fn i7_the_part_channel_compares_the_part_named_verdict() {
        let contract = contract(Channel::Part);
        contract.check_part("verdict", "PASS\n").unwrap();
        contract.check_part("notes", "anything").unwrap();
        contract
            .check_submit(Ending::Pass, "prose", Some("PASS"))
            .unwrap();
        for answer in [
            contract.check_part("verdict", "maybe"),
            contract.check_submit(Ending::Pass, "PASS", Some("maybe")),
            contract.check_submit(Ending::Pass, "PASS", None),
        ] {
            assert_eq!(answer.unwrap_err().status(), 422);
        }
    }

    #[test]
    fn i7_blocked_and_skip_are_bound_to_nothing() {
        for ending in [Ending::Blocked, Ending::Skip] {
            for channel in [Channel::Body, Channel::Part] {
                contract(channel).check_submit(ending, "?", None).unwrap();
            }
        }
    }

    #[test]
    fn c8_a_violation_repeats_a_bounded_start_of_what_was_said() {
        let long = "é".repeat(1_000_000);
        let answer = contract(Channel::Body).check_submit(Ending::Pass, &long, None);
        assert!(answer.unwrap_err().to_string().len() < 400);
    }
}
