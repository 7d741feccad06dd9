//! The small languages of arguments that are not paths: patterns, names, lists of fields.
//!
//! Each function reads a text and gives back the value, or says what it must be. Whether a pattern
//! is a good regular expression is for `grep` to say.

/// The longest pattern of `grep`, in characters.
const MAX_PATTERN_CHARACTERS: usize = 4_096;

/// The longest path or other text, in characters (SPEC R3).
pub(crate) const MAX_CHARACTERS: usize = 1_024;

/// The most digits of a field's number: what every command can count to.
const MAX_DIGITS: usize = 18;

/// A text that an argument of a command can hold on one line.
pub(crate) fn single_line(text: &str) -> Result<(), &'static str> {
    if text.is_empty() {
        return Err("must not be empty");
    }
    if text.chars().nth(MAX_CHARACTERS).is_some() {
        return Err("must have at most 1024 characters");
    }
    if text.contains('\0') {
        return Err("must not have a NUL character");
    }
    if text.contains(['\r', '\n']) {
        return Err("must not have a line break");
    }
    Ok(())
}

/// A pattern of `grep`. A newline in it separates alternatives, as it does for `grep`: a line
/// matches that matches one of them.
pub(crate) fn pattern(text: &str) -> Result<String, &'static str> {
    if text.is_empty() {
        return Err("must not be empty; `cat` shows all lines");
    }
    if text.chars().nth(MAX_PATTERN_CHARACTERS).is_some() {
        return Err("must have at most 4096 characters");
    }
    if text.contains('\0') {
        return Err("must not have a NUL character");
    }
    Ok(text.to_owned())
}

/// A glob for the last name of a path. It may have a backslash, which takes the meaning from the
/// character after it.
pub(crate) fn name_glob(text: &str) -> Result<String, &'static str> {
    single_line(text)?;
    if text.contains('/') {
        return Err("must not have a slash: it is compared with names, not with paths");
    }
    Ok(text.to_owned())
}

/// One character between the fields of a line.
pub(crate) fn delimiter(text: &str) -> Result<String, &'static str> {
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some('\0' | '\r' | '\n'), None) => Err("must not be NUL or a line break"),
        (Some(_), None) => Ok(text.to_owned()),
        _ => Err("must be one character"),
    }
}

/// A list of fields such as `1`, `2-` or `1,3-5`.
pub(crate) fn field_list(text: &str) -> Result<String, &'static str> {
    if text.chars().nth(MAX_CHARACTERS).is_some() {
        return Err("must have at most 1024 characters");
    }
    text.split(',').try_for_each(field_range)?;
    Ok(text.to_owned())
}

fn field_range(range: &str) -> Result<(), &'static str> {
    let (first, last) = match range.split_once('-') {
        None => (range, None),
        Some((first, "")) => (first, None),
        Some((first, last)) => (first, Some(last)),
    };
    let first = field(first)?;
    match last.map(field).transpose()? {
        Some(last) if last < first => Err("must not have a range that ends before it starts"),
        _ => Ok(()),
    }
}

fn field(digits: &str) -> Result<u64, &'static str> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("must be a list of fields such as `1`, `2-` or `1,3-5`");
    }
    match digits.parse() {
        Ok(0) => Err("must count fields from 1"),
        Ok(field) if digits.len() <= MAX_DIGITS => Ok(field),
        _ => Err("must not have a number of more than 18 digits"),
    }
}

#[cfg(test)]
mod tests;
