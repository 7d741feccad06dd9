//! A loaded plugin: compiled, linked, asked once what it offers, and ready for calls.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tidegate_contract::limits::Limits;
use tidegate_contract::{
    CallError, Delivery, JsonObject, OutputReceipt, ToolCall, ToolDefinition, ToolOutcome,
};
use tidegate_sandbox::Handles;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;
use wasmtime::component::{Component, InstancePre};

use crate::bindings::exports::tidegate::plugin::{sink, tools};
use crate::breach::Breach;
use crate::call::{self, Unsaid};
use crate::convert;
use crate::engine::{MAX_MEMORIES, MEMORIES_PER_SLOT, Shared};
use crate::error::EngineError;
use crate::store::{CallState, Setup};
use crate::watch::{Deadline, Watch};

/// Everything a plugin is made from.
#[derive(Debug)]
pub struct PluginSource {
    /// The operator's name for it; appears in errors and logs.
    pub name: String,
    /// The component's bytes.
    pub bytes: Vec<u8>,
    /// What its calls may reach.
    pub handles: Handles,
    /// What its calls may use.
    pub limits: Limits,
    /// Its settings, given to it as JSON by `context.config`.
    pub config: JsonObject,
}

/// One loaded plugin. Cloning gives another handle to the same one.
#[derive(Clone)]
pub struct Plugin(Arc<Loaded>);

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin")
            .field("name", &self.0.setup.plugin)
            .field("digest", &self.0.digest)
            .finish_non_exhaustive()
    }
}

pub(crate) struct Loaded {
    pub(crate) engine: Arc<Shared>,
    pub(crate) setup: Arc<Setup>,
    pub(crate) pre: InstancePre<CallState>,
    pub(crate) tools: Option<tools::GuestIndices>,
    pub(crate) sink: Option<sink::GuestIndices>,
    digest: Box<str>,
    definitions: Arc<[ToolDefinition]>,
    /// The engine's slots that one call takes: a slot comes with so many memories.
    slots: u32,
}

/// When a call ends at the latest, and how its caller can end it.
#[derive(Clone, Debug)]
pub struct CallOptions {
    /// When the call ends at the latest; see [`Plugin::deadline`].
    pub deadline: Deadline,
    /// Ends the call when it is cancelled.
    pub cancel: CancellationToken,
}

impl Plugin {
    /// Runs on a thread for guests: compiling and asking for definitions both take their time.
    pub(crate) fn load(engine: &Arc<Shared>, source: PluginSource) -> Result<Self, EngineError> {
        let PluginSource {
            name,
            bytes,
            handles,
            limits,
            config,
        } = source;
        let digest = digest(&bytes);
        let component = compile(engine, &name, &bytes, &digest)?;
        drop(bytes);
        let pre = engine
            .linker
            .instantiate_pre(&component)
            .map_err(|source| EngineError::Imports {
                plugin: name.clone(),
                source,
            })?;
        let (tools, sink) = exports(&name, &pre)?;
        let setup = |handles, limits| {
            Setup::new(&name, handles, limits, &config)
                .map(Arc::new)
                .map_err(EngineError::Threads)
        };
        let mut loaded = Loaded {
            slots: slots(&component, engine),
            engine: Arc::clone(engine),
            setup: setup(Handles::default(), loading_limits(&limits))?,
            pre,
            tools,
            sink,
            digest: digest.into(),
            definitions: Arc::default(),
        };
        loaded.definitions = definitions(&loaded)?.into();
        loaded.setup = setup(handles, limits)?;
        Ok(Self(Arc::new(loaded)))
    }

    /// The same plugin with other handles, for a host that grants by what the plugin defines.
    ///
    /// # Errors
    ///
    /// [`EngineError::Threads`] when the process can't hold more open folders.
    pub fn with_handles(&self, handles: Handles) -> Result<Self, EngineError> {
        let setup = self.0.setup.with_handles(handles);
        Ok(Self(Arc::new(Loaded {
            setup: Arc::new(setup.map_err(EngineError::Threads)?),
            ..self.0.shared()
        })))
    }

