//! What was typed and configured becomes a runtime: grants, loaded plugins, sinks (SPEC L2, L4, T2).

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use tidegate::{
    Artifacts, Audit, AuditEvent, CancellationToken, ComponentSink, ComponentTool, ComponentWorker,
    Engine, EngineSettings, Executor, Handles, Plugin, PluginSource, ReadArtifact, Runtime,
    RuntimeOptions, Schema, SchemaCheck, Sinks, ToolRegistry, Workers, Workspace,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::{Limits, Names};
use tidegate_sandbox::{Network, ambient};

use crate::artifacts;
use crate::audit;
use crate::builtin::{self, BUILTINS};
use crate::cli::PluginArguments;
use crate::commands::Commands;
use crate::config::LimitValues;
use crate::interrupt;
use crate::loaded::{self, Loaded};
use crate::mcp_servers::{Opening, Servers};
use crate::mcp_tools::Upstream;
use crate::overrides::Widening;
use crate::plan::{Plan, PlannedPlugin};
use crate::print;
use crate::secrets::{Inject, Secrets};
use crate::share::plugin_grant;
use crate::waiting;
use crate::wanted::{self, Component, Role, RuntimeLimit, Wanted};
use crate::web_search;

/// Everything a door needs.
pub(crate) struct Host {
    pub(crate) runtime: Runtime,
    /// What is kept of too large results, where there is a folder for it.
    pub(crate) artifacts: Option<Artifacts>,
    /// The MCP servers that may be asked.
    servers: Servers,
    /// Those of them whose tools are served.
    upstream: Upstream,
    /// Whether a delivery may print to stdout, which receipts and results then leave alone.
    pub(crate) prints: bool,
    /// What was loaded and granted, for `--dry-run`.
    pub(crate) plan: Plan,
}

impl Host {
    /// Registers the tools of the MCP servers that are to be served, beside those of the plugins.
    ///
    /// # Errors
    ///
    /// Two tools have one name. A server that can't be listed is left out, with a warning.
    pub(crate) async fn take_in_servers(&self, cancel: &CancellationToken) -> anyhow::Result<()> {
        self.upstream.take_in(cancel).await
    }

    /// Ends the MCP servers that were started.
    pub(crate) async fn end_servers(&self) {
        self.upstream.end().await;
        self.servers.close().await;
    }

    /// Drains the runtime, then ends what was started for it.
    pub(crate) async fn close(&self) {
        self.runtime.close().await;
        self.end_servers().await;
    }
}

/// Reads the config, applies what was typed over it, and loads the plugins.
///
/// # Errors
///
/// A grant, limit, file or plugin is not right; the message says which and what to do.
pub(crate) fn host(arguments: &PluginArguments) -> anyhow::Result<Host> {
    host_and_file(arguments).map(|(host, _file)| host)
}

/// The same, with the tools of the MCP servers that are to be served, and what an interrupt cancels from
/// when the plugins are loaded on.
///
/// # Errors
///
/// As [`host`], and as [`Host::take_in_servers`]: what was started for it has ended then.
pub(crate) async fn started(
    arguments: &PluginArguments,
) -> anyhow::Result<(Host, CancellationToken)> {
    let host = host(arguments)?;
    let cancel = interrupt::token();
    if let Err(error) = host.take_in_servers(&cancel).await {
        host.close().await;
        return Err(error);
    }
    Ok((host, cancel))
}

/// The same as [`host`], with the config that it came from.
///
/// # Errors
///
/// As [`host`].
pub(crate) fn host_and_file(arguments: &PluginArguments) -> anyhow::Result<(Host, Loaded)> {
    let widening = if arguments.config_env {
        Widening::Permitted
    } else {
        Widening::Refused
    };
    let audit = arguments.audit.as_deref().map(audit::open).transpose()?;
    let loaded = loaded::load(arguments.config.as_deref(), widening, audit.as_ref())?;
    let mut assembly = Assembly::new(arguments, &loaded)?;
    assembly.audit = audit;
    for plugin in wanted::wanted(arguments, &loaded)? {
        assembly.add(plugin)?;
    }
    assembly.add_builtins(&loaded)?;
    assembly.add_own_tools()?;
    let host = assembly.finish(arguments, &loaded)?;
    Ok((host, loaded))
}

/// Adds what `--allow` names: a grant, or what a carried plugin declares it needs.
///
/// # Errors
///
/// It names no kind of grant, no carried plugin, or no value that the kind takes.
pub(crate) fn allow(typed: &str, sandbox: &mut Grant) -> anyhow::Result<()> {
    match typed.strip_prefix("plugin=") {
        Some(name) => {
            for need in builtin::named(name)?.needs {
                parse_allow(need, sandbox)?;
            }
        }
        None => parse_allow(typed, sandbox)?,
    }
    Ok(())
}

/// How the tools of one plugin are registered.
struct Registering<'a> {
    prefix: &'a str,
    check: SchemaCheck,
    /// The tools that its written grants leave.
    left: Option<&'a Names>,
    /// The origin that each call of the carried search asks.
    origin: Option<&'a str>,
}

