//! Attempts of worker steps: what a worker fetches, what it sends back, and what is kept of both.

pub mod attempt;
pub mod error;
pub mod fold;
pub mod part;
pub mod projection;
pub mod step;
pub mod token;
pub mod verdict;
