//! Runs whose steps outlive the process: what a worker fetches, what it sends back, and what is kept
//! of both.
//!
//! [`runs::Runs`] runs the flow of a blueprint. A step that is given to an agent becomes an attempt
//! with credentials of its own, or one that a worker component does inside of the host. The worker
//! fetches a payload, stages named parts, and completes the attempt with one submit; what was
//! acknowledged survives a crash of the machine, and files for the next reader are written from it.
//!
//! This crate must never know of HTTP, of wasmtime, or of which step comes next: that is the flow's.
//!
//! ```
//! use std::sync::Arc;
//!
//! use tidegate_contract::Tenant;
//! use tidegate_sandbox::ambient;
//! use tidegate_worker::service::{BODY_BYTES, Caller, Dispatch, Outcome, Service, Submit};
//! use tidegate_worker::step::StepKey;
//! use tidegate_worker::store::{Launch, Order, Run, SqliteStore};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path().join("state");
//! let service = Service::new(Arc::new(SqliteStore::open(&folder)?), BODY_BYTES);
//! let run = Run {
//!     id: "R-1".to_owned(),
//!     tenant: Tenant::default(),
//!     task: "T-1".to_owned(),
//!     launch: Launch::default(),
//! };
//! service.launch(&run, None)?;
//!
//! let now_ms = ambient::now_ms();
//! let step = StepKey::new("plan", &[])?;
//! let order = Order { directive: "plan it".to_owned(), ..Order::default() };
//! let dispatch = Dispatch { run: run.id, step, agent: "planner".to_owned(), order };
//! let dispatched = service.dispatch(dispatch, now_ms)?;
//!
//! let caller = Caller { credential: dispatched.handle.reveal(), peer: "127.0.0.1", now_ms };
//! assert_eq!(service.prompt(caller)?.prompt, "plan it");
//! service.artifact(caller, "notes.md", b"# Notes")?;
//! service.submit(caller, Submit { body: b"done", ..Submit::default() })?;
//!
//! let value = serde_json::json!({"out": "done", "parts": {"notes.md": "# Notes"}});
//! assert_eq!(service.outcome(dispatched.attempt)?, Outcome::Passed(value));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod step;
pub mod token;

pub mod attempt;
pub mod verdict;

pub mod content;
pub mod file_body;
pub mod fold;
pub mod part;
pub mod payload;
pub mod projection;

mod bell;

pub mod service;
pub mod store;

pub mod blueprint;
mod fields;

pub mod runs;
pub mod work_roots;

pub mod error;
