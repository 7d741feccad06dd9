//! What a call gives back: the tool's outcome, and the result that carries the call's id.

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use crate::call::CallId;
use crate::failure::{Failure, FailureError};
use crate::json::{self, JsonBounds, JsonError, JsonObject, Value};
use crate::message::{Content, Part, Reference};
use crate::shape::{Fields, ShapeError, within, wrong};
use crate::strict;

/// How many levels a result's own object, its parts and their references add around a value
/// that has the full depth.
const ENVELOPE_DEPTH: usize = 3;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It did what was asked.
    Success,
    /// It did not.
    Failed,
    /// The caller ended it.
    Cancelled,
    /// The deadline ended it.
    Timeout,
    /// It may or may not have had its effect.
    Unknown,
}

impl Status {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Timeout => "timeout",
            Self::Unknown => "unknown",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "success" => Self::Success,
            "failed" => Self::Failed,
            "cancelled" => Self::Cancelled,
            "timeout" => Self::Timeout,
            "unknown" => Self::Unknown,
            _ => return None,
        })
    }
}

/// Why a result was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResultError {
    /// A field is unknown, absent or of the wrong type.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// It is too large or too deep.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// Its error is not fit for the public.
    #[error("unfit error: {0}")]
    Failure(#[from] FailureError),
    /// A success has nothing to show.
    #[error("success without content, structuredContent or references")]
    EmptySuccess,
    /// Another status has no error.
    #[error("status `{}` without an error", status.as_str())]
    ErrorRequired {
        /// The status.
        status: Status,
    },
    /// A reference has a blank uri.
    #[error("reference with an empty uri")]
    EmptyUri,
}

/// What a tool gives back: a result without the fields that the host sets.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutcome {
    /// How it ended.
    pub status: Status,
    /// What to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
    /// What to compute with; null is a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// What is kept elsewhere; an empty list is not the same as none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub references: Option<Vec<Reference>>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What describes the call itself, for example captured output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

impl ToolOutcome {
    /// A success that is text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: Some(Content::Text(text.into())),
            ..Self::bare(Status::Success, None)
        }
    }

    /// A success that is data.
    #[must_use]
    pub fn data(structured_content: Value) -> Self {
        Self {
            structured_content: Some(structured_content),
            ..Self::bare(Status::Success, None)
        }
    }

    /// A failure of the tool's business.
    #[must_use]
    pub fn failed(failure: Failure) -> Self {
        Self::bare(Status::Failed, Some(failure))
    }

    /// An end with another status.
    #[must_use]
    pub fn ended(status: Status, failure: Failure) -> Self {
        Self::bare(status, Some(failure))
    }

    fn bare(status: Status, error: Option<Failure>) -> Self {
        Self {
            status,
            content: None,
            structured_content: None,
            references: None,
            error,
            metadata: None,
        }
    }

    /// Checks what every outcome must hold: a success carries at least one of content,
    /// structured content and references (an empty list counts), any other status an error,
    /// no uri is blank. Each value is bounded in depth, all together in size; what the host
    /// itself wrote into the metadata ([`HOST_METADATA`]) has bounds of its own.
    ///
    /// # Errors
    /// See [`ResultError`].
    ///
    /// Source: SPEC C3, C8.
    pub fn check(&self, bounds: &JsonBounds) -> Result<(), ResultError> {
        let outcome = OutcomeRef {
            status: self.status,
            content: self.content.as_ref(),
            structured_content: self.structured_content.as_ref(),
            references: self.references.as_deref(),
            has_error: self.error.is_some(),
            metadata: self.metadata.as_ref(),
        };
        outcome.check(bounds)
    }

    /// As [`check`](Self::check), without measuring: for an outcome whose values were bounded while
    /// they were read.
    ///
    /// # Errors
    /// See [`ResultError`].
    pub fn check_shape(&self) -> Result<(), ResultError> {
        let is_empty = self.content.is_none()
            && self.structured_content.is_none()
            && self.references.is_none();
        check_status(self.status, is_empty, self.error.is_some())?;
        let parts = match &self.content {
            Some(Content::Parts(parts)) => parts.as_slice(),
            _ => &[],
        };
        let in_parts = parts.iter().filter_map(|part| match part {
            Part::Reference { reference } => Some(reference),
            Part::Text { .. } | Part::Json { .. } => None,
        });
        let mut references = in_parts.chain(self.references.iter().flatten());
        references.try_for_each(check_reference)
    }
}

