//! What a tool says about itself. It describes; it grants nothing and asks nobody.

use serde::{Deserialize, Serialize};

use crate::call::ToolName;
use crate::json::{self, JsonBounds, JsonError, JsonObject, Value};

/// The longest description, in bytes.
pub const DESCRIPTION_BYTES: usize = 4096;

/// The largest schema as compact JSON, in bytes.
pub const SCHEMA_BYTES: usize = 65536;

/// What a tool may do to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It reads files.
    Read,
    /// It changes files.
    Write,
    /// It runs commands.
    Execute,
    /// It opens connections.
    Network,
}

impl Effect {
    /// The word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Execute => "execute",
            Self::Network => "network",
        }
    }
}

/// One tool as its plugin defines it.
///
/// Source: SPEC T1.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// The name it is called by.
    pub name: ToolName,
    /// What it is for, for the model or person that chooses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of the arguments.
    pub input_schema: JsonObject,
    /// JSON Schema of the structured content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<JsonObject>,
    /// What it may do; each effect needs a grant of its kind.
    pub effects: Vec<Effect>,
    /// Whether the embedder should ask a person first.
    pub requires_approval: bool,
}

impl ToolDefinition {
    /// Checks the sizes and the depth of the schemas.
    ///
    /// # Errors
    /// See [`DefinitionError`].
    pub fn check(&self) -> Result<(), DefinitionError> {
        let description = self.description.as_deref().unwrap_or_default();
        if description.len() > DESCRIPTION_BYTES {
            return Err(DefinitionError::DescriptionTooLong {
                bytes: description.len(),
            });
        }
        check_schema("inputSchema", Some(&self.input_schema))?;
        check_schema("outputSchema", self.output_schema.as_ref())
    }
}

fn check_schema(field: &'static str, schema: Option<&JsonObject>) -> Result<(), DefinitionError> {
    let bounds = JsonBounds {
        bytes: SCHEMA_BYTES,
        // One less than a document's: the fields of the schema object are checked one by one.
        depth: JsonBounds::default().depth - 1,
    };
    let refuse = |source| DefinitionError::Schema { field, source };
    let mut bytes = 2_usize;
    for (key, value) in schema.into_iter().flatten() {
        let key_bytes = json::measure(&Value::from(key.as_str()), &bounds).map_err(refuse)?;
        let value_bytes = json::measure(value, &bounds).map_err(refuse)?;
        // The colon and the comma.
        bytes = bytes.saturating_add(key_bytes + value_bytes + 2);
        if bytes > SCHEMA_BYTES {
            let limit_bytes = SCHEMA_BYTES;
            return Err(refuse(JsonError::TooLarge { bytes, limit_bytes }));
        }
    }
    Ok(())
}

/// Why a definition was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// The description passes [`DESCRIPTION_BYTES`].
    #[error("description has {bytes} bytes, the limit is {DESCRIPTION_BYTES}")]
    DescriptionTooLong {
        /// Its size.
        bytes: usize,
    },
    /// A schema is too large or too deep.
    #[error("{field} passes a limit")]
    Schema {
        /// `inputSchema` or `outputSchema`.
        field: &'static str,
        /// The limit.
        source: JsonError,
    },
}

/// One thing that is wrong with a document, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// JSON pointer (RFC 6901) of the value; empty for the document itself.
    pub pointer: String,
    /// What is wrong with it, in words.
    pub reason: String,
}
