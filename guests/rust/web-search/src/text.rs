//! Texts of strangers in one line and within a bound.

/// A text and whether something of it was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) text: String,
    pub(crate) is_cut: bool,
}

/// The text in one line: white space and control characters become one space, and none is at either
/// end. At most so many characters, which are Unicode scalar values.
pub(crate) fn one_line(text: &str, limit_characters: usize) -> Cut {
    let is_space = |character: char| character.is_whitespace() || character.is_control();
    let mut line = String::new();
    let mut characters = 0;
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        let space = (!line.is_empty()).then_some(' ');
        for character in space.into_iter().chain(word.chars()) {
            if characters == limit_characters {
                return Cut {
                    text: line.trim_end().to_owned(),
                    is_cut: true,
                };
            }
            line.push(character);
            characters += 1;
        }
    }
    Cut {
        text: line,
        is_cut: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn w1_white_space_is_one_space_and_a_cut_splits_no_character() {
        for (text, limit, line, is_cut) in [
            ("  a \t\r\n b\u{a0}\u{2028}c  ", 10, "a b c", false),
            ("a\0b\u{1b}[31mc", 20, "a b [31mc", false),
            ("\u{e9}\u{e9}\u{e9}", 3, "\u{e9}\u{e9}\u{e9}", false),
            ("\u{e9}\u{e9}\u{e9}\u{e9}", 3, "\u{e9}\u{e9}\u{e9}", true),
            ("ab cd", 3, "ab", true),
            ("ab   ", 2, "ab", false),
            ("   ", 5, "", false),
            ("", 0, "", false),
        ] {
            let expected = Cut {
                text: line.to_owned(),
                is_cut,
            };
            assert_eq!(one_line(text, limit), expected, "{text}");
        }
    }
}
