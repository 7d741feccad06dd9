//! One call of one server's tool: what the server said becomes a checked result (SPEC M3).
//!
//! A failure of the tool is a failed result and never prose that reads like success; what a server
//! says about an error is shown only where it is fit for the public (SPEC C7).

use tidegate_contract::failure::host_failure;
use tidegate_contract::json;
use tidegate_contract::{
    CallError, Content, ExternalResult, Failure, JsonError, JsonObject, Limits, Reference,
    ResultError, Status, ToolCall, ToolOutcome, Value,
};
use tidegate_engine::digest;
use tokio_util::sync::CancellationToken;

use super::{McpBlob, McpError, McpToolResult, Server};
use crate::bounds;

/// Calls the tool once.
pub(crate) async fn invoke(
    server: &Server,
    call: &ToolCall,
    limits: &Limits,
    cancel: &CancellationToken,
) -> Result<ExternalResult, CallError> {
    let nothing = JsonObject::new();
    let arguments = call.arguments.as_object().unwrap_or(&nothing);
    let answer = server
        .client
        .call_tool(call.name.as_str(), arguments, cancel)
        .await;
    let outcome = match answer {
        Ok(result) => outcome(result),
        Err(McpError::SecretInResult) => return Err(CallError::SecretInResult),
        Err(error) => {
            let shown = error.shown();
            tracing::warn!(server = server.name, tool = %call.name, error = shown, "an MCP call failed");
            failed(&error, limits)
        }
    };
    let outcome = checked(outcome, limits);
    Ok(ExternalResult::new(
        &call.id,
        source(&server.name, call),
        outcome,
    ))
}

/// `server:tool`. A tool's name has no colon, so the last one divides them.
pub(crate) fn source(server: &str, call: &ToolCall) -> String {
    format!("{server}:{}", call.name)
}

fn outcome(result: McpToolResult) -> ToolOutcome {
    let McpToolResult {
        mut content,
        structured_content,
        references,
        blobs,
        is_error,
        error,
    } = result;
    let mut references = references.unwrap_or_default();
    references.extend(blobs.into_iter().map(kept));
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
    ToolOutcome {
        status,
        content,
        structured_content,
        references: (!references.is_empty()).then_some(references),
        error,
        metadata: None,
    }
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

/// Bytes never stand in a result: a reference says what they were.
fn kept(blob: McpBlob) -> Reference {
    let digest = digest(&blob.bytes);
    Reference {
        uri: blob
            .uri
            .filter(|uri| !uri.trim().is_empty())
            .unwrap_or_else(|| format!("urn:sha-256:{digest}")),
        media_type: blob.media_type,
        digest: Some(format!("sha-256:{digest}")),
    }
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
fn checked(outcome: ToolOutcome, limits: &Limits) -> ToolOutcome {
    let bounds = bounds::of_result(limits);
    match outcome.check(&bounds) {
        Ok(()) => outcome,
        Err(ResultError::Json(JsonError::TooLarge { .. })) => {
            outcome.discard();
            ToolOutcome::failed(Failure::result_too_large(limits.result_bytes))
        }
        Err(error) => {
            tracing::warn!(%error, "an MCP server's result was refused");
            outcome.discard();
            let refused = McpError::Protocol {
                code: None,
                reason: error.to_string(),
            };
            failed(&refused, limits)
        }
    }
}
