//! The values of Tidegate: what every other crate speaks in.
//!
//! Calls, results, messages, deliveries, public errors, grants and limits, with the checks that
//! make each of them true. No I/O, no async, no clock; builds for WebAssembly too.
//!
//! ```
//! use tidegate_contract::{CallId, ExternalResult, JsonBounds, ToolCall, ToolOutcome, json};
//!
//! let bounds = JsonBounds::default();
//! let text = r#"{"id": "call-1", "name": "greet", "arguments": {"name": "Ada"}}"#;
//! let call = ToolCall::from_value(json::parse(text, &bounds)?, &bounds)?;
//! assert_eq!(call.arguments.text(), r#"{"name":"Ada"}"#);
//!
//! let outcome = ToolOutcome::text("Hello, Ada");
//! outcome.check(&bounds)?;
//! let result = ExternalResult::new(&call.id, call.name.as_str(), outcome);
//! assert_eq!(result.call_id, "call-1");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod json;
pub mod text;

pub mod call;
pub mod tenant;
pub mod tool;

pub mod failure;
pub mod message;
pub mod observation;
pub mod result;

pub mod delivery;

pub mod grant;
pub mod limits;

pub mod error;
pub mod nearest;
pub mod network;
pub mod origin;
pub mod roots;
pub mod shape;

mod strict;

pub use call::{CallId, ToolCall, ToolName};
pub use delivery::{
    Delivery, DeliveryId, McpCapability, OutputReceipt, ReceiptError, ReceiptStatus,
};
pub use error::CallError;
pub use failure::{Failure, FailureError};
pub use grant::{Grant, GrantError, Names};
pub use json::{Document, JsonBounds, JsonError, JsonObject, Value};
pub use limits::{LimitError, LimitSpec, Limits};
pub use message::{Artifact, Content, Message, Part, Reference, Role};
pub use network::{NetworkGrant, NetworkRule};
pub use observation::Observation;
pub use result::{ExternalResult, ResultError, Status, ToolOutcome};
pub use roots::{Root, Roots};
pub use shape::ShapeError;
pub use tenant::Tenant;
pub use text::{BoundedText, TextBuffer};
pub use tool::{DefinitionError, Effect, Problem, ToolDefinition};
