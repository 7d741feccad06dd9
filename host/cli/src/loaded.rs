//! Finding the config file and what it may reach: a file that nobody chose stays inside its folder
//! until it is trusted (SPEC L2, L4).

use std::path::{self, Path, PathBuf};

use anyhow::{Context as _, bail};
use tidegate::{Audit, AuditEvent};
use tidegate_contract::Value;
use tidegate_sandbox::Workspace;
use tidegate_sandbox::ambient::{self, NamedFile};

use crate::config::{Config, RootList};
use crate::overrides::{self, Widening};
use crate::trust::Trusted;
use crate::wanted::Component;
use crate::yaml;

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
    /// The operator: by name, in the user's config folder, or with `tidegate trust`.
    Chosen,
    /// Nobody: it lay in the working folder, which may be a stranger's.
    Found,
}

/// The name under which a config is looked for.
pub(crate) const FILE_NAME: &str = "tidegate.yaml";

/// The file that would be read: the one named by `--config`, else the one in the working folder, else
/// the user's.
pub(crate) fn find(named: Option<&Path>) -> Option<(PathBuf, Trust)> {
    let here = Path::new(FILE_NAME);
    let users = || ambient::user_config_folder().map(|folder| folder.join(FILE_NAME));
    match named {
        Some(path) => Some((path.to_owned(), Trust::Chosen)),
        None if here.exists() => Some((here.to_owned(), Trust::Found)),
        None => users()
            .filter(|path| path.exists())
            .map(|path| (path, Trust::Chosen)),
    }
}

/// Reads the config, lays the environment's overrides over it, and holds a found file to its folder.
///
/// # Errors
///
/// The file can't be read or breaks the format; a variable is not right; or the file was found and
/// reaches out of its folder.
pub(crate) fn load(
    named: Option<&Path>,
    widening: Widening,
    audit: Option<&Audit>,
) -> anyhow::Result<Loaded> {
    let variables = overrides::variables(ambient::whole_environment());
    let Some((path, found)) = find(named) else {
        let base = Value::Object(tidegate_contract::JsonObject::new());
        return Ok(Loaded {
            config: overrides::apply(Config::default(), base, &variables, widening)?,
            folder: PathBuf::from("."),
            trust: Trust::Chosen,
        });
    };
    let name = path.display().to_string();
    let bytes = ambient::read_file(&path, yaml::FILE_BYTES)?;
    let digest = tidegate_engine::digest(&bytes);
    let mut config: Config = yaml::parse_bytes(bytes.clone(), &name)?;
    if !variables.is_empty() {
        let base: Value = yaml::parse_bytes(bytes, &name)?;
        config = overrides::apply(config, base, &variables, widening)?;
    }
    let trust = match found {
        Trust::Found if Trusted::read().holds(&path, &digest) => Trust::Chosen,
        other => other,
    };
    if let (Trust::Found, Some(audit)) = (found, audit) {
        audit.record(&AuditEvent::Trust {
            path: &name,
            digest: &digest,
            trusted: trust == Trust::Chosen,
        });
    }
    let folder = path.parent().filter(|parent| *parent != Path::new(""));
    let folder = folder.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let loaded = Loaded {
        config,
        folder,
        trust,
    };
    loaded.check_reach().context(name)?;
    Ok(loaded)
}

impl Loaded {
    /// A component that the file names.
    pub(crate) fn component(&self, path: &str, limit_bytes: u64) -> anyhow::Result<Component> {
        Ok(match self.trust {
            Trust::Chosen => {
                let path = self.folder.join(path);
                Component::of_file(move || NamedFile::open(&path, limit_bytes))?
            }
            Trust::Found => {
                let (folder, path) = (self.folder.clone(), PathBuf::from(path));
                Component::of_file(move || {
                    NamedFile::open_in(&ambient::open_folder(&folder)?, &path, limit_bytes)
                })?
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
                "{FILE_NAME} was found and not chosen, and grants `{kind}`; read it and run \
                 `tidegate trust`, name it with --config, or grant with --allow"
            );
        }
        Ok(())
    }

    /// A file that nobody chose stays inside its folder.
    fn check_reach(&self) -> anyhow::Result<()> {
        if self.trust == Trust::Found
            && let Some((key, path)) = reaches(&self.config).into_iter().next()
        {
            let what = match key.split('.').next() {
                Some("secrets") => "is not to be taken by",
                Some("mcp") => "is not to be asked by",
                Some("serve") => "is not to be chosen by",
                _ if key == NETWORK => "is not to be granted by",
                _ if key == AUTHORITIES => "is not to be trusted for",
                Some(ARTIFACTS) => "is not to be set by",
                _ => "is outside the folder of",
            };
            bail!(
                "`{key}`: `{path}` {what} this file, which was found and not chosen; read it and \
                 run `tidegate trust`, or name it with --config"
            );
        }
        Ok(())
    }
}

/// The key under which origins are granted.
const NETWORK: &str = "sandbox.network";

/// The key under which certificate authorities are named.
const AUTHORITIES: &str = "network.ca_file";

/// The key under which the user's store of artifacts is bounded.
const ARTIFACTS: &str = "artifacts";

/// What a config names outside its folder, by key: what trusting the file permits.
pub(crate) fn reaches(config: &Config) -> Vec<(String, String)> {
    let mut named = Vec::new();
    if let Some(path) = &config.workspace {
        named.push(("workspace".to_owned(), path.display().to_string()));
    }
    for (kind, roots) in [
        ("read", &config.sandbox.read),
        ("write", &config.sandbox.write),
    ] {
        if let Some(RootList::Folders(folders)) = roots {
            let key = format!("sandbox.{kind}");
            named.extend(folders.iter().map(|folder| (key.clone(), folder.clone())));
        }
    }
    let plugins = config.plugins.iter().enumerate();
    let plugins =
        plugins.map(|(at, plugin)| (format!("plugins[{at}].component"), &plugin.component));
    let sinks = config.output.iter().enumerate();
    let sinks = sinks.map(|(at, sink)| (format!("output[{at}].component"), &sink.component));
    let components = plugins
        .chain(sinks)
        .filter(|(_, path)| !path.starts_with("builtin:"));
    named.extend(components.map(|(key, path)| (key, path.clone())));
    let native = config.interaction.commands.paths();
    named.extend(native.map(|(key, path)| (key, path.display().to_string())));
    named.retain(|(_, path)| is_outside(Path::new(path)));
    // What is near this machine is no more the file's than what is on it.
    let entries = config.sandbox.network.iter().flatten();
    let near = entries.filter(|entry| entry.names_addresses());
    named.extend(near.map(|entry| (NETWORK.to_owned(), entry.shown())));
    // Whom to trust about names, and wherever a value comes from, is the user's and not the file's.
    let authorities = config.network.ca_file.iter();
    named.extend(authorities.map(|path| (AUTHORITIES.to_owned(), path.display().to_string())));
    let servers = config.mcp.iter();
    named.extend(servers.map(|(name, server)| (format!("mcp.{name}"), server.reaches())));
    // The user has one store for all folders.
    let bounds = config.artifacts.first_set();
    named.extend(bounds.map(|key| (ARTIFACTS.to_owned(), key.to_owned())));
    let secrets = config.secrets.iter();
    named.extend(secrets.map(|(name, source)| (format!("secrets.{name}"), source.reaches())));
    // Where to listen and whom to let in is the user's too.
    named.extend(config.serve.reaches());
    named
}

fn is_outside(path: &Path) -> bool {
    path.is_absolute()
        || path
            .components()
            .any(|part| part == path::Component::ParentDir)
}
