//! What a component is loaded with: grants, limits and settings, as they were typed.

use std::io;
use std::path::Path;

use anyhow::Context as _;
use tidegate::{Engine, EngineError, Handles, LineSink, Network, Plugin, PluginSource, Workspace};
use tidegate_contract::grant::Grant;
use tidegate_contract::limits::parse_limit;
use tidegate_contract::{JsonBounds, JsonObject, Limits, Value, json};

use super::findings::{Findings, Subject};
use super::{CheckArguments, rules};
use crate::commands::Commands;
use crate::plugins;
use crate::share::plugin_grant;

/// What a component is checked with, read from the command line.
pub(super) struct Setting {
    engine: Engine,
    workspace: Workspace,
    sandbox: Grant,
    limits: Limits,
    settings: JsonObject,
}

impl Setting {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// A grant, a limit, the settings or the workspace is not right.
    pub(super) fn read(arguments: &CheckArguments) -> anyhow::Result<Self> {
        let mut sandbox = Grant::default();
        for allow in &arguments.allow {
            plugins::allow(allow, &mut sandbox).with_context(|| format!("--allow {allow}"))?;
        }
        let mut limits = Limits::default();
        for limit in &arguments.limit {
            parse_limit(limit, &mut limits).with_context(|| format!("--limit {limit}"))?;
        }
        let settings = json::parse(&arguments.settings, &JsonBounds::default());
        let Value::Object(settings) = settings.context("--settings")? else {
            anyhow::bail!("--settings must be a JSON object");
        };
        let folder = arguments.workspace.as_deref().unwrap_or(Path::new("."));
        Ok(Self {
            engine: plugins::engine()?,
            workspace: Workspace::open(folder)?,
            sandbox,
            limits,
            settings,
        })
    }

    /// Loads the component with nothing granted; `None` where that is a finding.
    ///
    /// # Errors
    ///
    /// It is no component, or the host has no room.
    pub(super) async fn load(
        &self,
        name: &str,
        bytes: &[u8],
        findings: &mut Findings,
    ) -> anyhow::Result<Option<Plugin>> {
        let source = PluginSource {
            name: name.to_owned(),
            bytes: bytes.to_vec(),
            handles: Handles::default(),
            limits: self.limits,
            config: self.settings.clone(),
        };
        let error = match self.engine.load(source).await {
            Ok(plugin) => return Ok(Some(plugin)),
            Err(error) => error,
        };
        let rule = match &error {
            EngineError::Imports { .. }
            | EngineError::NothingExported { .. }
            | EngineError::Shape { .. } => &rules::NOT_LOADABLE,
            EngineError::Definitions { .. } | EngineError::Ask { .. } => {
                &rules::DEFINITIONS_UNUSABLE
            }
            EngineError::NotAComponent { .. }
            | EngineError::Setting { .. }
            | EngineError::Start(_)
            | EngineError::Threads(_) => return Err(error.into()),
        };
        let causes = anyhow::Error::from(error);
        let chain: Vec<String> = causes.chain().map(ToString::to_string).collect();
        findings.add(rule, &Subject::Component, chain.join(": "));
        Ok(None)
    }

    /// The plugin with what `call` would grant it. What a sink prints is nobody's to read here.
    ///
    /// # Errors
    ///
    /// What is granted can't be opened.
    pub(super) fn granted(&self, plugin: &Plugin) -> anyhow::Result<Plugin> {
        let grant = plugin_grant(&self.sandbox, None, plugin)?;
        let runs_commands = !grant.execute.is_empty();
        let mut handles = Handles::open(&grant, &self.workspace)?;
        handles = handles.through(&Network::default(), Vec::new());
        handles.stdout = grant.stdout.then(|| LineSink::new(io::sink()));
        let granted = plugin.with_handles(handles)?;
        if !runs_commands {
            return Ok(granted);
        }
        let executor = Commands::default().executor(&self.engine, &self.sandbox.execute)?;
        Ok(granted.with_executor(executor)?)
    }
}

/// The plugin's name: a command is a tool of that name, so it is made one.
pub(super) fn name_of(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = name.rsplit(':').next().unwrap_or_default();
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().take(64).map(letter).collect();
    if name.is_empty() {
        "plugin".to_owned()
    } else {
        name
    }
}
