//! One call of one server's tool: what the server said becomes a checked result (SPEC M3).
//!
//! A failure of the tool is a failed result and never prose that reads like success; what a server
//! says about an error is shown only where it is fit for the public (SPEC C7). What is too large for a
//! result, and bytes such as pictures, go to the store of artifacts where there is one (SPEC O3).

use tidegate_contract::failure::host_failure;
use tidegate_contract::json;
use tidegate_contract::{
    CallError, Content, ExternalResult, Failure, JsonError, JsonObject, Limits, Reference,
    ResultError, Status, ToolCall, ToolOutcome, Value,
};
use tidegate_engine::digest;
use tidegate_sandbox::Shelf;
use tokio_util::sync::CancellationToken;

use super::{McpBlob, McpError, McpToolResult, Server};
use crate::artifact::keep;
use crate::bounds;

/// Blobs of one answer that go to the store; of the others there is the digest alone.
const KEPT_BLOBS: usize = 64;

/// The media type of bytes whose own one the server does not say.
const BYTES: &str = "application/octet-stream";

/// Calls the tool once. What is over `result_bytes` is kept on the shelf.
pub(crate) async fn invoke(
    server: &Server,
    call: &ToolCall,
    (limits, shelf): (&Limits, Option<&Shelf>),
    cancel: &CancellationToken,
) -> Result<ExternalResult, CallError> {
    let nothing = JsonObject::new();
    let arguments = call.arguments.as_object().unwrap_or(&nothing);
    let asked = (call.name.as_str(), arguments);
    let outcome = ask(server, asked, (limits, shelf), cancel).await?;
    Ok(ExternalResult::new(
        &call.id,
        source(&server.name, call),
        outcome,
    ))
}

/// What one call of a tool, by the server's own name for it, comes to.
pub(super) async fn ask(
    server: &Server,
    (tool, arguments): (&str, &JsonObject),
    (limits, shelf): (&Limits, Option<&Shelf>),
    cancel: &CancellationToken,
) -> Result<ToolOutcome, CallError> {
    let outcome = match server.client.call_tool(tool, arguments, cancel).await {
        Ok(result) => outcome(result, shelf).await?,
        Err(McpError::SecretInResult) => return Err(CallError::SecretInResult),
        Err(error) => {
            let shown = error.shown();
            tracing::warn!(
                server = server.name,
                tool,
                error = shown,
                "an MCP call failed"
            );
            failed(&error, limits)
        }
    };
    checked(outcome, limits, shelf).await
}

/// `server:tool`. A tool's name has no colon, so the last one divides them.
pub(crate) fn source(server: &str, call: &ToolCall) -> String {
    format!("{server}:{}", call.name)
}

async fn outcome(result: McpToolResult, shelf: Option<&Shelf>) -> Result<ToolOutcome, CallError> {
    let McpToolResult {
        mut content,
        structured_content,
        references,
        blobs,
        is_error,
        error,
    } = result;
    let mut references = references.unwrap_or_default();
    references.extend(kept(blobs, shelf).await?);
    let error = error.map(read);
    let (status, error) = if is_error {
        (Status::Failed, Some(error.unwrap_or_else(no_details)))
    } else {
        (Status::Success, error)
    };
    if content.is_none() && structured_content.is_none() && references.is_empty() {
        // Nothing is an answer too: observing says so in words.
        content = Some(Content::Text(String::new()));
    }
    Ok(ToolOutcome {
        status,
        content,
        structured_content,
        references: (!references.is_empty()).then_some(references),
        error,
        metadata: None,
    })
}

/// The server's own error, where it is fit to be shown.
fn read(error: Value) -> Failure {
    let failure = Failure::from_value(&error);
    json::discard(error);
    failure.unwrap_or_else(|_unfit| no_details())
}

fn no_details() -> Failure {
    let message = "the MCP tool reported an execution error".to_owned();
    host_failure("MCP_TOOL_ERROR", message)
}

