//! The engine: one wasmtime `Engine`, one linker, one pool of instances, one set of threads.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::fs::Dir;
use tidegate_contract::limits::Limits;
use tokio::runtime::{Handle, Runtime};
use wasmtime::component::{Component, Linker};
use wasmtime::{
    Config, Enabled, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
    WasmBacktraceDetails,
};

use wasmtime_wasi::p2::bindings::sync::CommandIndices;

use crate::admission::{Admission, Need};
use crate::cache::Cache;
use crate::code;
use crate::command::{self, CommandComponent};
use crate::courtesy;
use crate::digest::digest;
use crate::error::EngineError;
use crate::plugin::{Plugin, PluginSource, Reread};
use crate::saturating::to_usize;
use crate::store::CallState;
use crate::ticker::Ticker;
use crate::wasi;

/// What an engine is made of. [`Default`] fits a machine that serves a few callers.
#[derive(Debug)]
pub struct EngineSettings {
    /// Calls that can run at once, from 1 to [`MAX_SLOTS`]. Each holds a thread while it runs.
    pub slots: u32,
    /// Where compiled components are kept; `None` compiles every time.
    pub cache: Option<Dir>,
}

/// Calls that can run at once by default: more than cores, so that looping guests don't hold up
/// the others before their limits end them.
pub const DEFAULT_SLOTS: u32 = 64;

/// Most calls that can run at once. Each reserves 4 GiB of address space, not memory.
pub const MAX_SLOTS: u32 = 1_000;

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            slots: DEFAULT_SLOTS,
            cache: None,
        }
    }
}

/// Compiles plugins and runs their calls. Cloning gives another handle to the same engine.
#[derive(Clone)]
pub struct Engine(pub(crate) Arc<Shared>);

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("slots", &self.0.slots)
            .finish_non_exhaustive()
    }
}

pub(crate) struct Shared {
    pub(crate) wasmtime: wasmtime::Engine,
    pub(crate) linker: Linker<CallState>,
    pub(crate) cache: Option<Cache>,
    pub(crate) ticker: Ticker,
    /// One plugin is loaded at a time: loading takes the one slot that calls don't use.
    pub(crate) loading: Mutex<()>,
    pub(crate) slots: u32,
    /// What the pool has: a full pool refuses at once, so nothing enters it without a permit.
    pub(crate) admission: Admission,
    /// Whether a guest that computes for long can make way for others.
    pub(crate) courtesy: bool,
    threads: Threads,
}

/// Guests run on the blocking threads of a runtime that serves nothing else.
struct Threads {
    handle: Handle,
    /// Taken only when dropped.
    runtime: Option<Runtime>,
}

impl Engine {
    /// Makes the engine. It reserves address space for all its slots and starts two threads.
    ///
    /// # Errors
    ///
    /// [`EngineError::Setting`] for slots out of range, [`EngineError::Start`] and
    /// [`EngineError::Threads`] when the machine has no room.
    pub fn new(settings: EngineSettings) -> Result<Self, EngineError> {
        let slots = settings.slots;
        if !(1..=MAX_SLOTS).contains(&slots) {
            return Err(EngineError::Setting {
                name: "slots",
                value: slots.into(),
                minimum: 1,
                maximum: MAX_SLOTS.into(),
            });
        }
        let wasmtime = wasmtime::Engine::new(&config(slots)).map_err(EngineError::Start)?;
        let mut linker = Linker::new(&wasmtime);
        wasi::link(&mut linker).map_err(EngineError::Start)?;
        let to_tick = wasmtime.weak();
        let ticker = Ticker::start(move || {
            if let Some(engine) = to_tick.upgrade() {
                engine.increment_epoch();
            }
        })
        .map_err(EngineError::Threads)?;
        let cache = settings.cache.map(|dir| Cache::new(dir, &wasmtime));
        let threads = Threads::start(slots).map_err(EngineError::Threads)?;
        // Each runtime bounds its own queue.
        let admission = Admission::new(capacity(slots), usize::MAX);
        let shared = Shared {
            wasmtime,
            linker,
            cache,
            ticker,
            loading: Mutex::default(),
            slots,
            admission,
            courtesy: courtesy::is_possible(),
            threads,
        };
        Ok(Self(Arc::new(shared)))
    }

    /// Calls that can run at once.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.0.slots
    }

    /// Drives a future on the calling thread, blocking it; what calls that run on the caller's thread
    /// are driven by ([`RunOn::CallerThread`](crate::RunOn)).
    ///
    /// # Panics
    ///
    /// On a thread that polls futures itself: what a guest waits for may be driven by a runtime, and
    /// none can be entered there.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        // Not the runtime's own: while that polls, nothing below may wait for a runtime.
        let _timers = self.0.threads.handle.enter();
        pollster::block_on(future)
    }

    /// Compiles a component or takes it from the cache, and reads its definitions once, in an
    /// instance without any grant.
    ///
    /// # Errors
    ///
    /// [`EngineError`]: it is no component, imports what the host does not have, exports nothing the
    /// host knows, or can't say what its tools are.
    pub async fn load(&self, source: PluginSource) -> Result<Plugin, EngineError> {
        let engine = Arc::clone(&self.0);
        let plugin = source.name.clone();
        self.0
            .on_worker(move || {
                let _one_at_a_time = engine
                    .loading
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner);
                Plugin::load(&engine, source)
            })
            .await
            .unwrap_or_else(|| Err(EngineError::panicked(plugin)))
    }
}