    /// The operator's name for the plugin.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.setup.plugin
    }

    /// SHA-256 of the component's bytes, in lower-case hex.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.0.digest
    }

    /// The tools it defines, in its own order.
    #[must_use]
    pub fn definitions(&self) -> &[ToolDefinition] {
        &self.0.definitions
    }

    /// Whether it takes deliveries.
    #[must_use]
    pub fn is_sink(&self) -> bool {
        self.0.sink.is_some()
    }

    /// What its calls may use.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.0.setup.limits
    }

    /// What its calls may reach.
    #[must_use]
    pub fn handles(&self) -> &Handles {
        &self.0.setup.handles
    }

    /// When a call that starts now, or starts waiting now, ends at the latest.
    #[must_use]
    pub fn deadline(&self) -> Deadline {
        Deadline::after_ms(self.limits().deadline_ms)
    }

    /// Runs one tool call in a fresh instance: the plugin's `validate`, then its `execute`.
    ///
    /// Dropping the future ends the call.
    ///
    /// # Errors
    ///
    /// [`CallError::InvalidArguments`] when the plugin refuses the arguments: `execute` never ran.
    /// [`CallError::InvalidResult`] when it broke the contract. Limits, traps, the deadline and
    /// cancellation are outcomes, not errors.
    pub async fn call_tool(
        &self,
        call: ToolCall,
        options: CallOptions,
    ) -> Result<ToolOutcome, CallError> {
        let loaded = Arc::clone(&self.0);
        self.on_worker(options, move |watch| call::tool(&loaded, &call, watch))
            .await
    }

    /// Hands one delivery to the plugin's sink in a fresh instance.
    ///
    /// # Errors
    ///
    /// [`CallError::InvalidReceipt`] when the receipt broke the contract. A call that ended early
    /// gives a receipt of status `unknown`.
    pub async fn deliver(
        &self,
        delivery: Delivery,
        options: CallOptions,
    ) -> Result<OutputReceipt, CallError> {
        let loaded = Arc::clone(&self.0);
        self.on_worker(options, move |watch| {
            call::delivery(&loaded, &delivery, watch)
        })
        .await
    }

    async fn on_worker<T: Send + 'static>(
        &self,
        options: CallOptions,
        job: impl FnOnce(Watch) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let cancel = options.cancel.child_token();
        let _ends_with_this_future = cancel.clone().drop_guard();
        let slot = self.slot(&options).await?;
        let cpu_budget = Duration::from_millis(self.limits().cpu_ms);
        let start = move || {
            // Held by the thread, not by this future: a dropped future's guest still has its slot.
            let _slot = slot;
            job(Watch::start(options.deadline, cpu_budget, cancel))
        };
        self.0.engine.on_worker(start).await.unwrap_or_else(|| {
            Err(CallError::HostFault {
                reason: "the call's thread failed".to_owned(),
            })
        })
    }

    /// Waits for one of the engine's slots, which several runtimes may share.
    async fn slot(&self, options: &CallOptions) -> Result<OwnedSemaphorePermit, CallError> {
        let free = &self.0.engine.free;
        let slots = self.0.slots;
        if let Ok(slot) = Arc::clone(free).try_acquire_many_owned(slots) {
            return Ok(slot);
        }
        let limits = Limits {
            deadline_ms: options.deadline.after_ms,
            ..*self.limits()
        };
        let ended = |breach: Breach| CallError::Ended {
            status: breach.status(),
            failure: breach.failure(&limits),
        };
        tokio::select! {
            biased;
            () = options.cancel.cancelled() => Err(ended(Breach::Cancelled)),
            slot = Arc::clone(free).acquire_many_owned(slots) => slot.map_err(|_closed| CallError::Closed),
            () = tokio::time::sleep_until(options.deadline.at.into()) => Err(ended(Breach::Deadline)),
        }
    }
}

