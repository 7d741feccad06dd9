//! MCP both ways: the registry's rules over clients of this program, then over real servers and real
//! clients that were not written with the host in mind.

mod client;
mod discovery;
mod files;
mod giving_up;
mod http;
mod in_process;
pub(crate) mod installed;
mod invoking;
mod kept;
pub(crate) mod made;
mod others;
mod scripted;
pub(crate) mod sdks;
mod seed;
mod served;
mod serving;
mod sessions;
mod stdio;
