//! The config file as data (SPEC L4): what `tidegate.yaml` says, and the grants it means.
//!
//! The file has more sections in the specification (`mcp`, `serve`, `secrets`); they come with what
//! they configure, and until then are refused like any other unknown key.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::Deserialize;
use tidegate_contract::grant::{Grant, Names};
use tidegate_contract::{JsonObject, Limits, Root, Roots};
use tidegate_sandbox::{Workspace, ambient};

use crate::yaml;

/// `tidegate.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) sandbox: Grants,
    pub(crate) plugins: Vec<PluginConfig>,
    pub(crate) interaction: Interaction,
    pub(crate) output: Vec<SinkConfig>,
    pub(crate) limits: LimitValues,
}

/// Grants as they are written; also those of one plugin, where an absent kind means "no more than
/// the sandbox says".
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Grants {
    pub(crate) tools: Option<NameList>,
    pub(crate) mcp: Option<NameList>,
    pub(crate) read: Option<RootList>,
    pub(crate) write: Option<RootList>,
    pub(crate) network: Option<NameList>,
    pub(crate) execute: Option<NameList>,
    pub(crate) env: Option<NameList>,
    pub(crate) stdout: Option<bool>,
}

/// `"*"` or a list of names.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "a list of names, or \"*\" for all")]
pub(crate) enum NameList {
    All(Star),
    Names(Vec<String>),
}

/// The text `*`.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) enum Star {
    #[serde(rename = "*")]
    Star,
}

/// `true` for the workspace, `false` for nothing, or a list of folders.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "true, false, or a list of folders")]
pub(crate) enum RootList {
    Workspace(bool),
    Folders(Vec<String>),
}

/// One entry of `plugins`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PluginConfig {
    pub(crate) name: String,
    /// `builtin:NAME` or a path, relative to the file.
    pub(crate) component: String,
    /// `sha-256:HEX` that the component must have.
    #[serde(default)]
    pub(crate) digest: Option<String>,
    #[serde(default)]
    pub(crate) prefix: String,
    #[serde(default)]
    pub(crate) grants: Option<Grants>,
    #[serde(default)]
    pub(crate) limits: LimitValues,
    #[serde(default = "yes")]
    pub(crate) schema_check: bool,
    #[serde(default)]
    pub(crate) config: JsonObject,
}

fn yes() -> bool {
    true
}

/// `interaction`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Interaction {
    pub(crate) concurrency: Option<u32>,
    pub(crate) queue: Option<usize>,
}

/// One entry of `output`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SinkConfig {
    pub(crate) name: String,
    pub(crate) component: String,
    #[serde(default)]
    pub(crate) digest: Option<String>,
    #[serde(default)]
    pub(crate) grants: Option<Grants>,
    #[serde(default)]
    pub(crate) limits: LimitValues,
    #[serde(default)]
    pub(crate) config: JsonObject,
}

/// Limits by name, checked when they are applied.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(transparent)]
pub(crate) struct LimitValues(std::collections::BTreeMap<String, u64>);

impl LimitValues {
    pub(crate) fn apply(&self, limits: &mut Limits) -> anyhow::Result<()> {
        self.0
            .iter()
            .try_for_each(|(name, value)| Ok(limits.set(name, *value)?))
    }
}

/// A config and the folder that relative paths in it mean.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    pub(crate) folder: PathBuf,
    pub(crate) trust: Trust,
}

/// Who chose the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The operator, by name or in the user's config folder.
    Chosen,
    /// Nobody: it lay in the working folder, which may be a stranger's.
    Found,
}

const FILE_NAME: &str = "tidegate.yaml";

/// The config named by `--config`, else the one in the working folder, else the user's, else none.
///
/// # Errors
///
/// The file can't be read or breaks the format; or it was found and reaches out of its folder.
pub(crate) fn load(named: Option<&Path>) -> anyhow::Result<Loaded> {
    let here = Path::new(FILE_NAME);
    let users = ambient::user_config_folder().map(|folder| folder.join(FILE_NAME));
    let (path, trust) = match (named, users) {
        (Some(path), _) => (path.to_owned(), Trust::Chosen),
        (None, _) if here.exists() => (here.to_owned(), Trust::Found),
        (None, Some(path)) if path.exists() => (path, Trust::Chosen),
        (None, _) => {
            let (config, folder) = (Config::default(), PathBuf::from("."));
            return Ok(Loaded {
                config,
                folder,
                trust: Trust::Chosen,
            });
        }
    };
    let config: Config = yaml::read(&path)?;
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let folder = folder.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let loaded = Loaded {
        config,
        folder,
        trust,
    };
    loaded
        .check_reach()
        .with_context(|| path.display().to_string())?;
    Ok(loaded)
}

