//! The folders that runs may work in: opened once, and the folder of a run is opened below one of
//! them.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use tidegate_sandbox::ambient;

use crate::error::{StoreError, WorkerError};

/// The longest path that a launch can name, in bytes.
const PATH_BYTES: usize = 4096;

/// Folders that launches may name, or name folders in. Default: none, so that no run has files.
#[derive(Clone, Default)]
pub struct WorkRoots(Arc<Vec<(PathBuf, Dir)>>);

impl fmt::Debug for WorkRoots {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths = self.0.iter().map(|(path, _)| path);
        formatter.debug_list().entries(paths).finish()
    }
}

impl WorkRoots {
    /// Opens the folders.
    ///
    /// # Errors
    ///
    /// `Store` when one can't be opened.
    pub fn open(paths: &[PathBuf]) -> Result<Self, WorkerError> {
        let refused = |error| WorkerError::Store(StoreError::Folder(error));
        let open = |path: &PathBuf| {
            let path = ambient::absolute(path).map_err(refused)?;
            let folder = ambient::open_folder(&path).map_err(refused)?;
            Ok((path, folder))
        };
        let opened: Result<Vec<_>, WorkerError> = paths.iter().map(open).collect();
        Ok(Self(Arc::new(opened?)))
    }

    /// Opens a folder that a launch names as `key`, through the handle of the folder that it is in:
    /// no link leads out.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` when it is no plain absolute path, in none of the folders, or not there.
    pub fn folder(&self, key: &str, path: &str) -> Result<Dir, WorkerError> {
        let invalid = |reason: &str| WorkerError::InvalidRequest {
            reason: format!("`{key}` {reason}"),
        };
        check_path(key, path)?;
        let below = self.0.iter().find_map(|(root, folder)| {
            let below = Path::new(path).strip_prefix(root).ok()?;
            Some((folder, below))
        });
        let Some((folder, below)) = below else {
            return Err(invalid("is in no folder that runs may work in"));
        };
        let opened = if below.as_os_str().is_empty() {
            folder.try_clone()
        } else {
            folder.open_dir(below)
        };
        // What the system says may hold a path of the host.
        opened.map_err(|_private| invalid("is no folder that can be opened"))
    }
}

/// Whether a launch can name this path as `key`.
///
/// # Errors
///
/// `InvalidRequest` when it is no plain absolute path.
pub(crate) fn check_path(key: &str, path: &str) -> Result<(), WorkerError> {
    let is_plain = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    let fits = path.len() <= PATH_BYTES && !path.contains(|c: char| c.is_control());
    if !Path::new(path).is_absolute() || !is_plain || !fits {
        return Err(WorkerError::InvalidRequest {
            reason: format!("`{key}` must be a plain absolute path of at most {PATH_BYTES} bytes"),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x7_a_run_works_in_a_named_folder_alone() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = ambient::open_folder(inside.path()).unwrap();
        folder.create_dir_all("job/a").unwrap();
        folder.write("file", "").unwrap();
        std::os::unix::fs::symlink(outside.path(), inside.path().join("away")).unwrap();
        let roots = WorkRoots::open(&[inside.path().to_owned()]).unwrap();
        let root = inside.path().to_str().unwrap();
        let ask = |path: &str| roots.folder("work_dir", path);
        for path in ["", "/job", "/job/a"] {
            ask(&format!("{root}{path}")).unwrap();
        }
        for path in ["/job/..", "/away", "/file", "/none", "/job/../../x", "x"] {
            let error = ask(&format!("{root}{path}")).unwrap_err();
            assert_eq!(error.status(), 400, "{path}");
            assert!(!error.to_string().contains(root), "{error}");
        }
        let long = format!("{root}/{}", "a".repeat(PATH_BYTES));
        for path in [
            "",
            "job",
            "/",
            outside.path().to_str().unwrap(),
            &long,
            "/a\0",
        ] {
            assert_eq!(ask(path).unwrap_err().status(), 400, "{path}");
        }
        let none = WorkRoots::default().folder("work_dir", root);
        assert!(none.unwrap_err().to_string().contains("`work_dir`"));
    }

    #[test]
    fn c8_a_path_has_4096_bytes_at_most() {
        for (bytes, fits) in [(4095, true), (4096, true), (4097, false)] {
            let path = format!("/{}", "a".repeat(bytes - 1));
            assert_eq!(check_path("work_dir", &path).is_ok(), fits, "{bytes}");
        }
    }
}
