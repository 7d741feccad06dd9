//! `tidegate inspect`: what a component exports and imports, and what it would need (SPEC P3).
//!
//! The component is asked for its tools with nothing granted; nothing else of it runs.

mod compare;
mod need;

use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::{Value, json};
use tidegate::{Engine, EngineError, Handles, Plugin, PluginSource};
use tidegate_contract::{JsonObject, Limits, ToolDefinition};
use tidegate_engine::{Anatomy, digest};
use tidegate_sandbox::ambient;

use crate::cli::InspectArguments;
use crate::refusal::{self, Exit, Form};
use crate::wanted::COMPONENT_BYTES;
use crate::{builtin, plugins, print};

/// Runs the command.
pub(crate) async fn run(arguments: &InspectArguments) -> Exit {
    let form = Form::of(arguments.json);
    match inspect(arguments, form).await {
        Ok(()) => Exit::Success,
        Err(error) => refusal::usage(&error, form),
    }
}

async fn inspect(arguments: &InspectArguments, form: Form) -> anyhow::Result<()> {
    let engine = plugins::engine()?;
    let report = Report::read(&engine, &arguments.component).await?;
    match (&arguments.diff, form) {
        (None, Form::Json) => print::json(&report),
        (None, Form::Text) => print::text(&report.text()),
        (Some(old), form) => {
            let changes = compare::changes(&Report::read(&engine, old).await?, &report);
            match form {
                Form::Json => print::json(&changes),
                Form::Text => print::text(&changes.text()),
            }
        }
    }
    Ok(())
}

/// What is known of one component.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    file: String,
    size_bytes: usize,
    /// `sha-256:…`.
    digest: String,
    producers: Vec<Value>,
    pub(crate) exports: Vec<String>,
    pub(crate) imports: Vec<Import>,
    pub(crate) tools: Vec<ToolDefinition>,
    sink: bool,
    worker: bool,
    /// Why this host can't load it, where it can't.
    #[serde(skip_serializing_if = "Option::is_none")]
    unusable: Option<String>,
}

/// One import, and what it would need to be of use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Import {
    pub(crate) name: String,
    /// The kinds of grants without which calls through it are denied; none for what is always there.
    pub(crate) needs: Vec<&'static str>,
}

impl Report {
    async fn read(engine: &Engine, path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let bytes = match path.to_str().and_then(|path| path.strip_prefix("builtin:")) {
            Some(name) => builtin::named(name)?.bytes.to_vec(),
            None => ambient::read_file(path, COMPONENT_BYTES)?,
        };
        let anatomy = Anatomy::read(&bytes).with_context(|| shown.to_string())?;
        let (size_bytes, digest) = (bytes.len(), digest(&bytes));
        let loaded = load(engine, path, bytes).await;
        let (tools, sink, worker, unusable) = match &loaded {
            Ok(plugin) => (
                plugin.definitions().to_vec(),
                plugin.is_sink(),
                plugin.is_worker(),
                None,
            ),
            Err(error) => (Vec::new(), false, false, Some(words(error))),
        };
        let producer = |producer: &tidegate_engine::Producer| json!({"field": producer.field, "name": producer.name, "version": producer.version});
        Ok(Self {
            file: shown.to_string(),
            size_bytes,
            digest: format!("sha-256:{digest}"),
            producers: anatomy.producers.iter().map(producer).collect(),
            exports: anatomy.exports,
            imports: anatomy.imports.into_iter().map(Import::new).collect(),
            tools,
            sink,
            worker,
            unusable,
        })
    }

    fn text(&self) -> String {
        let mut lines = vec![
            self.file.clone(),
            format!("  size     {} bytes", self.size_bytes),
            format!("  digest   {}", self.digest),
        ];
        let made = |producer: &Value| {
            let word = |key: &str| {
                producer
                    .get(key)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            };
            format!("{} {}", word("name"), word("version"))
                .trim_end()
                .to_owned()
        };
        let made: Vec<String> = self.producers.iter().map(made).collect();
        if !made.is_empty() {
            lines.push(format!("  made by  {}", made.join("; ")));
        }
        if let Some(reason) = &self.unusable {
            lines.push(format!("  can't be loaded: {reason}"));
        }
        lines.push("exports".to_owned());
        lines.extend(self.exports.iter().map(|name| format!("  {name}")));
        lines.push("imports, and the grants without which they are denied".to_owned());
        let width = self
            .imports
            .iter()
            .map(|import| import.name.len())
            .max()
            .unwrap_or(0);
        for Import { name, needs } in &self.imports {
            let needs = needs.join(", ");
            lines.push(format!("  {name:width$}  {needs}").trim_end().to_owned());
        }
        if !self.tools.is_empty() {
            lines.push("tools".to_owned());
        }
        for tool in &self.tools {
            lines.push(
                format!("  {}  {}", tool.name.as_str(), effects(tool))
                    .trim_end()
                    .to_owned(),
            );
            let about = tool.description.as_deref().unwrap_or_default();
            lines.extend(about.lines().map(|line| format!("    {line}")));
            lines.extend(parameters(tool).map(|line| format!("    {line}")));
        }
        for (is_one, what) in [(self.sink, "sink"), (self.worker, "worker")] {
            if is_one {
                lines.push(what.to_owned());
            }
        }
        lines.join("\n") + "\n"
    }
}

/// What the tool says it touches.
fn effects(tool: &ToolDefinition) -> String {
    let effects: Vec<&str> = tool.effects.iter().map(|effect| effect.as_str()).collect();
    if effects.is_empty() {
        String::new()
    } else {
        format!("({})", effects.join(", "))
    }
}

/// The arguments by name; whole schemas are for `--json`.
fn parameters(tool: &ToolDefinition) -> impl Iterator<Item = String> {
    let object = |key: &str| tool.input_schema.get(key);
    let required: Vec<&str> = object("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let properties = object("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(move |(name, schema)| {
        let kind = schema.get("type").map(Value::to_string).unwrap_or_default();
        let optional = if required.contains(&name.as_str()) {
            ""
        } else {
            ", optional"
        };
        format!("{name}: {}{optional}", kind.trim_matches('"'))
    })
}

async fn load(engine: &Engine, path: &Path, bytes: Vec<u8>) -> Result<Plugin, EngineError> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    // A command is a tool of the plugin's name: what a carried one is called stands after the colon.
    let name = name.rsplit(':').next().unwrap_or_default().to_owned();
    let source = PluginSource {
        name,
        bytes,
        handles: Handles::default(),
        limits: Limits::default(),
        config: JsonObject::new(),
    };
    engine.load(source).await
}

fn words(error: &EngineError) -> String {
    let mut words = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        words.push_str(": ");
        words.push_str(&cause.to_string());
        source = cause.source();
    }
    words
}
