//! A delivery to a sink and its receipt; and what an MCP server offers.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::call::is_id;
use crate::error::CallError;
use crate::failure::Failure;
use crate::json::{JsonBounds, JsonObject, Value};
use crate::message::{Artifact, Message};
use crate::result::denied_in;
use crate::result::{ResultError, Room};
use crate::shape::{Fields, within_max_depth};

/// The caller's name for one delivery: 1 to 256 characters without controls.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct DeliveryId(String);

impl DeliveryId {
    /// Checks an id.
    ///
    /// # Errors
    /// `InvalidCall` when it is empty, too long or holds a control character.
    pub fn new(id: impl Into<String>) -> Result<Self, CallError> {
        let id = id.into();
        if !is_id(&id) {
            return Err(CallError::InvalidCall {
                reason: "deliveryId must be 1 to 256 characters without controls".to_owned(),
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

impl fmt::Display for DeliveryId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// One message on its way to one sink.
///
/// Source: SPEC D1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_field_names,
    reason = "the wire says deliveryId, and the code says the same word"
)]
pub struct Delivery {
    /// The caller's id.
    pub delivery_id: DeliveryId,
    /// What is delivered.
    pub message: Message,
    /// What goes with it, by reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Artifact>>,
}

impl Delivery {
    /// Checks size and depth, content and artifacts together.
    ///
    /// # Errors
    /// See [`ResultError`].
    ///
    /// Source: SPEC C8.
    pub fn check(&self, bounds: &JsonBounds) -> Result<(), ResultError> {
        let mut room = Room::new(bounds);
        room.take_content(&self.message.content)?;
        room.take_text(self.message.name.as_deref().unwrap_or_default())?;
        for artifact in self.artifacts.iter().flatten() {
            room.take_text(&artifact.name)?;
            room.take_reference(&artifact.reference)?;
        }
        Ok(())
    }

    /// Reads `{deliveryId, message, artifacts?}`.
    ///
    /// # Errors
    /// `InvalidCall` naming the field that is unknown, absent, blank or of the wrong type.
    pub fn from_value(value: Value) -> Result<Self, CallError> {
        let value = within_max_depth(value)?;
        let mut fields = Fields::open("", value, &["deliveryId", "message", "artifacts"])?;
        let delivery_id = DeliveryId::new(fields.string("deliveryId")?)?;
        let message = Message::read("message", fields.required("message")?)?;
        Ok(Self {
            delivery_id,
            message,
            artifacts: fields.optional_list("artifacts", Artifact::read)?,
        })
    }
}

/// What a sink says about a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReceiptStatus {
    /// The sink took it.
    Accepted,
    /// The sink did not take it.
    Rejected,
    /// The sink cannot tell.
    Unknown,
}

impl ReceiptStatus {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
        }
    }
}

/// A sink's answer to a delivery, as it came: [`check`](Self::check) tells whether it counts.
///
/// Source: SPEC C5, D1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputReceipt {
    /// The id that the sink answers to.
    pub delivery_id: String,
    /// What it says.
    pub status: ReceiptStatus,
    /// Where the artifacts are now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Artifact>>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// What describes the delivery itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

/// Why a receipt proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiptError {
    /// It answers another delivery.
    #[error("deliveryId is not the one that was sent")]
    OtherDelivery,
    /// It was not accepted, but says not why.
    #[error("status `{}` without an error", status.as_str())]
    ErrorRequired {
        /// The status.
        status: ReceiptStatus,
    },
    /// An artifact has a blank name.
    #[error("artifact with an empty name")]
    EmptyName,
    /// An artifact has a blank uri.
    #[error("artifact with an empty uri")]
    EmptyUri,
}

impl OutputReceipt {
    /// What the host recorded as denied during the delivery, each as `kind:name`.
    pub fn denied(&self) -> impl Iterator<Item = &str> {
        denied_in(self.metadata.as_ref())
    }

    /// Checks the receipt against the delivery it should answer.
    ///
    /// # Errors
    /// See [`ReceiptError`].
    pub fn check(&self, sent: &DeliveryId) -> Result<(), ReceiptError> {
        if self.delivery_id != sent.as_str() {
            return Err(ReceiptError::OtherDelivery);
        }
        if self.status != ReceiptStatus::Accepted && self.error.is_none() {
            return Err(ReceiptError::ErrorRequired {
                status: self.status,
            });
        }
        for artifact in self.artifacts.iter().flatten() {
            if artifact.name.trim().is_empty() {
                return Err(ReceiptError::EmptyName);
            }
            if artifact.reference.uri.trim().is_empty() {
                return Err(ReceiptError::EmptyUri);
            }
        }
        Ok(())
    }
}

/// One tool that an MCP server offers.
///
/// Source: SPEC C5.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct McpCapability {
    /// The server, as it is registered.
    pub server: String,
    /// The tool's name there.
    pub name: String,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<JsonObject>,
    /// JSON Schema of the structured content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<JsonObject>,
}
