//! The plugin contract's values into ours and back: the only place where the WIT shapes are read.
//!
//! What comes from a guest is checked here once: JSON, public errors, sizes.

use tidegate_contract::json::{self, JsonBounds};
use tidegate_contract::limits::Limits;
use tidegate_contract::result::HOST_METADATA;
use tidegate_contract::{
    Artifact, Content, Delivery, Effect, Failure, JsonObject, OutputReceipt, Part, ReceiptStatus,
    Reference, Role, Status, ToolDefinition, ToolName, ToolOutcome, Value, text,
};

use crate::bindings::tidegate::plugin::types as wit;
use crate::saturating::to_usize;

/// How a guest's value can be unusable.
#[derive(Debug)]
pub(crate) enum Broken {
    /// Larger than `result_bytes`.
    TooLarge,
    /// Against the contract, for the reason given.
    Contract(String),
}

fn contract(reason: impl Into<String>) -> Broken {
    Broken::Contract(reason.into())
}

/// Longest diagnostic of a plugin that is passed on, in bytes.
const DIAGNOSTIC_BYTES: usize = 512;

/// A guest's words about a problem, made fit for one line.
pub(crate) fn one_line(text: &str) -> String {
    let line: String = text::cut(text, DIAGNOSTIC_BYTES)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if tidegate_contract::failure::check_message(&line).is_ok() || line.is_empty() {
        line
    } else {
        tidegate_contract::failure::redact(&line)
    }
}

/// A guest's JSON Pointer, bounded and without control characters. It looks like a path of the host
/// and is none, so it is not redacted.
pub(crate) fn pointer(pointer: &str) -> String {
    text::cut(pointer, DIAGNOSTIC_BYTES)
        .chars()
        .filter(|c| !c.is_control())
        .collect()
}

/// Reads JSON texts under one budget of bytes for the whole result.
struct Reader {
    bounds: JsonBounds,
    left_bytes: usize,
}

impl Reader {
    fn new(limits: &Limits) -> Self {
        let bytes = to_usize(limits.result_bytes);
        Self {
            bounds: JsonBounds {
                bytes,
                ..JsonBounds::default()
            },
            left_bytes: bytes,
        }
    }

    fn take(&mut self, text: &str) -> Result<(), Broken> {
        self.left_bytes = self
            .left_bytes
            .checked_sub(text.len())
            .ok_or(Broken::TooLarge)?;
        Ok(())
    }

    fn text(&mut self, text: String) -> Result<String, Broken> {
        self.take(&text)?;
        Ok(text)
    }

    fn json(&mut self, text: &str, field: &str) -> Result<Value, Broken> {
        self.take(text)?;
        json::parse(text, &self.bounds).map_err(|error| contract(format!("{field}: {error}")))
    }

    fn object(&mut self, text: &str, field: &str) -> Result<JsonObject, Broken> {
        match self.json(text, field)? {
            Value::Object(object) => Ok(object),
            _ => Err(contract(format!("{field}: expected a JSON object"))),
        }
    }

    /// The plugin's own metadata, without the keys that are the host's to write.
    fn metadata(&mut self, text: Option<String>) -> Result<Option<JsonObject>, Broken> {
        let Some(text) = text else { return Ok(None) };
        let mut metadata = self.object(&text, "metadata")?;
        metadata.retain(|key, _| !HOST_METADATA.contains(&key.as_str()));
        Ok(Some(metadata))
    }

    fn reference(&mut self, reference: wit::Reference) -> Result<Reference, Broken> {
        Ok(Reference {
            uri: self.text(reference.uri)?,
            media_type: reference
                .media_type
                .map(|text| self.text(text))
                .transpose()?,
            digest: reference.digest.map(|text| self.text(text)).transpose()?,
        })
    }

