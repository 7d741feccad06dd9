//! A folder for a new project: made where it is missing, and only where nothing is in the way.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};

use super::open_folder;
use crate::error::SandboxError;

/// A folder that was empty when it was opened.
#[derive(Debug)]
pub struct NewFolder {
    dir: Dir,
    path: PathBuf,
}

/// Who may run a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// It is a script.
    Yes,
    /// It is not run.
    No,
}

impl NewFolder {
    /// Makes the folder with those above it; takes one that is there and empty.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Folder`] when it can't be made or opened, or when something is in it.
    pub fn make(path: &Path) -> Result<Self, SandboxError> {
        let refused = |source| SandboxError::Folder {
            root: path.display().to_string(),
            source,
        };
        fs::create_dir_all(path).map_err(refused)?;
        let dir = open_folder(path)?;
        if dir.entries().map_err(refused)?.next().is_some() {
            return Err(refused(io::Error::new(
                io::ErrorKind::DirectoryNotEmpty,
                "it is not empty",
            )));
        }
        Ok(Self {
            dir,
            path: path.to_owned(),
        })
    }

    /// Writes a file that is not there yet, and makes the folders above it.
    ///
    /// # Errors
    ///
    /// [`SandboxError::File`] when it can't be written.
    pub fn write(&self, name: &Path, text: &str, runs: Runs) -> Result<(), SandboxError> {
        let write = || {
            if let Some(parent) = name.parent() {
                self.dir.create_dir_all(parent)?;
            }
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            options.mode(match runs {
                Runs::Yes => 0o777,
                Runs::No => 0o666,
            });
            let mut file = self.dir.open_with(name, &options)?;
            file.write_all(text.as_bytes())
        };
        write().map_err(|source| SandboxError::File {
            path: self.path.join(name).display().to_string(),
            source,
        })
    }
}
