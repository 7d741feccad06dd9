//! What a worker and its operator see of the service, over a database on disk.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that can't go on ends; this program is nothing but tests"
)]

mod blueprints;
mod claims;
mod contract;
mod credentials;
mod durable;
mod events;
mod files;
mod fixture;
mod flows;
mod inside;
mod outputs;
mod retention;
mod shop;
mod submits;
