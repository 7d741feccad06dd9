//! A loaded plugin: compiled, linked, asked once what it offers, and ready for calls.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tidegate_contract::limits::Limits;
use tidegate_contract::{
    CallError, Delivery, JsonObject, OutputReceipt, Tenant, ToolCall, ToolDefinition, ToolName,
    ToolOutcome,
};
use tidegate_sandbox::{Handles, Shelf};
use tokio_util::sync::CancellationToken;

use crate::admission::{Claim, Need, Permit};
use crate::call::{self, Unsaid};
use crate::code::{self, Code, LazyCode};
use crate::command::Executor;
use crate::command_tool;
use crate::convert;
use crate::courtesy::Courtesy;
use crate::digest::digest;
use crate::engine::Shared;
use crate::error::EngineError;
use crate::exports::Asked;
use crate::progress::ProgressSink;
use crate::run_on::RunOn;
use crate::store::Setup;
use crate::summary::{Offers, Summary};
use crate::typed::Docs;
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

/// Gives the bytes of a component: when it has to be compiled, which may be at the plugin's first
/// call.
pub type Reread = Box<dyn Fn() -> std::io::Result<Vec<u8>> + Send + Sync>;

/// One loaded plugin. Cloning gives another handle to the same one.
#[derive(Clone)]
pub struct Plugin(pub(crate) Arc<Loaded>);

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
    code: Arc<LazyCode>,
    digest: Box<str>,
    compiled: bool,
    definitions: Arc<[ToolDefinition]>,
    pub(crate) offers: Offers,
    /// What one instance takes of the engine's pool.
    code_need: Need,
    /// What one call takes: its instance, and that of one command.
    need: Need,
}

