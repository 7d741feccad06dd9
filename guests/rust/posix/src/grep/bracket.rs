//! Bracket expressions of basic regular expressions, such as `[^[:alpha:]_-]`.

use super::pattern::{Case, Problem};
use crate::class::{self, Set};

const UNMATCHED: Problem = Problem::Invalid("Unmatched [, [^, [:, [., or [=");
const BAD_CLASS: Problem = Problem::Invalid("Invalid character class name");
const BAD_COLLATION: Problem = Problem::Invalid("Invalid collation character");
const BAD_RANGE: Problem = Problem::Invalid("Invalid range end");
/// What a bracket expression stands for.
pub(crate) struct Bracket<'a> {
    pub(crate) set: Set,
    /// What stands behind its `]`.
    pub(crate) rest: &'a [u8],
    /// Whether the inside is `:name:`: a class whose own brackets were forgotten.
    pub(crate) is_bare_class: bool,
}

/// One part of a bracket expression.
enum Item {
    /// A byte, which may be the end of a range.
    Byte(u8),
    /// A class or an equivalence class, which may not.
    Set(Set),
}

/// Reads a bracket expression from behind its `[`.
pub(crate) fn parse(text: &[u8], case: Case) -> Result<Bracket<'_>, Problem> {
    let (negated, inside) = match text.strip_prefix(b"^") {
        Some(inside) => (true, inside),
        None => (false, text),
    };
    if inside.is_empty() {
        return Err(Problem::Invalid("Invalid regular expression"));
    }
    let (set, rest) = members(inside, case)?;
    let has = |byte: u8| match case {
        Case::Kept => set.contains(byte),
        Case::Ignored => {
            set.contains(byte.to_ascii_lowercase()) || set.contains(byte.to_ascii_uppercase())
        }
    };
    let length = text.len() - rest.len();
    Ok(Bracket {
        set: Set::of(|byte| has(byte) != negated),
        rest,
        is_bare_class: matches!(text.get(..length), Some([b':', _, .., b':', b']'])),
    })
}

/// The bytes up to the closing bracket, and what stands behind it.
fn members(mut text: &[u8], case: Case) -> Result<(Set, &[u8]), Problem> {
    let mut set = Set::EMPTY;
    let mut is_first = true;
    loop {
        match text.strip_prefix(b"]") {
            Some(rest) if !is_first => return Ok((set, rest)),
            Some(_) | None => is_first = false,
        }
        let (item, rest) = item(text)?;
        text = rest;
        let range = match text {
            [b'-', rest @ ..] if !rest.starts_with(b"]") => Some(rest),
            _ => None,
        };
        let Some(rest) = range else {
            set = match item {
                Item::Byte(byte) => set.union(&Set::of(|other| other == byte)),
                Item::Set(members) => set.union(&members),
            };
            continue;
        };
        let (end, rest) = self::item(rest)?;
        text = rest;
        match (item, end) {
            (Item::Byte(low), Item::Byte(high)) if in_order(low, high, case) => {
                set = set.union(&Set::of(|byte| (low..=high).contains(&byte)));
            }
            _ => return Err(BAD_RANGE),
        }
    }
}

/// Whether a range has its ends in order; where the case is ignored also as capitals.
fn in_order(low: u8, high: u8, case: Case) -> bool {
    let (low_capital, high_capital) = (low.to_ascii_uppercase(), high.to_ascii_uppercase());
    match case {
        Case::Kept => low <= high,
        Case::Ignored => low_capital <= high_capital,
    }
}

/// Reads one part.
fn item(text: &[u8]) -> Result<(Item, &[u8]), Problem> {
    match text {
        [b'[', kind @ (b':' | b'.' | b'='), rest @ ..] => {
            let close = [*kind, b']'];
            let end = rest.windows(2).position(|pair| pair == close);
            let (name, rest) = end
                .and_then(|end| rest.split_at_checked(end))
                .ok_or(UNMATCHED)?;
            let rest = rest.get(2..).unwrap_or_default();
            Ok((special(*kind, name)?, rest))
        }
        [byte, rest @ ..] => Ok((Item::Byte(*byte), rest)),
        [] => Err(UNMATCHED),
    }
}

/// What `[:name:]`, `[.name.]` or `[=name=]` stands for.
fn special(kind: u8, name: &[u8]) -> Result<Item, Problem> {
    match (kind, name) {
        (b':', name) => class::named(name).map(Item::Set).ok_or(BAD_CLASS),
        (b'.', [byte]) => Ok(Item::Byte(*byte)),
        (_, [byte]) => Ok(Item::Set(Set::of(|other| other == *byte))),
        _ => Err(BAD_COLLATION),
    }
}
