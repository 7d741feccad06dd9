//! What one plugin holds: the opened form of its grant.

use tidegate_contract::grant::{Grant, Names};

use crate::ambient::{self, Workspace};
use crate::egress::{Egress, Network};
use crate::error::SandboxError;
use crate::files::{self, Folder};
use crate::output::LineSink;
use crate::secret::{Injection, Secret};

/// The handles of one plugin, opened once when it is loaded and used by each of its calls.
#[derive(Debug, Clone, Default)]
pub struct Handles {
    /// The grant these handles were opened from.
    pub grant: Grant,
    /// Folders in the order in which a guest looks them up: deeper ones shadow outer ones.
    pub folders: Vec<Folder>,
    /// Granted environment variables that are set, with their values.
    pub environment: Vec<(String, String)>,
    /// Where standard output goes; `None` keeps it, bounded, beside the result.
    pub stdout: Option<LineSink>,
    /// The granted part of the network; `None` when that is nothing.
    pub egress: Option<Egress>,
    /// What the host adds to its requests, and keeps out of its results.
    pub secrets: Vec<Secret>,
}

impl Handles {
    /// Opens everything `grant` names. Relative roots are opened inside `workspace`.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Folder`] for the first root that can't be opened.
    pub fn open(grant: &Grant, workspace: &Workspace) -> Result<Self, SandboxError> {
        Ok(Self {
            folders: files::open_roots(grant, workspace)?,
            environment: environment(&grant.env),
            stdout: grant.stdout.then(LineSink::process),
            egress: None,
            secrets: Vec::new(),
            grant: grant.clone(),
        }
        .through(&Network::default(), Vec::new()))
    }

    /// The same over another network, with what the host adds to requests.
    #[must_use]
    pub fn through(self, network: &Network, injections: Vec<Injection>) -> Self {
        let grant = &self.grant.network;
        Self {
            secrets: injections
                .iter()
                .map(|injection| injection.secret().clone())
                .collect(),
            egress: (!grant.is_empty()).then(|| Egress::open(grant, network, injections)),
            ..self
        }
    }
}

fn environment(names: &Names) -> Vec<(String, String)> {
    match names {
        Names::All => ambient::whole_environment(),
        Names::These(names) => names
            .iter()
            .filter_map(|name| Some((name.clone(), ambient::environment(name)?)))
            .collect(),
    }
}
