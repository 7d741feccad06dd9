//! Components in bounded instances: the only crate of the host that names wasmtime.
//!
//! An [`Engine`] compiles a component into a [`Plugin`] once; each call of the plugin runs in a
//! fresh instance with the plugin's handles and limits, on a thread that serves nothing else, and
//! comes back as one bounded, checked value.
//!
//! It must never know who calls, what a registry is, or which door a call came through.

mod anatomy;
mod artifacts;
mod bindings;
mod breach;
mod cache;
mod call;
mod code;
mod command;
mod command_tool;
mod convert;
mod courtesy;
mod denials;
mod descriptor;
mod digest;
mod ending;
mod exports;
mod fields;
mod files;
mod http;
mod imports;
mod io;
mod limiter;
mod network;
mod open_files;
mod overrun;
mod program;
mod progress;
mod report;
mod run_on;
mod saturating;
mod secrets;
mod seen;
mod store;
mod streams;
mod summary;
mod ticker;
mod typed;
mod wasi;
mod watch;
mod worker;

pub mod admission;
pub mod engine;
pub mod error;
pub mod plugin;

pub use admission::{Admission, Claim, Need, Permit};
pub use anatomy::{Anatomy, AnatomyError, Producer};
pub use command::{CommandComponent, Executor};
pub use digest::{Digester, digest};
pub use ending::EndedBy;
pub use engine::{DEFAULT_SLOTS, Engine, EngineSettings, MAX_SLOTS};
pub use error::EngineError;
pub use plugin::{CallOptions, Plugin, PluginSource, Reread};
pub use progress::{CallProgress, ProgressSink};
pub use run_on::RunOn;
pub use ticker::TICK;
pub use watch::Deadline;
pub use worker::{Invocation, Parts, WorkEnd};
