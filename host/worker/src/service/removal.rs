//! Removing the files of a run that is not kept: those alone that are as the host wrote them.
//!
//! Somebody may have gone on with a file since; what was changed is theirs. What a stop left of a write,
//! under a name that nobody reads, goes too.

use std::io::{self, Read as _};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, OpenOptions};

use super::Service;
use super::files::{document, leaves_output};
use crate::error::WorkerError;
use crate::projection::is_leftover;
use crate::store::{Attempt, Part, Run};

impl Service {
    /// Removes the files of a run that has ended, and the folders that held nothing else. What can't be
    /// removed stays.
    ///
    /// # Errors
    ///
    /// `Store`.
    pub(crate) fn remove_files(&self, run: &Run, root: &Dir) -> Result<(), WorkerError> {
        for id in self.store.attempts(&run.id)? {
            let attempt = self.store.attempt(id)?;
            let parts = self.store.parts(id)?;
            if let Err(error) = remove_files(root, &attempt, &parts) {
                // The kind alone: what the system says may hold a path of the host.
                let kind = error.kind();
                tracing::debug!("files of a run that is removed stay: {kind}");
            }
        }
        Ok(())
    }
}

fn remove_files(root: &Dir, attempt: &Attempt, parts: &[Part]) -> io::Result<()> {
    let segments = attempt.run.folder(&attempt.step, attempt.number);
    let folders = open(root, &segments)?;
    let Some(folder) = folders.last() else {
        return Ok(());
    };
    if leaves_output(attempt.state) {
        remove_output(folder, attempt, parts)?;
    }
    for entry in folder.entries()? {
        let name = entry?.file_name();
        if name.to_str().is_some_and(is_leftover) {
            folder.remove_file(name)?;
        }
    }
    // From the innermost out, down to the folder that is the task's own.
    for (folder, segment) in folders.iter().zip(&segments).rev() {
        if folder.remove_dir(segment).is_err() || segment.contains(&attempt.run.task) {
            return Ok(());
        }
    }
    Ok(())
}

fn remove_output(folder: &Dir, attempt: &Attempt, parts: &[Part]) -> io::Result<()> {
    for part in parts.iter().filter(|part| part.unfit.is_none()) {
        remove_same(folder, part.name.as_str(), part.text.as_bytes())?;
    }
    if let Some(submission) = &attempt.submission
        && attempt.unfit.is_none()
    {
        let written = document(attempt, submission);
        remove_same(folder, &attempt.step.file_name(), written.as_bytes())?;
    }
    Ok(())
}

/// The root and all the folders below it, down to the last segment's. A link is none.
fn open(root: &Dir, segments: &[String]) -> io::Result<Vec<Dir>> {
    let mut folders = vec![root.try_clone()?];
    for segment in segments {
        let below = folders
            .last()
            .map(|folder| folder.open_dir_nofollow(segment));
        folders.extend(below.transpose()?);
    }
    Ok(folders)
}

/// Removes a file that holds just these bytes.
fn remove_same(folder: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = match folder.open_with(name, &options) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() != size {
        return Ok(());
    }
    let mut found = Vec::with_capacity(bytes.len());
    file.take(size.saturating_add(1)).read_to_end(&mut found)?;
    if found == bytes {
        folder.remove_file(name)?;
    }
    Ok(())
}
