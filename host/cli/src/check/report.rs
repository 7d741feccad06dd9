//! What a check came to, for people and for scripts.

use serde::Serialize;

use super::findings::Finding;
use super::rounds::Figures;
use super::rules::{Level, RULES};

/// All that is said of one component.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub(crate) file: String,
    /// `sha-256:…`.
    pub(crate) digest: String,
    /// What the arguments were made from: the same seed makes the same.
    pub(crate) seed: u64,
    /// Calls in all.
    pub(crate) calls: usize,
    /// One for each tool, the sink and the worker that were run.
    pub(crate) figures: Vec<Figures>,
    /// What matters most first.
    pub(crate) findings: Vec<Finding>,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    pub(crate) notes: usize,
}

impl Report {
    /// Counts what was found.
    pub(super) fn counted(self) -> Self {
        let count = |level: Level| {
            let findings = self.findings.iter();
            findings.filter(|finding| finding.level == level).count()
        };
        let (errors, warnings, notes) = (
            count(Level::Error),
            count(Level::Warning),
            count(Level::Note),
        );
        Self {
            errors,
            warnings,
            notes,
            ..self
        }
    }

    /// Every finding with what to do about it, then one line for all.
    pub(super) fn text(&self) -> String {
        let mut text: String = self.findings.iter().map(paragraph).collect();
        text.push_str(&summary(self));
        text
    }
}

fn summary(report: &Report) -> String {
    format!(
        "{}: {}, {}, {}; {}, seed {}\n",
        report.file,
        counted(report.errors, "error"),
        counted(report.warnings, "warning"),
        counted(report.notes, "note"),
        counted(report.calls, "call"),
        report.seed,
    )
}

fn paragraph(finding: &Finding) -> String {
    let pointer = finding.pointer.as_deref().unwrap_or_default();
    let place = match finding.pointer {
        Some(_) => format!("{}, schema #{pointer}", finding.subject.shown()),
        None => finding.subject.shown(),
    };
    let times = match finding.times {
        1 => String::new(),
        times => format!(" ({times} times)"),
    };
    let (level, rule) = (finding.level.as_str(), finding.rule);
    let saw = one_line(&finding.saw);
    if finding.level == Level::Note {
        return format!("{level:8} {rule}: {place}: {saw}{times}\n");
    }
    let mend = finding.mend;
    format!("{level:8} {rule}: {place}\n         saw   {saw}{times}\n         mend  {mend}\n")
}

/// What was seen may be what a guest said; it gets no lines of its own.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// The rules, a paragraph each.
pub(super) fn rules() -> String {
    let rule = |rule: &&super::rules::Rule| {
        let level = rule.level.as_str();
        format!(
            "{level:8} {}\n         {}\n         mend  {}\n",
            rule.id, rule.means, rule.mend
        )
    };
    RULES.iter().map(rule).collect()
}
