//! Network grants as the config writes them, and what connections are made with.

use std::path::{Path, PathBuf};
use std::slice;

use anyhow::Context as _;
use serde::Deserialize;
use tidegate_contract::{NetworkGrant, NetworkRule};
use tidegate_sandbox::{Network, ambient};

/// Largest file of certificate authorities.
const AUTHORITIES_BYTES: u64 = 16 * 1024 * 1024;

/// `network`.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NetworkSettings {
    /// The certificate authorities to trust in place of the system's, as PEM.
    pub(crate) ca_file: Option<PathBuf>,
}

impl NetworkSettings {
    /// The network that connections are made over; paths are relative to `folder`.
    pub(crate) fn open(&self, folder: &Path) -> anyhow::Result<Network> {
        let Some(path) = &self.ca_file else {
            return Ok(Network::default());
        };
        ambient::read_file(&folder.join(path), AUTHORITIES_BYTES)
            .and_then(|pem| Network::default().with_authorities(&pem))
            .context("network.ca_file")
    }
}

/// One origin, or one with what of it may be used.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "an exact origin such as https://example.com, or {origin, methods, paths, addresses}"
)]
pub(crate) enum NetworkEntry {
    Origin(String),
    Rule(NetworkEntryRule),
}

/// An origin, and what of it may be used; an absent list restricts nothing, except that addresses that
/// are not public have to be named.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NetworkEntryRule {
    pub(crate) origin: String,
    #[serde(default)]
    pub(crate) methods: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) paths: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) addresses: Vec<String>,
}

impl NetworkEntry {
    /// Whether it names an address, which need not be public.
    pub(crate) fn names_addresses(&self) -> bool {
        // What is no rule is refused where it is read.
        self.rule().is_ok_and(|rule| !rule.addresses().is_empty())
    }

    /// For whoever decides whether to trust the file that has it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Origin(origin) => origin.clone(),
            Self::Rule(entry) => [slice::from_ref(&entry.origin), &entry.addresses[..]]
                .concat()
                .join(","),
        }
    }

    fn rule(&self) -> anyhow::Result<NetworkRule> {
        let entry = match self {
            Self::Origin(origin) => return Ok(NetworkRule::parse(origin)?),
            Self::Rule(entry) => entry,
        };
        let mut rule = NetworkRule::new(&entry.origin)?;
        for address in &entry.addresses {
            rule = rule.with_address(address)?;
        }
        if let Some(methods) = &entry.methods {
            rule = rule.with_methods(methods)?;
        }
        if let Some(paths) = &entry.paths {
            rule = rule.with_paths(paths)?;
        }
        Ok(rule)
    }
}

/// The rules that are written; `base` where the key is absent.
pub(crate) fn rules(
    entries: Option<&[NetworkEntry]>,
    base: &NetworkGrant,
) -> anyhow::Result<NetworkGrant> {
    match entries {
        None => Ok(base.clone()),
        Some(entries) => entries.iter().map(NetworkEntry::rule).collect(),
    }
}
