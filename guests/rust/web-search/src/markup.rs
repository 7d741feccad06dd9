//! HTML of a provider as plain text.
//!
//! Brave marks the words that were searched for with tags and writes the rest as HTML. Only tags of
//! that kind go; anything else in angle brackets, such as `Vec<T>`, is part of the text. Deliberately
//! absent: a parser of HTML, names of characters other than the common ones.

/// The tags that mark words.
const MARKS: [&str; 5] = ["strong", "b", "em", "i", "mark"];

/// The longest reference to a character, without `&` and `;`.
const REFERENCE_BYTES: usize = 8;

/// The text without marks and with its characters for themselves.
pub(crate) fn plain(html: &str) -> String {
    let mut plain = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        let (before, after) = rest.split_at(at);
        plain.push_str(before);
        rest = if let Some(after_mark) = mark(after) {
            after_mark
        } else if let Some((character, after_reference)) = reference(after) {
            plain.push(character);
            after_reference
        } else {
            let mut characters = after.chars();
            plain.extend(characters.next());
            characters.as_str()
        };
    }
    plain.push_str(rest);
    plain
}

/// What comes after the mark at the start, if there is one.
fn mark(text: &str) -> Option<&str> {
    let (tag, after) = text.strip_prefix('<')?.split_once('>')?;
    let name = tag.strip_prefix('/').unwrap_or(tag);
    MARKS
        .iter()
        .any(|mark| name.eq_ignore_ascii_case(mark))
        .then_some(after)
}

/// The character that a reference at the start stands for, and what comes after it.
fn reference(text: &str) -> Option<(char, &str)> {
    let text = text.strip_prefix('&')?;
    let end = text
        .bytes()
        .take(REFERENCE_BYTES + 1)
        .position(|byte| byte == b';')?;
    let (name, after) = text.split_at_checked(end)?;
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => numbered(name.strip_prefix('#')?)?,
    };
    Some((character, after.strip_prefix(';')?))
}

/// The character of a number, decimal or after an `x` hexadecimal.
fn numbered(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    char::from_u32(code.ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_characters_stand_for_themselves() {
        for (html, text) in [
            ("a <strong>b</strong> c", "a b c"),
            ("<B>x</b><mark>y</MARK>", "xy"),
            ("Vec<T> a<b", "Vec<T> a<b"),
            ("&lt;strong&gt; &amp;lt;", "<strong> &lt;"),
            ("it&#x27;s &#39;&quot;&apos;&nbsp;", "it's '\"'\u{a0}"),
            (
                "&#xd800; &#; &#x; &unknown; & &;",
                "&#xd800; &#; &#x; &unknown; & &;",
            ),
            ("<strong", "<strong"),
            (
                "&\u{fc}\u{fc}\u{fc}\u{fc}\u{fc};",
                "&\u{fc}\u{fc}\u{fc}\u{fc}\u{fc};",
            ),
            ("<script>x</script>", "<script>x</script>"),
            ("\u{e9}&amp", "\u{e9}&amp"),
            ("", ""),
        ] {
            assert_eq!(plain(html), text, "{html}");
        }
    }
}
