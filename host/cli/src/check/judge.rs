//! One ended call against the rules.

use serde_json::json;
use tidegate::Schema;
use tidegate_contract::{
    Effect, Failure, FailureError, Problem, ReceiptError, ReceiptStatus, ResultError, Status,
    ToolOutcome, Value,
};
use tidegate_engine::{EndedBy, digest};

use super::bench::{End, Ended, Input};
use super::findings::{Findings, Subject};
use super::rules::{self, Rule};

/// Codes that only the host gives.
const RESERVED: [&str; 22] = [
    "INVALID_CALL",
    "INVALID_ARGUMENTS",
    "UNKNOWN_TOOL",
    "UNKNOWN_SERVER",
    "NOT_INJECTED",
    "QUEUE_FULL",
    "CLOSED",
    "INVALID_RESULT",
    "INVALID_RECEIPT",
    "EXECUTOR_FAULT",
    "SECRET_IN_RESULT",
    "HOST_FAULT",
    "TOOL_TRAPPED",
    "LIMIT_DEADLINE",
    "LIMIT_CPU",
    "LIMIT_MEMORY",
    "LIMIT_TABLE",
    "LIMIT_INSTANCES",
    "LIMIT_HANDLES",
    "LIMIT_HOST_ALLOCATION",
    "LIMIT_RESULT",
    "LIMIT_HTTP",
];

/// The code of what is denied; a guest may hand on the host's.
const DENIED: &str = "PERMISSION_DENIED";

/// How many words of what a guest printed are shown.
const WORDS: usize = 32;

/// What the host writes in the place of what a plugin's reason may not hold.
const TAKEN_OUT: [&str; 4] = ["[path]", "[url]", "[secret]", "no details"];

/// What a call was for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) subject: &'a Subject,
    /// What it declares that it touches; none where it can't declare.
    pub(super) effects: Option<&'a [Effect]>,
    /// What its structured content keeps to.
    pub(super) output: Option<&'a Schema>,
    pub(super) input: &'a Input,
}

/// How a call ended, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Success,
    /// The guest said what went wrong.
    Failed,
    Refused,
    /// What it wanted was not granted.
    Denied,
    /// It was ended at a limit of time.
    Slow,
    /// It broke a rule, and how is a finding.
    Broken,
}

impl Kind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Success => "a success",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Denied => "denied",
            Self::Slow => "too slow",
            Self::Broken => "broken",
        }
    }
}

/// Judges a call with arguments that the guest has to take.
pub(super) fn valid(ended: &Ended, asked: Asked<'_>, findings: &mut Findings) -> Kind {
    let subject = asked.subject;
    match &ended.end {
        End::Refused(problems) => {
            refusal(problems, subject, findings);
            Kind::Refused
        }
        End::Broken(reason) => {
            let saw = format!("{reason}; with {}", asked.input.shown());
            findings.add(broken(reason, subject), subject, saw);
            Kind::Broken
        }
        End::Denied(_) => Kind::Denied,
        End::Outcome(outcome) => {
            printed(outcome, subject, findings);
            undeclared(&denied(outcome), asked, findings);
            match &outcome.error {
                Some(error) => failed(error, (outcome, ended.by), asked, findings),
                None => success(outcome, asked, findings),
            }
        }
    }
}

/// Judges a call with arguments that the schema refuses; `what` is wrong with them.
pub(super) fn invalid(ended: &Ended, what: &str, asked: Asked<'_>, findings: &mut Findings) {
    let subject = asked.subject;
    let with = format!("{what}: {}", asked.input.shown());
    match &ended.end {
        End::Refused(problems) => refusal(problems, subject, findings),
        End::Broken(reason) => {
            let rule = broken(reason, subject);
            findings.add(rule, subject, format!("{reason}; with {with}"));
        }
        End::Denied(_) => {}
        End::Outcome(outcome) if outcome.status == Status::Success => {
            let saw = format!("it succeeded; with {with}");
            findings.add(&rules::VALIDATE_TAKES_INVALID, subject, saw);
        }
        End::Outcome(outcome) => {
            if let Some(error) = trap(ended) {
                let saw = format!("{}; with {with}{}", error.message(), last_words(outcome));
                findings.add(&rules::TRAPS_ON_INVALID, subject, saw);
            }
        }
    }
}

fn success(outcome: &ToolOutcome, asked: Asked<'_>, findings: &mut Findings) -> Kind {
    if let Some(schema) = asked.output {
        let saw = match &outcome.structured_content {
            None => Some("no structured content".to_owned()),
            Some(value) => schema.check(value).err().map(|problems| listed(&problems)),
        };
        if let Some(saw) = saw {
            let saw = format!("{saw}; with {}", asked.input.shown());
            findings.add(&rules::RESULT_SCHEMA, asked.subject, saw);
        }
    }
    Kind::Success
}

