//! What was typed and configured becomes a runtime: grants, loaded plugins, sinks (SPEC L2, L4, T2).

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use tidegate::{
    ComponentSink, ComponentTool, Engine, EngineSettings, Handles, Plugin, PluginSource, Runtime,
    RuntimeOptions, SchemaCheck, Sinks, ToolRegistry, Workspace,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::limits::parse_limit;
use tidegate_contract::{Effect, JsonObject, Limits, Names};
use tidegate_sandbox::ambient;

use crate::builtin::{self, BUILTINS};
use crate::cli::PluginArguments;
use crate::config::{self, Grants, Loaded};

/// Largest component file.
const COMPONENT_BYTES: u64 = 256 * 1024 * 1024;

/// Everything a door needs.
pub(crate) struct Host {
    pub(crate) runtime: Runtime,
    /// Whether a delivery may print to stdout, which receipts and results then leave alone.
    pub(crate) prints: bool,
}

/// Reads the config, applies what was typed over it, and loads the plugins.
///
/// # Errors
///
/// A grant, limit, file or plugin is not right; the message says which and what to do.
pub(crate) async fn host(arguments: &PluginArguments) -> anyhow::Result<Host> {
    let loaded = config::load(arguments.config.as_deref())?;
    let mut assembly = Assembly::new(arguments, &loaded)?;
    for plugin in plugins(arguments, &loaded)? {
        assembly.add(plugin).await?;
    }
    assembly.add_builtins().await?;
    assembly.finish(arguments, &loaded)
}

/// A plugin before it is loaded.
struct Wanted {
    name: String,
    bytes: Vec<u8>,
    digest: Option<String>,
    prefix: String,
    grants: Option<Grants>,
    limits: Limits,
    schema_check: SchemaCheck,
    config: JsonObject,
    prints: bool,
    role: Role,
}

/// What a plugin is loaded for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Tools,
    Sink,
}

impl Wanted {
    fn new(name: &str, bytes: Vec<u8>, limits: Limits) -> Self {
        Self {
            name: name.to_owned(),
            bytes,
            digest: None,
            prefix: String::new(),
            grants: None,
            limits,
            schema_check: SchemaCheck::On,
            config: JsonObject::new(),
            prints: false,
            role: Role::Tools,
        }
    }
}

/// The plugins of the config and of the command line, in this order.
fn plugins(arguments: &PluginArguments, loaded: &Loaded) -> anyhow::Result<Vec<Wanted>> {
    let mut wanted = Vec::new();
    for plugin in &loaded.config.plugins {
        let (bytes, prints) = component(&plugin.component, loaded)
            .with_context(|| format!("plugin `{}`", plugin.name))?;
        let mut limits = limits(loaded)?;
        plugin
            .limits
            .apply(&mut limits)
            .with_context(|| format!("plugin `{}`", plugin.name))?;
        wanted.push(Wanted {
            digest: plugin.digest.clone(),
            prefix: plugin.prefix.clone(),
            grants: plugin.grants.clone(),
            schema_check: if plugin.schema_check {
                SchemaCheck::On
            } else {
                SchemaCheck::Off
            },
            config: plugin.config.clone(),
            prints,
            ..Wanted::new(&plugin.name, bytes, overridden(limits, arguments)?)
        });
    }
    for sink in &loaded.config.output {
        let (bytes, prints) =
            component(&sink.component, loaded).with_context(|| format!("sink `{}`", sink.name))?;
        let mut limits = limits(loaded)?;
        sink.limits
            .apply(&mut limits)
            .with_context(|| format!("sink `{}`", sink.name))?;
        wanted.push(Wanted {
            digest: sink.digest.clone(),
            grants: sink.grants.clone(),
            config: sink.config.clone(),
            prints,
            role: Role::Sink,
            ..Wanted::new(&sink.name, bytes, overridden(limits, arguments)?)
        });
    }
    for path in &arguments.plugin {
        let bytes = ambient::read_file(path, COMPONENT_BYTES)?;
        let name = path.file_stem().unwrap_or(path.as_os_str());
        let limits = overridden(limits(loaded)?, arguments)?;
        wanted.push(Wanted::new(&name.to_string_lossy(), bytes, limits));
    }
    refuse_equal_names(&wanted)?;
    Ok(wanted)
}

/// Grants, limits and settings attach by name, so two plugins can't share one (CASES WA18).
fn refuse_equal_names(wanted: &[Wanted]) -> anyhow::Result<()> {
    for (index, plugin) in wanted.iter().enumerate() {
        if wanted
            .iter()
            .take(index)
            .any(|other| other.name == plugin.name)
        {
            bail!(
                "two plugins are named `{}`; give one another name",
                plugin.name
            );
        }
    }
    Ok(())
}

