//! A body that names a file in its place (SPEC I4): whether it may, and what is in the file.
//!
//! The file is opened below the work's folder, through its handle: a path that leads out of it, by
//! whatever links, is refused by the opening itself. Deliberately absent: paths in answers.

use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;
use serde_json::Value;
use tidegate_sandbox::SandboxError;
use tidegate_sandbox::ambient::NamedFile;

use crate::error::WorkerError;

/// What such a body starts with.
const MARK: &str = "@file:";

const NO_FILE: &str = "`@file:` names no regular file";

/// Whether the nearest of the three declarations allows it: nothing but `true` does.
///
/// `declared` holds the value of `allow_file_submit` of the step, the agent and the blueprint.
#[must_use]
pub fn is_allowed(declared: [Option<&Value>; 3]) -> bool {
    let nearest = declared.into_iter().flatten().next();
    nearest == Some(&Value::Bool(true))
}

/// The path that a body names; `None` for a body that is meant as it is.
#[must_use]
pub fn named(body: &str) -> Option<&str> {
    let path = body.strip_prefix(MARK)?;
    // Whatever writes a line ends it.
    Some(path.strip_suffix('\n').unwrap_or(path))
}

/// Reads a file that a body names. `work_dir` is the path of the open folder as the worker knows it.
///
/// # Errors
///
/// `InvalidRequest` when it is not one absolute path, or of no regular file; `FileOutside`,
/// `NotFound`, and `TooLarge` over `limit_bytes`.
pub fn read(
    named: &str,
    work_dir: &str,
    folder: &Dir,
    limit_bytes: usize,
) -> Result<Vec<u8>, WorkerError> {
    let inside = below(named, work_dir)?;
    let most = u64::try_from(limit_bytes).unwrap_or(u64::MAX);
    let read = NamedFile::open_in(folder, &inside, most).and_then(NamedFile::read);
    read.map_err(|error| refusal(error, limit_bytes))
}

/// The path below the work's folder, by its words alone.
fn below(named: &str, work_dir: &str) -> Result<PathBuf, WorkerError> {
    let path = Path::new(named);
    if !path.is_absolute() || named.contains(|c: char| c.is_control()) {
        return Err(malformed("`@file:` is followed by one absolute path"));
    }
    let inside = path.strip_prefix(work_dir);
    let inside = inside.map_err(|_elsewhere| WorkerError::FileOutside)?;
    if inside.components().any(|part| part == Component::ParentDir) {
        return Err(WorkerError::FileOutside);
    }
    if inside.as_os_str().is_empty() {
        return Err(malformed(NO_FILE));
    }
    Ok(inside.to_owned())
}

fn malformed(reason: &str) -> WorkerError {
    WorkerError::InvalidRequest {
        reason: reason.to_owned(),
    }
}

fn refusal(error: SandboxError, limit_bytes: usize) -> WorkerError {
    let SandboxError::File { source, .. } = error else {
        return WorkerError::FileOutside;
    };
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => WorkerError::NotFound,
        io::ErrorKind::FileTooLarge => WorkerError::TooLarge { limit_bytes },
        io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory => malformed(NO_FILE),
        // What the system does not let be opened is as good as outside.
        _ => WorkerError::FileOutside,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tidegate_sandbox::ambient;

    use super::*;

    #[test]
    fn i4_nothing_but_true_of_the_nearest_declaration_allows_it() {
        let (yes, no) = (json!(true), json!(false));
        assert!(is_allowed([None, None, Some(&yes)]));
        assert!(is_allowed([Some(&yes), Some(&no), None]));
        assert!(!is_allowed([None, None, None]));
        assert!(!is_allowed([Some(&no), Some(&yes), Some(&yes)]));
        for other in [json!("true"), json!(1), json!(null), json!([true])] {
            assert!(!is_allowed([Some(&other), Some(&yes), None]), "{other}");
        }
    }

    #[test]
    fn i4_only_a_body_that_starts_with_the_mark_names_a_file() {
        for (body, expected) in [
            ("@file:/a", Some("/a")),
            ("@file:/a\n", Some("/a")),
            ("@file:", Some("")),
            (" @file:/a", None),
            ("@File:/a", None),
            ("text @file:/a", None),
        ] {
            assert_eq!(named(body), expected, "{body:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn i4_a_file_is_read_below_the_works_folder_alone() {
        let outside = tempfile::tempdir().unwrap();
        let inside = tempfile::tempdir().unwrap();
        let folder = ambient::open_folder(inside.path()).unwrap();
        ambient::open_folder(outside.path())
            .unwrap()
            .write("secret", "outside")
            .unwrap();
        folder.create_dir("sub").unwrap();
        folder.write("sub/a", "12345").unwrap();
        folder.symlink("sub/a", "near").unwrap();
        folder.symlink("../..", "up").unwrap();
        let secret = outside.path().join("secret");
        std::os::unix::fs::symlink(&secret, inside.path().join("far")).unwrap();
        std::os::unix::fs::symlink(outside.path(), inside.path().join("away")).unwrap();

        let read = |path: &str| read(path, "/job", &folder, 5);
        assert_eq!(read("/job/sub/a").unwrap(), b"12345");
        assert_eq!(read("/job/near").unwrap(), b"12345");
        folder.write("large", "123456").unwrap();
        for (path, status) in [
            ("", 400),
            ("sub/a", 400),
            ("/job/sub/a\n/job/near", 400),
            ("/job/sub/a\0", 400),
            ("/job", 400),
            ("/job/sub", 400),
            ("/job/nothing", 404),
            ("/job/sub/a/b", 404),
            ("/etc/passwd", 403),
            ("/jobshop/a", 403),
            ("/job/../etc/passwd", 403),
            ("/job/sub/../../x", 403),
            ("/job/far", 403),
            ("/job/away/secret", 403),
            ("/job/up/etc/passwd", 403),
            (secret.to_str().unwrap(), 403),
            ("/job/large", 413),
        ] {
            let error = read(path).unwrap_err();
            assert_eq!(error.status(), status, "{path:?}: {error}");
            assert!(!error.to_string().contains("/job"), "{error}");
        }
    }
}
