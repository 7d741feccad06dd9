//! How two lines compare. Each is given as the text from its start on, and ends at its newline.

use std::cmp::Ordering;

use crate::class::is_blank;

/// How many bytes are compared at once.
const WORD_BYTES: usize = 8;

/// The order of all bytes; a line comes before what it is the start of.
pub(crate) fn by_bytes(one: &[u8], other: &[u8]) -> Ordering {
    let (ones, _) = one.as_chunks::<WORD_BYTES>();
    let (others, _) = other.as_chunks::<WORD_BYTES>();
    let words = ones.iter().zip(others);
    let same = words
        .take_while(|(one, other)| one == other && !has_newline(u64::from_ne_bytes(**one)))
        .count();
    let same = same * WORD_BYTES;
    let one = one.get(same..).unwrap_or_default();
    let other = other.get(same..).unwrap_or_default();
    for (one, other) in one.iter().zip(other) {
        match (one, other) {
            (b'\n', b'\n') => return Ordering::Equal,
            (b'\n', _) => return Ordering::Less,
            (_, b'\n') => return Ordering::Greater,
            (one, other) if one != other => return one.cmp(other),
            _ => {}
        }
    }
    one.len().cmp(&other.len())
}

/// The first bytes of a line as a number. A line that ends before counts as going on with zeros.
pub(crate) fn rank_of_bytes(line: &[u8]) -> u32 {
    let mut first = [0; size_of::<u32>()];
    let bytes = line.iter().take_while(|byte| **byte != b'\n');
    for (first, byte) in first.iter_mut().zip(bytes) {
        *first = *byte;
    }
    u32::from_be_bytes(first)
}

/// Whether one of the bytes in a word is a newline.
fn has_newline(word: u64) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; WORD_BYTES]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; WORD_BYTES]);
    const NEWLINES: u64 = u64::from_ne_bytes([b'\n'; WORD_BYTES]);

    let zero_where_newline = word ^ NEWLINES;
    zero_where_newline.wrapping_sub(ONES) & !zero_where_newline & HIGHS != 0
}

/// The order of the numbers that lines start with: blanks, `-`, digits, a point, digits; of any
/// length. A line without is 0.
pub(crate) fn by_number(one: &[u8], other: &[u8]) -> Ordering {
    let (one, other) = (Number::read(one), Number::read(other));
    match (one.negative, other.negative) {
        (false, false) => one.size(&other),
        (true, true) => other.size(&one),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}

/// The size of the number that a line starts with: how many digits it has before the point, and
/// the first of them.
pub(crate) fn rank_of_number(line: &[u8]) -> u32 {
    /// Their value fits into 24 bits.
    const FIRST_DIGITS: usize = 7;
    /// From so many digits on numbers are not told apart.
    const MOST_DIGITS: u32 = 127;
    const ZERO: u32 = 1 << 31;

    let number = Number::read(line);
    let length = u32::try_from(number.whole.len()).unwrap_or(MOST_DIGITS);
    let size = if length < MOST_DIGITS {
        let first = number.whole.iter().take(FIRST_DIGITS);
        let first = first.fold(0, |first, digit| first * 10 + u32::from(digit - b'0'));
        (length << 24) | first
    } else {
        MOST_DIGITS << 24
    };
    if number.negative {
        ZERO - 1 - size
    } else {
        ZERO + size
    }
}

/// A decimal number as it is written, without zeros that say nothing.
#[derive(Debug)]
struct Number<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
}

impl<'a> Number<'a> {
    fn read(text: &'a [u8]) -> Self {
        let text = behind(text, is_blank);
        let (minus, text) = match text.split_first() {
            Some((b'-', rest)) => (true, rest),
            _ => (false, text),
        };
        let text = behind(text, |byte| byte == b'0');
        let (whole, text) = digits(text);
        let fraction = match text.split_first() {
            Some((b'.', rest)) => digits(rest).0,
            _ => &[],
        };
        let zeros = fraction.iter().rev().take_while(|byte| **byte == b'0');
        let end = fraction.len() - zeros.count();
        let fraction = fraction.get(..end).unwrap_or_default();
        let zero = whole.is_empty() && fraction.is_empty();
        Self {
            negative: minus && !zero,
            whole,
            fraction,
        }
    }

