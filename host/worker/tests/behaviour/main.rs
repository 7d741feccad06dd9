//! What a worker and its operator see of the service, over a database on disk.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that can't go on ends; this program is nothing but tests"
)]

mod credentials;
mod files;
mod fixture;
mod outputs;
mod submits;
