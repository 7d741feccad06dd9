//! `tidegate serve` over real sockets: what it answers, whom it lets in, and how it ends.

mod artifacts;
mod calls;
mod client;
mod contract;
mod crash;
mod ending;
mod events;
mod example;
mod framing;
mod hosts;
mod house;
mod mcp;
mod probes;
mod routes;
mod runs;
mod secrecy;
mod service;
mod shares;
mod slow;
mod tokens;
mod worker;
