//! Grants turned into handles.
//!
//! A [`Grant`](tidegate_contract::grant::Grant) is data; this crate opens what it names, once, at
//! load, and hands out handles: folders, environment values, the process's standard output, programs
//! to run as commands, the network. What is not in a handle can't be reached by a plugin.
//!
//! It must never know what a component, a tool or a message is.
//!
//! ```
//! use tidegate_contract::grant::Grant;
//! use tidegate_sandbox::{Handles, Workspace};
//!
//! let workspace = Workspace::open(std::path::Path::new("."))?;
//! let handles = Handles::open(&Grant::default(), &workspace)?;
//! assert!(handles.folders.is_empty(), "nothing is granted by default");
//! # Ok::<(), tidegate_sandbox::SandboxError>(())
//! ```

pub mod ambient;
pub mod artifacts;
pub mod child;
pub mod command;
pub mod denial;
pub mod egress;
pub mod error;
pub mod files;
pub mod handles;
pub mod names;
pub mod output;
pub mod secret;

pub use ambient::Workspace;
pub use artifacts::{ArtifactBounds, ArtifactError, Artifacts, Owner, Shelf};
pub use child::{ChildProgram, ChildStreams, RunningChild};
pub use denial::Denial;
pub use egress::{Egress, Network};
pub use error::{CommandError, SandboxError};
pub use files::{Access, Folder};
pub use handles::Handles;
pub use output::LineSink;
pub use secret::{Injection, Secret};
