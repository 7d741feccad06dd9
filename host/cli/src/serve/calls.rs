//! `POST /v1/calls`: one tool call of an operator (SPEC E, X3, X7).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use tidegate::InvokeOptions;
use tidegate_contract::json::{self, JsonBounds};
use tidegate_contract::{CallError, Limits, ToolCall, Value};
use tidegate_sandbox::ambient;
use tidegate_worker::token::Verb;

use super::door::Door;
use super::refused::Refused;
use super::{answer, body, query};

/// Makes a call and answers its result, whatever its status. A client that goes away cancels it.
pub(super) async fn call(
    State(door): State<Arc<Door>>,
    request: Request,
) -> Result<Response, Refused> {
    // Making a call is to start something, as launching a run is.
    let holder = door.holder(&request, Verb::Launch)?;
    query::none(request.uri())?;
    let document = document(&door, request).await?;
    let call = decode(document)?;
    let cancel = door.breaking.child_token();
    let gone = cancel.clone().drop_guard();
    let options = InvokeOptions {
        caller: holder.caller(),
        cancel,
        ..InvokeOptions::default()
    };
    let result = door.runtime.act_tool(call, options).await;
    gone.disarm();
    answer::json(StatusCode::OK, &result?)
}

/// The JSON document of a request.
///
/// # Errors
///
/// As for any body, and 400 where it is no JSON within the bounds.
pub(super) async fn document(door: &Door, request: Request) -> Result<Value, Refused> {
    body::is_json(request.headers())?;
    let limits = &door.limits;
    let bytes = body::read(request.into_body(), limits.document_bytes, limits.body_ms).await?;
    let bounds = JsonBounds {
        bytes: bytes.len(),
        // The object around a value of the full depth is one more.
        depth: JsonBounds::default().depth + 1,
    };
    Ok(json::parse_bytes(&bytes, &bounds).map_err(CallError::from)?)
}

/// `{name, arguments, id?}` as a tool call.
fn decode(mut document: Value) -> Result<ToolCall, CallError> {
    if let Value::Object(fields) = &mut document {
        let id = || format!("call-{}", ambient::random_id()).into();
        fields.entry("id").or_insert_with(id);
    }
    let bytes = usize::try_from(Limits::MAXIMUM.arguments_bytes).unwrap_or(usize::MAX);
    let bounds = JsonBounds {
        bytes,
        ..JsonBounds::default()
    };
    ToolCall::from_value(document, &bounds)
}
