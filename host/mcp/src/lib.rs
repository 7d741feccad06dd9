//! The Model Context Protocol, both ways: a client of other servers, and the registry as a server.
//!
//! Alone names the protocol's SDK. Bytes of a peer are checked (`frame.rs`) before the SDK sees them.
//! This crate must never know of wasmtime, config files or command lines.
//!
//! ```
//! use std::path::Path;
//! use tidegate::{McpRegistry, Runtime, RuntimeOptions};
//! use tidegate_mcp::{ConnectSettings, McpServer, ServerSettings, StdioServer};
//! use tidegate_sandbox::ChildProgram;
//!
//! # let threads = tokio::runtime::Runtime::new()?;
//! // A server that the runtime may ask: nothing is started before it is.
//! let program = ChildProgram::find("sh", Path::new("."), vec!["server.sh".to_owned()], &[])?;
//! let servers = McpRegistry::default();
//! let files = StdioServer::new("files", program, ConnectSettings::default())?;
//! let _registration = servers.register("files", files)?;
//!
//! // The runtime's own tools, as a server.
//! let options = RuntimeOptions { mcp: Some(servers), ..RuntimeOptions::default() };
//! let runtime = Runtime::new(options)?;
//! let server = McpServer::new(runtime, ServerSettings::default(), threads.handle().clone());
//! # drop(server);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod asked;
mod client;
mod error;
mod frame;
mod http;
mod incoming;
mod lines;
mod link;
mod outgoing;
mod questions;
mod said;
mod sealed;
mod server;
mod stdio;
mod unsent;

pub use client::Era;
pub use error::StartError;
pub use frame::MessageBounds;
pub use http::{HttpEndpoint, HttpServer};
pub use incoming::LineInput;
pub use link::ConnectSettings;
pub use outgoing::LineOutput;
pub use said::PeerName;
pub use sealed::Sealed;
pub use server::{AnswerBody, HttpSettings, McpHttpService, McpServer, ServerSettings};
pub use stdio::StdioServer;
