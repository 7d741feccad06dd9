//! What one plugin holds: the opened form of its grant.

use tidegate_contract::grant::{Grant, Names};

use crate::ambient::{self, Workspace};
use crate::error::SandboxError;
use crate::files::{self, Folder};
use crate::output::LineSink;

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
            grant: grant.clone(),
        })
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
