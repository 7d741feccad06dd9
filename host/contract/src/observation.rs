//! What the caller reads of a result: the same fields, with a message in place of the content.
//!
//! Deliberately absent: how the message is made, which is the interaction crate's.

use serde::Serialize;

use crate::failure::Failure;
use crate::json::{JsonObject, Value};
use crate::message::{Message, Reference};
use crate::result::Status;

/// The observation of one result.
///
/// Source: SPEC C3, O1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// The id of the call.
    pub call_id: String,
    /// The tool, or `server:tool`.
    pub source: String,
    /// How it ended.
    pub status: Status,
    /// What to read: role `tool`, named after the source.
    pub message: Message,
    /// What to compute with; null is a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// What is kept elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub references: Option<Vec<Reference>>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What describes the call itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}
