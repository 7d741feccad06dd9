//! `cut`: writes chosen fields of each line.

use std::ffi::OsStr;

use memchr::memmem::Finder;

use crate::console::{Console, End, say};
use crate::input;
use crate::lines::{Lines, broken};
use crate::name;
use crate::shape::{Arguments, Presence, Shape, one_path, valued};

pub(crate) const SHAPE: Shape = one_path(
    "cut [-d D] -f F -- path",
    &[
        valued("-d", Presence::Optional),
        valued("-f", Presence::Required),
    ],
);

pub(crate) fn run(arguments: &Arguments, console: &mut Console) -> Result<(), End> {
    let delimiter = delimiter(arguments.value("-d"));
    let fields = fields(arguments.value("-f").unwrap_or_default());
    let (delimiter, fields) = match (delimiter, fields) {
        (Ok(delimiter), Ok(fields)) => (delimiter, fields),
        (Err(problem), _) | (_, Err(problem)) => {
            console.complain(1, problem);
            say("Try 'cut --help' for more information.");
            return Ok(());
        }
    };
    let path = arguments.first();
    let Some(input) = input::open_or_complain(path, console) else {
        return Ok(());
    };
    if delimiter == b"\n" {
        return cut_lines(Lines::new(input.file), &fields, console);
    }
    let mut lines = Lines::new(input.file);
    let finder = Finder::new(&delimiter);
    loop {
        match lines.next()? {
            Ok(Some(line)) => cut(line, &finder, &fields, console)?,
            Ok(None) => return Ok(()),
            Err(error) => {
                broken(path, &error, console);
                return Ok(());
            }
        }
    }
}

/// Writes the chosen fields of one line, or the whole line where there is no delimiter.
fn cut(
    line: &[u8],
    finder: &Finder<'_>,
    fields: &[Range],
    console: &mut Console,
) -> Result<(), End> {
    let delimiter = finder.needle();
    let mut found = finder.find_iter(line).peekable();
    if found.peek().is_none() {
        console.write(line)?;
        return console.write(b"\n");
    }
    let mut written = false;
    let mut start = 0;
    let mut ranges = fields.iter().peekable();
    for (number, end) in (1_u64..).zip(found.map(Some).chain([None])) {
        while ranges.next_if(|range| range.last < number).is_some() {}
        let Some(range) = ranges.peek() else { break };
        if range.first <= number {
            if written {
                console.write(delimiter)?;
            }
            let field = start..end.unwrap_or(line.len());
            console.write(line.get(field).unwrap_or_default())?;
            written = true;
        }
        start = end.unwrap_or(line.len()) + delimiter.len();
    }
    console.write(b"\n")
}

/// Writes chosen lines: what fields are when the delimiter is the newline.
fn cut_lines(mut lines: Lines, fields: &[Range], console: &mut Console) -> Result<(), End> {
    let mut ranges = fields.iter().peekable();
    let mut number = 0;
    let mut written = false;
    let mut skipped = Vec::new();
    while let Ok(Some(line)) = lines.next()? {
        number += 1;
        while ranges.next_if(|range| range.last < number).is_some() {}
        let Some(range) = ranges.peek() else { break };
        if range.first <= number {
            console.write(line)?;
            console.write(b"\n")?;
            written = true;
        } else if number == 1 {
            skipped.try_reserve(line.len())?;
            skipped.extend_from_slice(line);
        }
    }
    if written || number == 0 {
        return Ok(());
    }
    // A file without any delimiter is written whole, as such a line would be.
    if number == 1 && !lines.was_terminated {
        console.write(&skipped)?;
    }
    console.write(b"\n")
}

/// The bytes between fields.
fn delimiter(option: Option<&OsStr>) -> Result<Vec<u8>, String> {
    let Some(text) = option else {
        return Ok(b"\t".to_vec());
    };
    let bytes = text.as_encoded_bytes();
    let characters = text.to_str().map(|text| text.chars().count());
    match (bytes, characters) {
        ([], _) => Ok(b"\0".to_vec()),
        ([_], _) | (_, Some(1)) => Ok(bytes.to_vec()),
        _ => Err("the delimiter must be a single character".to_owned()),
    }
}