/// A host being put together.
struct Assembly<'a> {
    engine: Engine,
    workspace: Workspace,
    sandbox: Grant,
    tools: ToolRegistry,
    /// Which plugin each tool came from.
    origins: BTreeMap<String, String>,
    /// Digests of what is loaded, so that a carried plugin is not loaded beside itself.
    digests: Vec<String>,
    /// The digest of each carried plugin, in the order of [`BUILTINS`]: hashed once, asked for each tool.
    carried: [String; BUILTINS.len()],
    sinks: Sinks,
    workers: Workers,
    prints: bool,
    default_limits: Limits,
    planned: Vec<PlannedPlugin>,
    audit: Option<Audit>,
    commands: &'a Commands,
    /// What runs commands, made for the first plugin that may run one.
    executor: Option<Executor>,
    network: Network,
    artifacts: Option<Artifacts>,
    secrets: Secrets<'a>,
}

impl<'a> Assembly<'a> {
    fn new(arguments: &PluginArguments, loaded: &'a Loaded) -> anyhow::Result<Self> {
        let mut sandbox = loaded.config.sandbox.grant().context("sandbox")?;
        for allow in &arguments.allow {
            self::allow(allow, &mut sandbox).with_context(|| format!("--allow {allow}"))?;
        }
        loaded.check_workspace(arguments.workspace.is_some())?;
        let workspace = match &arguments.workspace {
            Some(folder) => Workspace::open(folder)?,
            None => loaded.workspace()?,
        };
        // Says at once which granted folder is not there, whether or not a plugin asks for it.
        drop(Handles::open(&sandbox, &workspace)?);
        Ok(Self {
            engine: engine()?,
            workspace,
            sandbox,
            tools: ToolRegistry::new(),
            origins: BTreeMap::new(),
            digests: Vec::new(),
            carried: BUILTINS
                .each_ref()
                .map(|builtin| tidegate_engine::digest(builtin.bytes)),
            sinks: Sinks::default(),
            workers: Workers::default(),
            prints: false,
            default_limits: wanted::limits(arguments, loaded, &LimitValues::default())?,
            planned: Vec::new(),
            audit: None,
            commands: &loaded.config.interaction.commands,
            executor: None,
            network: loaded.config.network.open(&loaded.folder)?,
            artifacts: loaded.config.artifacts.open()?,
            secrets: Secrets::new(&loaded.config.secrets, &loaded.folder),
        })
    }

    fn add(&mut self, wanted: Wanted) -> anyhow::Result<()> {
        let source = PluginSource {
            name: wanted.name.clone(),
            // Read when they have to be compiled.
            bytes: Vec::new(),
            handles: Handles::default(),
            limits: wanted.limits,
            config: wanted.config,
        };
        let plugin = self.load(source, wanted.component, wanted.pinned.as_deref())?;
        let grant = plugin_grant(&self.sandbox, wanted.grants.as_ref(), &plugin)
            .with_context(|| format!("grants of plugin `{}`", wanted.name))?;
        let handles = self
            .handles(&grant, &wanted.inject)
            .with_context(|| format!("plugin `{}`", wanted.name))?;
        let mut plugin = plugin.with_handles(handles)?;
        if !grant.execute.is_empty() {
            plugin = plugin.with_executor(self.executor()?)?;
        }
        self.digests.push(plugin.digest().to_owned());
        if wanted.role == Role::Tools {
            let written = wanted.grants.as_ref();
            let registering = Registering {
                prefix: &wanted.prefix,
                check: wanted.schema_check,
                left: written
                    .and_then(|grants| grants.tools.as_ref())
                    .map(|_| &grant.tools),
                origin: wanted.origin.as_deref(),
            };
            self.register(&plugin, &registering)?;
        }
        match ComponentSink::new(&plugin) {
            Some(sink) => self.insert_sink(&wanted.name, sink, wanted.prints, &plugin),
            None if wanted.role == Role::Sink => bail!("`{}` exports no sink", wanted.name),
            None => {}
        }
        if let Some(worker) = ComponentWorker::new(&plugin) {
            self.workers.insert(&*wanted.name, worker);
        }
        let tools = self.origins.iter();
        let tools = tools.filter(|(_, plugin)| **plugin == wanted.name);
        self.planned.push(PlannedPlugin {
            digest: format!("sha-256:{}", plugin.digest()),
            tools: tools.map(|(tool, _)| tool.clone()).collect(),
            sink: plugin.is_sink(),
            grants: grant,
            limits: *plugin.limits(),
            name: wanted.name,
        });
        Ok(())
    }

