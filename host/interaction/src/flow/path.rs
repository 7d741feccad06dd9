//! Paths into the context: `$`, `$.step.parts["plan.md"]`, `$.items[0].name`.

use std::fmt;

use serde::Deserialize;
use serde_json::map::Entry;
use serde_json::{Map, Value};
use thiserror::Error;

/// Deepest path.
const SEGMENTS: usize = 64;

/// A place in the context.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Path {
    segments: Vec<Segment>,
}

/// One step of the way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Segment {
    Key(String),
    Index(usize),
}

/// Why a path can't be read or followed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// It is no path.
    #[error("`{path}` is no path: expected {expected} at character {at}")]
    Syntax {
        /// The text.
        path: String,
        /// What should stand there.
        expected: &'static str,
        /// Where, counted from 0.
        at: usize,
    },
    /// Nothing is there.
    #[error("the context has nothing at `{0}`")]
    NotFound(String),
    /// Writing would replace something that is no object, or reach into a list.
    #[error("can't write `{0}`: the context holds something else on the way")]
    Occupied(String),
}

impl Path {
    /// A key at the top of the context.
    #[must_use]
    pub fn key(name: &str) -> Self {
        Self {
            segments: vec![Segment::Key(name.to_owned())],
        }
    }

    /// The whole context.
    pub(super) fn root() -> Self {
        Self {
            segments: Vec::new(),
        }
    }

    /// Reads a path.
    ///
    /// # Errors
    ///
    /// [`PathError::Syntax`].
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let mut parser = Parser { text, rest: text };
        if !parser.eat("$") {
            return Err(parser.expected("`$`"));
        }
        let mut segments = Vec::new();
        while !parser.rest.is_empty() {
            if segments.len() == SEGMENTS {
                return Err(parser.expected("at most 64 segments"));
            }
            segments.push(parser.segment()?);
        }
        Ok(Self { segments })
    }

    /// Whether one of the two places is the other or stands inside it.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let mut pairs = self.segments.iter().zip(&other.segments);
        pairs.all(|(one, another)| one == another)
    }

    /// The value at this place.
    ///
    /// # Errors
    ///
    /// [`PathError::NotFound`] for an absent one; a null is there.
    pub fn get<'a>(&self, context: &'a Value) -> Result<&'a Value, PathError> {
        get(&self.segments, context).ok_or_else(|| PathError::NotFound(self.to_string()))
    }

    /// Writes a value, making missing objects on the way. The root takes objects only.
    ///
    /// # Errors
    ///
    /// [`PathError::Occupied`] when something that is no object stands on the way.
    pub fn set(&self, context: &mut Value, value: Value) -> Result<(), PathError> {
        let occupied = || PathError::Occupied(self.to_string());
        if self.segments.is_empty() && !value.is_object() {
            return Err(occupied());
        }
        let replaced = set(&self.segments, context, value);
        replaced.map(drop).map_err(|Occupied| occupied())
    }

    /// Whether the way leads through a list.
    pub(super) fn has_index(&self) -> bool {
        let is_index = |segment: &Segment| matches!(segment, Segment::Index(_));
        self.segments.iter().any(is_index)
    }

    /// The way from another place to this one, where that is on the way.
    pub(super) fn within(&self, other: &Self) -> Option<&[Segment]> {
        self.segments.strip_prefix(other.segments.as_slice())
    }

    /// The bytes of its keys.
    pub(super) fn bytes(&self) -> usize {
        let bytes = |segment: &Segment| match segment {
            Segment::Key(key) => key.len(),
            Segment::Index(_) => 0,
        };
        self.segments.iter().map(bytes).sum()
    }

    /// The way from the root.
    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }
}

/// The value at the end of a way.
pub(super) fn get<'a>(segments: &[Segment], value: &'a Value) -> Option<&'a Value> {
    segments
        .iter()
        .try_fold(value, |value, segment| match segment {
            Segment::Key(key) => value.get(key),
            Segment::Index(index) => value.get(index),
        })
}

/// Something that is no object stands on the way.
pub(super) struct Occupied;

/// Writes a value to the end of a way and gives what it replaced, if something was there.
pub(super) fn set(
    segments: &[Segment],
    context: &mut Value,
    value: Value,
) -> Result<Option<Value>, Occupied> {
    let mut place = context;
    let mut was_there = true;
    for segment in segments {
        let Segment::Key(key) = segment else {
            return Err(Occupied);
        };
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
        let object = place.as_object_mut().ok_or(Occupied)?;
        let entry = object.entry(key.as_str());
        was_there = matches!(entry, Entry::Occupied(_));
        place = entry.or_insert(Value::Null);
    }
    let replaced = std::mem::replace(place, value);
    Ok(was_there.then_some(replaced))
}

