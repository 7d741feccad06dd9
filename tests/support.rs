//! What tests start from: the built guests, a workspace, a runtime, the command.

mod command;
mod host;
mod printed;
pub(crate) mod server;
mod tools;

pub(crate) use command::{Output, binary, command, run, tidegate, tidegate_in, tidegate_with};
pub(crate) use host::{Fixture, call, engine, guest, nothing, root};
pub(crate) use printed::Printed;
pub(crate) use tools::{Answer, COMMANDS, ask, commands, wide_commands};