/// When a call ends at the latest, how its caller can end it, and where it runs.
#[derive(Clone, Debug)]
pub struct CallOptions {
    /// When the call ends at the latest; see [`Plugin::deadline`].
    pub deadline: Deadline,
    /// Ends the call when it is cancelled.
    pub cancel: CancellationToken,
    /// Whose call it is: tenants take turns where calls wait for the engine.
    pub tenant: Tenant,
    /// Where its artifacts are kept, for whom; `None` keeps nothing. With one, an outcome may be as
    /// large as `artifact_bytes`: whoever asks for it keeps what is over `result_bytes`.
    pub shelf: Option<Shelf>,
    /// The thread that the guest blocks.
    pub run_on: RunOn,
    /// Who is told how far the guest is.
    pub progress: Option<ProgressSink>,
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
        let (code, compiled) = Code::make(engine, &name, &bytes, &digest)?;
        let docs = code.exports.typed.is_some().then(|| Docs::read(&bytes));
        drop(bytes);
        let setup = |handles, limits| {
            Setup::new(&name, handles, limits, &config)
                .map(Arc::new)
                .map_err(EngineError::Threads)
        };
        let mut loaded = Loaded {
            code_need: code.need(),
            need: code.need(),
            offers: Offers {
                sink: code.exports.sink.is_some(),
                worker: code.exports.worker.is_some(),
                command: code.exports.command.is_some(),
                schemas: 0,
            },
            engine: Arc::clone(engine),
            setup: setup(Handles::default(), loading_limits(&limits))?,
            code: Arc::new(LazyCode::ready(code)),
            digest: digest.into(),
            compiled,
            definitions: Arc::default(),
        };
        loaded.definitions = definitions(&loaded, docs.as_ref())?.into();
        loaded.setup = setup(handles, limits)?;
        if let Some(cache) = &engine.cache
            && (compiled || cache.summary(&loaded.digest).is_none())
        {
            cache.store_summary(&loaded.digest, &loaded.summary());
        }
        Ok(Self(Arc::new(loaded)))
    }

    /// As [`load`](Self::load), but leaves the code of a component that the cache knows to the first
    /// call.
    pub(crate) fn load_when_called(
        engine: &Arc<Shared>,
        source: PluginSource,
        digest: String,
        reread: Reread,
    ) -> Result<Self, EngineError> {
        let cache = engine.cache.as_ref();
        let known = cache.and_then(|cache| cache.summary(&digest));
        let Some(summary) = known else {
            let read = code::reread_as(Some(&reread), &source.name, &digest);
            let bytes = read.map_err(|error| EngineError::Ask {
                plugin: source.name.clone(),
                source: error,
            })?;
            let plugin = source.name.clone();
            let load = || Self::load(engine, PluginSource { bytes, ..source });
            let loaded = engine.beside(load);
            return loaded.unwrap_or_else(|| Err(EngineError::panicked(plugin)));
        };
        let PluginSource {
            name,
            handles,
            limits,
            config,
            bytes: _,
        } = source;
        let setup = Setup::new(&name, handles, limits, &config).map_err(EngineError::Threads)?;
        let definitions = if summary.offers.command {
            command_definitions(&name)?
        } else {
            summary.definitions
        };
        Ok(Self(Arc::new(Loaded {
            engine: Arc::clone(engine),
            setup: Arc::new(setup),
            code: Arc::new(LazyCode::when_called(reread)),
            digest: digest.into(),
            compiled: false,
            definitions: definitions.into(),
            offers: summary.offers,
            code_need: summary.need,
            need: summary.need,
        })))
    }

    /// The same plugin with other handles, for a host that grants by what the plugin defines.
    ///
    /// # Errors
    ///
    /// [`EngineError::Threads`] when the process can't hold more open folders.
    pub fn with_handles(&self, handles: Handles) -> Result<Self, EngineError> {
        let executor = self.0.setup.commands.as_ref();
        let executor = executor.map(|(executor, _)| executor.clone());
        let setup = self.0.setup.with(handles, executor);
        Ok(Self(Arc::new(Loaded {
            setup: Arc::new(setup.map_err(EngineError::Threads)?),
            ..self.0.shared()
        })))
    }

    /// The same plugin with something that runs the commands it is granted. Without, every command is
    /// denied.
    ///
    /// # Errors
    ///
    /// [`EngineError::Threads`] when the process can't hold more open folders.
    pub fn with_executor(&self, executor: Executor) -> Result<Self, EngineError> {
        let need = self.0.code_need.with(executor.need());
        let setup = self
            .0
            .setup
            .with(self.0.setup.handles.clone(), Some(executor));
        Ok(Self(Arc::new(Loaded {
            setup: Arc::new(setup.map_err(EngineError::Threads)?),
            need,
            ..self.0.shared()
        })))
    }

    /// The same plugin under other limits, without asking it again what its tools are.
    ///
    /// # Errors
    ///
    /// [`EngineError::Threads`] when the process can't hold more open folders.
    pub fn with_limits(&self, limits: Limits) -> Result<Self, EngineError> {
        let setup = self.0.setup.limited(limits);
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

    /// Whether it was compiled when it was loaded, because the cache had no good entry for it.
    #[must_use]
    pub fn compiled(&self) -> bool {
        self.0.compiled
    }

    /// The tools it defines, in its own order.
    #[must_use]
    pub fn definitions(&self) -> &[ToolDefinition] {
        &self.0.definitions
    }

    /// Whether it takes deliveries.
    #[must_use]
    pub fn is_sink(&self) -> bool {
        self.0.offers.sink
    }

    /// Whether it does steps of flows; see [`work`](Self::work).
    #[must_use]
    pub fn is_worker(&self) -> bool {
        self.0.offers.worker
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
    /// `name` is what the component itself calls the tool. Dropping the future ends the call.
    ///
    /// # Errors
    ///
    /// [`CallError::InvalidArguments`] when the plugin refuses the arguments: `execute` never ran.
    /// [`CallError::InvalidResult`] when it broke the contract. Limits, traps, the deadline and
    /// cancellation are outcomes, not errors.
    pub async fn call_tool(
        &self,
        name: &ToolName,
        call: &ToolCall,
        mut options: CallOptions,
    ) -> Result<ToolOutcome, CallError> {
        let shelf = options.shelf.take();
        let asked = Asked {
            id: call.id.as_str(),
            name: name.as_str(),
            arguments: call.arguments.text(),
        };
        let run_on = options.run_on;
        if run_on.is_here() {
            let (_slot, watch) = self.start(options).await?;
            return run_on.hold(|| call::tool(&self.0, asked, watch, shelf));
        }
        let loaded = Arc::clone(&self.0);
        let owned = [asked.id, asked.name, asked.arguments].map(str::to_owned);
        let job = move |watch| {
            let [id, name, arguments] = &owned;
            let asked = Asked {
                id,
                name,
                arguments,
            };
            call::tool(&loaded, asked, watch, shelf)
        };
        self.on_guest_thread(options, job).await
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
        mut options: CallOptions,
    ) -> Result<OutputReceipt, CallError> {
        let shelf = options.shelf.take();
        let run_on = options.run_on;
        if run_on.is_here() {
            let (_slot, watch) = self.start(options).await?;
            return run_on.hold(|| call::delivery(&self.0, &delivery, watch, shelf));
        }
        let loaded = Arc::clone(&self.0);
        let job = move |watch| call::delivery(&loaded, &delivery, watch, shelf);
        self.on_guest_thread(options, job).await
    }

    /// Takes a slot and starts the clock of the calling thread.
    pub(crate) async fn start(&self, options: CallOptions) -> Result<(Permit, Watch), CallError> {
        let slot = self.slot(&options).await?;
        Ok((slot, self.watch(options)))
    }

    fn watch(&self, options: CallOptions) -> Watch {
        let cpu_budget = Duration::from_millis(self.limits().cpu_ms);
        let courtesy = Courtesy::new(self.0.engine.courtesy);
        Watch::start(options.deadline, cpu_budget, options.cancel, courtesy)
            .reporting_to(options.progress)
    }

    pub(crate) async fn on_guest_thread<T: Send + 'static>(
        &self,
        mut options: CallOptions,
        job: impl FnOnce(Watch) -> Result<T, CallError> + Send + 'static,
    ) -> Result<T, CallError> {
        let slot = self.slot(&options).await?;
        // The guest's thread does not end with this future, but this token does.
        options.cancel = options.cancel.child_token();
        let _ends_with_this_future = options.cancel.clone().drop_guard();
        let plugin = self.clone();
        let start = move || {
            // Held by the thread, not by this future: a dropped future's guest still has its slot.
            let _slot = slot;
            job(plugin.watch(options))
        };
        self.0.engine.on_worker(start).await.unwrap_or_else(|| {
            let reason = "the call's thread failed".to_owned();
            Err(CallError::HostFault { reason })
        })
    }

    /// Waits for room in the engine, which several runtimes may share.
    async fn slot(&self, options: &CallOptions) -> Result<Permit, CallError> {
        let admission = &self.0.engine.admission;
        if let Some(permit) = admission.admit_now(&options.tenant, None, self.0.need)? {
            return Ok(permit);
        }
        let claim = Claim {
            tenant: options.tenant.clone(),
            quota: None,
            need: self.0.need,
            cancel: options.cancel.clone(),
            deadline: options.deadline,
        };
        Box::pin(admission.admit(&claim)).await
    }
}