    fn load(
        &self,
        source: PluginSource,
        component: Component,
        pinned: Option<&str>,
    ) -> anyhow::Result<Plugin> {
        let (digest, reread) = component
            .identify(&self.engine, pinned)
            .with_context(|| format!("plugin `{}`", source.name))?;
        check_digest(&source.name, &digest, pinned)?;
        let compiling = format!("compiling {}", source.name);
        let plugin = waiting::shown(&compiling, || {
            self.engine.load_when_called(source, digest, reread)
        })?;
        if let Some(audit) = &self.audit {
            audit.record(&AuditEvent::Plugin {
                plugin: plugin.name(),
                digest: plugin.digest(),
                compiled: plugin.compiled(),
            });
        }
        Ok(plugin)
    }

    /// Opens what a plugin was granted.
    fn handles(&mut self, grant: &Grant, inject: &[Inject]) -> anyhow::Result<Handles> {
        let injections = self.secrets.injections(inject)?;
        for injection in &injections {
            let origin = injection.origin();
            if grant.network.of(origin).next().is_none() {
                print::warning(&format!(
                    "warning: a header is injected for {origin}, which the plugin was not granted"
                ));
            }
        }
        let handles = Handles::open(grant, &self.workspace)?;
        Ok(handles.through(&self.network, injections))
    }

    fn executor(&mut self) -> anyhow::Result<Executor> {
        if let Some(executor) = &self.executor {
            return Ok(executor.clone());
        }
        let executor = self
            .commands
            .executor(&self.engine, &self.sandbox.execute)?;
        Ok(self.executor.insert(executor).clone())
    }

    fn insert_sink(&mut self, name: &str, sink: ComponentSink, prints: bool, plugin: &Plugin) {
        self.prints |= plugin.handles().stdout.is_some();
        self.sinks
            .insert(name, if prints { sink.needing_stdout() } else { sink });
    }

    fn register(&mut self, plugin: &Plugin, how: &Registering<'_>) -> anyhow::Result<()> {
        let checked = plugin.checked() == Schema::CHECK;
        let check = match how.check {
            SchemaCheck::On if checked => SchemaCheck::WhenCalled,
            check => check,
        };
        for mut tool in ComponentTool::all(plugin, how.prefix)? {
            let name = tidegate::Tool::definition(&tool).name.to_string();
            if let Some(origin) = how.origin {
                tool = tool.asking(origin).cancelled_as(web_search::CANCELLED);
            }
            if how.left.is_some_and(|left| !left.allows(&name)) {
                continue;
            }
            if let Some(other) = self.origins.get(&name) {
                bail!(
                    "plugins `{other}` and `{}` both define the tool `{name}`; \
                     give one a `prefix` in the config file",
                    plugin.name()
                );
            }
            if name == artifacts::TOOL {
                bail!(
                    "plugin `{}` defines the tool `{name}`, which the host has itself; \
                     give it a `prefix` in the config file",
                    plugin.name()
                );
            }
            let mut carried = BUILTINS.iter().zip(&self.carried);
            let carried = carried.find(|(builtin, digest)| {
                builtin.tools.contains(&&*name) && plugin.digest() != *digest
            });
            if let Some((builtin, _)) = carried {
                bail!(
                    "plugin `{}` defines the tool `{name}`, which builtin:{} defines; \
                     give it a `prefix` in the config file",
                    plugin.name(),
                    builtin.name
                );
            }
            // The registration lives as long as the registry: a command never takes a tool out.
            drop(
                self.tools
                    .register_with(tool, check)
                    .with_context(|| format!("plugin `{}`", plugin.name()))?,
            );
            self.origins.insert(name, plugin.name().to_owned());
        }
        // Only where each of its schemas was compiled.
        if check == SchemaCheck::On && how.left.is_none() {
            plugin.keep_checked(Schema::CHECK);
        }
        Ok(())
    }

