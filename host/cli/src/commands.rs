//! `interaction.commands`: the bounds of the carried command tools, and what runs commands (SPEC R4,
//! S4).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::json;
use tidegate::{Engine, Executor};
use tidegate_contract::{JsonObject, Names, Value};
use tidegate_sandbox::command::{Layer, NativeCommand, NativeCommands, Options};

use crate::print;

/// The command component, and what it can do.
const POSIX: &[u8] = include_bytes!("../../../guests/dist/posix.wasm");

/// The carried commands, all of them tools of `builtin:commands` too.
pub(crate) const NAMES: [&str; 14] = [
    "grep", "ls", "cat", "find", "head", "tail", "wc", "sort", "uniq", "cut", "stat", "file", "du",
    "pwd",
];

/// `interaction.commands`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Commands {
    pub(crate) max_entries: Option<u32>,
    pub(crate) max_output_bytes: Option<u32>,
    pub(crate) max_error_bytes: Option<u32>,
    pub(crate) no_match: Option<NoMatch>,
    pub(crate) executor: ExecutorKind,
    pub(crate) native: Vec<Native>,
    pub(crate) allow_missing: Vec<LayerName>,
}

/// What a `grep` without a match is.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NoMatch {
    Failed,
    Success,
}

/// What runs commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExecutorKind {
    /// The carried command component.
    #[default]
    Component,
    /// The programs under `native`.
    Native,
}

/// One native command.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Native {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    #[serde(default)]
    pub(crate) digest: Option<String>,
    #[serde(default)]
    pub(crate) also: Vec<PathBuf>,
}

/// A protection of the kernel that native commands may do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LayerName {
    Landlock,
    Seccomp,
}

impl Commands {
    /// The settings of `builtin:commands`, which stand at `place`; what is not set is left to it.
    ///
    /// # Errors
    ///
    /// A bound out of its range.
    pub(crate) fn settings(&self, place: &str) -> anyhow::Result<JsonObject> {
        let bounds = [
            ("max_entries", self.max_entries, 10_000),
            ("max_output_bytes", self.max_output_bytes, 1_048_576),
            ("max_error_bytes", self.max_error_bytes, 65_536),
        ];
        let mut settings = JsonObject::new();
        for (name, value, most) in bounds {
            let Some(value) = value else { continue };
            if !(1..=most).contains(&value) {
                bail!("{place}.{name}: expected 1 to {most}, not {value}");
            }
            settings.insert(name.to_owned(), Value::from(value));
        }
        let no_match = self.no_match.map(|no_match| match no_match {
            NoMatch::Failed => "failed",
            NoMatch::Success => "success",
        });
        if let Some(no_match) = no_match {
            settings.insert("no_match".to_owned(), json!(no_match));
        }
        Ok(settings)
    }

    /// Checks settings that stand with the plugin itself, where an executor can't be chosen.
    ///
    /// # Errors
    ///
    /// A key that it does not have, or a bound out of its range.
    pub(crate) fn check_own(own: &JsonObject) -> anyhow::Result<()> {
        let bounds = [
            "max_entries",
            "max_output_bytes",
            "max_error_bytes",
            "no_match",
        ];
        if let Some(key) = own.keys().find(|key| !bounds.contains(&key.as_str())) {
            bail!(
                "config: unknown key `{key}`; there are {}",
                bounds.join(", ")
            );
        }
        // One by one, so that what is wrong is named.
        for (key, value) in own {
            let one = JsonObject::from_iter([(key.clone(), value.clone())]);
            let one: Self = serde_json::from_value(Value::Object(one))
                .with_context(|| format!("config.{key}"))?;
            one.settings("config")?;
        }
        Ok(())
    }

    /// Makes what runs the commands that `granted` names.
    ///
    /// # Errors
    ///
    /// A program that can't be offered, or a kernel that lacks a protection.
    pub(crate) fn executor(&self, engine: &Engine, granted: &Names) -> anyhow::Result<Executor> {
        match self.executor {
            ExecutorKind::Component if self.native.is_empty() => {
                let component = engine.load_commands("posix", POSIX, &NAMES)?;
                Ok(Executor::Component(component))
            }
            ExecutorKind::Component => bail!(
                "interaction.commands.native is used with `executor: native` only; add that line \
                 or take the list out"
            ),
            ExecutorKind::Native => self.native_executor(granted),
        }
    }

    fn native_executor(&self, granted: &Names) -> anyhow::Result<Executor> {
        let offered = self
            .native
            .iter()
            .map(Native::command)
            .collect::<anyhow::Result<Vec<_>>>()
            .context("interaction.commands.native")?;
        let options = Options {
            allow_missing: self
                .allow_missing
                .iter()
                .map(|layer| layer.layer())
                .collect(),
            ..Options::default()
        };
        let native = NativeCommands::open(&offered, granted, options)
            .context("interaction.commands.native")?;
        for layer in native.missing() {
            print::warning(&format!(
                "warning: native commands run without {layer}, which this kernel lacks"
            ));
        }
        Ok(Executor::Native(Arc::new(native)))
    }

    /// Whether both run commands by the same programs under the same protections.
    pub(crate) fn runs_as(&self, other: &Self) -> bool {
        self.executor == other.executor
            && self.native == other.native
            && self.allow_missing == other.allow_missing
    }

    /// The paths of the host that a file names here.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (String, &Path)> {
        let native = self.native.iter().enumerate();
        native.flat_map(|(at, native)| {
            let paths = std::iter::once(&native.path).chain(&native.also);
            paths.map(move |path| (format!("interaction.commands.native[{at}]"), path.as_path()))
        })
    }
}

impl Native {
    fn command(&self) -> anyhow::Result<NativeCommand> {
        let digest = self
            .digest
            .as_deref()
            .map(|text| text.strip_prefix("sha-256:").unwrap_or(text).parse())
            .transpose()
            .with_context(|| format!("digest of `{}`: expected sha-256:HEX", self.name))?;
        Ok(NativeCommand {
            name: self.name.clone(),
            path: self.path.clone(),
            digest,
            also: self.also.clone(),
        })
    }
}

impl LayerName {
    fn layer(self) -> Layer {
        match self {
            Self::Landlock => Layer::Landlock,
            Self::Seccomp => Layer::Seccomp,
        }
    }
}