fn failed(
    error: &Failure,
    (outcome, by): (&ToolOutcome, Option<EndedBy>),
    asked: Asked<'_>,
    findings: &mut Findings,
) -> Kind {
    let saw = format!("{}; with {}", error.message(), asked.input.shown());
    match by {
        Some(EndedBy::Fault) => {
            let saw = format!("{saw}{}", last_words(outcome));
            findings.add(&rules::TRAPS, asked.subject, saw);
            return Kind::Broken;
        }
        Some(EndedBy::Time) => {
            findings.add(&rules::LIMIT_PASSED, asked.subject, saw);
            return Kind::Slow;
        }
        Some(EndedBy::Limit) => {
            findings.add(&rules::LIMIT_PASSED, asked.subject, saw);
            return Kind::Broken;
        }
        None => {}
    }
    let code = error.code();
    // Nothing says what a worker was denied.
    let was_denied =
        !denied(outcome).is_empty() || (code == DENIED && *asked.subject == Subject::Worker);
    if RESERVED.contains(&code) || (code == DENIED && !was_denied) {
        let saw = format!("{code}; with {}", asked.input.shown());
        findings.add(&rules::ERROR_CODE_RESERVED, asked.subject, saw);
    }
    if was_denied {
        return Kind::Denied;
    }
    Kind::Failed
}

/// Whether a limit of time ended the call.
pub(super) fn is_slow(ended: &Ended) -> bool {
    ended.by == Some(EndedBy::Time)
}

/// The host's words where the guest trapped.
pub(super) fn trap(ended: &Ended) -> Option<&Failure> {
    match (&ended.end, ended.by) {
        (End::Outcome(outcome), Some(EndedBy::Fault)) => outcome.error.as_ref(),
        _ => None,
    }
}

/// The end of what a guest wrote to standard error, which is where a panic says what it was.
fn last_words(outcome: &ToolOutcome) -> String {
    let metadata = outcome.metadata.as_ref();
    let printed = metadata.and_then(|metadata| metadata.get("stderr")?.get("text")?.as_str());
    let words: Vec<&str> = printed.unwrap_or_default().split_whitespace().collect();
    match words.len() {
        0 => String::new(),
        all => {
            let last = words.get(all.saturating_sub(WORDS)..).unwrap_or(&words);
            format!("; it printed: {}", last.join(" "))
        }
    }
}

fn refusal(problems: &[Problem], subject: &Subject, findings: &mut Findings) {
    for Problem { pointer, reason } in problems {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            findings.add(
                &rules::REFUSAL_POINTER,
                subject,
                format!("`{pointer}`: {reason}"),
            );
        }
        if reason.trim().is_empty() || TAKEN_OUT.iter().any(|mark| reason.contains(mark)) {
            let saw = format!("at `{pointer}`: {reason}");
            findings.add(&rules::REFUSAL_REASON, subject, saw);
        }
    }
}

fn printed(outcome: &ToolOutcome, subject: &Subject, findings: &mut Findings) {
    for stream in ["stdout", "stderr"] {
        let kept = outcome
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.get(stream));
        let omitted = kept
            .and_then(|kept| kept.get("omittedBytes"))
            .and_then(Value::as_u64);
        if let Some(omitted) = omitted.filter(|omitted| *omitted > 0) {
            let saw = format!("{stream} was cut in a call; with {omitted} bytes dropped");
            findings.add(&rules::OUTPUT_DROPPED, subject, saw);
        }
    }
}

/// What the host recorded as denied, each as `kind:name`.
fn denied(outcome: &ToolOutcome) -> Vec<String> {
    let denied = outcome
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.get("denied"));
    let denied = denied.and_then(Value::as_array).into_iter().flatten();
    denied
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn undeclared(denied: &[String], asked: Asked<'_>, findings: &mut Findings) {
    let Some(effects) = asked.effects else { return };
    for name in denied {
        let kind = name.split(':').next().unwrap_or_default();
        let known = [
            Effect::Read,
            Effect::Write,
            Effect::Execute,
            Effect::Network,
        ];
        let of_kind = known.into_iter().find(|effect| effect.as_str() == kind);
        if of_kind.is_some_and(|effect| !effects.contains(&effect)) {
            findings.add(
                &rules::EFFECT_UNDECLARED,
                asked.subject,
                format!("it was denied {name}"),
            );
        }
    }
}