    fn content(&mut self, content: wit::Content) -> Result<Content, Broken> {
        Ok(match content {
            wit::Content::Text(text) => Content::Text(self.text(text)?),
            wit::Content::Json(text) => Content::from_value(self.json(&text, "content")?),
            wit::Content::Parts(parts) => {
                if parts.is_empty() {
                    return Err(contract("content: parts must not be empty"));
                }
                let parts = parts.into_iter().map(|part| self.part(part));
                Content::Parts(parts.collect::<Result<_, Broken>>()?)
            }
        })
    }

    fn part(&mut self, part: wit::Part) -> Result<Part, Broken> {
        Ok(match part {
            wit::Part::Text(text) => Part::Text {
                text: self.text(text)?,
            },
            wit::Part::Json(text) => Part::Json {
                data: self.json(&text, "content")?,
            },
            wit::Part::Reference(reference) => Part::Reference {
                reference: self.reference(reference)?,
            },
        })
    }

    fn failure(&mut self, failure: wit::Failure) -> Result<Failure, Broken> {
        self.take(&failure.message)?;
        let made = Failure::new(failure.code, failure.message)
            .map_err(|error| contract(format!("error: {error}")))?;
        Ok(match failure.retryable {
            Some(retryable) => made.with_retryable(retryable),
            None => made,
        })
    }
}

/// A tool's outcome. The host's own fields (callId, source) are added by the caller.
pub(crate) fn outcome(outcome: wit::Outcome, limits: &Limits) -> Result<ToolOutcome, Broken> {
    let mut reader = Reader::new(limits);
    let references = outcome
        .references
        .into_iter()
        .map(|reference| reader.reference(reference))
        .collect::<Result<Vec<_>, Broken>>()?;
    let converted = ToolOutcome {
        status: status(outcome.status),
        content: outcome
            .content
            .map(|content| reader.content(content))
            .transpose()?,
        structured_content: outcome
            .structured_content
            .map(|text| reader.json(&text, "structuredContent"))
            .transpose()?,
        references: (!references.is_empty()).then_some(references),
        error: outcome
            .error
            .map(|failure| reader.failure(failure))
            .transpose()?,
        metadata: reader.metadata(outcome.metadata)?,
    };
    if converted.status == Status::Success && converted.error.is_some() {
        return Err(contract("error: a success carries none"));
    }
    converted
        .check_shape()
        .map_err(|error| contract(error.to_string()))?;
    Ok(converted)
}

/// The value that a worker returns.
pub(crate) fn value(text: &str, limits: &Limits) -> Result<Value, Broken> {
    Reader::new(limits).json(text, "value")
}

/// Why a worker has no value.
pub(crate) fn failure(failure: wit::Failure, limits: &Limits) -> Result<Failure, Broken> {
    Reader::new(limits).failure(failure)
}

fn status(status: wit::Status) -> Status {
    match status {
        wit::Status::Success => Status::Success,
        wit::Status::Failed => Status::Failed,
        wit::Status::Cancelled => Status::Cancelled,
        wit::Status::Timeout => Status::Timeout,
        wit::Status::Unknown => Status::Unknown,
    }
}

/// A sink's receipt; the caller compares it with what was sent.
pub(crate) fn receipt(receipt: wit::Receipt, limits: &Limits) -> Result<OutputReceipt, Broken> {
    let mut reader = Reader::new(limits);
    let artifacts = receipt.artifacts.map(|artifacts| {
        artifacts
            .into_iter()
            .map(|artifact| {
                Ok(Artifact {
                    name: reader.text(artifact.name)?,
                    reference: reader.reference(artifact.reference)?,
                })
            })
            .collect::<Result<Vec<_>, Broken>>()
    });
    Ok(OutputReceipt {
        artifacts: artifacts.transpose()?,
        delivery_id: reader.text(receipt.delivery_id)?,
        status: match receipt.status {
            wit::ReceiptStatus::Accepted => ReceiptStatus::Accepted,
            wit::ReceiptStatus::Rejected => ReceiptStatus::Rejected,
            wit::ReceiptStatus::Unknown => ReceiptStatus::Unknown,
        },
        error: receipt
            .error
            .map(|failure| reader.failure(failure))
            .transpose()?,
        metadata: reader.metadata(receipt.metadata)?,
    })
}

