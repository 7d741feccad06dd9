//! Rounds of calls of one tool, sink or worker with input that it has to take: once, and once more in
//! the other order.

use std::time::Duration;

use serde::Serialize;
use tidegate::Schema;
use tidegate_contract::Effect;

use super::bench::{Bench, Input};
use super::examples::Expected;
use super::findings::Subject;
use super::judge::{self, Asked, Kind};
use super::{rules, small};

/// What the calls came to.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Figures {
    #[serde(flatten)]
    pub(crate) subject: Subject,
    /// Different inputs that have to be taken.
    pub(crate) inputs: usize,
    /// How many of them were answered with success.
    pub(crate) succeeded: usize,
    /// The median of one call on this machine, in microseconds; none where none was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) median_us: Option<u64>,
    /// The least power of two, in bytes, that a call ends in as it does without a bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory_bytes: Option<u64>,
}

/// One input that has to be taken.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) input: Input,
    /// What the author says of it, where it is the author's.
    pub(super) given: Option<Expected>,
}

/// A call that went as it should, to be made again under small limits.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) input: Input,
    pub(super) ended: String,
    pub(super) took: Duration,
    succeeded: bool,
}

/// Whom the rounds are of, and what its answers keep to.
pub(super) struct Rounds<'a> {
    pub(super) subject: Subject,
    pub(super) effects: Option<&'a [Effect]>,
    pub(super) output: Option<&'a Schema>,
    pub(super) cases: Vec<Case>,
    kinds: Vec<Kind>,
    /// How each case ended first, and the digest of its answer.
    ends: Vec<(String, String)>,
    took: Vec<Duration>,
    base: Option<Base>,
}

impl<'a> Rounds<'a> {
    pub(super) fn new(subject: Subject, cases: Vec<Case>) -> Self {
        Self {
            subject,
            effects: None,
            output: None,
            cases,
            kinds: Vec::new(),
            ends: Vec::new(),
            took: Vec::new(),
            base: None,
        }
    }

    /// The same of a tool, which says more of itself.
    pub(super) fn of_tool(self, effects: &'a [Effect], output: Option<&'a Schema>) -> Self {
        Self {
            effects: Some(effects),
            output,
            ..self
        }
    }

    /// Makes both rounds, then the calls under small limits; stops after the first round that takes
    /// too long.
    ///
    /// # Errors
    ///
    /// The host failed, or somebody interrupted it.
    pub(super) async fn run(&mut self, bench: &mut Bench) -> anyhow::Result<Figures> {
        let mut memory_bytes = None;
        if self.first(bench).await? {
            self.again(bench).await?;
            if let Some(base) = &self.base {
                memory_bytes = small::check(bench, &self.subject, base).await?;
            }
        }
        self.took.sort_unstable();
        let median = self.took.get(self.took.len() / 2);
        let figures = Figures {
            subject: self.subject.clone(),
            inputs: self.kinds.len(),
            succeeded: self.succeeded(),
            median_us: median.map(|took| u64::try_from(took.as_micros()).unwrap_or(u64::MAX)),
            memory_bytes,
        };
        cost(bench, &figures);
        Ok(figures)
    }

