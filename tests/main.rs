//! Tests of the whole host through its real parts: real components, real files, the real command.
//!
//! Each test is named after what is true, with the id of the requirement or case it holds.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "a test stops at the first thing that is not as it should be, and sets up its own files"
)]

mod authors;
mod behaviour;
mod command;
mod differential;
mod hostile;
mod house;
mod languages;
mod mcp;
mod network;
mod serve;
mod supply;
mod support;