fn component(reference: &str, loaded: &Loaded) -> anyhow::Result<(Vec<u8>, bool)> {
    if let Some(name) = reference.strip_prefix("builtin:") {
        let builtin = builtin::find(name).with_context(|| {
            let names: Vec<&str> = BUILTINS.iter().map(|builtin| builtin.name).collect();
            format!("there is no builtin:{name}; there are {}", names.join(", "))
        })?;
        return Ok((builtin.bytes.to_vec(), builtin.prints));
    }
    Ok((loaded.read_component(reference, COMPONENT_BYTES)?, false))
}

fn limits(loaded: &Loaded) -> anyhow::Result<Limits> {
    let mut limits = Limits::default();
    loaded.config.limits.apply(&mut limits).context("limits")?;
    Ok(limits)
}

/// Limits typed on the command line win.
fn overridden(mut limits: Limits, arguments: &PluginArguments) -> anyhow::Result<Limits> {
    for limit in arguments
        .limit
        .iter()
        .filter(|limit| RuntimeLimit::of(limit).is_none())
    {
        parse_limit(limit, &mut limits).with_context(|| format!("--limit {limit}"))?;
    }
    Ok(limits)
}

/// The two limits that belong to the runtime and not to a call.
enum RuntimeLimit<'a> {
    Concurrency(&'a str),
    Queue(&'a str),
}

impl<'a> RuntimeLimit<'a> {
    fn of(limit: &'a str) -> Option<Self> {
        match limit.split_once('=')? {
            ("concurrency", value) => Some(Self::Concurrency(value)),
            ("queue", value) => Some(Self::Queue(value)),
            _ => None,
        }
    }
}

/// A host being put together.
struct Assembly {
    engine: Engine,
    workspace: Workspace,
    sandbox: Grant,
    tools: ToolRegistry,
    /// Which plugin each tool came from.
    origins: BTreeMap<String, String>,
    /// Digests of what is loaded, so that a carried plugin is not loaded beside itself.
    digests: Vec<String>,
    sinks: Sinks,
    prints: bool,
    default_limits: Limits,
}

impl Assembly {
    fn new(arguments: &PluginArguments, loaded: &Loaded) -> anyhow::Result<Self> {
        let mut sandbox = loaded.config.sandbox.grant().context("sandbox")?;
        for allow in &arguments.allow {
            parse_allow(allow, &mut sandbox).with_context(|| format!("--allow {allow}"))?;
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
            sinks: Sinks::default(),
            prints: false,
            default_limits: overridden(limits(loaded)?, arguments)?,
        })
    }

    async fn add(&mut self, wanted: Wanted) -> anyhow::Result<()> {
        let source = PluginSource {
            name: wanted.name.clone(),
            bytes: wanted.bytes,
            handles: Handles::default(),
            limits: wanted.limits,
            config: wanted.config,
        };
        check_digest(&source, wanted.digest.as_deref())?;
        let plugin = self.engine.load(source).await?;
        let grant = plugin_grant(&self.sandbox, wanted.grants.as_ref(), &plugin)
            .with_context(|| format!("grants of plugin `{}`", wanted.name))?;
        let plugin = plugin.with_handles(Handles::open(&grant, &self.workspace)?)?;
        self.digests.push(plugin.digest().to_owned());
        match wanted.role {
            Role::Tools => {
                let written = wanted
                    .grants
                    .as_ref()
                    .and_then(|grants| grants.tools.as_ref());
                let left = written.map(|_| &grant.tools);
                self.register(&plugin, &wanted.prefix, wanted.schema_check, left)?;
                if let Some(sink) = ComponentSink::new(&plugin) {
                    self.insert_sink(&wanted.name, sink, wanted.prints, &plugin);
                }
            }
            Role::Sink => {
                let sink = ComponentSink::new(&plugin)
                    .with_context(|| format!("`{}` exports no sink", wanted.name))?;
                self.insert_sink(&wanted.name, sink, wanted.prints, &plugin);
            }
        }
        Ok(())
    }

    fn insert_sink(&mut self, name: &str, sink: ComponentSink, prints: bool, plugin: &Plugin) {
        self.prints |= plugin.handles().stdout.is_some();
        self.sinks
            .insert(name, if prints { sink.needing_stdout() } else { sink });
    }

    fn register(
        &mut self,
        plugin: &Plugin,
        prefix: &str,
        check: SchemaCheck,
        left: Option<&Names>,
    ) -> anyhow::Result<()> {
        for tool in ComponentTool::all(plugin, prefix)? {
            let name = tidegate::Tool::definition(&tool).name.to_string();
            if left.is_some_and(|left| !left.allows(&name)) {
                continue;
            }
            if let Some(other) = self.origins.get(&name) {
                bail!(
                    "plugins `{other}` and `{}` both define the tool `{name}`; \
                     give one a `prefix` in the config file",
                    plugin.name()
                );
            }
            let carried = BUILTINS.iter().find(|builtin| {
                builtin.tools.contains(&&*name)
                    && plugin.digest() != tidegate_engine::digest(builtin.bytes)
            });
            if let Some(builtin) = carried {
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
        Ok(())
    }

    /// Carried plugins that define a granted tool, and the console where printing is granted.
    async fn add_builtins(&mut self) -> anyhow::Result<()> {
        for builtin in &BUILTINS {
            let granted = builtin
                .tools
                .iter()
                .any(|tool| self.sandbox.tools.allows(tool));
            let printing = builtin.prints && self.sandbox.stdout && self.sinks.is_empty();
            let loaded = || {
                self.digests
                    .contains(&tidegate_engine::digest(builtin.bytes))
            };
            if (granted || printing) && !loaded() {
                let role = if builtin.prints {
                    Role::Sink
                } else {
                    Role::Tools
                };
                let limits = self.default_limits;
                let wanted = Wanted::new(builtin.name, builtin.bytes.to_vec(), limits);
                self.add(Wanted {
                    role,
                    prints: builtin.prints,
                    ..wanted
                })
                .await?;
            }
        }
        Ok(())
    }

    fn finish(self, arguments: &PluginArguments, loaded: &Loaded) -> anyhow::Result<Host> {
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
        let runtime = Runtime::new(RuntimeOptions {
            sandbox: self.sandbox,
            tools: self.tools,
            sinks: self.sinks,
            concurrency,
            queue,
            engine: Some(self.engine),
        })?;
        Ok(Host {
            runtime,
            prints: self.prints,
        })
    }
}

/// The engine with the user's cache; without a usable cache it compiles every time and says so.
fn engine() -> anyhow::Result<Engine> {
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

/// What a plugin gets of the sandbox: what its written grants leave, else what its tools declare. A
/// sink can't declare, and gets the sandbox. A written grant that the sandbox does not cover attaches
/// to nothing, and is an error instead of a silent denial (CASES WA18).
fn plugin_grant(
    sandbox: &Grant,
    written: Option<&Grants>,
    plugin: &Plugin,
) -> anyhow::Result<Grant> {
    let Some(written) = written else {
        return Ok(if plugin.is_sink() {
            sandbox.clone()
        } else {
            declared(sandbox, plugin)
        });
    };
    let asked = written.over(sandbox)?;
    let names = [
        ("tools", &asked.tools, &sandbox.tools),
        ("mcp", &asked.mcp, &sandbox.mcp),
        ("network", &asked.network, &sandbox.network),
        ("execute", &asked.execute, &sandbox.execute),
        ("env", &asked.env, &sandbox.env),
    ];
    for (kind, asked, has) in names {
        if let Names::These(names) = asked
            && let Some(name) = names.iter().find(|name| !has.allows(name))
        {
            bail!("`{kind}: {name}` is not in the sandbox; add it to `sandbox` or --allow");
        }
    }
    let roots = [
        ("read", &asked.read, &sandbox.read),
        ("write", &asked.write, &sandbox.write),
    ];
    for (kind, asked, has) in roots {
        if let Some(root) = asked.iter().find(|root| !has.allows(root)) {
            let root = root.as_str();
            bail!("`{kind}: {root}` is not in the sandbox; add it to `sandbox` or --allow");
        }
    }
    if asked.stdout && !sandbox.stdout {
        bail!("`stdout` is not in the sandbox; add it to `sandbox` or --allow");
    }
    Ok(sandbox.narrow(&asked))
}

/// What the effects of a plugin's tools say it touches. The environment can't be declared.
fn declared(sandbox: &Grant, plugin: &Plugin) -> Grant {
    let declares = |effect: Effect| {
        let mut tools = plugin.definitions().iter();
        tools.any(|tool| tool.effects.contains(&effect))
    };
    let mut grant = Grant {
        tools: sandbox.tools.clone(),
        mcp: sandbox.mcp.clone(),
        ..Grant::default()
    };
    if declares(Effect::Read) {
        grant.read = sandbox.read.clone();
    }
    if declares(Effect::Write) {
        grant.write = sandbox.write.clone();
    }
    if declares(Effect::Execute) {
        grant.execute = sandbox.execute.clone();
    }
    if declares(Effect::Network) {
        grant.network = sandbox.network.clone();
    }
    grant
}

/// Before anything of the component is compiled or run.
fn check_digest(source: &PluginSource, pinned: Option<&str>) -> anyhow::Result<()> {
    let Some(pinned) = pinned else { return Ok(()) };
    let Some(hex) = pinned.strip_prefix("sha-256:") else {
        bail!("digest of plugin `{}`: expected sha-256:HEX", source.name);
    };
    let digest = tidegate_engine::digest(&source.bytes);
    if !hex.eq_ignore_ascii_case(&digest) {
        bail!(
            "plugin `{}` has the digest sha-256:{digest}, not the pinned one",
            source.name
        );
    }
    Ok(())
}
