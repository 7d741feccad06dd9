//! What the sinks share: the contract, a delivery as one line of JSON, and receipts.
//!
//! A sink is a type that implements [`Sink`] and is handed to [`export`]. Deliberately absent: where
//! a delivery goes, dropping repeats.

pub use bindings::export;
pub use bindings::exports::tidegate::plugin::sink::Guest as Sink;
pub use bindings::tidegate::plugin::context::config;
pub use bindings::tidegate::plugin::types::{Delivery, Receipt, ReceiptStatus};
pub use object::object;
pub use receipt::{accepted, rejected, unknown};

pub mod bindings;
mod object;
mod receipt;
