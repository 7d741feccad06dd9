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
        let alike = |finding: &Finding| finding.is_of(rule, subject);
        let known = self.0.iter().filter(|finding| alike(finding)).count();
        let mut same = self.0.iter_mut().filter(|finding| alike(finding));
        let again = same.find(|finding| finding.pointer == pointer || known >= PER_RULE);
        if let Some(finding) = again {
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
