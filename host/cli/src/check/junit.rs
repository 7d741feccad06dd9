//! The report as `JUnit` XML: for each subject and each rule that can be an error, one test case.
//!
//! The same component has the same test cases at every run. Warnings and notes fail nothing and stand in
//! the output of the suite.

use super::findings::{Finding, Subject};
use super::report::{Report, escaped};
use super::rules::{Level, RULES, Rule};

/// The whole document.
pub(super) fn document(report: &Report) -> String {
    let subjects = subjects(report);
    let of_errors = RULES.iter().filter(|rule| rule.level == Level::Error);
    let mut cases = String::new();
    let (mut tests, mut failures) = (0, 0);
    for rule in of_errors {
        for subject in &subjects {
            let found = report.findings.iter();
            let found: Vec<&Finding> = found
                .filter(|finding| finding.rule == rule.id && finding.subject == *subject)
                .collect();
            tests += 1;
            failures += usize::from(!found.is_empty());
            cases.push_str(&case(report, (rule, subject), &found));
        }
    }
    let rest: Vec<String> = report
        .findings
        .iter()
        .filter(|finding| finding.level != Level::Error)
        .map(|finding| {
            let (level, subject) = (finding.level.as_str(), finding.subject.shown());
            format!("{level} {}: {subject}: {}", finding.rule, finding.saw)
        })
        .collect();
    let (name, rest) = (attribute(&report.file), text(&rest.join("\n")));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{name}\" \
         tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">\n\
         <properties><property name=\"seed\" value=\"{}\"/><property name=\"digest\" value=\"{}\"/>\
         </properties>\n{cases}<system-out>{rest}</system-out>\n</testsuite>\n</testsuites>\n",
        report.seed,
        attribute(&report.digest),
    )
}

/// The component, then what of it was run or has a finding.
fn subjects(report: &Report) -> Vec<Subject> {
    let mut subjects = vec![Subject::Component];
    let run = report.figures.iter().map(|figures| &figures.subject);
    let found = report.findings.iter().map(|finding| &finding.subject);
    for subject in run.chain(found) {
        if !subjects.contains(subject) {
            subjects.push(subject.clone());
        }
    }
    subjects
}

fn case(report: &Report, (rule, subject): (&Rule, &Subject), found: &[&Finding]) -> String {
    let class = attribute(&format!("{}: {}", report.file, subject.shown()));
    let name = rule.id;
    if found.is_empty() {
        return format!("<testcase classname=\"{class}\" name=\"{name}\"/>\n");
    }
    let line = |finding: &&Finding| {
        let pointer = finding.pointer.as_deref();
        let place = pointer.map_or_else(String::new, |pointer| {
            format!("schema #{}: ", escaped(pointer))
        });
        format!("{place}{} ({} times)\n", finding.saw, finding.times)
    };
    let saw: String = found.iter().map(line).collect();
    let (message, body) = (
        attribute(rule.means),
        text(&format!("{saw}{}\n", rule.mend)),
    );
    format!(
        "<testcase classname=\"{class}\" name=\"{name}\"><failure type=\"{name}\" \
         message=\"{message}\">{body}</failure></testcase>\n"
    )
}

/// Text between tags. XML has no way to write most controls: they are shown as their escapes.
fn text(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '\n' | '\t' => written.push(character),
            '\u{fffe}' | '\u{ffff}' => written.extend(character.escape_unicode()),
            _ if character.is_control() => written.extend(character.escape_unicode()),
            _ => written.push(character),
        }
    }
    written
}

/// Text between double quotes, where a reader would make spaces of line ends.
fn attribute(value: &str) -> String {
    text(value)
        .replace('"', "&quot;")
        .replace('\n', "&#10;")
        .replace('\t', "&#9;")
}

#[cfg(test)]
mod tests {
    use super::{attribute, text};

    #[test]
    fn p3_xml_holds_no_character_that_it_has_no_way_to_write() {
        let check = |given: &str, written: &str| assert_eq!(text(given), written);
        check("a<b>&c", "a&lt;b&gt;&amp;c");
        check(
            "\u{0}\u{1b}[1m\r\u{7f}\u{9b}",
            "\\u{0}\\u{1b}[1m\\u{d}\\u{7f}\\u{9b}",
        );
        check("\u{fffe}\u{ffff}", "\\u{fffe}\\u{ffff}");
        check("]]>", "]]&gt;");
        check("two\nlines\té ☃ 𝄞", "two\nlines\té ☃ 𝄞");
        assert_eq!(attribute("\"a\"\n\tb"), "&quot;a&quot;&#10;&#9;b");
    }
}
