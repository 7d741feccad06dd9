//! Strict decoding of requests: every field known, every error naming its field.

use crate::json::{self, JsonBounds, JsonError, JsonObject, MAX_DEPTH, Value};
use crate::text::cut;

/// How much of an unknown field's name an error repeats, in bytes.
const NAME_BYTES: usize = 64;

/// Why a JSON value is not the thing that was asked for. Its text names the field by path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// A field is absent.
    #[error("{path} is required")]
    Required {
        /// For example `message.content`.
        path: String,
    },
    /// There is a field that has no meaning here.
    #[error("unknown field `{path}`")]
    Unknown {
        /// For example `message.foo`; control characters escaped, cut to a short length.
        path: String,
    },
    /// A field holds the wrong kind of value.
    #[error("{path} must be {expected}")]
    Wrong {
        /// For example `message.role`.
        path: String,
        /// For example "a string".
        expected: &'static str,
    },
    /// The value passes a bound of its own.
    #[error(transparent)]
    Json(#[from] JsonError),
}

/// Refuses a value nested deeper than anything we recurse into, taking it apart safely.
pub(crate) fn within_max_depth(value: Value) -> Result<Value, ShapeError> {
    let bounds = JsonBounds {
        bytes: usize::MAX,
        depth: MAX_DEPTH,
    };
    within(value, &bounds)
}

/// Refuses a value that passes the bounds, taking it apart safely.
pub(crate) fn within(value: Value, bounds: &JsonBounds) -> Result<Value, ShapeError> {
    match json::check(&value, bounds) {
        Ok(()) => Ok(value),
        Err(error) => {
            json::discard(value);
            Err(error.into())
        }
    }
}

/// The error for a field that holds the wrong kind of value.
pub(crate) fn wrong(path: impl Into<String>, expected: &'static str) -> ShapeError {
    ShapeError::Wrong {
        path: path.into(),
        expected,
    }
}

/// The fields of one object that have not been taken yet.
pub(crate) struct Fields {
    path: String,
    map: JsonObject,
}

impl Fields {
    /// Opens an object that may have only the known fields. `path` is how errors call the
    /// object; fields of one with an empty path are called by their names alone.
    pub(crate) fn open(path: &str, value: Value, known: &[&str]) -> Result<Self, ShapeError> {
        let fields = Self::open_any(path, value)?;
        let stranger = fields.map.keys().find(|key| !known.contains(&key.as_str()));
        match stranger {
            Some(key) => {
                let name = cut(key, NAME_BYTES).escape_debug().to_string();
                let path = fields.child(&name);
                Err(ShapeError::Unknown { path })
            }
            None => Ok(fields),
        }
    }

    /// Opens an object whose other fields are dropped.
    pub(crate) fn open_any(path: &str, value: Value) -> Result<Self, ShapeError> {
        match value {
            Value::Object(map) => Ok(Self {
                path: path.to_owned(),
                map,
            }),
            _ if path.is_empty() => Err(wrong("the document", "an object")),
            _ => Err(wrong(path, "an object")),
        }
    }

    /// The path of a field.
    pub(crate) fn child(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }

    /// A field that may be absent.
    pub(crate) fn optional(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name)
    }

    /// A field that must be there; null counts.
    pub(crate) fn required(&mut self, name: &str) -> Result<Value, ShapeError> {
        let value = self.map.remove(name);
        value.ok_or_else(|| ShapeError::Required {
            path: self.child(name),
        })
    }

    /// A field that must be a string.
    pub(crate) fn string(&mut self, name: &str) -> Result<String, ShapeError> {
        match self.required(name)? {
            Value::String(text) => Ok(text),
            _ => Err(wrong(self.child(name), "a string")),
        }
    }

    /// A field that must be a string with something in it.
    pub(crate) fn filled_string(&mut self, name: &str) -> Result<String, ShapeError> {
        let text = self.string(name)?;
        if text.trim().is_empty() {
            return Err(wrong(self.child(name), "a non-empty string"));
        }
        Ok(text)
    }

    /// A field that is absent or a string.
    pub(crate) fn optional_string(&mut self, name: &str) -> Result<Option<String>, ShapeError> {
        match self.optional(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(self.child(name), "a string")),
        }
    }

    /// A field that is absent or an object.
    pub(crate) fn optional_object(&mut self, name: &str) -> Result<Option<JsonObject>, ShapeError> {
        match self.optional(name) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map)),
            Some(_) => Err(wrong(self.child(name), "an object")),
        }
    }

    /// A field that is absent or a list, each item read by `read` with its own path.
    pub(crate) fn optional_list<T>(
        &mut self,
        name: &str,
        read: impl Fn(&str, Value) -> Result<T, ShapeError>,
    ) -> Result<Option<Vec<T>>, ShapeError> {
        let path = self.child(name);
        match self.optional(name) {
            None => Ok(None),
            Some(Value::Array(items)) => {
                let each = items.into_iter().enumerate();
                let read = each.map(|(index, item)| read(&format!("{path}[{index}]"), item));
                read.collect::<Result<_, _>>().map(Some)
            }
            Some(_) => Err(wrong(path, "an array")),
        }
    }
}
