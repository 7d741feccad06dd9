//! The folders that runs may work in: opened once, and the folder of a run is opened below one of
//! them.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use tidegate_contract::Tenant;
use tidegate_sandbox::ambient;

use crate::error::{StoreError, WorkerError};

/// The longest path that a launch can name, in bytes.
const PATH_BYTES: usize = 4096;

/// Folders that launches of a tenant may name, or name folders in. Default: none, so that no run has
/// files.
#[derive(Clone, Default)]
pub struct WorkRoots(Arc<Vec<Root>>);

/// One tenant's folder. Another tenant's may be the same.
struct Root {
    tenant: Tenant,
    path: PathBuf,
    folder: Dir,
}

impl fmt::Debug for WorkRoots {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths = self.0.iter().map(|root| &root.path);
        formatter.debug_list().entries(paths).finish()
    }
}

impl WorkRoots {
    /// Opens the folders, each for its tenant.
    ///
    /// # Errors
    ///
    /// `Store` when one can't be opened.
    pub fn open(roots: &[(Tenant, PathBuf)]) -> Result<Self, WorkerError> {
        let refused = |error| WorkerError::Store(StoreError::Folder(error));
        let open = |(tenant, path): &(Tenant, PathBuf)| {
            let path = ambient::absolute(path).map_err(refused)?;
            let folder = ambient::open_folder(&path).map_err(refused)?;
            Ok(Root {
                tenant: tenant.clone(),
                path,
                folder,
            })
        };
        let opened: Result<Vec<_>, WorkerError> = roots.iter().map(open).collect();
        Ok(Self(Arc::new(opened?)))
    }

    /// Opens a folder that a tenant's launch names as `key`, through the handle of the folder that it
    /// is in: no link leads out.
    ///
    /// # Errors
    ///
    /// `InvalidRequest` when it is no plain absolute path, in none of the tenant's folders, or not
    /// there: of the last two the same, so that nobody learns which folders there are.
    pub fn folder(&self, tenant: &Tenant, key: &str, path: &str) -> Result<Dir, WorkerError> {
        check_path(key, path)?;
        let theirs = self.0.iter().filter(|root| root.tenant == *tenant);
        let mut opened = theirs.filter_map(|root| {
            let below = Path::new(path).strip_prefix(&root.path).ok()?;
            if below.as_os_str().is_empty() {
                root.folder.try_clone().ok()
            } else {
                root.folder.open_dir(below).ok()
            }
        });
        opened.next().ok_or_else(|| WorkerError::InvalidRequest {
            reason: format!("`{key}` is no folder that runs may work in"),
        })
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
        let tenant = Tenant::default();
        let roots = WorkRoots::open(&[(tenant.clone(), inside.path().to_owned())]).unwrap();
        let root = inside.path().to_str().unwrap();
        let ask = |path: &str| roots.folder(&tenant, "work_dir", path);
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
        let none = WorkRoots::default().folder(&tenant, "work_dir", root);
        assert!(none.unwrap_err().to_string().contains("`work_dir`"));
    }

    #[test]
    fn s1_x7_a_tenant_finds_its_own_folders_and_learns_nothing_of_others() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let tenants = ["one", "two"].map(|name| Tenant::new(name).unwrap());
        let [acme, globex] = &tenants;
        let roots = WorkRoots::open(&[
            (acme.clone(), one.path().to_owned()),
            (globex.clone(), two.path().to_owned()),
        ])
        .unwrap();
        let path = |folder: &tempfile::TempDir| folder.path().to_str().unwrap().to_owned();
        let (own, foreign) = (path(&one), path(&two));
        let ask = |tenant: &Tenant, path: &str| roots.folder(tenant, "work_dir", path);
        ask(acme, &own).unwrap();
        ask(globex, &foreign).unwrap();
        let absent = ask(acme, &format!("{own}/none")).unwrap_err();
        for path in [foreign.clone(), format!("{foreign}/none")] {
            let refused = ask(acme, &path).unwrap_err();
            assert_eq!(refused.to_string(), absent.to_string(), "{path}");
        }
        let stranger = Tenant::new("three").unwrap();
        assert_eq!(ask(&stranger, &own).unwrap_err().status(), 400);
    }

    #[test]
    fn c8_a_path_has_4096_bytes_at_most() {
        for (bytes, fits) in [(4095, true), (4096, true), (4097, false)] {
            let path = format!("/{}", "a".repeat(bytes - 1));
            assert_eq!(check_path("work_dir", &path).is_ok(), fits, "{bytes}");
        }
    }
}
