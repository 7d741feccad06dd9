//! Tools, sinks and workers for Tidegate, without the handling of the contract's raw types.
//!
//! A plugin is a library of the kind `cdylib`, built for `wasm32-wasip2`. It implements [`Tool`],
//! [`Sink`] or [`Worker`] and hands the type to a macro: [`export_tools`], [`export_sink`] or
//! [`export_worker`]. Deliberately absent: files and requests, for which WASI is enough.
//!
//! ```
//! use tidegate_plugin::schemars::JsonSchema;
//! use tidegate_plugin::serde::Deserialize;
//! use tidegate_plugin::{Entry, Failure, Outcome, Tool, Tools};
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(crate = "tidegate_plugin::serde", deny_unknown_fields)]
//! #[schemars(crate = "tidegate_plugin::schemars")]
//! struct Arguments {
//!     /// What to say
//!     #[schemars(length(max = 1_000))]
//!     text: String,
//! }
//!
//! struct Shout;
//!
//! impl Tool for Shout {
//!     type Arguments = Arguments;
//!     const NAME: &'static str = "shout";
//!     const DESCRIPTION: &'static str = "Says a text in capital letters.";
//!
//!     fn execute(arguments: Arguments) -> Result<Outcome, Failure> {
//!         Ok(Outcome::text(arguments.text.to_uppercase()))
//!     }
//! }
//!
//! struct Plugin;
//!
//! impl Tools for Plugin {
//!     const TOOLS: &'static [Entry] = &[Entry::of::<Shout>()];
//! }
//!
//! tidegate_plugin::export_tools!(Plugin);
//! # fn main() {}
//! ```

pub mod bindings;
mod deliver;
mod json;
mod outcome;
mod tool;
mod work;

pub use bindings::host::tidegate::plugin::types::{
    Artifact, Content, Delivery, Effect, Failure, Message, Outcome, Part, Receipt, ReceiptStatus,
    Reference, Role, Status, ToolCall, ToolDefinition,
};
pub use bindings::host::tidegate::plugin::{artifacts, context, exec, file_status, parts};
pub use bindings::sink::export_sink;
pub use bindings::tools::export_tools;
pub use bindings::tools::exports::tidegate::plugin::tools::Problem;
pub use bindings::worker::export_worker;
pub use bindings::worker::exports::tidegate::plugin::worker::Invocation;
pub use deliver::Sink;
pub use outcome::Retryable;
pub use tool::{Entry, Tool, Tools, schema_of};
pub use work::{Worker, stage};
pub use {schemars, serde, serde_json};