impl Loaded {
    /// Reads a component that the file names.
    pub(crate) fn read_component(&self, path: &str, limit_bytes: u64) -> anyhow::Result<Vec<u8>> {
        Ok(match self.trust {
            Trust::Chosen => ambient::read_file(&self.folder.join(path), limit_bytes)?,
            Trust::Found => {
                let folder = ambient::open_folder(&self.folder)?;
                ambient::read_file_in(&folder, Path::new(path), limit_bytes)?
            }
        })
    }

    /// Opens the workspace that the file names, or the working folder.
    pub(crate) fn workspace(&self) -> anyhow::Result<Workspace> {
        Ok(match (&self.config.workspace, self.trust) {
            (None, _) => Workspace::open(Path::new("."))?,
            (Some(path), Trust::Chosen) => Workspace::open(&self.folder.join(path))?,
            (Some(path), Trust::Found) => {
                Workspace::open_in(&ambient::open_folder(&self.folder)?, path)?
            }
        })
    }

    /// A file that nobody chose grants nothing of a folder that was chosen apart from it, and no
    /// environment.
    pub(crate) fn check_workspace(&self, elsewhere: bool) -> anyhow::Result<()> {
        let sandbox = &self.config.sandbox;
        let kinds = [
            ("read", elsewhere && sandbox.read.is_some()),
            ("write", elsewhere && sandbox.write.is_some()),
            ("env", sandbox.env.is_some()),
        ];
        if self.trust == Trust::Found
            && let Some((kind, _)) = kinds.into_iter().find(|(_, granted)| *granted)
        {
            bail!(
                "{FILE_NAME} was found and not chosen, and grants `{kind}`; name it with --config \
                 if you trust it, or grant with --allow"
            );
        }
        Ok(())
    }

    /// A file that nobody chose stays inside its folder.
    fn check_reach(&self) -> anyhow::Result<()> {
        if self.trust == Trust::Chosen {
            return Ok(());
        }
        let outside = |path: &Path| {
            path.is_absolute()
                || path
                    .components()
                    .any(|part| part == std::path::Component::ParentDir)
        };
        let config = &self.config;
        let components = config.plugins.iter().map(|plugin| &plugin.component);
        let components = components.chain(config.output.iter().map(|sink| &sink.component));
        let folders = [&config.sandbox.read, &config.sandbox.write];
        let folders = folders.into_iter().flatten().flat_map(|roots| match roots {
            RootList::Workspace(_) => [].iter(),
            RootList::Folders(folders) => folders.iter(),
        });
        let paths = components
            .filter(|path| !path.starts_with("builtin:"))
            .chain(folders);
        for path in paths.map(Path::new).chain(config.workspace.as_deref()) {
            if outside(path) {
                bail!(
                    "`{}` is outside the folder of this file, which was found and not chosen; \
                     name the file with --config if you trust it",
                    path.display()
                );
            }
        }
        Ok(())
    }
}

impl Grants {
    /// The grant that is written; absent kinds grant nothing.
    pub(crate) fn grant(&self) -> anyhow::Result<Grant> {
        let nothing = Grant::default();
        self.over(&nothing)
    }

    /// The grant with `base` in the place of absent kinds.
    pub(crate) fn over(&self, base: &Grant) -> anyhow::Result<Grant> {
        Ok(Grant {
            tools: names(self.tools.as_ref(), &base.tools),
            mcp: names(self.mcp.as_ref(), &base.mcp),
            read: roots(self.read.as_ref(), &base.read).context("read")?,
            write: roots(self.write.as_ref(), &base.write).context("write")?,
            network: origins(self.network.as_ref(), &base.network).context("network")?,
            execute: names(self.execute.as_ref(), &base.execute),
            env: names(self.env.as_ref(), &base.env),
            stdout: self.stdout.unwrap_or(base.stdout),
        })
    }
}

fn names(list: Option<&NameList>, base: &Names) -> Names {
    match list {
        None => base.clone(),
        Some(NameList::All(Star::Star)) => Names::All,
        Some(NameList::Names(names)) => {
            let mut list = Names::default();
            for name in names {
                list.insert(name);
            }
            list
        }
    }
}

fn origins(list: Option<&NameList>, base: &Names) -> anyhow::Result<Names> {
    if matches!(list, Some(NameList::All(_))) {
        bail!("expected a list of exact origins; `*` is not one");
    }
    if let Some(NameList::Names(origins)) = list {
        let mut grant = Grant::default();
        for origin in origins {
            tidegate_contract::grant::parse_allow(&format!("network={origin}"), &mut grant)?;
        }
        return Ok(grant.network);
    }
    Ok(names(list, base))
}

fn roots(list: Option<&RootList>, base: &Roots) -> anyhow::Result<Roots> {
    let mut roots = Roots::default();
    match list {
        None => return Ok(base.clone()),
        Some(RootList::Workspace(false)) => {}
        Some(RootList::Workspace(true)) => roots.insert(Root::parse(".")?),
        Some(RootList::Folders(folders)) => {
            for folder in folders {
                roots.insert(Root::parse(folder)?);
            }
        }
    }
    Ok(roots)
}
