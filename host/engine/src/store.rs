//! What a call's instance runs in: one function builds every wasmtime Store of this host.
//!
//! Whatever door a call came through, its limits are set here, so that two doors can't drift apart.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use tidegate_contract::limits::Limits;
use tidegate_contract::{CallError, JsonObject};
use tidegate_sandbox::{Access, Folder, Handles};
use wasmtime::component::ResourceTable;
use wasmtime::{Store, UpdateDeadline};
use wasmtime_wasi::filesystem::{WasiFilesystemCtx, WasiFilesystemCtxView};
use wasmtime_wasi::p2::pipe::MemoryInputPipe;
use wasmtime_wasi::sockets::WasiSocketsCtxView;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};
use wasmtime_wasi_http::WasiHttpCtxView;

use crate::artifacts::Keeping;
use crate::breach::Breach;
use crate::command::Executor;
use crate::denials::Denials;
use crate::files::{Files, Preopen};
use crate::http::Exchanges;
use crate::imports::Log;
use crate::io::Io;
use crate::limiter::Limiter;
use crate::network::{self, Network};
use crate::open_files::OpenFiles;
use crate::program::{Program, STDOUT_BYTES_VARIABLE};
use crate::saturating::to_usize;
use crate::streams::{Capture, Lines};
use crate::wasi::Random;
use crate::watch::Watch;
use crate::worker::Parts;

/// What each call of one plugin starts from: handles, limits and settings.
pub(crate) struct Setup {
    pub(crate) plugin: Box<str>,
    pub(crate) handles: Handles,
    pub(crate) preopens: Vec<Preopen>,
    pub(crate) limits: Limits,
    /// The operator's settings for the plugin, as JSON text.
    pub(crate) config: Box<str>,
    /// What runs its commands, and what each of them starts from.
    pub(crate) commands: Option<(Executor, Arc<Self>)>,
}

impl Setup {
    pub(crate) fn new(
        plugin: &str,
        handles: Handles,
        limits: Limits,
        config: &JsonObject,
    ) -> io::Result<Self> {
        let preopens = preopens(&handles)?;
        let config = serde_json::to_string(config)
            .map_err(io::Error::other)?
            .into();
        Ok(Self {
            plugin: plugin.into(),
            handles,
            preopens,
            limits,
            config,
            commands: None,
        })
    }

    /// The same with other handles and another executor.
    pub(crate) fn with(&self, handles: Handles, executor: Option<Executor>) -> io::Result<Self> {
        let commands = executor
            .map(|executor| Ok::<_, io::Error>((executor, Arc::new(self.for_commands(&handles)?))))
            .transpose()?;
        Ok(Self {
            plugin: self.plugin.clone(),
            preopens: preopens(&handles)?,
            handles,
            limits: self.limits,
            config: self.config.clone(),
            commands,
        })
    }

    /// The same under other limits.
    pub(crate) fn limited(&self, limits: Limits) -> io::Result<Self> {
        let executor = self.commands.as_ref();
        let executor = executor.map(|(executor, _)| executor.clone());
        let bare = Self {
            plugin: self.plugin.clone(),
            handles: Handles::default(),
            preopens: Vec::new(),
            limits,
            config: self.config.clone(),
            commands: None,
        };
        bare.with(self.handles.clone(), executor)
    }

    /// What a command may reach: what its caller can read, and no more than reading it. It sees its
    /// caller's variables and runs no command itself.
    fn for_commands(&self, handles: &Handles) -> io::Result<Self> {
        let folders = handles.folders.iter();
        let readable = folders.filter(|folder| folder.access != Access::Write);
        let handles = Handles {
            folders: readable
                .map(|folder| Folder {
                    access: Access::Read,
                    ..folder.clone()
                })
                .collect(),
            environment: handles.environment.clone(),
            ..Handles::default()
        };
        Ok(Self {
            plugin: self.plugin.clone(),
            preopens: preopens(&handles)?,
            handles,
            limits: self.limits,
            config: "{}".into(),
            commands: None,
        })
    }
}

fn preopens(handles: &Handles) -> io::Result<Vec<Preopen>> {
    handles.folders.iter().map(Preopen::new).collect()
}

/// The state of one call, dropped with its store.
pub(crate) struct CallState {
    table: ResourceTable,
    /// Made when the guest first asks: most calls never touch it.
    wasi: Option<Box<WasiCtx>>,
    /// Made when the guest first asks for HTTP.
    http: Option<Box<Exchanges>>,
    left_field_bytes: u64,
    /// Theirs, always empty: folders come from the setup.
    filesystem: WasiFilesystemCtx,
    pub(crate) setup: Arc<Setup>,
    pub(crate) call_id: Box<str>,
    pub(crate) watch: Watch,
    pub(crate) limiter: Limiter,
    /// Why the host ended the call.
    pub(crate) breach: Option<Breach>,
    program: Program,
    /// What it printed, once it has asked for WASI.
    pub(crate) stdout: Option<Capture>,
    pub(crate) stderr: Option<Capture>,
    pub(crate) denials: Denials,
    /// Why the last command was not run: the call's own error, unless the plugin has more to say.
    pub(crate) refused: Option<CallError>,
    pub(crate) open_files: OpenFiles,
    pub(crate) log: Log,
    pub(crate) last_progress: Option<Instant>,
    /// What it may keep beside its answer.
    pub(crate) keeping: Keeping,
    /// Takes the parts of a worker's step; `None` where no step is running.
    pub(crate) parts: Option<Arc<dyn Parts>>,
}

