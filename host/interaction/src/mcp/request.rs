//! What `INTERACTION.ACT.MCP` takes and gives: `{operation: "discover", server?}` or `{operation:
//! "invoke", server, call}`, and the same words back with what was asked for (SPEC M1).

use serde::Serialize;
use tidegate_contract::json::JsonBounds;
use tidegate_contract::{CallError, ExternalResult, JsonObject, McpCapability, ToolCall, Value};

/// What is asked of MCP servers.
#[derive(Clone, Debug, PartialEq)]
pub enum McpRequest {
    /// Which tools there are.
    Discover {
        /// The server; `None` means each that is registered.
        server: Option<String>,
    },
    /// One call of one tool.
    Invoke {
        /// The server.
        server: String,
        /// The call; its arguments are an object.
        call: ToolCall,
    },
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "operation", rename_all = "lowercase")]
pub enum McpAnswer {
    /// The tools, server by server, as each lists them.
    Discover {
        /// The tools.
        capabilities: Vec<McpCapability>,
    },
    /// The result of the call; its source is `server:tool`.
    Invoke {
        /// The result.
        result: Box<ExternalResult>,
    },
}

impl McpRequest {
    /// Reads a request strictly. `bounds` hold for the arguments of a call.
    ///
    /// # Errors
    ///
    /// [`CallError::InvalidCall`], naming the field that is unknown, absent or of the wrong type.
    pub fn from_value(value: Value, bounds: &JsonBounds) -> Result<Self, CallError> {
        let Value::Object(mut fields) = value else {
            return Err(invalid("the input must be an object".to_owned()));
        };
        let operation = required_text(&mut fields, "operation")?;
        let request = match operation.as_str() {
            "discover" => Self::Discover {
                server: if fields.contains_key("server") {
                    Some(server(&mut fields)?)
                } else {
                    None
                },
            },
            "invoke" => {
                let server = server(&mut fields)?;
                let call = fields
                    .remove("call")
                    .ok_or_else(|| invalid("call is required".to_owned()))?;
                let call = ToolCall::from_value(call, bounds)?;
                if call.arguments.as_object().is_none() {
                    return Err(invalid("call.arguments must be an object".to_owned()));
                }
                Self::Invoke { server, call }
            }
            _ => {
                let reason = "operation must be `discover` or `invoke`";
                return Err(invalid(reason.to_owned()));
            }
        };
        match fields.keys().next() {
            None => Ok(request),
            Some(other) => {
                let other: String = other.chars().filter(|c| !c.is_control()).take(64).collect();
                Err(invalid(format!("unknown field `{other}`")))
            }
        }
    }
}

fn server(fields: &mut JsonObject) -> Result<String, CallError> {
    let server = required_text(fields, "server")?;
    if server.trim().is_empty() {
        return Err(invalid("server must be a non-empty string".to_owned()));
    }
    Ok(server)
}

fn required_text(fields: &mut JsonObject, name: &str) -> Result<String, CallError> {
    match fields.remove(name) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(invalid(format!("{name} must be a string"))),
        None => Err(invalid(format!("{name} is required"))),
    }
}

fn invalid(reason: String) -> CallError {
    CallError::InvalidCall { reason }
}
