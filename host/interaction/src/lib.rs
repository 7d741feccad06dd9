//! Tidegate for Rust programs: tools, sinks and flows over sandboxed WebAssembly plugins.
//!
//! A [`Runtime`] has four nodes: it runs a tool, observes the result, delivers a message, and (once
//! clients are injected) calls MCP servers. Tools and sinks are components ([`ComponentTool`],
//! [`ComponentSink`]) or Rust types that implement [`Tool`] and [`Sink`].
//!
//! This crate must never know of command lines, HTTP or config files, and never names wasmtime.
//!
//! ```
//! use tidegate::{InvokeOptions, Node, Runtime, RuntimeOptions};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let runtime = Runtime::new(RuntimeOptions::default())?;
//! let input = serde_json::json!({"result": {
//!     "callId": "read-1", "source": "read_text", "status": "success", "content": "file text",
//! }});
//! let observation = runtime.invoke(Node::Observe, input, InvokeOptions::default()).await?;
//! assert_eq!(observation["message"]["content"], "file text");
//! runtime.close().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).map_err(|error: Box<dyn std::error::Error>| error)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod artifact;
mod audit;
mod blocking;
mod bounds;
mod caller;
mod component;
mod handler;
mod mcp;
mod nodes;
mod observe;
mod registry;
mod runtime;
mod schema;
mod sink;
mod tool;
mod worker;

pub mod flow;
pub mod protocol;

pub use artifact::ReadArtifact;
pub use audit::{Audit, AuditEvent, AuditLog, Ended, Subject};
pub use blocking::Blocking;
pub use caller::Caller;
pub use component::{ComponentSink, ComponentTool};
pub use handler::{Handlers, NodeHandler, RuntimeHandler};
pub use mcp::{
    LeftOut, MAX_CAPABILITIES, MAX_DISCOVERY_PAGES, McpAnswer, McpBlob, McpClient, McpError,
    McpHints, McpPage, McpRegisterError, McpRegistration, McpRegistry, McpRequest, McpSettings,
    McpTool, McpToolResult, ServeError, Served,
};
pub use nodes::{Node, NodeDescriptor};
pub use observe::observe;
pub use registry::{RegisterError, Registration, SchemaCheck, ToolRegistry};
pub use runtime::{DEFAULT_QUEUE, InvokeOptions, MAX_QUEUE, Runtime, RuntimeOptions};
pub use schema::{Schema, SchemaError};
pub use sink::{Sink, Sinks};
pub use tool::{BoxFuture, CallContext, Tool};
pub use worker::{ComponentWorker, Workers};

pub use tidegate_contract as contract;
pub use tidegate_engine::{
    CallOptions, CallProgress, CommandComponent, Deadline, Engine, EngineError, EngineSettings,
    Executor, Invocation, Parts, Plugin, PluginSource, ProgressSink, Reread, RunOn, WorkEnd,
};
pub use tidegate_sandbox::{
    ArtifactBounds, Artifacts, CommandError, Handles, Injection, LineSink, Network, Owner,
    SandboxError, Secret, Shelf, Workspace, command,
};
pub use tokio_util::sync::CancellationToken;

/// The guide's examples, compiled and run with the other documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
mod embedding {}
