//! The plugins that the config, the command line and the product ask for, before any is loaded.

use std::io;

use anyhow::{Context as _, bail};
use tidegate::{Reread, SchemaCheck};
use tidegate_contract::limits::parse_limit;
use tidegate_contract::{JsonObject, Limits};
use tidegate_engine::{Digester, Engine};
use tidegate_sandbox::SandboxError;
use tidegate_sandbox::ambient::{NamedFile, Stamp};

use crate::builtin::{self, Builtin};
use crate::cli::PluginArguments;
use crate::commands::Commands;
use crate::config::{Grants, LimitValues};
use crate::loaded::Loaded;
use crate::secrets::Inject;
use crate::web_search;

/// Largest component file.
pub(crate) const COMPONENT_BYTES: u64 = 256 * 1024 * 1024;

/// A component that may not have to be held, nor read: how to tell what it is, and how to read it.
pub(crate) struct Component {
    /// The file as it stands, for the digest that was taken of it before.
    stamp: Option<Stamp>,
    hash: Box<dyn FnOnce() -> Result<String, SandboxError>>,
    reread: Reread,
}

impl Component {
    /// A file, opened by `open` each time that it is read.
    pub(crate) fn of_file(
        open: impl Fn() -> Result<NamedFile, SandboxError> + Send + Sync + 'static,
    ) -> Result<Self, SandboxError> {
        let file = open()?;
        Ok(Self {
            stamp: file.stamp(),
            hash: Box::new(move || {
                let mut digester = Digester::default();
                file.each_piece(|piece| digester.take(piece))?;
                Ok(digester.finish())
            }),
            reread: Box::new(move || open().and_then(NamedFile::read).map_err(io::Error::other)),
        })
    }

    /// Bytes that the program carries.
    pub(crate) fn carried(bytes: &'static [u8]) -> Self {
        Self {
            stamp: None,
            hash: Box::new(move || Ok(tidegate_engine::digest(bytes))),
            reread: Box::new(move || Ok(bytes.to_vec())),
        }
    }

    /// Its digest, and how to read it. One that is compared with a pinned digest is always taken of
    /// the bytes.
    ///
    /// # Errors
    ///
    /// The file can't be read, or is too large.
    pub(crate) fn identify(
        self,
        engine: &Engine,
        pinned: Option<&str>,
    ) -> Result<(String, Reread), SandboxError> {
        let stamp = self.stamp.filter(|_| pinned.is_none());
        let digest = engine.digest_of(stamp.as_ref(), self.hash)?;
        Ok((digest, self.reread))
    }
}

/// A plugin before it is loaded.
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) component: Component,
    /// The digest that it must have.
    pub(crate) pinned: Option<String>,
    pub(crate) prefix: String,
    pub(crate) grants: Option<Grants>,
    pub(crate) limits: Limits,
    pub(crate) schema_check: SchemaCheck,
    pub(crate) config: JsonObject,
    pub(crate) inject: Vec<Inject>,
    /// The origin that each of its calls asks.
    pub(crate) origin: Option<String>,
    pub(crate) prints: bool,
    pub(crate) role: Role,
}

/// What a plugin is loaded for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Tools,
    Sink,
}

impl Wanted {
    fn new(name: &str, component: Component, limits: Limits) -> Self {
        Self {
            name: name.to_owned(),
            component,
            pinned: None,
            prefix: String::new(),
            grants: None,
            limits,
            schema_check: SchemaCheck::On,
            config: JsonObject::new(),
            inject: Vec::new(),
            origin: None,
            prints: false,
            role: Role::Tools,
        }
    }

    /// The same with what it is told, and with what follows from that.
    fn told(self, builtin: &Builtin, config: JsonObject) -> Self {
        let mut wanted = Self { config, ..self };
        if builtin.name == builtin::WEB_SEARCH {
            wanted.origin = Some(web_search::origin(&wanted.config));
            web_search::make_room(&wanted.config, &mut wanted.limits);
        }
        wanted
    }

    /// A carried plugin that nothing names.
    pub(crate) fn carried(
        builtin: &'static Builtin,
        limits: Limits,
        loaded: &Loaded,
    ) -> anyhow::Result<Self> {
        let config = settings(builtin, &JsonObject::new(), loaded)?;
        Ok(Self {
            role: if builtin.prints {
                Role::Sink
            } else {
                Role::Tools
            },
            prints: builtin.prints,
            ..Self::new(builtin.name, builtin.component(), limits).told(builtin, config)
        })
    }
}

