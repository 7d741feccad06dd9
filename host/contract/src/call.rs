//! A tool call: its id, the tool's name and the arguments.
//!
//! Deliberately absent: what the arguments mean, and that they are an object. Both are checked
//! later, after permission and registration.

use std::fmt;

use serde::Serialize;

use crate::error::CallError;
use crate::json::{Document, JsonBounds, Value};
use crate::shape::{Fields, within_max_depth};

/// The longest id, in characters.
const ID_CHARACTERS: usize = 256;

/// The longest tool name, in characters.
const NAME_CHARACTERS: usize = 64;

/// Whether a text is an id: 1 to 256 characters, none of them a control or line separator.
pub(crate) fn is_id(text: &str) -> bool {
    let is_control =
        |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    let fits = text.len() <= ID_CHARACTERS * 4 && text.chars().count() <= ID_CHARACTERS;
    !text.is_empty() && fits && !text.chars().any(is_control)
}

/// The caller's name for one call: 1 to 256 characters without controls. It is echoed, never
/// interpreted, and need not be unique.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct CallId(String);

impl CallId {
    /// Checks an id.
    ///
    /// # Errors
    /// `InvalidCall` when it is empty, too long or holds a control character.
    pub fn new(id: impl Into<String>) -> Result<Self, CallError> {
        let id = id.into();
        if !is_id(&id) {
            return Err(CallError::InvalidCall {
                reason: "call.id must be 1 to 256 characters without controls".to_owned(),
            });
        }
        Ok(Self(id))
    }

    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The name of a tool: 1 to 64 of `[A-Za-z0-9_-]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ToolName(String);

impl ToolName {
    /// Checks a name.
    ///
    /// # Errors
    /// `InvalidCall` when it is empty, too long or holds another character.
    pub fn new(name: impl Into<String>) -> Result<Self, CallError> {
        let name = name.into();
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let fits = (1..=NAME_CHARACTERS).contains(&name.len());
        if !fits || !name.bytes().all(is_letter) {
            return Err(CallError::InvalidCall {
                reason: "call.name must be 1 to 64 of letters, digits, `_` and `-`".to_owned(),
            });
        }
        Ok(Self(name))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// One call of one tool.
///
/// Source: SPEC C2.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolCall {
    /// The caller's id.
    pub id: CallId,
    /// The tool.
    pub name: ToolName,
    /// Any document; that it is an object is checked with the other arguments.
    pub arguments: Document,
}

impl ToolCall {
    /// Reads `{id, name, arguments}`. `bounds` hold for the arguments.
    ///
    /// # Errors
    /// `InvalidCall` naming the field that is unknown, absent, of the wrong type or too large.
    pub fn from_value(value: Value, bounds: &JsonBounds) -> Result<Self, CallError> {
        let value = within_max_depth(value)?;
        let mut fields = Fields::open("call", value, &["id", "name", "arguments"])?;
        let id = CallId::new(fields.string("id")?)?;
        let name = ToolName::new(fields.string("name")?)?;
        let arguments = fields.required("arguments")?;
        match Document::from_value(arguments, bounds) {
            Ok(arguments) => Ok(Self {
                id,
                name,
                arguments,
            }),
            Err(error) => Err(CallError::InvalidCall {
                reason: format!("call.arguments: {error}"),
            }),
        }
    }
}
