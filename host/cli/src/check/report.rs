//! What a check came to, for people and for scripts.

use serde::Serialize;

use super::definition;
use super::findings::Finding;
use super::rounds::Figures;
use super::rules::{self, Level, RULES, Rule};

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

/// What stands before the lines of one rule.
const INDENT: &str = "         ";

impl Report {
    /// Counts what was found.
    pub(super) fn counted(self) -> Self {
        let count = |level: Level| {
            let findings = self.findings.iter();
            findings.filter(|finding| finding.level == level).count()
        };
        let (errors, warnings) = (count(Level::Error), count(Level::Warning));
        let notes = count(Level::Note);
        Self {
            errors,
            warnings,
            notes,
            ..self
        }
    }

    /// The findings rule by rule, each with what to do about it, then one line for all.
    pub(super) fn text(&self) -> String {
        let mut rules: Vec<&str> = Vec::new();
        for finding in &self.findings {
            if !rules.contains(&finding.rule) {
                rules.push(finding.rule);
            }
        }
        let mut text: String = rules.iter().map(|rule| self.paragraph(rule)).collect();
        text.push_str(&self.summary());
        text
    }

    fn paragraph(&self, rule: &str) -> String {
        let found = || {
            let findings = self.findings.iter();
            findings.filter(move |finding| finding.rule == rule)
        };
        let mut lines: Vec<String> = found().map(line).collect();
        if let Some(first) = found().next() {
            lines.insert(0, format!("{:8} {rule}", first.level.as_str()));
            if first.mend != rules::NOTHING {
                lines.push(format!("{INDENT}mend: {}", first.mend));
            }
        }
        lines.join("\n") + "\n"
    }

    fn summary(&self) -> String {
        let counts = [
            number(self.errors, "error"),
            number(self.warnings, "warning"),
            number(self.notes, "note"),
        ];
        let (counts, calls) = (counts.join(", "), number(self.calls, "call"));
        format!("{}: {counts}; {calls}, seed {}\n", self.file, self.seed)
    }
}

fn line(finding: &Finding) -> String {
    let place = finding.pointer.as_deref();
    let place = place.map_or_else(String::new, |pointer| format!(" #{}", escaped(pointer)));
    let times = match finding.times {
        1 => String::new(),
        times => format!(" ({times} times)"),
    };
    // What was seen may be what a guest said; it gets no lines of its own.
    let saw = escaped(&finding.saw.replace(['\n', '\r'], " "));
    format!("{INDENT}{}{place}: {saw}{times}", finding.subject.shown())
}

/// A text without line ends and what else is obeyed in place of being shown: a name in a pointer may hold
/// any character.
pub(super) fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if definition::is_hidden(character) || matches!(character, '\n' | '\t') {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

fn number(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ => format!("{number} {noun}s"),
    }
}

/// The rules, a paragraph each.
pub(super) fn of_rules() -> String {
    let rule = |rule: &&Rule| {
        let (level, mend) = (rule.level.as_str(), rule.mend);
        let (id, means) = (rule.id, rule.means);
        format!("{level:8} {id}\n{INDENT}{means}\n{INDENT}mend: {mend}\n")
    };
    RULES.iter().map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::line;
    use crate::check::findings::{Findings, Subject};
    use crate::check::rules::SCHEMA_OPEN;

    #[test]
    fn p3_a_finding_has_one_line_whatever_its_place_and_words_hold() {
        let mut findings = Findings::default();
        let at = (
            "/properties/a\nerror    traps\r\u{1b}[1m\u{2028}é",
            "b\nc\u{202e}",
        );
        findings.at(&SCHEMA_OPEN, &Subject::Sink, at);
        let found = findings.into_sorted();
        assert_eq!(
            line(&found[0]),
            "         the sink #/properties/a\\nerror    traps\\r\\u{1b}[1m\\u{2028}é: \
             b c\\u{202e}"
        );
    }
}
