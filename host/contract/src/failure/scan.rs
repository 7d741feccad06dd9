//! A text as the detectors see it: characters by position, words, and what was found where.

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A URL with user information.
    Url,
    /// A credential.
    Secret,
    /// A stack frame.
    Frame,
    /// An absolute or home path.
    Path,
}

impl Kind {
    /// What stands in its place.
    fn replacement(self) -> &'static str {
        match self {
            Self::Url => "[url]",
            Self::Secret => "[secret]",
            Self::Path => "[path]",
            Self::Frame => "",
        }
    }
}

/// Something unfit, from `start` up to but not including `end`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finding {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) kind: Kind,
}

/// How often escapes inside escapes are undone.
const ESCAPE_LEVELS: usize = 3;

/// One reading of a text.
#[derive(Debug)]
pub(crate) struct Scan {
    text: Vec<char>,
    lower: Vec<char>,
}

impl Scan {
    /// The text as it is and, where it has escapes such as `%2F`, as it reads without them.
    pub(crate) fn readings(text: &str) -> Vec<Self> {
        let mut readings = vec![Self::new(text)];
        let mut plain = text.to_owned();
        for _ in 0..ESCAPE_LEVELS {
            let decoded = unescaped(&plain);
            if decoded == plain {
                break;
            }
            readings.push(Self::new(&decoded));
            plain = decoded;
        }
        readings
    }