/// What each status must come with.
fn check_status(status: Status, is_empty: bool, has_error: bool) -> Result<(), ResultError> {
    match status {
        Status::Success if is_empty => Err(ResultError::EmptySuccess),
        Status::Success => Ok(()),
        _ if has_error => Ok(()),
        _ => Err(ResultError::ErrorRequired { status }),
    }
}

fn check_reference(reference: &Reference) -> Result<(), ResultError> {
    if reference.uri.trim().is_empty() {
        return Err(ResultError::EmptyUri);
    }
    Ok(())
}

/// The parts of an outcome or a result that are checked alike.
struct OutcomeRef<'a> {
    status: Status,
    content: Option<&'a Content>,
    structured_content: Option<&'a Value>,
    references: Option<&'a [Reference]>,
    has_error: bool,
    metadata: Option<&'a JsonObject>,
}

impl OutcomeRef<'_> {
    fn check(&self, bounds: &JsonBounds) -> Result<(), ResultError> {
        let is_empty = self.content.is_none()
            && self.structured_content.is_none()
            && self.references.is_none();
        check_status(self.status, is_empty, self.has_error)?;
        let mut room = Room::new(bounds);
        if let Some(content) = self.content {
            room.take_content(content)?;
        }
        if let Some(value) = self.structured_content {
            room.take(value)?;
        }
        for reference in self.references.unwrap_or_default() {
            room.take_reference(reference)?;
        }
        let own = |key: &str| !HOST_METADATA.contains(&key);
        for (key, value) in self
            .metadata
            .into_iter()
            .flatten()
            .filter(|(key, _)| own(key))
        {
            room.take_text(key)?;
            room.take(value)?;
        }
        Ok(())
    }
}

impl ToolOutcome {
    /// Takes an outcome apart without recursion, however deep its values are: what to do with one
    /// that [`check`](Self::check) refused.
    pub fn discard(self) {
        let Self {
            content,
            structured_content,
            metadata,
            ..
        } = self;
        content.into_iter().for_each(Content::discard);
        structured_content.into_iter().for_each(json::discard);
        metadata
            .into_iter()
            .flatten()
            .for_each(|(_, value)| json::discard(value));
    }
}

/// The keys of `metadata` that only the host writes: what a tool printed (`stdout`, `stderr`), what
/// it was denied (`denied`), what was dropped of its log (`log`) and what of the result is in an artifact
/// (`omitted`).
pub const HOST_METADATA: [&str; 5] = ["stdout", "stderr", "denied", "log", "omitted"];

/// What is left of a bound while the values of one outcome are counted.
pub(crate) struct Room {
    bounds: JsonBounds,
    used: usize,
}

impl Room {
    pub(crate) fn new(bounds: &JsonBounds) -> Self {
        Self {
            bounds: *bounds,
            used: 0,
        }
    }

