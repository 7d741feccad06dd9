//! The headings of a Markdown text: lines that start with one to six `#` and a space, outside of fenced
//! code. Underlined headings are not known.

/// One heading.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    /// From 1.
    pub(crate) level: usize,
    pub(crate) text: String,
}

/// The deepest level that Markdown has.
const DEEPEST: usize = 6;

/// The headings of a text, in order.
pub(crate) fn of(text: &str) -> Vec<Heading> {
    let mut fence = None;
    let mut headings = Vec::new();
    for line in text.lines() {
        let mark = fence_of(line);
        match (fence, mark) {
            (None, Some(opened)) => fence = Some(opened),
            (Some(opened), Some(mark)) if opened == mark => fence = None,
            (None, None) => headings.extend(heading(line)),
            (Some(_), _) => {}
        }
    }
    headings
}

/// The letter of a line that opens or closes fenced code.
fn fence_of(line: &str) -> Option<char> {
    let line = line.trim_start();
    let fences = [("```", '`'), ("~~~", '~')];
    let fence = fences.into_iter().find(|(mark, _)| line.starts_with(mark));
    fence.map(|(_, letter)| letter)
}

fn heading(line: &str) -> Option<Heading> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let is_heading = (1..=DEEPEST).contains(&level) && text.starts_with(' ');
    let text = text.trim().trim_end_matches('#').trim_end();
    is_heading.then(|| Heading {
        level,
        text: text.to_owned(),
    })
}

/// The headings as a nested list.
pub(crate) fn outline(headings: &[Heading]) -> String {
    let mut list = String::new();
    for Heading { level, text } in headings {
        list.push_str(&"  ".repeat(level.saturating_sub(1)));
        list.push_str("- ");
        list.push_str(text);
        list.push('\n');
    }
    list
}

#[cfg(test)]
mod tests {
    use super::{Heading, of, outline};

    #[test]
    fn headings_are_found_outside_of_code() {
        let text =
            "# One\ntext # no\n## Two ##\n```sh\n# no\n~~~\n```\n####### no\n#no\n### \u{e9}\n";
        let found = of(text);
        let expected = [(1, "One"), (2, "Two"), (3, "\u{e9}")].map(|(level, text)| Heading {
            level,
            text: text.to_owned(),
        });
        assert_eq!(found, expected);
        assert_eq!(outline(&found), "- One\n  - Two\n    - \u{e9}\n");
    }

    #[test]
    fn a_text_without_headings_has_an_empty_outline() {
        assert_eq!(outline(&of("")), "");
        assert_eq!(outline(&of("text\n\n- # item\n")), "");
    }
}
