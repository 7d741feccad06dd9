//! `read_artifact`: a tool that pages through what was kept for the caller's tenant and run (SPEC O3).
//!
//! Deliberately absent: finding out what there is. Who has no reference has nothing to read.

pub(crate) mod keep;

use serde_json::json;
use tidegate_contract::failure::host_failure;
use tidegate_contract::limits::Limits;
use tidegate_contract::{
    CallError, Content, JsonObject, Problem, Status, ToolCall, ToolDefinition, ToolName,
    ToolOutcome, Value, text,
};
use tidegate_sandbox::artifacts::{self, Slice};

use crate::tool::{BoxFuture, CallContext, Tool};

/// The name of the tool.
const NAME: &str = "read_artifact";

/// Bytes of a piece where the caller does not say.
const LENGTH_BYTES: u64 = 64 * 1024;

/// Longest piece: one that fits into a result of the default size.
const MAX_LENGTH_BYTES: u64 = 512 * 1024;

/// Shortest piece: every character fits into it, so that each piece but the last has one.
const MIN_LENGTH_BYTES: u64 = 4;

/// What stands around a piece in a result: numbers, and the longest media type.
const AROUND_BYTES: u64 = 512;

/// The tool `read_artifact {uri, offset?, length?}`. Its text is the piece; its structured content says
/// where the next one starts.
#[derive(Debug)]
pub struct ReadArtifact {
    definition: ToolDefinition,
    limits: Limits,
}

impl ReadArtifact {
    /// The tool under these limits: a piece is never longer than what `result_bytes` has room for.
    ///
    /// # Errors
    ///
    /// [`CallError::InvalidCall`] if its own name were none.
    pub fn new(limits: Limits) -> Result<Self, CallError> {
        let definition = ToolDefinition {
            name: ToolName::new(NAME)?,
            description: Some(
                "Reads a piece of a text that was too long for a result. `uri` is the reference that \
                 the result has. Start without `offset`; go on with the `nextOffset` of the piece \
                 before until `eof` is true."
                    .to_owned(),
            ),
            input_schema: object(input_schema()),
            output_schema: Some(object(output_schema())),
            effects: Vec::new(),
            requires_approval: false,
        };
        Ok(Self { definition, limits })
    }

    /// What a result has room for beside what stands around the piece.
    fn room(&self) -> usize {
        let room = self.limits.result_bytes.saturating_sub(AROUND_BYTES);
        usize::try_from(room.max(MIN_LENGTH_BYTES)).unwrap_or(usize::MAX)
    }
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "uri": {
                "type": "string",
                "description": "artifact:sha-256: and 64 hex digits",
                "minLength": 1,
                "maxLength": 128,
            },
            "offset": {
                "type": "integer",
                "description": "The byte to start at; one inside of a character means the next",
                "minimum": 0,
                "default": 0,
            },
            "length": {
                "type": "integer",
                "description": "Most bytes of the piece",
                "minimum": MIN_LENGTH_BYTES,
                "maximum": MAX_LENGTH_BYTES,
                "default": LENGTH_BYTES,
            },
        },
        "required": ["uri"],
        "additionalProperties": false,
    })
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "mediaType": { "type": "string" },
            "offset": { "type": "integer", "description": "Where the piece starts" },
            "nextOffset": { "type": "integer", "description": "Where the next one starts" },
            "sizeBytes": { "type": "integer", "description": "The length of the whole" },
            "eof": { "type": "boolean", "description": "Whether this is the last piece" },
        },
        "required": ["mediaType", "offset", "nextOffset", "sizeBytes", "eof"],
    })
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

impl Tool for ReadArtifact {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    /// Again what the schema says, for a registry that does not check it.
    fn validate(&self, arguments: &JsonObject) -> Result<(), Vec<Problem>> {
        Asked::read(arguments).map(drop)
    }

    fn execute<'a>(
        &'a self,
        call: &'a ToolCall,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutcome, CallError>> {
        Box::pin(async move {
            let arguments = call.arguments.as_object().cloned().unwrap_or_default();
            let asked = Asked::read(&arguments)
                .map_err(|problems| CallError::InvalidArguments { problems })?;
            let Some(shelf) = context.shelf.clone() else {
                let message = "this host keeps no artifacts".to_owned();
                let failure = host_failure("ARTIFACTS_UNAVAILABLE", message);
                return Ok(ToolOutcome::failed(failure));
            };
            let room = self.room();
            let job = move || {
                let slice = shelf.read(&asked.uri, asked.offset, asked.length.min(room))?;
                Ok((asked, slice))
            };
            let read = keep::aside(job).await?;
            Ok(match read {
                Ok((asked, slice)) => piece(&asked, &slice),
                Err(error) => ToolOutcome::failed(keep::told(&error)),
            })
        })
    }
}

/// The arguments of a call.
struct Asked {
    uri: String,
    offset: u64,
    length: usize,
}

impl Asked {
    fn read(arguments: &JsonObject) -> Result<Self, Vec<Problem>> {
        let problem = |field: &str, reason: &str| {
            vec![Problem {
                pointer: format!("/{field}"),
                reason: reason.to_owned(),
            }]
        };
        let number = |field: &str, default: u64| match arguments.get(field) {
            None => Some(default),
            Some(value) => value.as_u64(),
        };
        let uri = arguments.get("uri").and_then(Value::as_str);
        let uri = uri.filter(|uri| artifacts::is_uri(uri));
        let uri =
            uri.ok_or_else(|| problem("uri", "expected artifact:sha-256: and 64 hex digits"))?;
        let offset = number("offset", 0);
        let offset = offset.ok_or_else(|| problem("offset", "expected a whole number from 0"))?;
        let length = number("length", LENGTH_BYTES)
            .filter(|length| (MIN_LENGTH_BYTES..=MAX_LENGTH_BYTES).contains(length))
            .and_then(|length| usize::try_from(length).ok());
        let length =
            length.ok_or_else(|| problem("length", "expected a whole number from 4 to 524288"))?;
        Ok(Self {
            uri: uri.to_owned(),
            offset,
            length,
        })
    }
}

/// A piece as text, without the characters that are not whole in it.
fn piece(asked: &Asked, slice: &Slice) -> ToolOutcome {
    let size_bytes = slice.size_bytes;
    let skipped = slice
        .bytes
        .iter()
        .take(3)
        .take_while(|byte| asked.offset > 0 && **byte & 0xc0 == 0x80)
        .count();
    let bytes = slice.bytes.get(skipped..).unwrap_or_default();
    let offset = asked.offset.saturating_add(count(skipped));
    let reached_end = offset.saturating_add(count(bytes.len())) >= size_bytes;
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && !reached_end => {
            let whole = bytes.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(whole).unwrap_or_default()
        }
        Err(_not_text) => {
            let message = format!("the artifact is not text; it has {size_bytes} bytes");
            return ToolOutcome::failed(host_failure("NOT_TEXT", message));
        }
    };
    let next = offset.saturating_add(count(text.len()));
    ToolOutcome {
        status: Status::Success,
        content: Some(Content::Text(text.to_owned())),
        structured_content: Some(json!({
            "mediaType": text::cut(&slice.media_type, 127),
            "offset": offset,
            "nextOffset": next,
            "sizeBytes": size_bytes,
            "eof": next >= size_bytes,
        })),
        references: None,
        error: None,
        metadata: None,
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
