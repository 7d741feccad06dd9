//! The Model Context Protocol, both ways: a client of other servers, and the registry as a server.
//!
//! Alone names the protocol's SDK. Bytes of a peer are checked (`frame.rs`) before the SDK sees them.
//! This crate must never know of wasmtime, config files or command lines.

mod client;
mod error;
mod frame;
mod http;
mod lines;
mod link;
mod sealed;
mod server;
mod stdio;

pub use client::Era;
pub use error::StartError;
pub use frame::MessageBounds;
pub use http::{HttpEndpoint, HttpServer};
pub use sealed::Sealed;
pub use server::{AnswerBody, HttpSettings, McpHttpService, McpServer, ServerSettings};
pub use stdio::{StdioServer, StdioSettings};
