//! The visitor that builds a `Value` and refuses an object that has one key twice.
//!
//! Nothing is kept on the way down: the path of a duplicate is put together while its error
//! travels up, so documents without one pay nothing.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;

use crate::json::{JsonError, JsonObject, Value, duplicate_key};

/// Parses a text whose depth has been checked.
pub(crate) fn read(text: &str) -> Result<Value, JsonError> {
    let found = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let read = Strict { found: &found }
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    read.map_err(|error| match found.take() {
        Some(Duplicate { key, path }) => duplicate_key(&key, &path),
        None => syntax(&error),
    })
}

/// Reads a value through any deserializer, refusing duplicate keys; depth is the
/// deserializer's business.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    let found = RefCell::new(None);
    let read = Strict { found: &found }.deserialize(deserializer);
    read.map_err(|error| match found.take() {
        Some(Duplicate { key, path }) => D::Error::custom(duplicate_key(&key, &path)),
        None => error,
    })
}

/// The parser's error without the position in its text.
fn syntax(error: &serde_json::Error) -> JsonError {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let position = format!(" at line {line} column {column}");
    JsonError::Syntax {
        line,
        column,
        reason: text.strip_suffix(&position).unwrap_or(&text).to_owned(),
    }
}

/// A key that came twice, and the path to its object from the inside out.
struct Duplicate {
    key: String,
    path: Vec<String>,
}

/// Seed and visitor in one: it reads any value and notes the first duplicate key.
#[derive(Clone, Copy)]
struct Strict<'a> {
    found: &'a RefCell<Option<Duplicate>>,
}

impl Strict<'_> {
    /// Adds a step to the path when the error passing by is a duplicate key.
    fn passes(self, segment: impl FnOnce() -> String) {
        if let Some(duplicate) = self.found.borrow_mut().as_mut() {
            duplicate.path.push(segment());
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        match serde_json::Number::from_f64(value) {
            Some(number) => Ok(Value::Number(number)),
            None => Err(E::custom("number is not finite")),
        }
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            match access.next_element_seed(self) {
                Ok(Some(item)) => items.push(item),
                Ok(None) => return Ok(Value::Array(items)),
                Err(error) => {
                    self.passes(|| items.len().to_string());
                    return Err(error);
                }
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut fields = JsonObject::new();
        while let Some(key) = access.next_key::<String>()? {
            match fields.entry(key) {
                Entry::Occupied(entry) => {
                    *self.found.borrow_mut() = Some(Duplicate {
                        key: entry.key().clone(),
                        path: Vec::new(),
                    });
                    return Err(A::Error::custom("duplicate key"));
                }
                Entry::Vacant(entry) => match access.next_value_seed(self) {
                    Ok(value) => {
                        entry.insert(value);
                    }
                    Err(error) => {
                        self.passes(|| entry.key().clone());
                        return Err(error);
                    }
                },
            }
        }
        Ok(Value::Object(fields))
    }
}
