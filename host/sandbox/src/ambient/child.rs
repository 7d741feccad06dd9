//! Finding a program that the operator named, and starting it as a child to talk to.
#![expect(
    clippy::disallowed_methods,
    reason = "a part of the door through which ambient authority becomes handles"
)]

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::ambient;

/// The absolute path of a program: one with a slash is relative to `folder`, another is looked for in
/// the folders of `PATH`. Links are not followed, since some programs look at the name they run by.
///
/// # Errors
///
/// Nothing of the name is there.
pub(crate) fn find_program(name: &str, folder: &Path) -> io::Result<PathBuf> {
    if name.contains('/') {
        let path = std::path::absolute(folder.join(name))?;
        return path.try_exists()?.then_some(path).ok_or_else(missing);
    }
    let search = ambient::environment("PATH").unwrap_or_default();
    let found = std::env::split_paths(&search)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|path| path.is_file());
    found.ok_or_else(missing)
}

fn missing() -> io::Error {
    io::ErrorKind::NotFound.into()
}

/// The variables of these names that are set, as they are.
pub(crate) fn variables(names: &[&str]) -> Vec<(OsString, OsString)> {
    let set = |name: &&str| Some((OsString::from(name), std::env::var_os(name)?));
    names.iter().filter_map(set).collect()
}

/// Starts a program in a process group of its own, with its three streams piped and no variable but
/// these.
///
/// # Errors
///
/// What the system said.
pub(crate) fn start(
    program: &Path,
    arguments: &[String],
    environment: &[(OsString, OsString)],
) -> io::Result<Child> {
    Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}
