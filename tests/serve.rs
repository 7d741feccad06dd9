//! `tidegate serve` over real sockets: what it answers, whom it lets in, and how it ends.

mod calls;
mod client;
mod ending;
mod framing;
mod hosts;
mod routes;
mod secrecy;
mod service;
mod slow;
mod tokens;
