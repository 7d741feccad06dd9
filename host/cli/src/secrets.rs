//! `secrets` and `inject`: where secret values come from, and to which requests the host adds them
//! (SPEC S7).
//!
//! A value is read when a plugin is loaded that needs it, and is shown nowhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::Deserialize;
use tidegate_sandbox::ambient;
use tidegate_sandbox::secret::LONGEST_BYTES;
use tidegate_sandbox::{Injection, Secret};

/// Where one value comes from: exactly one of the sources.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SecretSource {
    /// A variable of the environment.
    pub(crate) env: Option<String>,
    /// A file, relative to the config's folder.
    pub(crate) file: Option<PathBuf>,
    /// A program and its arguments; what it prints.
    pub(crate) command: Option<Vec<String>>,
    /// The value itself, with `inline: true`.
    pub(crate) value: Option<String>,
    /// Says that whoever wrote the value into the file knows that it stands there.
    pub(crate) inline: bool,
}

/// One entry of `inject`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Inject {
    pub(crate) origin: String,
    pub(crate) header: String,
    pub(crate) secret: String,
    #[serde(default)]
    pub(crate) prefix: String,
}

/// The values of a config, each read once.
#[derive(Debug)]
pub(crate) struct Secrets<'a> {
    sources: &'a BTreeMap<String, SecretSource>,
    folder: &'a Path,
    read: BTreeMap<String, Secret>,
}

impl<'a> Secrets<'a> {
    pub(crate) fn new(sources: &'a BTreeMap<String, SecretSource>, folder: &'a Path) -> Self {
        Self {
            sources,
            folder,
            read: BTreeMap::new(),
        }
    }

    /// What the host adds to the requests of one plugin.
    ///
    /// # Errors
    ///
    /// Names the secret that is not there or can't be read, never its value.
    pub(crate) fn injections(&mut self, entries: &[Inject]) -> anyhow::Result<Vec<Injection>> {
        let mut injections = Vec::new();
        for entry in entries {
            let secret = self.secret(&entry.secret)?;
            let made = Injection::new(&entry.origin, &entry.header, &entry.prefix, secret);
            injections.push(made.with_context(|| format!("inject: header `{}`", entry.header))?);
        }
        Ok(injections)
    }

    /// One value by its name.
    ///
    /// # Errors
    ///
    /// Names the secret that is not there or can't be read, never its value.
    pub(crate) fn secret(&mut self, name: &str) -> anyhow::Result<Secret> {
        if let Some(secret) = self.read.get(name) {
            return Ok(secret.clone());
        }
        let source = self
            .sources
            .get(name)
            .with_context(|| format!("no secret is named `{name}`; add it under `secrets`"))?;
        let secret = source
            .read(self.folder)
            .and_then(|value| Ok(Secret::new(value)?))
            .with_context(|| format!("secrets.{name}"))?;
        self.read.insert(name.to_owned(), secret.clone());
        Ok(secret)
    }
}

impl SecretSource {
    /// What it reaches, for whoever decides whether to trust the file that names it.
    pub(crate) fn reaches(&self) -> String {
        match self {
            Self {
                env: Some(name), ..
            } => format!("the environment variable {name}"),
            Self {
                file: Some(path), ..
            } => format!("the file {}", path.display()),
            Self {
                command: Some(words),
                ..
            } => format!("the command {}", words.join(" ")),
            _ => "a value in the file".to_owned(),
        }
    }

    /// Checks that it is one source.
    ///
    /// # Errors
    ///
    /// There is none, or more than one, or a value that is not marked.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        match (&self.env, &self.file, &self.command, &self.value) {
            (None, None, Some(words), None) if words.is_empty() => {
                bail!("`command` has no program")
            }
            (None, None, None, Some(_)) if !self.inline => bail!(
                "a value that stands in the file needs `inline: true` beside it; better keep it in \
                 a variable, a file or a command"
            ),
            (Some(_), None, None, None)
            | (None, Some(_), None, None)
            | (None, None, Some(_), None)
            | (None, None, None, Some(_)) => Ok(()),
            _ => bail!("expected exactly one of env, file, command, and value with inline"),
        }
    }

    fn read(&self, folder: &Path) -> anyhow::Result<String> {
        self.check()?;
        let text = if let Some(name) = &self.env {
            ambient::environment(name)
                .with_context(|| format!("the environment variable `{name}` is not set"))?
        } else if let Some(path) = &self.file {
            let most = u64::try_from(LONGEST_BYTES).unwrap_or(u64::MAX);
            text(ambient::read_file(
                &folder.join(path),
                most.saturating_add(2),
            )?)?
        } else if let Some((program, arguments)) =
            self.command.as_ref().and_then(|words| words.split_first())
        {
            let printed = ambient::output_of(program, arguments, LONGEST_BYTES);
            text(printed.with_context(|| format!("`{program}`"))?)?
        } else {
            self.value.clone().unwrap_or_default()
        };
        Ok(text.trim_end_matches(['\r', '\n']).to_owned())
    }
}

fn text(bytes: Vec<u8>) -> anyhow::Result<String> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        // The error would show the value.
        Err(_bytes) => bail!("it is not UTF-8"),
    }
}
