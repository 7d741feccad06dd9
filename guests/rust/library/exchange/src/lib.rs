//! One HTTP request and its answer by `wasi:http`, bounded in time and bytes.
//!
//! A request is sent once. A [`Fault`] says whether anything can have reached the other side, which
//! decides what a caller may be told. Deliberately absent: redirects, retries, secrets (the host adds
//! them), and any text of the other side in an error.

pub use deadline::Deadline;
pub use fault::{Fault, Sent, name};
pub use request::{Request, send};
pub use response::Response;
pub use url::{Url, UrlError, fit_for_url, percent_encoded};

mod deadline;
mod fault;
mod request;
mod response;
mod url;
