//! The config file as data (SPEC L4): what `tidegate.yaml` says, and the grants it means.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use anyhow::Context as _;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use tidegate_contract::grant::{Grant, Names};
use tidegate_contract::limits::LIMITS;
use tidegate_contract::{JsonObject, Limits, Root, Roots};

use crate::artifacts::ArtifactSettings;
use crate::commands::Commands;
use crate::mcp_servers::{Budgets, ServerConfig};
use crate::network::{self, NetworkEntry, NetworkSettings};
use crate::secrets::{Inject, SecretSource};
use crate::serve::ServeConfig;
use crate::web_search::WebSearch;

/// `tidegate.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) sandbox: Grants,
    pub(crate) plugins: Vec<PluginConfig>,
    pub(crate) interaction: Interaction,
    pub(crate) mcp: BTreeMap<String, ServerConfig>,
    pub(crate) output: Vec<SinkConfig>,
    pub(crate) secrets: BTreeMap<String, SecretSource>,
    pub(crate) network: NetworkSettings,
    pub(crate) serve: ServeConfig,
    pub(crate) artifacts: ArtifactSettings,
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
    pub(crate) network: Option<Vec<NetworkEntry>>,
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
    #[serde(default)]
    pub(crate) inject: Vec<Inject>,
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
    pub(crate) commands: Commands,
    pub(crate) web_search: WebSearch,
    pub(crate) mcp: Budgets,
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
    pub(crate) inject: Vec<Inject>,
    #[serde(default)]
    pub(crate) config: JsonObject,
}

/// Limits by name; each name is known and each value in its range.
#[derive(Debug, Default, Clone)]
pub(crate) struct LimitValues(Vec<(String, u64)>);

impl LimitValues {
    pub(crate) fn apply(&self, limits: &mut Limits) -> anyhow::Result<()> {
        self.0
            .iter()
            .try_for_each(|(name, value)| Ok(limits.set(name, *value)?))
    }
}

impl<'de> Deserialize<'de> for LimitValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LimitVisitor)
    }
}

struct LimitVisitor;

impl<'de> Visitor<'de> for LimitVisitor {
    type Value = LimitValues;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a mapping of limits to whole numbers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<LimitValues, A::Error> {
        let mut values = LimitValues::default();
        while let Some(LimitKey(name)) = entries.next_key()? {
            let value = entries.next_value()?;
            values.0.push((name, value));
        }
        Ok(values)
    }
}

/// The name of a limit, so that a wrong one is found where it stands.
struct LimitKey(String);

impl<'de> Deserialize<'de> for LimitKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if LIMIT_NAMES.contains(&&*name) {
            Ok(Self(name))
        } else {
            Err(D::Error::unknown_field(&name, &LIMIT_NAMES))
        }
    }
}

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, within the length of both"
)]
const LIMIT_NAMES: [&str; LIMITS.len()] = {
    let mut names = [""; LIMITS.len()];
    let mut index = 0;
    while index < LIMITS.len() {
        names[index] = LIMITS[index].name;
        index += 1;
    }
    names
};

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
            network: network::rules(self.network.as_deref(), &base.network).context("network")?,
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