/// Bytes never stand in a result: references say where they are, and what they were.
async fn kept(blobs: Vec<McpBlob>, shelf: Option<&Shelf>) -> Result<Vec<Reference>, CallError> {
    if blobs.is_empty() {
        return Ok(Vec::new());
    }
    let shelf = shelf.cloned();
    let keep = move || {
        let place = |(at, blob)| {
            let shelf = shelf.as_ref().filter(|_| at < KEPT_BLOBS);
            places(blob, shelf)
        };
        blobs.into_iter().enumerate().flat_map(place).collect()
    };
    keep::aside(keep).await
}

/// The type that bytes are kept as: the server's without its parameters, where it is one.
fn kept_type(said: Option<&str>) -> &str {
    let bare = said.and_then(|said| said.split(';').next()).map(str::trim);
    bare.filter(|bare| Shelf::takes(bare)).unwrap_or(BYTES)
}

/// The store's place, and the one that the server names; one of them at least.
fn places(blob: McpBlob, shelf: Option<&Shelf>) -> Vec<Reference> {
    let McpBlob {
        uri,
        media_type,
        bytes,
    } = blob;
    let mut places = Vec::new();
    if let Some(shelf) = shelf {
        match shelf.put(kept_type(media_type.as_deref()), &bytes) {
            Ok(kept) => places.push(Reference {
                uri: kept.uri,
                media_type: media_type.clone(),
                digest: Some(kept.digest),
            }),
            Err(error) => tracing::warn!(%error, "bytes of an MCP server were not kept"),
        }
    }
    let own = uri.filter(|uri| !uri.trim().is_empty());
    if own.is_some() || places.is_empty() {
        let digest = digest(&bytes);
        places.push(Reference {
            uri: own.unwrap_or_else(|| format!("urn:sha-256:{digest}")),
            media_type,
            digest: Some(format!("sha-256:{digest}")),
        });
    }
    places
}

/// The result of a call without an answer.
fn failed(error: &McpError, limits: &Limits) -> ToolOutcome {
    let (status, code, message) = match error {
        McpError::Unavailable { .. } => (
            Status::Failed,
            "MCP_UNAVAILABLE",
            "the MCP server could not be reached; nothing was asked of it".to_owned(),
        ),
        McpError::Broken { .. } => (
            Status::Unknown,
            "OUTCOME_UNKNOWN",
            "the connection to the MCP server broke after the call was sent".to_owned(),
        ),
        McpError::Protocol {
            code: Some(code), ..
        } => (
            Status::Failed,
            "MCP_PROTOCOL_ERROR",
            format!("the MCP server answered with the protocol error {code}"),
        ),
        McpError::Protocol { code: None, .. } | McpError::SecretInResult => (
            Status::Failed,
            "MCP_PROTOCOL_ERROR",
            "the MCP server gave no valid answer".to_owned(),
        ),
        McpError::TooLarge { .. } => {
            return ToolOutcome::failed(Failure::result_too_large(limits.result_bytes));
        }
        McpError::Cancelled => {
            return ToolOutcome::ended(Status::Cancelled, Failure::cancelled());
        }
    };
    ToolOutcome::ended(status, host_failure(code, message))
}

/// The server has acted, so what is wrong with its answer is a result as well.
async fn checked(
    outcome: ToolOutcome,
    limits: &Limits,
    shelf: Option<&Shelf>,
) -> Result<ToolOutcome, CallError> {
    let reason = match outcome.check(&bounds::of_result(limits)) {
        Ok(()) => return Ok(outcome),
        Err(ResultError::Json(JsonError::TooLarge { .. })) => {
            match keep::what_is_over(outcome, *limits, shelf).await {
                Err(CallError::InvalidResult { reason }) => reason,
                end => return end,
            }
        }
        Err(error) => {
            outcome.discard();
            error.to_string()
        }
    };
    tracing::warn!(reason, "an MCP server's result was refused");
    Ok(failed(&McpError::Protocol { code: None, reason }, limits))
}