/// What entries of `plugins` and of `output` have in common.
struct Entry<'a> {
    name: &'a str,
    component: &'a str,
    digest: &'a Option<String>,
    grants: &'a Option<Grants>,
    limits: &'a LimitValues,
    inject: &'a [Inject],
    config: &'a JsonObject,
}

/// The plugins of the config and of the command line, in this order.
///
/// # Errors
///
/// A component can't be read, a limit is not right, or two plugins have one name.
pub(crate) fn wanted(arguments: &PluginArguments, loaded: &Loaded) -> anyhow::Result<Vec<Wanted>> {
    let mut wanted = Vec::new();
    for plugin in &loaded.config.plugins {
        let entry = Entry {
            name: &plugin.name,
            component: &plugin.component,
            digest: &plugin.digest,
            grants: &plugin.grants,
            limits: &plugin.limits,
            inject: &plugin.inject,
            config: &plugin.config,
        };
        wanted.push(Wanted {
            prefix: plugin.prefix.clone(),
            schema_check: if plugin.schema_check {
                SchemaCheck::On
            } else {
                SchemaCheck::Off
            },
            ..configured(&entry, arguments, loaded)
                .with_context(|| format!("plugin `{}`", plugin.name))?
        });
    }
    for sink in &loaded.config.output {
        let entry = Entry {
            name: &sink.name,
            component: &sink.component,
            digest: &sink.digest,
            grants: &sink.grants,
            limits: &sink.limits,
            inject: &sink.inject,
            config: &sink.config,
        };
        wanted.push(Wanted {
            role: Role::Sink,
            ..configured(&entry, arguments, loaded)
                .with_context(|| format!("sink `{}`", sink.name))?
        });
    }
    for path in &arguments.plugin {
        let owned = path.clone();
        let component = Component::of_file(move || NamedFile::open(&owned, COMPONENT_BYTES))?;
        let name = path.file_stem().unwrap_or(path.as_os_str());
        let limits = limits(arguments, loaded, &LimitValues::default())?;
        wanted.push(Wanted::new(&name.to_string_lossy(), component, limits));
    }
    refuse_equal_names(&wanted)?;
    Ok(wanted)
}

fn configured(
    entry: &Entry<'_>,
    arguments: &PluginArguments,
    loaded: &Loaded,
) -> anyhow::Result<Wanted> {
    let limits = limits(arguments, loaded, entry.limits)?;
    let wanted = match entry.component.strip_prefix("builtin:") {
        Some(name) => {
            let builtin = builtin::named(name)?;
            let config = settings(builtin, entry.config, loaded)?;
            Wanted {
                prints: builtin.prints,
                ..Wanted::new(entry.name, builtin.component(), limits).told(builtin, config)
            }
        }
        None => Wanted {
            config: entry.config.clone(),
            ..Wanted::new(
                entry.name,
                loaded.component(entry.component, COMPONENT_BYTES)?,
                limits,
            )
        },
    };
    Ok(Wanted {
        pinned: entry.digest.clone(),
        grants: entry.grants.clone(),
        inject: entry.inject.to_vec(),
        ..wanted
    })
}

/// The settings of a carried plugin: its own, over those that stand under `interaction`.
fn settings(builtin: &Builtin, own: &JsonObject, loaded: &Loaded) -> anyhow::Result<JsonObject> {
    let interaction = &loaded.config.interaction;
    let mut settings = match builtin.name {
        builtin::COMMANDS => {
            Commands::check_own(own)?;
            interaction.commands.settings("interaction.commands")?
        }
        builtin::WEB_SEARCH => interaction.web_search.settings()?,
        _ => JsonObject::new(),
    };
    settings.extend(own.clone());
    Ok(settings)
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

/// The file's limits, then the plugin's own, then those typed on the command line.
pub(crate) fn limits(
    arguments: &PluginArguments,
    loaded: &Loaded,
    own: &LimitValues,
) -> anyhow::Result<Limits> {
    let mut limits = Limits::default();
    loaded.config.limits.apply(&mut limits).context("limits")?;
    own.apply(&mut limits)?;
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
pub(crate) enum RuntimeLimit<'a> {
    Concurrency(&'a str),
    Queue(&'a str),
}

impl<'a> RuntimeLimit<'a> {
    pub(crate) fn of(limit: &'a str) -> Option<Self> {
        match limit.split_once('=')? {
            ("concurrency", value) => Some(Self::Concurrency(value)),
            ("queue", value) => Some(Self::Queue(value)),
            _ => None,
        }
    }
}
