//! The Model Context Protocol, both ways: a client of other servers, and the registry as a server.
//!
//! Alone names the protocol's SDK. This crate must never know of wasmtime, config files or command
//! lines.