impl CallState {
    pub(crate) fn table(&mut self) -> &mut ResourceTable {
        &mut self.table
    }

    pub(crate) fn io(&mut self) -> Io<'_> {
        Io {
            table: &mut self.table,
            watch: &self.watch,
        }
    }

    pub(crate) fn files(&mut self) -> Files<'_> {
        Files {
            view: WasiFilesystemCtxView {
                ctx: &mut self.filesystem,
                table: &mut self.table,
            },
            preopens: &self.setup.preopens,
            denials: &mut self.denials,
            opened: &mut self.open_files,
        }
    }

    pub(crate) fn network(&mut self) -> Network<'_> {
        self.fill_wasi();
        Network {
            view: WasiSocketsCtxView {
                ctx: self.wasi.get_or_insert_default().sockets(),
                table: &mut self.table,
            },
            denials: &mut self.denials,
            egress: self.setup.handles.egress.as_ref(),
        }
    }

    /// Takes from what this call may make of header fields; false when that is more than is left.
    pub(crate) fn take_field_bytes(&mut self, bytes: u64) -> bool {
        let left = self.left_field_bytes.checked_sub(bytes);
        self.left_field_bytes = left.unwrap_or_default();
        left.is_some()
    }

    pub(crate) fn http(&mut self) -> WasiHttpCtxView<'_> {
        let (setup, watch) = (&self.setup, &mut self.watch);
        let exchanges = self.http.get_or_insert_with(|| {
            let egress = setup.handles.egress.as_ref();
            Box::new(Exchanges::new(&setup.limits, egress, watch.notes()))
        });
        exchanges.view(&mut self.table)
    }

    pub(crate) fn random(&mut self) -> Random<'_> {
        let limit_bytes = self.setup.limits.host_allocation_bytes;
        Random {
            ctx: self.wasi_and_table().0.random(),
            limit_bytes,
        }
    }

    pub(crate) fn wasi_and_table(&mut self) -> (&mut WasiCtx, &mut ResourceTable) {
        self.fill_wasi();
        (self.wasi.get_or_insert_default(), &mut self.table)
    }

    /// Makes the context where it is not there yet: `get_or_insert_with` can't borrow the rest of the
    /// state.
    fn fill_wasi(&mut self) {
        if self.wasi.is_none() {
            self.wasi = Some(Box::new(self.build_wasi()));
        }
    }

    fn build_wasi(&mut self) -> WasiCtx {
        let limits = &self.setup.limits;
        let capture = |limit_bytes| Capture::new(to_usize(limit_bytes));
        let mut wasi = WasiCtxBuilder::new();
        wasi.envs(&self.setup.handles.environment);
        network::allow(&mut wasi, &self.setup.handles, &mut self.watch);
        match &self.program {
            Program::Command { arguments, streams } => wasi
                .args(arguments)
                .env(
                    STDOUT_BYTES_VARIABLE,
                    streams.bounds.stdout_bytes.to_string(),
                )
                .stdout(streams.stdout.clone())
                .stderr(streams.stderr.clone()),
            Program::Sink(sink) => wasi
                .arg(&*self.setup.plugin)
                .stdout(Lines::new(sink.clone(), to_usize(limits.stdout_bytes)))
                .stderr(self.stderr.insert(capture(limits.stderr_bytes)).clone()),
            Program::Standalone { arguments, stdin } => wasi
                .args(arguments)
                .stdin(MemoryInputPipe::new(stdin.clone()))
                .stdout(self.stdout.insert(capture(limits.stdout_bytes)).clone())
                .stderr(self.stderr.insert(capture(limits.stderr_bytes)).clone()),
            Program::Tool => wasi
                .arg(&*self.setup.plugin)
                .stdout(self.stdout.insert(capture(limits.stdout_bytes)).clone())
                .stderr(self.stderr.insert(capture(limits.stderr_bytes)).clone()),
        };
        wasi.build()
    }
}

/// Builds the store of one call. Nothing of an earlier call is in it.
pub(crate) fn build(
    engine: &wasmtime::Engine,
    setup: &Arc<Setup>,
    call_id: &str,
    watch: Watch,
    program: Program,
) -> Store<CallState> {
    let limits = &setup.limits;
    let handles = to_usize(limits.handles);
    let mut table = ResourceTable::new();
    // Behind one handle of the guest the table may keep a second entry, as for a pollable.
    table.set_max_capacity(handles.saturating_mul(2));
    let mut store = Store::new(
        engine,
        CallState {
            table,
            wasi: None,
            http: None,
            left_field_bytes: limits.host_allocation_bytes,
            filesystem: WasiFilesystemCtx::default(),
            setup: Arc::clone(setup),
            call_id: call_id.into(),
            watch,
            limiter: Limiter::new(limits),
            breach: None,
            program,
            stdout: None,
            stderr: None,
            denials: Denials::default(),
            refused: None,
            open_files: OpenFiles::default(),
            log: Log::default(),
            last_progress: None,
            keeping: Keeping::nothing(limits),
            parts: None,
        },
    );
    store.limiter(|state| &mut state.limiter);
    store.set_hostcall_fuel(to_usize(limits.host_allocation_bytes));
    store.set_max_component_handles(handles);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|mut context| {
        let state = context.data_mut();
        match state.watch.breach() {
            None => Ok(UpdateDeadline::Continue(1)),
            Some(breach) => {
                state.breach = Some(breach);
                Err(breach.into())
            }
        }
    });
    store
}