    fn new(text: &str) -> Self {
        let mut visible = text
            .chars()
            .filter(|letter| !is_invisible(*letter))
            .map(plain_form)
            .peekable();
        let mut kept = Vec::with_capacity(text.len());
        while let Some(letter) = visible.next() {
            let escapes = letter == '\\' && matches!(visible.peek(), Some('/' | '"' | '\''));
            if !escapes {
                kept.push(letter);
            }
        }
        Self {
            lower: kept.iter().map(char::to_ascii_lowercase).collect(),
            text: kept,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The character at a position.
    pub(crate) fn at(&self, position: usize) -> Option<char> {
        self.text.get(position).copied()
    }

    /// The character before a position; none at the start.
    pub(crate) fn before(&self, position: usize) -> Option<char> {
        position.checked_sub(1).and_then(|before| self.at(before))
    }

    /// Whether the text from `position` starts with `word`, whatever its case. `word` is lower.
    pub(crate) fn has(&self, position: usize, word: &str) -> bool {
        let mut letters = self.lower.get(position..).unwrap_or_default().iter();
        word.chars().all(|letter| letters.next() == Some(&letter))
    }

    /// The first position from `position` on whose character is not `wanted`.
    pub(crate) fn skip(&self, position: usize, wanted: impl Fn(char) -> bool) -> usize {
        let rest = self.text.get(position..).unwrap_or_default();
        let length = rest.iter().position(|letter| !wanted(*letter));
        position + length.unwrap_or(rest.len())
    }

    /// The first position of the run of `wanted` characters that ends before `position`.
    pub(crate) fn skip_back(&self, position: usize, wanted: impl Fn(char) -> bool) -> usize {
        let rest = self.text.get(..position).unwrap_or_default();
        let length = rest.iter().rev().position(|letter| !wanted(*letter));
        position - length.unwrap_or(rest.len())
    }

    /// The characters of a range, as written.
    pub(crate) fn slice(&self, start: usize, end: usize) -> &[char] {
        self.text.get(start..end).unwrap_or_default()
    }

    /// The characters of a range, in lower case.
    pub(crate) fn word(&self, start: usize, end: usize) -> String {
        self.lower
            .get(start..end)
            .unwrap_or_default()
            .iter()
            .collect()
    }

    /// The word before a position, over white space, in lower case and without punctuation
    /// around it; empty at the start.
    pub(crate) fn word_before(&self, position: usize) -> String {
        let end = self.skip_back(position, char::is_whitespace);
        let start = self.skip_back(end, |letter| !letter.is_whitespace());
        let word = self.word(start, end);
        let is_around = |letter: char| !letter.is_alphanumeric();
        word.trim_matches(is_around).to_owned()
    }

    /// Where a run of non-white characters around `position` starts and ends.
    pub(crate) fn run(&self, position: usize) -> (usize, usize) {
        let is_part = |letter: char| !letter.is_whitespace();
        (
            self.skip_back(position, is_part),
            self.skip(position, is_part),
        )
    }

    /// The text with every finding replaced, and `clean` applied to each piece between them.
    pub(crate) fn replace(&self, findings: &[Finding], clean: fn(&str) -> String) -> String {
        let piece = |start, end| clean(&self.slice(start, end).iter().collect::<String>());
        let mut replaced = String::new();
        let mut at = 0;
        for finding in findings {
            replaced.push_str(&piece(at, finding.start));
            replaced.push_str(finding.kind.replacement());
            at = finding.end;
        }
        replaced.push_str(&piece(at, self.len()));
        replaced
    }
}

/// Sorts findings and joins those that overlap or touch, keeping the first kind in the order of
/// [`Kind`]. An empty finding is dropped.
pub(crate) fn merge(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.retain(|finding| finding.start < finding.end);
    findings.sort_by_key(|finding| (finding.start, finding.end));
    let mut merged: Vec<Finding> = Vec::new();
    for finding in findings {
        match merged.last_mut() {
            Some(last) if finding.start < last.end => {
                last.end = last.end.max(finding.end);
                last.kind = last.kind.min(finding.kind);
            }
            _ => merged.push(finding),
        }
    }
    merged
}

/// Whether a list of words, written with spaces between them, has this one.
pub(crate) fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

/// Letters that a word goes on with, in scripts that write words of several letters. A token
/// may follow an ideograph at once, but not a letter of the alphabets that tokens use.
pub(crate) fn is_word_letter(letter: char) -> bool {
    letter.is_alphanumeric() && matches!(letter, '\0'..='\u{58f}' | '\u{1e00}'..='\u{1fff}')
}

/// Characters that make a text more than one line or act on a terminal: C0, DEL, C1, the two
/// Unicode separators, and what overrides the direction of the text around it.
pub(crate) fn is_control(letter: char) -> bool {
    letter.is_control()
        || is_line_break(letter)
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters that end a line.
pub(crate) fn is_line_break(letter: char) -> bool {
    matches!(
        letter,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// Characters that show nothing: joiners, marks of direction, variation selectors, tags.
pub(crate) fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2060}'..='\u{2064}'
            | '\u{206a}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The ASCII character that a full-width form stands for, and the slash that looks like one.
fn plain_form(letter: char) -> char {
    match letter {
        '\u{ff01}'..='\u{ff5e}' => u32::from(letter)
            .checked_sub(0xfee0)
            .and_then(char::from_u32)
            .unwrap_or(letter),
        '\u{2044}' | '\u{2215}' | '\u{29f8}' => '/',
        '\u{2216}' | '\u{29f5}' | '\u{29f9}' | '\u{fe68}' => '\\',
        other => other,
    }
}

/// The text with `%41`, `\x41`, `\101`, `\u0041`, `\u{41}`, `&#65;` and `&#x41;` read as `A`; what
/// is no UTF-8 then becomes U+FFFD.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = bytes.get(at..).unwrap_or_default();
        let escaped = match byte {
            b'%' | b'\\' | b'&' => escape(rest),
            _ => None,
        };
        let (letter, length) = escaped.unwrap_or((byte, 1));
        decoded.push(letter);
        at += length;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// How a character is written by its number: what stands before the digits, their base, how many
/// there are at least and at most, and what stands after them.
const ESCAPES: [(&str, u32, usize, usize, &str); 8] = [
    ("%", 16, 2, 2, ""),
    ("\\x", 16, 2, 2, ""),
    ("\\u00", 16, 2, 2, ""),
    ("\\U000000", 16, 2, 2, ""),
    ("\\u{", 16, 1, 6, "}"),
    ("\\", 8, 3, 3, ""),
    ("&#x", 16, 1, 6, ";"),
    ("&#", 10, 1, 6, ";"),
];

/// The byte that an escape at the start stands for, and how long the escape is.
fn escape(rest: &[u8]) -> Option<(u8, usize)> {
    ESCAPES
        .into_iter()
        .find_map(|(before, base, least, most, after)| {
            let digits = rest.strip_prefix(before.as_bytes())?;
            let is_digit = |byte: &&u8| char::from(**byte).is_digit(base);
            let count = digits.iter().take(most).take_while(is_digit).count();
            let number = std::str::from_utf8(digits.get(..count)?).ok()?;
            let letter = u8::from_str_radix(number, base).ok()?;
            let is_closed = digits.get(count..)?.starts_with(after.as_bytes());
            let length = before.len() + count + after.len();
            (count >= least && is_closed).then_some((letter, length))
        })
}

/// Characters that an escape sequence of a terminal starts with.
pub(crate) fn starts_sequence(letter: char) -> bool {
    matches!(
        letter,
        '\u{1b}' | '\u{90}' | '\u{98}' | '\u{9b}' | '\u{9d}' | '\u{9e}' | '\u{9f}'
    )
}

/// The text without escape sequences of terminals (ECMA-48 5.4 and 5.6): colours, titles, links.
pub(crate) fn without_terminal_sequences(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let introducer = match letter {
            '\u{1b}' => letters.next(),
            '\u{9b}' => Some('['),
            '\u{9d}' => Some(']'),
            '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}' => Some('P'),
            other => {
                plain.push(other);
                continue;
            }
        };
        match introducer {
            Some('[') => {
                while letters.next_if(|next| matches!(next, ' '..='?')).is_some() {}
                letters.next_if(|next| matches!(next, '@'..='~'));
            }
            // A string: up to BEL or ST, but never over the end of a line.
            Some(']' | 'P' | 'X' | '^' | '_') => {
                let is_inside = |next: &char| {
                    !is_line_break(*next) && !matches!(next, '\u{7}' | '\u{1b}' | '\u{9c}')
                };
                while letters.next_if(is_inside).is_some() {}
                if letters.next_if_eq(&'\u{1b}').is_some() {
                    letters.next_if_eq(&'\\');
                }
                letters.next_if(|next| matches!(next, '\u{7}' | '\u{9c}'));
            }
            Some(line_break) if is_line_break(line_break) => plain.push(line_break),
            _ => {}
        }
    }
    plain
}

/// The text with each run of controls and white space as one space, none at the ends.
pub(crate) fn one_line(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || is_control(letter));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ")
}