/// A range of field numbers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    first: u64,
    last: u64,
}

/// Reads a list such as `1,3-5`, `2-` or `-3`: sorted, without overlaps.
fn fields(list: &OsStr) -> Result<Vec<Range>, String> {
    let list = list.as_encoded_bytes();
    let mut ranges = list
        .split(|byte| matches!(byte, b',' | b' ' | b'\t'))
        .map(range)
        .collect::<Result<Vec<Range>, String>>()?;
    ranges.sort_unstable_by_key(|range| range.first);
    Ok(ranges)
}

/// Reads one number or range of a list.
fn range(text: &[u8]) -> Result<Range, String> {
    let mut ends = text.splitn(2, |byte| *byte == b'-');
    let first = number(ends.next().unwrap_or_default())?;
    let Some(last) = ends.next() else {
        return match first {
            None | Some(0) => Err(unnumbered()),
            Some(first) => Ok(Range { first, last: first }),
        };
    };
    if first == Some(0) {
        return Err(unnumbered());
    }
    if last.contains(&b'-') {
        return Err("invalid field range".to_owned());
    }
    let last = number(last)?;
    if first.is_none() && last.is_none() {
        return Err("invalid range with no endpoint: -".to_owned());
    }
    let (first, last) = (first.unwrap_or(1), last.unwrap_or(u64::MAX));
    if last < first {
        return Err("invalid decreasing range".to_owned());
    }
    Ok(Range { first, last })
}

fn unnumbered() -> String {
    "fields are numbered from 1".to_owned()
}

/// Reads a field number; none where there is no text.
fn number(text: &[u8]) -> Result<Option<u64>, String> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(digits).unwrap_or_default();
    if !rest.is_empty() {
        return Err(format!("invalid field value {}", name::quoted(rest)));
    }
    if digits.is_empty() {
        return Ok(None);
    }
    let parsed = str::from_utf8(digits)
        .ok()
        .and_then(|digits| digits.parse().ok());
    match parsed {
        Some(number) if number < u64::MAX => Ok(Some(number)),
        _ => Err(format!(
            "field number {} is too large",
            name::quoted(digits)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_fields_are_read_as_gnu_does() {
        let check = |list: &str, expected: Result<&[(u64, u64)], &str>| {
            let got = fields(OsStr::new(list));
            let expected = expected.map(|ranges| {
                let range = |&(first, last): &(u64, u64)| Range { first, last };
                ranges.iter().map(range).collect::<Vec<_>>()
            });
            assert_eq!(got, expected.map_err(str::to_owned), "{list}");
        };
        check("1", Ok(&[(1, 1)]));
        check("2-", Ok(&[(2, u64::MAX)]));
        check("-3", Ok(&[(1, 3)]));
        check("3-5,1", Ok(&[(1, 1), (3, 5)]));
        check("1 2", Ok(&[(1, 1), (2, 2)]));
        check("-", Err("invalid range with no endpoint: -"));
        check("0", Err("fields are numbered from 1"));
        check("0-2", Err("fields are numbered from 1"));
        check("-0", Err("invalid decreasing range"));
        check("3-1", Err("invalid decreasing range"));
        check("", Err("fields are numbered from 1"));
        check("1,", Err("fields are numbered from 1"));
        check("1-2-3", Err("invalid field range"));
        check("x", Err("invalid field value 'x'"));
        check("1x", Err("invalid field value 'x'"));
        check(
            "99999999999999999999",
            Err("field number '99999999999999999999' is too large"),
        );
    }

    #[test]
    fn a_delimiter_is_one_character() {
        let check = |text: &str, expected: Result<&str, ()>| {
            let got = delimiter(Some(OsStr::new(text)));
            assert_eq!(
                got.map_err(drop),
                expected.map(|text| text.as_bytes().to_vec())
            );
        };
        check(":", Ok(":"));
        check("§", Ok("§"));
        check("고", Ok("고"));
        check("", Ok("\0"));
        check("::", Err(()));
        check("e\u{301}", Err(()));
    }
}
