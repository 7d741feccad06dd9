//! What tests start from: the built guests, a workspace, a runtime, the command.

mod command;
mod host;
mod printed;

pub(crate) use command::{Output, binary, run, tidegate, tidegate_in};
pub(crate) use host::{Fixture, call, engine, guest, nothing, root};
pub(crate) use printed::Printed;
