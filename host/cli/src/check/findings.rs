//! What was found: a rule, where, and what was seen.

use serde::Serialize;
use tidegate_contract::text;

use super::rules::{Level, Rule};

/// The longest account of what was seen, in bytes.
const SAW_BYTES: usize = 600;

/// Most findings of one rule about one subject; the rest is counted.
const PER_RULE: usize = 20;

/// What a finding is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "of", content = "name", rename_all = "lowercase")]
pub(crate) enum Subject {
    Component,
    Tool(String),
    Sink,
    Worker,
}

impl Subject {
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Component => "the component".to_owned(),
            Self::Tool(name) => format!("tool {name}"),
            Self::Sink => "the sink".to_owned(),
            Self::Worker => "the worker".to_owned(),
        }
    }
}

/// One finding.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Finding {
    /// The rule's id.
    pub(crate) rule: &'static str,
    pub(crate) level: Level,
    #[serde(rename = "where")]
    pub(crate) subject: Subject,
    /// A JSON Pointer into the input schema, where it is about a place there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) pointer: Option<String>,
    /// What was seen.
    pub(crate) saw: String,
    pub(crate) mend: &'static str,
    /// How often it was seen.
    pub(crate) times: usize,
}

impl Finding {
    fn is_of(&self, rule: &'static Rule, subject: &Subject) -> bool {
        self.rule == rule.id && self.subject == *subject
    }
}

/// All that was found of one component.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    /// Adds one, or counts it where the same was found before.
    pub(super) fn add(&mut self, rule: &'static Rule, subject: &Subject, saw: impl AsRef<str>) {
        self.put(rule, subject, None, saw.as_ref());
    }

    /// The same about one place of the schema.
    pub(super) fn at(
        &mut self,
        rule: &'static Rule,
        subject: &Subject,
        (pointer, saw): (&str, &str),
    ) {
        self.put(rule, subject, Some(pointer.to_owned()), saw);
    }

    fn put(&mut self, rule: &'static Rule, subject: &Subject, pointer: Option<String>, saw: &str) {
        let known = self.0.iter().filter(|finding| finding.is_of(rule, subject));
        let (pointer, saw) = match known.count() {
            count if count < PER_RULE => (pointer, saw),
            _ => (None, "and in more places"),
        };
        let mut alike = self
            .0
            .iter_mut()
            .filter(|finding| finding.is_of(rule, subject));
        let is_same = |finding: &&mut Finding| {
            finding.pointer == pointer && without_input(&finding.saw) == without_input(saw)
        };
        if let Some(finding) = alike.find(is_same) {
            finding.times += 1;
            return;
        }
        self.0.push(Finding {
            rule: rule.id,
            level: rule.level,
            subject: subject.clone(),
            pointer,
            saw: text::cut(saw, SAW_BYTES).to_owned(),
            mend: rule.mend,
            times: 1,
        });
    }

    /// Whether a rule was found broken by a subject.
    pub(super) fn has(&self, rule: &'static Rule, subject: &Subject) -> bool {
        self.0.iter().any(|finding| finding.is_of(rule, subject))
    }

    /// Everything, what matters most first.
    pub(super) fn into_sorted(mut self) -> Vec<Finding> {
        self.0
            .sort_by_key(|finding| std::cmp::Reverse(finding.level));
        self.0
    }
}

/// What was seen, without the input that it was seen with.
fn without_input(saw: &str) -> &str {
    saw.split("; with ").next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Findings, PER_RULE, Subject};
    use crate::check::rules::{COST, SCHEMA_OPEN};

    #[test]
    fn p3_the_same_finding_is_counted_and_the_places_of_one_rule_are_bounded() {
        let mut findings = Findings::default();
        findings.at(&SCHEMA_OPEN, &Subject::Sink, ("/0", "open"));
        for place in 0..PER_RULE + 3 {
            let (pointer, saw) = (format!("/{place}"), format!("open; with {place}"));
            findings.at(&SCHEMA_OPEN, &Subject::Sink, (&pointer, &saw));
        }
        findings.add(&COST, &Subject::Sink, "little");
        findings.add(&COST, &Subject::Worker, "little");
        let found = findings.into_sorted();
        assert_eq!(found.len(), PER_RULE + 3);
        assert_eq!((found[0].times, found[1].times), (2, 1));
        let rest = &found[PER_RULE];
        assert_eq!((rest.times, rest.pointer.as_deref()), (3, None));
        assert_eq!(found[PER_RULE + 1].rule, "cost", "notes come last");
    }
}
