//! The four nodes of a runtime: their names and the shape of their inputs (SPEC X1).

use std::fmt;

use serde::Serialize;
use tidegate_contract::json::JsonBounds;
use tidegate_contract::{CallError, ExternalResult, ToolCall, Value};

/// What a runtime can be asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// Runs one tool: `{call}` to an external result.
    ActTool,
    /// Discovers or invokes MCP tools.
    ActMcp,
    /// Turns a result into an observation: `{result}` to an observation.
    Observe,
    /// Delivers a message: `{deliveryId, message, artifacts?}` to a receipt.
    Output,
}

impl Node {
    /// All four.
    pub const ALL: [Self; 4] = [Self::ActTool, Self::ActMcp, Self::Observe, Self::Output];

    /// The name in flows and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ActTool => "INTERACTION.ACT.TOOL",
            Self::ActMcp => "INTERACTION.ACT.MCP",
            Self::Observe => "INTERACTION.OBSERVE",
            Self::Output => "INTERACTION.OUTPUT",
        }
    }

    /// What the node is, for whoever composes nodes: it registers and runs nothing.
    #[must_use]
    pub const fn descriptor(self) -> NodeDescriptor {
        let (input, output) = match self {
            Self::ActTool => ("{call: ToolCall}", "ExternalResult"),
            Self::ActMcp => (
                "{operation: \"discover\", server?} or {operation: \"invoke\", server, call: ToolCall}",
                "{operation: \"discover\", capabilities} or {operation: \"invoke\", result}",
            ),
            Self::Observe => ("{result: ExternalResult}", "Observation"),
            Self::Output => (
                "{deliveryId, message: Message, artifacts?: Artifact[]}",
                "OutputReceipt",
            ),
        };
        NodeDescriptor {
            name: self.as_str(),
            input,
            output,
        }
    }

    /// The node of a name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|node| node.as_str() == name)
    }
}

/// What a node is: its name, and what it takes and gives, in the words of the contract's types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeDescriptor {
    /// The name in flows and on the wire.
    pub name: &'static str,
    /// The JSON object that it takes. A `?` follows fields that may be absent.
    pub input: &'static str,
    /// What it gives directly, without an envelope.
    pub output: &'static str,
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `{call}`.
pub(crate) fn tool_input(input: Value, bounds: &JsonBounds) -> Result<ToolCall, CallError> {
    ToolCall::from_value(only_field(input, "call")?, bounds)
}

/// `{result}`.
pub(crate) fn observe_input(
    input: Value,
    bounds: &JsonBounds,
) -> Result<ExternalResult, CallError> {
    ExternalResult::from_value(only_field(input, "result")?, bounds).map_err(|error| {
        CallError::InvalidCall {
            reason: error.to_string(),
        }
    })
}

/// The one field of an input that has exactly this field.
fn only_field(input: Value, field: &'static str) -> Result<Value, CallError> {
    let invalid = |reason| CallError::InvalidCall { reason };
    let Value::Object(mut input) = input else {
        return Err(invalid(format!(
            "the input must be an object with the field `{field}`"
        )));
    };
    let value = input
        .remove(field)
        .ok_or_else(|| invalid(format!("{field} is required")))?;
    match input.keys().next() {
        None => Ok(value),
        Some(other) => {
            let other: String = other.chars().filter(|c| !c.is_control()).take(64).collect();
            Err(invalid(format!("unknown field `{other}`")))
        }
    }
}

/// A node's output as JSON, as doors and flows hand it on.
pub(crate) fn output(value: &impl Serialize) -> Result<Value, CallError> {
    serde_json::to_value(value).map_err(|error| CallError::HostFault {
        reason: error.to_string(),
    })
}