impl Loaded {
    /// Everything but the setup, which the caller replaces.
    fn shared(&self) -> Self {
        Self {
            engine: Arc::clone(&self.engine),
            setup: Arc::clone(&self.setup),
            code: Arc::clone(&self.code),
            digest: self.digest.clone(),
            compiled: self.compiled,
            definitions: Arc::clone(&self.definitions),
            offers: self.offers,
            code_need: self.code_need,
            need: self.need,
        }
    }

    pub(crate) fn summary(&self) -> Summary {
        Summary {
            definitions: self.definitions.to_vec(),
            offers: self.offers,
            need: self.code_need,
        }
    }

    /// The code, mapped now if this is the first call.
    pub(crate) fn code(&self) -> Result<&Code, CallError> {
        self.code
            .get(&self.engine, &self.setup.plugin, &self.digest)
    }
}

/// The one tool of a command.
fn command_definitions(plugin: &str) -> Result<Vec<ToolDefinition>, EngineError> {
    let definition = command_tool::definition(plugin).ok_or_else(|| EngineError::Definitions {
        plugin: plugin.to_owned(),
        reason: "a command is a tool with the plugin's name, and this is no name of a tool"
            .to_owned(),
    });
    Ok(vec![definition?])
}

/// A plugin with limits tighter than the defaults still has to say what its tools are: its calls
/// then fail with the limit's name instead of its start.
fn loading_limits(limits: &Limits) -> Limits {
    limits.at_least(&Limits::default())
}

fn definitions(loaded: &Loaded, docs: Option<&Docs>) -> Result<Vec<ToolDefinition>, EngineError> {
    let plugin = || loaded.setup.plugin.to_string();
    let exports = loaded.code().map(|code| &code.exports);
    let exports = exports.map_err(|source| EngineError::Ask {
        plugin: plugin(),
        source,
    })?;
    if let Some(typed) = &exports.typed {
        let mut definitions = typed.definitions();
        if let Some(docs) = docs {
            docs.describe(typed, &mut definitions);
        }
        return Ok(definitions);
    }
    if exports.command.is_some() {
        return command_definitions(&loaded.setup.plugin);
    }
    let limits = &loaded.setup.limits;
    let deadline = Deadline::after_ms(limits.deadline_ms);
    let cpu_budget = Duration::from_millis(limits.cpu_ms);
    let courtesy = Courtesy::new(loaded.engine.courtesy);
    let watch = Watch::start(deadline, cpu_budget, CancellationToken::new(), courtesy);
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