    /// The order without the signs.
    fn size(&self, other: &Self) -> Ordering {
        let lengths = self.whole.len().cmp(&other.whole.len());
        lengths
            .then_with(|| self.whole.cmp(other.whole))
            .then_with(|| self.fraction.cmp(other.fraction))
    }
}

/// The text behind the bytes at its start that are such.
fn behind(text: &[u8], is: impl Fn(u8) -> bool) -> &[u8] {
    let end = text.iter().take_while(|byte| is(**byte)).count();
    text.get(end..).unwrap_or_default()
}

/// The digits at the start of a text, and the rest.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.split_at_checked(end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether ranks say nothing else than the order.
    fn agrees([one, other]: [u32; 2], order: Ordering) -> bool {
        one == other || one.cmp(&other) == order
    }

    #[test]
    fn bytes_decide_and_the_newline_comes_first() {
        let check = |one: &str, other: &str, expected: Ordering| {
            assert_eq!(by_bytes(one.as_bytes(), other.as_bytes()), expected);
            let got = by_bytes(other.as_bytes(), one.as_bytes());
            assert_eq!(got, expected.reverse(), "{one:?} {other:?}");
            let ranks = [one, other].map(|line| rank_of_bytes(line.as_bytes()));
            assert!(agrees(ranks, expected), "{one:?} {other:?}");
        };
        check("a\n", "b\n", Ordering::Less);
        check("a\n", "a\nb", Ordering::Equal);
        check("a\nzzzzzzzzzzzz\n", "a\n", Ordering::Equal);
        check("a\n", "a\t\n", Ordering::Less);
        check("a\n", "a\0\n", Ordering::Less);
        check("12345678\n", "12345678\n", Ordering::Equal);
        check("12345678\n", "123456789\n", Ordering::Less);
        check("1234567812345678a\n", "1234567812345678b\n", Ordering::Less);
        check("1234567\nb2345678\n", "1234567\na\n", Ordering::Equal);
        check("Z\n", "a\n", Ordering::Less);
        check("z\n", "é\n", Ordering::Less);
        check("\n", "a\n", Ordering::Less);
    }

    #[test]
    fn numbers_are_read_as_gnu_does() {
        let check = |one: &str, other: &str, expected: Ordering| {
            let (one, other) = (format!("{one}\n"), format!("{other}\n"));
            let got = by_number(one.as_bytes(), other.as_bytes());
            assert_eq!(got, expected, "{one:?} {other:?}");
            let ranks = [&one, &other].map(|line| rank_of_number(line.as_bytes()));
            assert!(agrees(ranks, expected), "{one:?} {other:?}");
        };
        check("9", "10", Ordering::Less);
        check("12345678", "12345679", Ordering::Less);
        check("12345678", "2345678", Ordering::Greater);
        check(&"9".repeat(126), &"1".repeat(127), Ordering::Less);
        check(&"9".repeat(127), &"1".repeat(300), Ordering::Less);
        check(&format!("-{}", "9".repeat(126)), "-1", Ordering::Less);
        check("-9", "-10", Ordering::Greater);
        check("-1", "1", Ordering::Less);
        check("-0", "0", Ordering::Equal);
        check("007", "7", Ordering::Equal);
        check("1.50", "1.5", Ordering::Equal);
        check("1.5", "1.45", Ordering::Greater);
        check(".5", "0.5", Ordering::Equal);
        check("-.5", "0", Ordering::Less);
        check(" \t3", "2", Ordering::Greater);
        check("+5", "0", Ordering::Equal);
        check("x", "", Ordering::Equal);
        check("- 5", "0", Ordering::Equal);
        check("1e3", "1", Ordering::Equal);
        check("123456789012345678901234567890", "9", Ordering::Greater);
    }
}
