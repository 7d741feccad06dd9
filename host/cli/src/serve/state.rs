//! The folder that the service keeps its database in, for one process at a time.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use tidegate_sandbox::ambient;

use super::tokens::{Token, Tokens};
use crate::print;

/// Locked while a service runs.
const LOCK: &str = "lock";

/// The token of the one operator, where there is no token file.
const OPERATOR: &str = "operator.token";

/// An open folder of this process alone.
pub(super) struct State {
    path: PathBuf,
    /// Unlocked when it is closed, however the process ends.
    _lock: File,
}

impl State {
    /// Opens a folder, or the usual one, making it where it is missing.
    ///
    /// # Errors
    ///
    /// It can't be made, is not this user's alone, or another service runs on it.
    pub(super) fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        let path = path.map_or_else(super::usual_state, |path| Ok(path.to_owned()))?;
        let folder = ambient::open_cache(&path).context("the service's state")?;
        let lock = folder
            .create(LOCK)
            .context("the service's state")?
            .into_std();
        if lock.try_lock().is_err() {
            bail!(
                "another service runs on the folder {}; name another with --state",
                path.display()
            );
        }
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the token of the one operator of this run, who works in these folders, and leaves it in
    /// the service's, for this user.
    ///
    /// # Errors
    ///
    /// It can't be written.
    pub(super) fn operator(&self, work_roots: &[PathBuf]) -> anyhow::Result<Tokens> {
        let folder = ambient::open_cache(&self.path)?;
        let token = Token::mint();
        let line = format!("{}\n", token.reveal());
        ambient::write_private(&folder, OPERATOR, line.as_bytes())?;
        let path = self.path.join(OPERATOR);
        print::warning(&format!("the operator's token is in {}", path.display()));
        Ok(Tokens::only(&token, work_roots))
    }
}
