//! What can go wrong before a call: making the engine and loading a plugin.
//!
//! What goes wrong in a call is a [`CallError`] or a result.

use thiserror::Error;
use tidegate_contract::CallError;

/// Why an engine could not be made or a plugin could not be loaded.
#[derive(Debug, Error)]
pub enum EngineError {
    /// A setting is out of its range.
    #[error("the engine setting `{name}` must be from {minimum} to {maximum}, not {value}")]
    Setting {
        /// The setting.
        name: &'static str,
        /// What was given.
        value: u64,
        /// Smallest value.
        minimum: u64,
        /// Largest value.
        maximum: u64,
    },
    /// This machine can't run the engine: no address space, no threads.
    #[error("the engine can't start on this machine")]
    Start(#[source] wasmtime::Error),
    /// Threads could not be started.
    #[error("the engine's threads can't be started")]
    Threads(#[source] std::io::Error),
    /// The bytes are no component.
    #[error("plugin `{plugin}` is no WebAssembly component this host can compile")]
    NotAComponent {
        /// The plugin's name.
        plugin: String,
        /// What the compiler said.
        #[source]
        source: wasmtime::Error,
    },
    /// The component imports what no grant could give.
    #[error("plugin `{plugin}` imports something this host does not have")]
    Imports {
        /// The plugin's name.
        plugin: String,
        /// Which import, and how it differs.
        #[source]
        source: wasmtime::Error,
    },
    /// The component exports nothing that could be a tool or a sink.
    #[error(
        "plugin `{plugin}` exports neither tidegate:plugin/tools@0.1.0 nor tidegate:plugin/sink@0.1.0, \
         no function whose types JSON can carry, and no wasi:cli/run"
    )]
    NothingExported {
        /// The plugin's name.
        plugin: String,
    },
    /// An interface is exported under its name with another shape.
    #[error(
        "plugin `{plugin}` exports an interface of tidegate:plugin with another shape: {reason}"
    )]
    Shape {
        /// The plugin's name.
        plugin: String,
        /// Which item differs.
        reason: String,
    },
    /// The plugin's definitions could not be read: it trapped, passed a limit, or broke the contract.
    #[error("plugin `{plugin}` could not say what tools it has: {reason}")]
    Definitions {
        /// The plugin's name.
        plugin: String,
        /// Why.
        reason: String,
    },
    /// The instance that was asked for the definitions could not be run at all.
    #[error("plugin `{plugin}` could not be asked for its tools")]
    Ask {
        /// The plugin's name.
        plugin: String,
        /// Why.
        #[source]
        source: CallError,
    },
}

impl EngineError {
    /// Loading ended in a fault of the host.
    pub(crate) fn panicked(plugin: String) -> Self {
        Self::Definitions {
            plugin,
            reason: "loading it panicked".to_owned(),
        }
    }
}
