//! The compiler of the guests: the active toolchain if it has or gets the target, else a private
//! one. How the private one is made stands in `guests/toolchain/rust-wasip2.sh`.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::step;
use crate::workspace::Workspace;

/// What guests are compiled for.
pub(crate) const TARGET: &str = "wasm32-wasip2";

/// Makes the private compiler.
const RECIPE: &str = "guests/toolchain/rust-wasip2.sh";
const RECIPE_TEXT: &str = include_str!("../../toolchain/rust-wasip2.sh");

/// A compiler that has the standard library for [`TARGET`].
#[derive(Debug)]
pub(crate) enum Toolchain {
    /// The one that compiles the host too.
    Active,
    /// Used for guests only. It also compiles their procedural macros, so that what it builds
    /// can't share a folder with what the active one builds.
    Private { rustc: PathBuf },
}

impl Toolchain {
    /// The folder under the target folder in which it builds guests.
    pub(crate) fn build_folder(&self) -> &'static str {
        match self {
            Self::Active => "guests-rustup",
            Self::Private { .. } => "guests-fallback",
        }
    }
}

/// The value of `TIDEGATE_GUEST_TOOLCHAIN`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Choice {
    Either,
    Rustup,
    Fallback,
}

/// Finds a toolchain for guests, or makes one.
///
/// # Errors
/// [`Failure::Choice`] for a choice that there isn't, [`Failure::Step`] or [`Failure::Start`] if
/// rustup refuses and no fallback is allowed or possible.
pub(crate) fn ensure(workspace: &Workspace) -> Result<Toolchain, Failure> {
    let choice = read_choice(env::var_os("TIDEGATE_GUEST_TOOLCHAIN").as_deref())?;
    if choice == Choice::Fallback {
        return private(workspace);
    }
    if active_has_target(workspace)? {
        return Ok(Toolchain::Active);
    }
    let mut add = workspace.command("rustup");
    add.args(["target", "add", TARGET]);
    match step::run(workspace, add) {
        Ok(()) => Ok(Toolchain::Active),
        Err(refusal) if choice == Choice::Rustup => Err(refusal),
        Err(refusal) => {
            eprintln!(
                "xtask: {}; a private compiler will do",
                refusal.with_causes()
            );
            private(workspace)
        }
    }
}

fn read_choice(value: Option<&OsStr>) -> Result<Choice, Failure> {
    match value.map(OsStr::to_string_lossy).as_deref() {
        None => Ok(Choice::Either),
        Some("rustup") => Ok(Choice::Rustup),
        Some("fallback") => Ok(Choice::Fallback),
        Some(other) => Err(Failure::Choice(other.to_owned())),
    }
}

/// Asks the compiler and not rustup, which may be absent where a distribution's packages brought
/// both compiler and target.
fn active_has_target(workspace: &Workspace) -> Result<bool, Failure> {
    let mut question = workspace.command("rustc");
    question.args(["--print", "target-libdir", "--target", TARGET]);
    let folder = step::answer(workspace, question)?;
    let Ok(entries) = fs::read_dir(folder.trim()) else {
        return Ok(false); // The compiler names the folder whether it exists or not.
    };
    Ok(entries
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-")))
}

/// Makes the private toolchain unless the one that stands there was made in the same way.
fn private(workspace: &Workspace) -> Result<Toolchain, Failure> {
    let folder = workspace.target.join("guest-toolchain");
    let rustc = folder.join("bin/rustc");
    let note = folder.join("made-for");
    let made_for = made_for(workspace)?;
    let toolchain = Toolchain::Private { rustc };
    if fs::read_to_string(&note).is_ok_and(|text| text == made_for) {
        return Ok(toolchain);
    }
    remove(&folder)?;
    // Cargo would not notice that the standard library is another one.
    remove(&workspace.target.join(toolchain.build_folder()))?;
    eprintln!("xtask: making a compiler for guests, once: a few minutes and 140 MB of downloads");
    let mut recipe = workspace.command("bash");
    recipe.arg(RECIPE).arg(&folder);
    step::run(workspace, recipe)?;
    // Written last: without this note a folder is not used.
    fs::write(&note, made_for).map_err(|source| Failure::File { path: note, source })?;
    Ok(toolchain)
}

/// What a private toolchain depends on: the active toolchain, whose linker it borrows, and the
/// recipe.
fn made_for(workspace: &Workspace) -> Result<String, Failure> {
    let mut version = workspace.command("rustc");
    version.arg("-vV");
    let mut sysroot = workspace.command("rustc");
    sysroot.args(["--print", "sysroot"]);
    let (version, sysroot) = (
        step::answer(workspace, version)?,
        step::answer(workspace, sysroot)?,
    );
    Ok(format!("{version}{sysroot}{RECIPE_TEXT}"))
}

fn remove(folder: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(folder) {
        Err(source) if source.kind() != ErrorKind::NotFound => Err(Failure::File {
            path: folder.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_choice_is_refused_with_those_there_are() {
        let read = |value| read_choice(Some(OsStr::new(value)));
        assert_eq!(read_choice(None).unwrap(), Choice::Either);
        assert_eq!(read("rustup").unwrap(), Choice::Rustup);
        assert_eq!(read("fallback").unwrap(), Choice::Fallback);
        for wrong in ["", "Rustup", "nightly"] {
            let told = read(wrong).unwrap_err().to_string();
            assert!(told.contains("`rustup`, `fallback` or unset"), "{told}");
        }
    }
}
