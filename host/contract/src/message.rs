//! Messages, their content and what it refers to.

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

use crate::json::Value;
use crate::shape::{Fields, ShapeError, within_max_depth, wrong};
use crate::strict;

/// A pointer to something kept elsewhere. The product never fetches it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// Where it is; not blank.
    pub uri: String,
    /// Its media type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its digest, for example `sha-256:…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl Reference {
    /// A reference by address alone.
    #[must_use]
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            media_type: None,
            digest: None,
        }
    }

    /// Reads `{uri, mediaType?, digest?}`.
    ///
    /// # Errors
    /// The field that is unknown, absent, blank or of the wrong type.
    pub fn from_value(value: Value) -> Result<Self, ShapeError> {
        Self::read("reference", within_max_depth(value)?)
    }

    pub(crate) fn read(path: &str, value: Value) -> Result<Self, ShapeError> {
        let mut fields = Fields::open(path, value, &["uri", "mediaType", "digest"])?;
        Ok(Self {
            uri: fields.filled_string("uri")?,
            media_type: fields.optional_string("mediaType")?,
            digest: fields.optional_string("digest")?,
        })
    }
}

impl<'de> Deserialize<'de> for Reference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(strict::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// A named reference: what a delivery carries beside its message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Artifact {
    /// Its name; not blank.
    pub name: String,
    /// Where it is.
    pub reference: Reference,
}

impl Artifact {
    /// Reads `{name, reference}`.
    ///
    /// # Errors
    /// The field that is unknown, absent, blank or of the wrong type.
    pub fn from_value(value: Value) -> Result<Self, ShapeError> {
        Self::read("artifact", within_max_depth(value)?)
    }

    pub(crate) fn read(path: &str, value: Value) -> Result<Self, ShapeError> {
        let mut fields = Fields::open(path, value, &["name", "reference"])?;
        let name = fields.filled_string("name")?;
        let reference = fields.required("reference")?;
        Ok(Self {
            name,
            reference: Reference::read(&fields.child("reference"), reference)?,
        })
    }
}

impl<'de> Deserialize<'de> for Artifact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(strict::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool's observation.
    Tool,
}

impl Role {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "system" => Self::System,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "tool" => Self::Tool,
            _ => return None,
        })
    }
}

/// One part of a content.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Part {
    /// Text for the reader.
    Text {
        /// The text.
        text: String,
    },
    /// Any JSON value.
    Json {
        /// The value.
        data: Value,
    },
    /// A pointer to something kept elsewhere.
    Reference {
        /// The pointer.
        reference: Reference,
    },
}

impl Part {
    /// Whether a value is a well-formed part: exactly the listed keys, each of its type.
    fn is_well_formed(value: &Value) -> bool {
        let Value::Object(fields) = value else {
            return false;
        };
        let is_text = |name: &str| fields.get(name).is_some_and(Value::is_string);
        match (fields.get("type").and_then(Value::as_str), fields.len()) {
            (Some("text"), 2) => is_text("text"),
            (Some("json"), 2) => fields.contains_key("data"),
            (Some("reference"), 2) => fields
                .get("reference")
                .is_some_and(|reference| Reference::read("", reference.clone()).is_ok()),
            _ => false,
        }
    }

    /// Takes a well-formed part out of its value.
    fn take(value: Value) -> Result<Self, ShapeError> {
        let mut fields = Fields::open_any("part", value)?;
        match fields.string("type")?.as_str() {
            "text" => Ok(Self::Text {
                text: fields.string("text")?,
            }),
            "json" => Ok(Self::Json {
                data: fields.required("data")?,
            }),
            "reference" => Ok(Self::Reference {
                reference: Reference::read("part.reference", fields.required("reference")?)?,
            }),
            _ => Err(wrong("part.type", "`text`, `json` or `reference`")),
        }
    }
}

/// The content of a message or result: a string, any JSON value, or parts.
///
/// Source: SPEC C4.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// Any JSON value, null too.
    Json(Value),
    /// Parts, in order.
    Parts(Vec<Part>),
}

impl Content {
    /// Takes the content apart without recursion, however deep its values are.
    pub fn discard(self) {
        match self {
            Self::Text(_) => {}
            Self::Json(value) => crate::json::discard(value),
            Self::Parts(parts) => {
                for part in parts {
                    if let Part::Json { data } = part {
                        crate::json::discard(data);
                    }
                }
            }
        }
    }

    /// Tells the three apart: a string is text; a non-empty array whose every element is a
    /// well-formed part is parts; everything else, other arrays too, is JSON.
    #[must_use]
    pub fn from_value(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            Value::Array(items) if !items.is_empty() && items.iter().all(Part::is_well_formed) => {
                // All are well formed, so none is left out here.
                Self::Parts(items.into_iter().flat_map(Part::take).collect())
            }
            other => Self::Json(other),
        }
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Json(value) => value.serialize(serializer),
            Self::Parts(parts) => parts.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        strict::deserialize(deserializer).map(Self::from_value)
    }
}

/// One message.
///
/// Source: SPEC C5.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
    /// The speaker's name, for a tool the source of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Message {
    /// Reads `{role, content, name?}`. A null content is a value; an absent one is an error.
    ///
    /// # Errors
    /// The field that is unknown, absent or of the wrong type.
    pub fn from_value(value: Value) -> Result<Self, ShapeError> {
        Self::read("message", within_max_depth(value)?)
    }

    pub(crate) fn read(path: &str, value: Value) -> Result<Self, ShapeError> {
        let mut fields = Fields::open(path, value, &["role", "content", "name"])?;
        let role = Role::from_name(&fields.string("role")?);
        let expected = "`system`, `user`, `assistant` or `tool`";
        Ok(Self {
            role: role.ok_or_else(|| wrong(fields.child("role"), expected))?,
            content: Content::from_value(fields.required("content")?),
            name: fields.optional_string("name")?,
        })
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(strict::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