    /// Carried plugins that define a granted tool, and the console where printing is granted.
    fn add_builtins(&mut self, loaded: &'a Loaded) -> anyhow::Result<()> {
        for (at, builtin) in BUILTINS.iter().enumerate() {
            let granted = builtin
                .tools
                .iter()
                .any(|tool| self.sandbox.tools.allows(tool));
            let printing = builtin.prints && self.sandbox.stdout && self.sinks.is_empty();
            let digest = self.carried.get(at);
            let is_loaded = digest.is_some_and(|digest| self.digests.contains(digest));
            if (granted || printing) && !is_loaded {
                self.add(Wanted::carried(builtin, self.default_limits, loaded)?)?;
            }
        }
        Ok(())
    }

    /// The host's own tool, where it is granted and there is a store to read.
    fn add_own_tools(&self) -> anyhow::Result<()> {
        if self.artifacts.is_some() && self.sandbox.tools.allows(artifacts::TOOL) {
            drop(
                self.tools
                    .register(ReadArtifact::new(self.default_limits)?)?,
            );
        }
        Ok(())
    }

    fn finish(mut self, arguments: &PluginArguments, loaded: &Loaded) -> anyhow::Result<Host> {
        let interaction = &loaded.config.interaction;
        let mut concurrency = interaction.concurrency;
        let mut queue = interaction.queue.unwrap_or(tidegate::DEFAULT_QUEUE);
        for limit in &arguments.limit {
            let number = || format!("--limit {limit}: expected a whole number");
            match RuntimeLimit::of(limit) {
                Some(RuntimeLimit::Concurrency(value)) => {
                    concurrency = Some(value.parse().with_context(number)?);
                }
                Some(RuntimeLimit::Queue(value)) => queue = value.parse().with_context(number)?,
                None => {}
            }
        }
        let opening = Opening {
            granted: &self.sandbox.mcp,
            settings: interaction.mcp.settings(self.default_limits),
            folder: &loaded.folder,
            network: &self.network,
            secrets: &mut self.secrets,
        };
        let (mcp, servers) = opening.open(&loaded.config.mcp)?;
        let upstream = Upstream::new(
            &loaded.config.mcp,
            &self.sandbox,
            (mcp.as_ref(), &self.tools),
        );
        let plan = Plan {
            sandbox: self.sandbox.clone(),
            plugins: self.planned,
        };
        let runtime = Runtime::new(RuntimeOptions {
            sandbox: self.sandbox,
            tools: self.tools,
            sinks: self.sinks,
            workers: self.workers,
            mcp,
            artifacts: self.artifacts.clone(),
            concurrency,
            queue,
            engine: Some(self.engine),
            audit: self.audit,
            ..RuntimeOptions::default()
        })?;
        Ok(Host {
            runtime,
            artifacts: self.artifacts,
            servers,
            upstream,
            prints: self.prints,
            plan,
        })
    }
}

/// The engine with the user's cache; without a usable cache it compiles every time and says so.
pub(crate) fn engine() -> anyhow::Result<Engine> {
    let cache = ambient::user_cache_folder().and_then(|folder| {
        ambient::open_cache(&folder)
            .inspect_err(|error| tracing::warn!(%error, "compiled plugins are not cached"))
            .ok()
    });
    Ok(Engine::new(EngineSettings {
        cache,
        ..EngineSettings::default()
    })?)
}

/// Before anything of the component is compiled or run.
fn check_digest(name: &str, digest: &str, pinned: Option<&str>) -> anyhow::Result<()> {
    let Some(pinned) = pinned else { return Ok(()) };
    let Some(hex) = pinned.strip_prefix("sha-256:") else {
        bail!("digest of plugin `{name}`: expected sha-256:HEX");
    };
    if !hex.eq_ignore_ascii_case(digest) {
        bail!("plugin `{name}` has the digest sha-256:{digest}, not the pinned one");
    }
    Ok(())
}