/// A delivery as the sink gets it.
pub(crate) fn delivery(delivery: &Delivery) -> wit::Delivery {
    wit::Delivery {
        delivery_id: delivery.delivery_id.as_str().to_owned(),
        message: wit::Message {
            role: match delivery.message.role {
                Role::System => wit::Role::System,
                Role::User => wit::Role::User,
                Role::Assistant => wit::Role::Assistant,
                Role::Tool => wit::Role::Tool,
            },
            content: content(&delivery.message.content),
            name: delivery.message.name.clone(),
        },
        artifacts: delivery
            .artifacts
            .iter()
            .flatten()
            .map(|artifact| wit::Artifact {
                name: artifact.name.clone(),
                reference: reference(&artifact.reference),
            })
            .collect(),
    }
}

fn content(content: &Content) -> wit::Content {
    match content {
        Content::Text(text) => wit::Content::Text(text.clone()),
        Content::Json(value) => wit::Content::Json(value.to_string()),
        Content::Parts(parts) => wit::Content::Parts(parts.iter().map(part).collect()),
    }
}

fn part(part: &Part) -> wit::Part {
    match part {
        Part::Text { text } => wit::Part::Text(text.clone()),
        Part::Json { data } => wit::Part::Json(data.to_string()),
        Part::Reference { reference: to } => wit::Part::Reference(reference(to)),
    }
}

fn reference(reference: &Reference) -> wit::Reference {
    wit::Reference {
        uri: reference.uri.clone(),
        media_type: reference.media_type.clone(),
        digest: reference.digest.clone(),
    }
}

/// Most tools one plugin may define.
const DEFINITIONS: usize = 1_000;

/// The tools a plugin says it has, or what is wrong with them.
pub(crate) fn definitions(
    definitions: Vec<wit::ToolDefinition>,
    limits: &Limits,
) -> Result<Vec<ToolDefinition>, String> {
    if definitions.len() > DEFINITIONS {
        return Err(format!("it defines more than {DEFINITIONS} tools"));
    }
    let mut converted: Vec<ToolDefinition> = Vec::with_capacity(definitions.len());
    for given in definitions {
        let shown = one_line(&given.name);
        let definition = definition(given, limits).map_err(|broken| match broken {
            Broken::TooLarge => format!("tool `{shown}`: its definition is too large"),
            Broken::Contract(reason) => format!("tool `{shown}`: {reason}"),
        })?;
        if converted.iter().any(|other| other.name == definition.name) {
            return Err(format!("it defines the tool `{shown}` twice"));
        }
        converted.push(definition);
    }
    Ok(converted)
}

fn definition(given: wit::ToolDefinition, limits: &Limits) -> Result<ToolDefinition, Broken> {
    let mut reader = Reader::new(limits);
    let definition = ToolDefinition {
        name: ToolName::new(given.name).map_err(|error| contract(error.to_string()))?,
        description: given
            .description
            .map(|text| reader.text(text))
            .transpose()?,
        input_schema: reader.object(&given.input_schema, "inputSchema")?,
        output_schema: given
            .output_schema
            .map(|schema| reader.object(&schema, "outputSchema"))
            .transpose()?,
        effects: given
            .effects
            .into_iter()
            .map(|effect| match effect {
                wit::Effect::Read => Effect::Read,
                wit::Effect::Write => Effect::Write,
                wit::Effect::Execute => Effect::Execute,
                wit::Effect::Network => Effect::Network,
            })
            .collect(),
        requires_approval: given.requires_approval,
    };
    definition
        .check()
        .map_err(|error| contract(error.to_string()))?;
    Ok(definition)
}
