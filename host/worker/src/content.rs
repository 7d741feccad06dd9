//! Serving an output: which of its bytes, or none, by what the reader has already (RFC 9110 13, 14).
//!
//! Pure functions over bytes and the values of header fields. Deliberately absent: header names,
//! numbers of answers, and several ranges in one answer.

use crate::error::WorkerError;

/// What a reader says it has and wants: the values of the fields, as they came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conditions<'a> {
    /// `If-None-Match`: tags of what it has.
    pub if_none_match: Option<&'a str>,
    /// `Range`: the bytes it wants.
    pub range: Option<&'a str>,
    /// `If-Range`: the tag that the range goes with.
    pub if_range: Option<&'a str>,
}

/// What is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// The entity tag of the whole: `"sha256:…"`, quotes and all.
    pub etag: String,
    /// The size of the whole.
    pub size_bytes: u64,
    /// Which bytes of it.
    pub body: Body,
}

/// Which bytes are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// All of them (200).
    Whole(Vec<u8>),
    /// Those of the range (206).
    Range {
        /// Offset of the first, from 0.
        first: u64,
        /// Offset of the last.
        last: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// None: the reader has them (304).
    NotModified,
}

/// Which bytes of a content its reader gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// All of them (200).
    Whole,
    /// Those from the first to the last of these offsets (206).
    Range {
        /// Offset of the first, from 0.
        first: u64,
        /// Offset of the last.
        last: u64,
    },
    /// None: the reader has them (304).
    NotModified,
}

/// The entity tag of content with this SHA-256.
#[must_use]
pub fn etag(sha256: &str) -> String {
    format!("\"sha256:{sha256}\"")
}

/// Chooses from content of this tag and size. A range that can't be understood, is more than one, or
/// goes with another tag counts as none.
///
/// # Errors
///
/// `RangeNotSatisfiable` when no byte is in the range.
///
/// Source: RFC 9110 13.1.2, 13.1.5, 14.1.2, 14.2.
pub fn choose(
    etag: &str,
    size_bytes: u64,
    conditions: Conditions<'_>,
) -> Result<Choice, WorkerError> {
    if conditions
        .if_none_match
        .is_some_and(|tags| holds(tags, etag))
    {
        return Ok(Choice::NotModified);
    }
    let goes_with = conditions.if_range.is_none_or(|tag| tag.trim() == etag);
    let range = conditions.range.filter(|_| goes_with);
    match range.and_then(Wanted::read) {
        None => Ok(Choice::Whole),
        Some(wanted) => wanted.within(size_bytes),
    }
}

/// Serves content whose SHA-256 is known.
///
/// # Errors
///
/// As [`choose`].
pub fn serve(
    content: Vec<u8>,
    sha256: &str,
    conditions: Conditions<'_>,
) -> Result<Served, WorkerError> {
    let etag = etag(sha256);
    let size_bytes = u64::try_from(content.len()).unwrap_or(u64::MAX);
    let body = match choose(&etag, size_bytes, conditions)? {
        Choice::NotModified => Body::NotModified,
        Choice::Whole => Body::Whole(content),
        Choice::Range { first, last } => Body::Range {
            first,
            last,
            bytes: cut(&content, first, last),
        },
    };
    Ok(Served {
        etag,
        size_bytes,
        body,
    })
}

/// Whether a list of entity tags holds this one, weak or strong; `*` holds any.
fn holds(list: &str, etag: &str) -> bool {
    let mut rest = list.trim();
    if rest == "*" {
        return true;
    }
    // A tag may hold a comma, so the list is read tag by tag, quotes first.
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let tag = rest.strip_prefix("W/").unwrap_or(rest);
        let Some((opaque, after)) = tag.strip_prefix('"').and_then(|tag| tag.split_once('"'))
        else {
            return false;
        };
        if etag.trim_matches('"') == opaque {
            return true;
        }
        rest = after;
    }
}

/// One range as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// From an offset to one, or to the end.
    From(u64, Option<u64>),
    /// So many at the end.
    Last(u64),
}

impl Wanted {
    /// `None` where it is no single well-formed range of bytes.
    fn read(field: &str) -> Option<Self> {
        let (unit, set) = field.split_once('=')?;
        if !unit.trim().eq_ignore_ascii_case("bytes") {
            return None;
        }
        let (first, last) = set.trim_matches([' ', '\t']).split_once('-')?;
        match (first, last) {
            ("", last) => Some(Self::Last(number(last)?)),
            (first, "") => Some(Self::From(number(first)?, None)),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Self::From(first, Some(last)))
            }
        }
    }

    fn within(self, size_bytes: u64) -> Result<Choice, WorkerError> {
        let end = size_bytes.saturating_sub(1);
        let (first, last) = match self {
            // There is no way to name a range of nothing, and the whole is what was asked for.
            Self::Last(wanted) if wanted > 0 && size_bytes == 0 => return Ok(Choice::Whole),
            Self::Last(0) => return Err(WorkerError::RangeNotSatisfiable { size_bytes }),
            Self::Last(wanted) => (size_bytes.saturating_sub(wanted), end),
            Self::From(first, _) if first >= size_bytes => {
                return Err(WorkerError::RangeNotSatisfiable { size_bytes });
            }
            Self::From(first, last) => (first, last.unwrap_or(end).min(end)),
        };
        Ok(Choice::Range { first, last })
    }
}