impl Loaded {
    /// Everything but the setup, which the caller replaces.
    fn shared(&self) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            setup: Arc::clone(&self.setup),
            pre: self.pre.clone(),
            tools: self.tools.clone(),
            sink: self.sink.clone(),
            digest: self.digest.clone(),
            definitions: Arc::clone(&self.definitions),
            slots: self.slots,
        }
    }
}

/// A component with more memories than a slot comes with takes several slots.
fn slots(component: &Component, engine: &Shared) -> u32 {
    let memories = component
        .resources_required()
        .map_or(MAX_MEMORIES, |required| required.num_memories);
    memories.div_ceil(MEMORIES_PER_SLOT).clamp(1, engine.slots)
}

/// A plugin with limits tighter than the defaults still has to say what its tools are: its calls
/// then fail with the limit's name instead of its start.
fn loading_limits(limits: &Limits) -> Limits {
    limits.at_least(&Limits::default())
}

fn compile(
    engine: &Shared,
    name: &str,
    bytes: &[u8],
    digest: &str,
) -> Result<Component, EngineError> {
    let cached = engine
        .cache
        .as_ref()
        .and_then(|cache| cache.load(&engine.wasmtime, digest));
    if let Some(component) = cached {
        return Ok(component);
    }
    tracing::info!(plugin = name, digest, "compiling");
    let component = Component::from_binary(&engine.wasmtime, bytes).map_err(|source| {
        EngineError::NotAComponent {
            plugin: name.to_owned(),
            source,
        }
    })?;
    if let Some(cache) = &engine.cache {
        cache.store(digest, &component);
    }
    Ok(component)
}

type Exports = (Option<tools::GuestIndices>, Option<sink::GuestIndices>);

/// Finds what the component exports. An interface that is there must have the right shape.
fn exports(name: &str, pre: &InstancePre<CallState>) -> Result<Exports, EngineError> {
    let component = pre.component();
    let has = |interface: &str| component.get_export_index(None, interface).is_some();
    let shape = |error: wasmtime::Error| EngineError::Shape {
        plugin: name.to_owned(),
        reason: format!("{error:#}"),
    };
    let tools = has("tidegate:plugin/tools@0.1.0")
        .then(|| tools::GuestIndices::new(pre))
        .transpose()
        .map_err(shape)?;
    let sink = has("tidegate:plugin/sink@0.1.0")
        .then(|| sink::GuestIndices::new(pre))
        .transpose()
        .map_err(shape)?;
    if tools.is_none() && sink.is_none() {
        return Err(EngineError::NothingExported {
            plugin: name.to_owned(),
        });
    }
    Ok((tools, sink))
}

fn definitions(loaded: &Loaded) -> Result<Vec<ToolDefinition>, EngineError> {
    let plugin = || loaded.setup.plugin.to_string();
    let limits = &loaded.setup.limits;
    let deadline = Deadline::after_ms(limits.deadline_ms);
    let cpu_budget = Duration::from_millis(limits.cpu_ms);
    let watch = Watch::start(deadline, cpu_budget, CancellationToken::new());
    let defined = call::definitions(loaded, watch).map_err(|source| EngineError::Ask {
        plugin: plugin(),
        source,
    })?;
    let defined = defined.map_err(|unsaid| match unsaid {
        Unsaid::Shape(reason) => EngineError::Shape {
            plugin: plugin(),
            reason,
        },
        Unsaid::Ended(failure) => EngineError::Definitions {
            plugin: plugin(),
            reason: format!("{}: {}", failure.code(), failure.message()),
        },
    })?;
    convert::definitions(defined, limits).map_err(|reason| EngineError::Definitions {
        plugin: plugin(),
        reason,
    })
}

/// SHA-256 of a component's bytes in lower-case hex: what names it in caches, pins and logs.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string can't fail.
            if write!(text, "{byte:02x}").is_err() {
                text.clear();
            }
            text
        })
}
