//! A file that the user names for a command to write.

use std::fs::File;
use std::path::Path;

use crate::error::SandboxError;

/// Opens a file the user named to write and empties it, making it where it is missing, for whom the
/// user's mask says. A pipe is waited for, as by a shell.
///
/// # Errors
///
/// [`SandboxError::File`] when it can't be opened for writing.
pub fn write_to(path: &Path) -> Result<File, SandboxError> {
    File::create(path).map_err(|source| SandboxError::File {
        path: path.display().to_string(),
        source,
    })
}