impl Engine {
    /// As [`load`](Self::load), on the calling thread, for a host with many plugins of which it calls a
    /// few: a component that the cache knows by its `digest` is not mapped before its first call. What
    /// has to be compiled, now or since the entry is damaged then, is taken from `reread`, which must
    /// give bytes of that digest; the source's own may be left empty.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn load_when_called(
        &self,
        source: PluginSource,
        digest: String,
        reread: Reread,
    ) -> Result<Plugin, EngineError> {
        let _one_at_a_time = self
            .0
            .loading
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Plugin::load_when_called(&self.0, source, digest, reread)
    }
}

impl Engine {
    /// Loads a WASI command component that does the work of `commands`, each asked for by its name as
    /// the first argument. It runs on the calling thread.
    ///
    /// # Errors
    ///
    /// [`EngineError`]: it is no component, imports what the host does not have, or is no command.
    pub fn load_commands(
        &self,
        name: &str,
        bytes: &[u8],
        commands: &[&str],
    ) -> Result<CommandComponent, EngineError> {
        let component = code::component(&self.0, name, bytes, &digest(bytes))?.0;
        let pre = code::instantiable(&self.0, name, &component)?;
        let run = CommandIndices::new(&pre).map_err(|error| EngineError::Shape {
            plugin: name.to_owned(),
            reason: format!("{error:#}"),
        })?;
        Ok(CommandComponent(Arc::new(command::Loaded {
            engine: Arc::clone(&self.0),
            pre,
            run,
            commands: commands.iter().map(|&name| name.to_owned()).collect(),
        })))
    }
}

impl Shared {
    /// The compiled component, if the cache has a good entry of it.
    pub(crate) fn cached(&self, digest: &str) -> Option<Component> {
        self.cache.as_ref()?.load(&self.wasmtime, digest)
    }

    /// Runs `job` on a thread of its own, where a guest may wait for timers, and waits for its end: the
    /// calling thread may be inside a runtime, which can't be entered twice. `None` when it panicked.
    pub(crate) fn beside<T: Send>(&self, job: impl FnOnce() -> T + Send) -> Option<T> {
        std::thread::scope(|scope| {
            let job = scope.spawn(|| {
                let _timers = self.threads.handle.enter();
                job()
            });
            job.join().ok()
        })
    }

    /// Runs `job` on a thread for guests; `None` when it panicked, which is a fault of the host.
    pub(crate) async fn on_worker<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let span = tracing::Span::current();
        let job = move || span.in_scope(job);
        self.threads.handle.spawn_blocking(job).await.ok()
    }
}

impl Threads {
    fn start(slots: u32) -> std::io::Result<Self> {
        // A call may need a second thread for a write that must not block it.
        let threads = to_usize(u64::from(slots))
            .saturating_mul(2)
            .saturating_add(1);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(threads)
            .thread_name("tidegate-guest")
            .enable_all()
            .build()?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Dropping a runtime waits, which is refused on a thread that polls futures.
            runtime.shutdown_background();
        }
    }
}

/// The most an instance can be: the hard maxima of SPEC S5, since a pool's slots are all alike.
fn config(slots: u32) -> Config {
    // A call may run one command beside its own instance. Beyond what calls take there is room for one
    // component that is being loaded.
    let components = slots.saturating_mul(2).saturating_add(1);
    let calls = capacity(slots);
    let core_instances = u32::try_from(Limits::MAXIMUM.core_instances).unwrap_or(u32::MAX);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(components)
        .total_core_instances(components.saturating_mul(core_instances))
        .total_memories(calls.memories.saturating_add(MAX_MEMORIES))
        .total_tables(calls.tables.saturating_add(MAX_TABLES))
        // Guests run on the stacks of their threads.
        .total_stacks(0)
        .max_core_instances_per_component(core_instances)
        .max_memories_per_component(MAX_MEMORIES)
        .max_tables_per_component(MAX_TABLES)
        .max_memories_per_module(8)
        .max_tables_per_module(8)
        .max_memory_size(to_usize(Limits::MAXIMUM.memory_bytes))
        .table_elements(to_usize(Limits::MAXIMUM.table_elements))
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        .table_keep_resident(TABLE_KEEP_RESIDENT_BYTES)
        .max_unused_warm_slots(components)
        .pagemap_scan(Enabled::Auto);

    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .concurrency_support(false)
        .cranelift_opt_level(OptLevel::Speed)
        .epoch_interruption(true)
        .memory_init_cow(true)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);
    config
}

/// What calls can take of the pool, all together. Core instances are not counted: they take no
/// address space, and the pool has the hard maximum for every slot.
fn capacity(slots: u32) -> Need {
    Need {
        calls: slots,
        memories: slots
            .saturating_mul(MEMORIES_PER_SLOT)
            .max(2 * MAX_MEMORIES),
        tables: slots.saturating_mul(TABLES_PER_SLOT).max(2 * MAX_TABLES),
    }
}

/// Memories and tables that come with a slot: what most components have at most. Each reserves
/// address space. A component with more leaves fewer slots to others while it runs.
const MEMORIES_PER_SLOT: u32 = 2;

/// See [`MEMORIES_PER_SLOT`].
const TABLES_PER_SLOT: u32 = 4;

/// Most memories of one component, all its instances together.
pub(crate) const MAX_MEMORIES: u32 = 16;

/// Most tables of one component, all its instances together.
pub(crate) const MAX_TABLES: u32 = 16;

/// Memory of a slot that is cleared in place after a call instead of being given back: most guests
/// touch less, and giving back costs more than clearing.
const KEEP_RESIDENT_BYTES: usize = 1024 * 1024;

/// The same for tables.
const TABLE_KEEP_RESIDENT_BYTES: usize = 8 * 1024;