    /// False where a call took so long that nothing more is to be tried.
    async fn first(&mut self, bench: &mut Bench) -> anyhow::Result<bool> {
        let plugin = bench.plugin.clone();
        for case in &self.cases {
            let ended = bench.call(&plugin, &case.input).await?;
            let asked = Asked {
                subject: &self.subject,
                effects: self.effects,
                output: self.output,
                input: &case.input,
            };
            let kind = judge::valid(&ended, asked, &mut bench.findings);
            self.expected(bench, case, kind);
            self.kinds.push(kind);
            let (end, answer) = judge::summary(&ended.end);
            let succeeded = kind == Kind::Success;
            if succeeded || kind == Kind::Failed {
                self.took.push(ended.took);
                if self
                    .base
                    .as_ref()
                    .is_none_or(|base| succeeded && !base.succeeded)
                {
                    self.base = Some(Base {
                        input: case.input.clone(),
                        ended: end.clone(),
                        took: ended.took,
                        succeeded,
                    });
                }
            }
            self.ends.push((end, answer));
            if kind == Kind::Slow {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Compares an end with what the author said of it.
    fn expected(&self, bench: &mut Bench, case: &Case, kind: Kind) {
        let Some(expected) = case.given else { return };
        // What is broken is a finding already.
        if matches!(kind, Kind::Slow | Kind::Broken) {
            return;
        }
        if !is_as_expected(expected, kind) {
            let rule = match expected {
                Expected::Taken => &rules::EXAMPLE_REFUSED,
                _ => &rules::EXAMPLE_UNEXPECTED,
            };
            let saw = format!("it was {}: {}", kind.as_str(), case.input.shown());
            bench.findings.add(rule, &self.subject, saw);
        }
    }

    /// The same calls once more, the last one first: nothing of one reaches another.
    async fn again(&self, bench: &mut Bench) -> anyhow::Result<()> {
        let plugin = bench.plugin.clone();
        for (case, (end, answer)) in self.cases.iter().zip(&self.ends).rev() {
            let ended = bench.call(&plugin, &case.input).await?;
            let (end_now, answer_now) = judge::summary(&ended.end);
            let with = case.input.shown();
            if end_now != *end {
                let saw = format!("first {end}, then {end_now}; with {with}");
                bench.findings.add(&rules::ENDS_DIFFER, &self.subject, saw);
            } else if answer_now != *answer {
                let saw = format!("two answers; with {with}");
                bench
                    .findings
                    .add(&rules::ANSWERS_DIFFER, &self.subject, saw);
            }
        }
        Ok(())
    }

    pub(super) fn succeeded(&self) -> usize {
        let all = self.kinds.iter();
        all.filter(|kind| **kind == Kind::Success).count()
    }

    /// Whether nothing succeeded, and neither a denial nor a finding says why.
    pub(super) fn never_succeeded(&self) -> bool {
        let is_plain = |kind: &Kind| matches!(kind, Kind::Failed | Kind::Refused);
        !self.kinds.is_empty() && self.kinds.iter().all(is_plain)
    }

    /// How many inputs that nobody gave were refused, of how many.
    pub(super) fn refused(&self) -> (usize, usize) {
        let made = self.cases.iter().zip(&self.kinds);
        let made = made.filter(|(case, _)| case.given.is_none());
        let (mut refused, mut all) = (0, 0);
        for (_, kind) in made {
            all += 1;
            refused += usize::from(*kind == Kind::Refused);
        }
        (refused, all)
    }

    /// The first input, and how it ended.
    pub(super) fn example(&self) -> String {
        let first = self.cases.first().map(|case| case.input.shown());
        let end = self.ends.first().map_or("", |(end, _)| end);
        format!("{end} with {}", first.unwrap_or_default())
    }
}

/// What is denied has failed too.
fn is_as_expected(expected: Expected, kind: Kind) -> bool {
    match expected {
        Expected::Taken => kind != Kind::Refused,
        Expected::Success => kind == Kind::Success,
        Expected::Failed => matches!(kind, Kind::Failed | Kind::Denied),
        Expected::Refused => kind == Kind::Refused,
    }
}

/// States what a call costs.
fn cost(bench: &mut Bench, figures: &Figures) {
    let Some(median_us) = figures.median_us else {
        return;
    };
    let memory = match figures.memory_bytes {
        Some(bytes) => format!("within {} MiB", bytes >> 20),
        None => "in memory that was not found out".to_owned(),
    };
    let saw = format!(
        "{}.{:03} ms a call, {memory}",
        median_us / 1_000,
        median_us % 1_000
    );
    bench.findings.add(&rules::COST, &figures.subject, saw);
}