    fn take(&mut self, value: &Value) -> Result<(), ResultError> {
        let left = JsonBounds {
            bytes: self.bounds.bytes - self.used,
            depth: self.bounds.depth,
        };
        match json::measure(value, &left) {
            Ok(bytes) => {
                self.used += bytes;
                Ok(())
            }
            Err(JsonError::TooLarge { bytes, .. }) => Err(self.passed_by(bytes)),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn take_text(&mut self, text: &str) -> Result<(), ResultError> {
        let used = self.used.saturating_add(text.len());
        if used > self.bounds.bytes {
            return Err(self.passed_by(text.len()));
        }
        self.used = used;
        Ok(())
    }

    pub(crate) fn take_content(&mut self, content: &Content) -> Result<(), ResultError> {
        match content {
            Content::Text(text) => self.take_text(text),
            Content::Json(value) => self.take(value),
            Content::Parts(parts) => parts.iter().try_for_each(|part| match part {
                Part::Text { text } => self.take_text(text),
                Part::Json { data } => self.take(data),
                Part::Reference { reference } => self.take_reference(reference),
            }),
        }
    }

    pub(crate) fn take_reference(&mut self, reference: &Reference) -> Result<(), ResultError> {
        check_reference(reference)?;
        self.take_text(&reference.uri)?;
        self.take_text(reference.media_type.as_deref().unwrap_or_default())?;
        self.take_text(reference.digest.as_deref().unwrap_or_default())
    }

    fn passed_by(&self, bytes: usize) -> ResultError {
        let bytes = self.used.saturating_add(bytes);
        let limit_bytes = self.bounds.bytes;
        JsonError::TooLarge { bytes, limit_bytes }.into()
    }
}

/// The result of one call: what the tool gave, under the id and source that the host set.
///
/// Source: SPEC C3.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalResult {
    /// The id of the call.
    pub call_id: String,
    /// The tool, or `server:tool`.
    pub source: String,
    /// How it ended.
    pub status: Status,
    /// What to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
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

impl ExternalResult {
    /// Checks what [`ToolOutcome::check`] checks.
    ///
    /// # Errors
    /// See [`ResultError`].
    pub fn check(&self, bounds: &JsonBounds) -> Result<(), ResultError> {
        let outcome = OutcomeRef {
            status: self.status,
            content: self.content.as_ref(),
            structured_content: self.structured_content.as_ref(),
            references: self.references.as_deref(),
            has_error: self.error.is_some(),
            metadata: self.metadata.as_ref(),
        };
        outcome.check(bounds)
    }

    /// What the host recorded as denied during the call, each as `kind:name`.
    pub fn denied(&self) -> impl Iterator<Item = &str> {
        denied_in(self.metadata.as_ref())
    }

    /// Takes a result apart without recursion, however deep its values are.
    pub fn discard(self) {
        let Self {
            status,
            content,
            structured_content,
            references,
            error,
            metadata,
            ..
        } = self;
        let outcome = ToolOutcome {
            status,
            content,
            structured_content,
            references,
            error,
            metadata,
        };
        outcome.discard();
    }

    /// Puts the host's fields on an outcome.
    #[must_use]
    pub fn new(call_id: &CallId, source: impl Into<String>, outcome: ToolOutcome) -> Self {
        Self::from_outcome(call_id.as_str().to_owned(), source.into(), outcome)
    }

    fn from_outcome(call_id: String, source: String, outcome: ToolOutcome) -> Self {
        let ToolOutcome {
            status,
            content,
            structured_content,
            references,
            error,
            metadata,
        } = outcome;
        Self {
            call_id,
            source,
            status,
            content,
            structured_content,
            references,
            error,
            metadata,
        }
    }

    /// Reads a result strictly. Of its error, only code, message and retryable are kept. Each
    /// value inside may have the depth of the bounds.
    ///
    /// # Errors
    /// See [`ResultError`]; a wrong field is named by its path.
    pub fn from_value(value: Value, bounds: &JsonBounds) -> Result<Self, ResultError> {
        let whole = JsonBounds {
            bytes: bounds.bytes,
            depth: bounds.usable_depth() + ENVELOPE_DEPTH,
        };
        let known = [
            "callId",
            "source",
            "status",
            "content",
            "structuredContent",
            "references",
            "error",
            "metadata",
        ];
        let mut fields = Fields::open("result", within(value, &whole)?, &known)?;
        let call_id = fields.filled_string("callId")?;
        let source = fields.filled_string("source")?;
        let status = Status::from_name(&fields.string("status")?);
        let expected = "`success`, `failed`, `cancelled`, `timeout` or `unknown`";
        let outcome = ToolOutcome {
            status: status.ok_or_else(|| wrong("result.status", expected))?,
            content: fields.optional("content").map(Content::from_value),
            structured_content: fields.optional("structuredContent"),
            references: fields.optional_list("references", Reference::read)?,
            error: match fields.optional("error") {
                Some(error) => Some(Failure::from_value(&error)?),
                None => None,
            },
            metadata: fields.optional_object("metadata")?,
        };
        outcome.check(bounds)?;
        Ok(Self::from_outcome(call_id, source, outcome))
    }
}

impl<'de> Deserialize<'de> for ExternalResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = strict::deserialize(deserializer)?;
        Self::from_value(value, &JsonBounds::default()).map_err(D::Error::custom)
    }
}

/// What the host recorded in metadata as denied.
pub(crate) fn denied_in(metadata: Option<&JsonObject>) -> impl Iterator<Item = &str> {
    let denied = metadata.and_then(|metadata| metadata.get("denied"));
    let denied = denied.and_then(Value::as_array).into_iter().flatten();
    denied.filter_map(Value::as_str)
}