/// The bytes of a range that lies within the content.
fn cut(content: &[u8], first: u64, last: u64) -> Vec<u8> {
    let offsets = usize::try_from(first).ok().zip(usize::try_from(last).ok());
    let bytes = offsets.and_then(|(first, last)| content.get(first..=last));
    bytes.unwrap_or_default().to_vec()
}

/// Digits alone; a number beyond all sizes is the largest.
fn number(digits: &str) -> Option<u64> {
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_range(content: &str, range: &str) -> Result<Body, WorkerError> {
        let conditions = Conditions {
            range: Some(range),
            ..Conditions::default()
        };
        serve(content.into(), "ab", conditions).map(|served| served.body)
    }

    #[test]
    fn i1_a_single_range_is_served_and_cut_to_the_content() {
        for (range, expected) in [
            ("bytes=0-0", "h"),
            ("bytes=1-3", "ell"),
            ("bytes=2-", "llo"),
            ("bytes=-2", "lo"),
            ("bytes=-99", "hello"),
            ("bytes=4-99999999999999999999999", "o"),
            ("BYTES=0-1", "he"),
            ("bytes= 0-1", "he"),
        ] {
            match with_range("hello", range).unwrap() {
                Body::Range { first, last, bytes } => {
                    assert_eq!(bytes, expected.as_bytes(), "{range}");
                    assert_eq!(last - first + 1, u64::try_from(bytes.len()).unwrap());
                }
                other => panic!("{range}: {other:?}"),
            }
        }
    }

    #[test]
    fn i1_a_range_that_cannot_be_understood_counts_as_none() {
        for range in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=3-1",
            "bytes=a-b",
            "bytes=+1-2",
            "bytes=0x1-2",
            "items=0-1",
            "bytes=0-1,3-4",
            "bytes=--1",
            "bytes=1 - 2",
            "bytes=1-2;",
        ] {
            let whole = Body::Whole(b"hello".to_vec());
            assert_eq!(with_range("hello", range).unwrap(), whole, "{range:?}");
        }
    }

    #[test]
    fn i1_a_range_without_any_byte_is_416_with_the_size() {
        for (content, range) in [
            ("hello", "bytes=5-"),
            ("hello", "bytes=99-100"),
            ("hello", "bytes=-0"),
            ("", "bytes=0-"),
            ("", "bytes=0-0"),
        ] {
            let error = with_range(content, range).unwrap_err();
            assert_eq!(error.status(), 416, "{range}");
            let WorkerError::RangeNotSatisfiable { size_bytes } = error else {
                panic!("{error}");
            };
            assert_eq!(size_bytes, u64::try_from(content.len()).unwrap());
        }
        assert_eq!(with_range("", "bytes=-5").unwrap(), Body::Whole(Vec::new()));
    }

    #[test]
    fn i1_what_the_reader_has_is_not_sent_again() {
        for (tags, has) in [
            ("\"sha256:ab\"", true),
            ("W/\"sha256:ab\"", true),
            ("\"x\", \"sha256:ab\"", true),
            ("\"a,b\",W/\"sha256:ab\"", true),
            ("*", true),
            ("\"sha256:cd\"", false),
            ("sha256:ab", false),
            ("\"x\" garbage \"sha256:ab\"", false),
            ("\"sha256:ab", false),
            ("", false),
        ] {
            let conditions = Conditions {
                if_none_match: Some(tags),
                range: Some("bytes=0-0"),
                ..Conditions::default()
            };
            let served = serve(b"hello".to_vec(), "ab", conditions).unwrap();
            assert_eq!(served.etag, "\"sha256:ab\"");
            assert_eq!(served.body == Body::NotModified, has, "{tags:?}");
        }
    }

    #[test]
    fn i1_a_range_of_another_version_is_not_cut_out_of_this_one() {
        for (tag, is_cut) in [
            ("\"sha256:ab\"", true),
            ("\"sha256:cd\"", false),
            ("W/\"sha256:ab\"", false),
            ("Mon, 30 Nov 2026 00:00:00 GMT", false),
        ] {
            let conditions = Conditions {
                range: Some("bytes=0-0"),
                if_range: Some(tag),
                ..Conditions::default()
            };
            let served = serve(b"hello".to_vec(), "ab", conditions).unwrap();
            assert_eq!(matches!(served.body, Body::Range { .. }), is_cut, "{tag}");
        }
    }
}
