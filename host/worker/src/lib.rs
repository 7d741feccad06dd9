//! Attempts of worker steps: what a worker fetches, what it sends back, and what is kept of both.
//!
//! A run hands a step out as an attempt with credentials of its own. The worker fetches a payload,
//! stages named parts, and completes the attempt with one submit; what was acknowledged survives a
//! crash of the machine, and files for the next reader are written from it.
//!
//! This crate must never know of HTTP, of wasmtime, or of which step comes next.

pub mod step;
pub mod token;

pub mod attempt;
pub mod verdict;

pub mod content;
pub mod fold;
pub mod part;
pub mod payload;
pub mod projection;

pub mod store;

pub mod error;