impl TryFrom<String> for Path {
    type Error = PathError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("$")?;
        self.segments.iter().try_for_each(|segment| match segment {
            Segment::Key(key) if plain(key) => write!(f, ".{key}"),
            Segment::Key(key) => write!(f, "[\"{key}\"]"),
            Segment::Index(index) => write!(f, "[{index}]"),
        })
    }
}

fn plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(is_plain)
}

fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || character == '-'
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn expected(&self, expected: &'static str) -> PathError {
        let path = tidegate_contract::text::cut(self.text, 80).to_owned();
        PathError::Syntax {
            path,
            expected,
            at: self.text.len() - self.rest.len(),
        }
    }

    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Takes everything up to `end`, and `end` itself.
    fn up_to(&mut self, end: &str) -> Option<&'a str> {
        let (taken, rest) = self.rest.split_once(end)?;
        self.rest = rest;
        Some(taken)
    }

    fn segment(&mut self) -> Result<Segment, PathError> {
        if self.eat(".") {
            let rest = self.rest.trim_start_matches(is_plain);
            let key = self.rest.strip_suffix(rest).unwrap_or_default();
            if key.is_empty() {
                return Err(self.expected("a key of letters, digits, `_`, `-`"));
            }
            self.rest = rest;
            return Ok(Segment::Key(key.to_owned()));
        }
        if self.eat("[\"") {
            let key = self.up_to("\"]");
            return key
                .map(|key| Segment::Key(key.to_owned()))
                .ok_or_else(|| self.expected("a key that ends with `\"]`"));
        }
        if self.eat("[") {
            let index = self
                .up_to("]")
                .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
            return index
                .and_then(|digits| digits.parse().ok())
                .map(Segment::Index)
                .ok_or_else(|| self.expected("an index in digits that ends with `]`"));
        }
        Err(self.expected("`.key`, `[\"key\"]` or `[index]`"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn i11_paths_are_read_and_shown_alike() {
        let check = |text: &str, shown: Option<&str>| {
            let path = Path::parse(text);
            assert_eq!(
                path.ok().map(|path| path.to_string()).as_deref(),
                shown,
                "{text}"
            );
        };
        check("$", Some("$"));
        check("$.a.b", Some("$.a.b"));
        check(
            "$.step.parts[\"plan.md\"]",
            Some("$.step.parts[\"plan.md\"]"),
        );
        check("$[\"a\"][0]", Some("$.a[0]"));
        check("$.a[10].b", Some("$.a[10].b"));
        for bad in [
            "", "a", "$a", "$.", "$..a", "$.a.", "$[", "$[-1]", "$[\"a", "$.a b", "$[]",
        ] {
            check(bad, None);
        }
    }

    #[test]
    fn x4_places_overlap_when_one_is_inside_the_other() {
        let check = |one: &str, other: &str, overlap: bool| {
            let (one, other) = (Path::parse(one).unwrap(), Path::parse(other).unwrap());
            assert_eq!(one.overlaps(&other), overlap, "{one} {other}");
            assert_eq!(other.overlaps(&one), overlap, "{other} {one}");
        };
        check("$.a", "$.a", true);
        check("$.a", "$.a.b[0]", true);
        check("$", "$.a", true);
        check("$.a", "$.b", false);
        check("$.a.b", "$.a.c", false);
        check("$.a", "$.ab", false);
    }

    #[test]
    fn i11_reading_tells_absent_from_null() {
        let context = json!({"a": {"b": [1, null]}, "n": null});
        let get = |text: &str| Path::parse(text).unwrap().get(&context).cloned();
        assert_eq!(get("$.a.b[0]"), Ok(json!(1)));
        assert_eq!(get("$.a.b[1]"), Ok(json!(null)));
        assert_eq!(get("$.n"), Ok(json!(null)));
        assert_eq!(
            get("$.a.b[2]"),
            Err(PathError::NotFound("$.a.b[2]".to_owned()))
        );
        assert_eq!(get("$.a[0]"), Err(PathError::NotFound("$.a[0]".to_owned())));
    }

    #[test]
    fn i11_writing_makes_objects_and_overwrites_nothing_on_the_way() {
        let mut context = json!({"s": "text"});
        Path::parse("$.a.b")
            .unwrap()
            .set(&mut context, json!(1))
            .unwrap();
        assert_eq!(context, json!({"s": "text", "a": {"b": 1}}));
        assert!(
            Path::parse("$.s.b")
                .unwrap()
                .set(&mut context, json!(1))
                .is_err()
        );
        assert!(
            Path::parse("$")
                .unwrap()
                .set(&mut context, json!(1))
                .is_err()
        );
    }
}