/// The rule that the host's reason for refusing an answer belongs to.
fn broken(reason: &str, subject: &Subject) -> &'static Rule {
    let unfit = [
        FailureError::Code,
        FailureError::Blank,
        FailureError::TooLong,
        FailureError::ControlCharacter,
        FailureError::Credential,
        FailureError::Path,
        FailureError::StackFrame,
    ];
    let without_error = [
        Status::Failed,
        Status::Cancelled,
        Status::Timeout,
        Status::Unknown,
    ]
    .map(|status| ResultError::ErrorRequired { status }.to_string());
    let not_taken = [ReceiptStatus::Rejected, ReceiptStatus::Unknown]
        .map(|status| ReceiptError::ErrorRequired { status }.to_string());
    if unfit
        .iter()
        .any(|error| reason.ends_with(&error.to_string()))
    {
        &rules::ERROR_UNFIT
    } else if reason.ends_with(&ResultError::EmptySuccess.to_string()) {
        &rules::RESULT_EMPTY
    } else if without_error
        .iter()
        .chain(&not_taken)
        .any(|error| reason.ends_with(error))
    {
        &rules::ERROR_MISSING
    } else if reason.contains("without naming a problem") {
        &rules::REFUSAL_WITHOUT_PROBLEM
    } else if *subject == Subject::Sink {
        &rules::RECEIPT_INVALID
    } else {
        &rules::RESULT_INVALID
    }
}

/// What of two ends has to be the same: the status with its code, and the digest of the answer.
pub(super) fn summary(end: &End) -> (String, String) {
    let (end, answer) = whole(end);
    (end, digest(answer.to_string().as_bytes()))
}

fn whole(end: &End) -> (String, Value) {
    match end {
        End::Refused(problems) => ("refused".to_owned(), json!(problems)),
        End::Broken(reason) => ("broken".to_owned(), json!(reason)),
        End::Denied(reason) => ("denied".to_owned(), json!(reason)),
        End::Outcome(outcome) => {
            let code = outcome.error.as_ref().map_or("", Failure::code);
            let answer = json!({
                "content": outcome.content,
                "structuredContent": outcome.structured_content,
                "references": outcome.references,
            });
            (
                format!("{} {code}", outcome.status.as_str())
                    .trim_end()
                    .to_owned(),
                answer,
            )
        }
    }
}

pub(super) fn listed(problems: &[Problem]) -> String {
    let one = |problem: &Problem| format!("#{}: {}", problem.pointer, problem.reason);
    problems
        .iter()
        .take(3)
        .map(one)
        .collect::<Vec<_>>()
        .join("; ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use tidegate_contract::{Failure, ToolName, ToolOutcome};

    use super::{Asked, End, Ended, Input, Kind, valid};
    use crate::check::findings::{Findings, Subject};
    use crate::check::rules::ERROR_CODE_RESERVED;

    /// How a call is judged that failed with a code, and whether that was reserved.
    fn judged(code: &str, denied: &[&str], subject: &Subject) -> (Kind, bool) {
        let mut outcome = ToolOutcome::failed(Failure::new(code, "no").unwrap());
        if !denied.is_empty() {
            outcome.metadata = json!({ "denied": denied }).as_object().cloned();
        }
        let ended = Ended {
            end: End::Outcome(Box::new(outcome)),
            by: None,
            took: Duration::ZERO,
        };
        let input = Input::Arguments(ToolName::new("tool").unwrap(), json!({}));
        let asked = Asked {
            subject,
            effects: None,
            output: None,
            input: &input,
        };
        let mut findings = Findings::default();
        let kind = valid(&ended, asked, &mut findings);
        (kind, findings.has(&ERROR_CODE_RESERVED, subject))
    }

    #[test]
    fn p3_a_guests_own_code_is_no_limit_and_no_denial() {
        let tool = Subject::Tool("tool".to_owned());
        for (code, denied, expected) in [
            ("LIMIT_TOO_HIGH", &[][..], (Kind::Failed, false)),
            ("LIMIT_MEMORY", &[], (Kind::Failed, true)),
            ("TOOL_TRAPPED", &[], (Kind::Failed, true)),
            ("PERMISSION_DENIED", &[], (Kind::Failed, true)),
            ("PERMISSION_DENIED", &["read:a"], (Kind::Denied, false)),
            ("NO_FILE", &["read:a"], (Kind::Denied, false)),
        ] {
            assert_eq!(judged(code, denied, &tool), expected, "{code}");
        }
        let worker = judged("PERMISSION_DENIED", &[], &Subject::Worker);
        assert_eq!(worker, (Kind::Denied, false));
    }
}
