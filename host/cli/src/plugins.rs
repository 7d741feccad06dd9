//! What was typed and configured becomes a runtime: grants, loaded plugins, sinks (SPEC L2, L4, T2).

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use tidegate::{
    ComponentSink, ComponentTool, Engine, EngineSettings, Handles, Plugin, PluginSource, Runtime,
    RuntimeOptions, SchemaCheck, Sinks, ToolRegistry, Workspace,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::limits::parse_limit;
use tidegate_contract::{JsonObject, Limits};
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
        .filter(|limit| Admission::of(limit).is_none())
    {
        parse_limit(limit, &mut limits).with_context(|| format!("--limit {limit}"))?;
    }
    Ok(limits)
}

/// The two limits that belong to the runtime and not to a call.
enum Admission<'a> {
    Concurrency(&'a str),
    Queue(&'a str),
}

impl<'a> Admission<'a> {
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
        let workspace = match &arguments.workspace {
            Some(folder) => Workspace::open(folder)?,
            None => loaded.workspace()?,
        };
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
        let grant = plugin_grant(&self.sandbox, wanted.grants.as_ref())
            .with_context(|| format!("grants of plugin `{}`", wanted.name))?;
        let handles = Handles::open(&grant, &self.workspace)?;
        let source = PluginSource {
            name: wanted.name.clone(),
            bytes: wanted.bytes,
            handles,
            limits: wanted.limits,
            config: wanted.config,
        };
        check_digest(&source, wanted.digest.as_deref())?;
        let plugin = self.engine.load(source).await?;
        self.digests.push(plugin.digest().to_owned());
        match wanted.role {
            Role::Tools => {
                self.register(&plugin, &wanted.prefix, wanted.schema_check)?;
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
    ) -> anyhow::Result<()> {
        for tool in ComponentTool::all(plugin, prefix)? {
            let name = tidegate::Tool::definition(&tool).name.to_string();
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
            match Admission::of(limit) {
                Some(Admission::Concurrency(value)) => {
                    concurrency = Some(value.parse().with_context(number)?);
                }
                Some(Admission::Queue(value)) => queue = value.parse().with_context(number)?,
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

/// What a plugin gets: all of the sandbox, or what its own grants leave of it. A written grant that
/// the sandbox does not cover attaches to nothing, and is an error instead of a silent denial.
fn plugin_grant(sandbox: &Grant, written: Option<&Grants>) -> anyhow::Result<Grant> {
    let Some(written) = written else {
        return Ok(sandbox.clone());
    };
    let asked = written.over(sandbox)?;
    let narrowed = sandbox.narrow(&asked);
    let lost = [
        (
            "tools",
            !asked.tools.is_empty() && narrowed.tools.is_empty(),
        ),
        ("mcp", !asked.mcp.is_empty() && narrowed.mcp.is_empty()),
        ("read", !asked.read.is_empty() && narrowed.read.is_empty()),
        (
            "write",
            !asked.write.is_empty() && narrowed.write.is_empty(),
        ),
        (
            "network",
            !asked.network.is_empty() && narrowed.network.is_empty(),
        ),
        (
            "execute",
            !asked.execute.is_empty() && narrowed.execute.is_empty(),
        ),
        ("env", !asked.env.is_empty() && narrowed.env.is_empty()),
        ("stdout", asked.stdout && !narrowed.stdout),
    ];
    if let Some((kind, _)) = lost.into_iter().find(|(_, lost)| *lost) {
        bail!(
            "`{kind}` grants something that the sandbox does not; add it to `sandbox` or --allow"
        );
    }
    Ok(narrowed)
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
