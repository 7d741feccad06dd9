//! Patterns for file names, as `fnmatch` has them in the C locale.
//!
//! A dot at the start of a name is like any other byte. Deliberately absent: `/`, which no name has.

use crate::class::{self, Set};

/// A pattern.
#[derive(Debug)]
pub(crate) struct Glob(Vec<Token>);

#[derive(Debug)]
enum Token {
    Byte(u8),
    Any,
    Many,
    Set(Set),
    /// What no name can match, such as a backslash at the end.
    Never,
}

impl Glob {
    pub(crate) fn new(pattern: &[u8]) -> Self {
        let mut tokens = Vec::new();
        let mut rest = pattern;
        while let Some((first, behind)) = rest.split_first() {
            rest = behind;
            tokens.push(match first {
                b'*' => Token::Many,
                b'?' => Token::Any,
                b'\\' => match rest.split_first() {
                    Some((byte, behind)) => {
                        rest = behind;
                        Token::Byte(*byte)
                    }
                    None => Token::Never,
                },
                b'[' => match bracket(rest) {
                    Some((set, behind)) => {
                        rest = behind;
                        Token::Set(set)
                    }
                    None => Token::Byte(b'['),
                },
                byte => Token::Byte(*byte),
            });
        }
        Self(tokens)
    }

    /// Whether the whole name matches. Takes at most pattern times name steps.
    pub(crate) fn matches(&self, name: &[u8]) -> bool {
        let mut token = 0;
        let mut at = 0;
        let mut retry = None;
        while at < name.len() {
            let fits = match (self.0.get(token), name.get(at)) {
                (Some(Token::Many), _) => {
                    retry = Some((token + 1, at));
                    token += 1;
                    continue;
                }
                (Some(Token::Byte(wanted)), Some(byte)) => wanted == byte,
                (Some(Token::Any), Some(_)) => true,
                (Some(Token::Set(set)), Some(byte)) => set.contains(*byte),
                (Some(Token::Never) | None, _) | (_, None) => false,
            };
            if fits {
                token += 1;
                at += 1;
                continue;
            }
            let Some((behind_star, taken)) = retry else {
                return false;
            };
            retry = Some((behind_star, taken + 1));
            token = behind_star;
            at = taken + 1;
        }
        let rest = self.0.get(token..).unwrap_or_default();
        rest.iter().all(|token| matches!(token, Token::Many))
    }
}

/// Reads a bracket expression behind its `[`; none if it has no end.
fn bracket(text: &[u8]) -> Option<(Set, &[u8])> {
    let (negated, mut rest) = match text.split_first() {
        Some((b'!' | b'^', rest)) => (true, rest),
        _ => (false, text),
    };
    let mut set = Set::EMPTY;
    let mut is_first = true;
    loop {
        let (byte, behind) = rest.split_first()?;
        rest = behind;
        if *byte == b']' && !is_first {
            break;
        }
        is_first = false;
        if *byte == b'['
            && let Some((named, behind)) = named_class(rest)
        {
            set = set.union(&named);
            rest = behind;
            continue;
        }
        let (low, behind) = member(*byte, rest)?;
        rest = behind;
        let high = match rest {
            [b'-', next, behind @ ..] if *next != b']' => {
                let (high, behind) = member(*next, behind)?;
                rest = behind;
                high
            }
            _ => low,
        };
        for byte in low..=high {
            set.insert(byte);
        }
    }
    Some((Set::of(|byte| set.contains(byte) != negated), rest))
}

/// One byte of a bracket expression: itself, or the one behind a backslash.
fn member(byte: u8, rest: &[u8]) -> Option<(u8, &[u8])> {
    if byte != b'\\' {
        return Some((byte, rest));
    }
    let (escaped, behind) = rest.split_first()?;
    Some((*escaped, behind))
}

/// Reads `:alpha:]` behind a `[`.
fn named_class(text: &[u8]) -> Option<(Set, &[u8])> {
    let name = text.strip_prefix(b":")?;
    let end = name.windows(2).position(|pair| pair == b":]")?;
    let (name, rest) = name.split_at_checked(end)?;
    Some((class::named(name)?, rest.get(2..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_as_with_fnmatch() {
        let check = |pattern: &str, name: &str, expected| {
            let got = Glob::new(pattern.as_bytes()).matches(name.as_bytes());
            assert_eq!(got, expected, "{pattern} {name}");
        };
        check("*", ".hidden", true);
        check("*", "", true);
        check("*.rs", "main.rs", true);
        check("*.rs", "main.rst", false);
        check("a*b*c", "aXbYbZc", true);
        check("a?c", "abc", true);
        check("a?c", "ac", false);
        check("[a-c]x", "bx", true);
        check("[!a-c]x", "bx", false);
        check("[^a-c]x", "dx", true);
        check("[]a]", "]", true);
        check("[!]a]", "b", true);
        check("[[:digit:]]*", "7up", true);
        check("[[:digit:]a-c]", "b", true);
        check("[a-]", "-", true);
        check("[\\]]", "]", true);
        check("[a", "[a", true);
        check("[", "[", true);
        check("\\*", "*", true);
        check("\\*", "x", false);
        check("x\\", "x\\", false);
        check("x", "xy", false);
        check("", "", true);
        check("", "x", false);
    }

    #[test]
    fn many_stars_take_no_time() {
        let glob = Glob::new("*a".repeat(200).as_bytes());
        assert!(!glob.matches("a".repeat(199).as_bytes()));
        assert!(glob.matches("a".repeat(255).as_bytes()));
    }
}
