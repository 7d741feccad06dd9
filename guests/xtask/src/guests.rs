//! From the sources under `guests/` to `guests/dist/<name>.wasm`, for every language.
//!
//! A language is set up once, in the user's cache folder. Where the registry of its tools does not
//! answer, its guests are left out, with a note beside where they would stand; anything else that
//! goes wrong is an error.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::digest;
use crate::failure::Failure;
use crate::toolchain::Toolchain;
use crate::workspace::Workspace;
use crate::{c, go, javascript, python, rust};

/// What is to be built.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which<'a> {
    /// Those in every language.
    All,
    /// Those of one language, or one by its name.
    Only(&'a str),
}

impl Which<'_> {
    fn takes(self, language: &str, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(wanted) => wanted == language || wanted == name,
        }
    }
}

/// One guest in another language than Rust: a folder `guests/<language>/<name>`.
#[derive(Debug)]
pub(crate) struct Guest {
    pub(crate) name: String,
    /// The folder of its sources.
    pub(crate) folder: PathBuf,
    /// A folder for what is made on the way.
    pub(crate) build: PathBuf,
}

impl Guest {
    /// Where its component is to be written, before it is copied.
    pub(crate) fn component(&self) -> PathBuf {
        self.build.join("component.wasm")
    }

    /// An empty folder in the folder for what is made on the way.
    ///
    /// # Errors
    /// [`Failure::File`] if it can't be made.
    pub(crate) fn fresh(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.build.join(name);
        let made = match fs::remove_dir_all(&path) {
            Err(source) if source.kind() != ErrorKind::NotFound => Err(source),
            _ => fs::create_dir_all(&path),
        };
        match made {
            Ok(()) => Ok(path),
            Err(source) => Err(Failure::File { path, source }),
        }
    }
}

/// How the guests of one language are built.
struct Language {
    /// The folder under `guests/`.
    name: &'static str,
    /// Writes the component of one guest.
    build: fn(&Workspace, &Guest) -> Result<(), Failure>,
    /// What a component depends on beside its sources and the contract.
    recipe: &'static str,
}

/// Every language but Rust, quickest to set up first.
const LANGUAGES: [Language; 4] = [
    Language {
        name: "javascript",
        build: javascript::build,
        recipe: javascript::RECIPE,
    },
    Language {
        name: "python",
        build: python::build,
        recipe: python::RECIPE,
    },
    Language {
        name: "c",
        build: c::build,
        recipe: c::RECIPE,
    },
    Language {
        name: "go",
        build: go::build,
        recipe: go::RECIPE,
    },
];

/// Builds guests, and gives back the toolchain of those in Rust where they are among them.
///
/// # Errors
/// [`Failure::Usage`] for a name that there isn't; [`Failure::Step`] if a guest does not compile;
/// those of the set-up, but for a registry that does not answer.
pub(crate) fn build(workspace: &Workspace, which: Which<'_>) -> Result<Option<Toolchain>, Failure> {
    let mut known = vec![rust::LANGUAGE.to_owned()];
    let in_rust = rust::names(workspace)?;
    let wants_rust = in_rust.iter().any(|name| which.takes(rust::LANGUAGE, name));
    known.extend(in_rust);
    let toolchain = if wants_rust {
        Some(rust::build(workspace)?)
    } else {
        None
    };
    let mut built = wants_rust;
    for language in &LANGUAGES {
        known.push(language.name.to_owned());
        for guest in guests(workspace, language)? {
            if which.takes(language.name, &guest.name) {
                build_or_leave_out(workspace, language, &guest)?;
                built = true;
            }
            known.push(guest.name);
        }
    }
    match which {
        Which::Only(name) if !built => Err(Failure::Usage(format!(
            "there is no guest `{name}`; there are {}",
            known.join(", ")
        ))),
        _ => Ok(toolchain),
    }
}

/// The guests of one language, by name.
fn guests(workspace: &Workspace, language: &Language) -> Result<Vec<Guest>, Failure> {
    let folder = workspace.root.join("guests").join(language.name);
    let entries = fs::read_dir(&folder).map_err(|source| Failure::File {
        path: folder,
        source,
    })?;
    let mut guests: Vec<Guest> = entries
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            Guest {
                folder: entry.path(),
                build: workspace
                    .target
                    .join(format!("guests-{}", language.name))
                    .join(&name),
                name,
            }
        })
        .collect();
    guests.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(guests)
}

fn build_or_leave_out(
    workspace: &Workspace,
    language: &Language,
    guest: &Guest,
) -> Result<(), Failure> {
    let dist = workspace.root.join("guests/dist");
    let left_out = dist.join(format!("{}.left-out", guest.name));
    match build_if_changed(workspace, language, guest) {
        Ok(()) => remove(&left_out),
        Err(silence @ Failure::NoAnswer { .. }) => {
            let reason = silence.with_causes();
            eprintln!("xtask: {} is left out: {reason}", guest.name);
            // One of other sources would be taken for this one.
            remove(&dist.join(format!("{}.wasm", guest.name)))?;
            fs::create_dir_all(&dist)
                .and_then(|()| fs::write(&left_out, format!("{reason}\n")))
                .map_err(|source| Failure::File {
                    path: left_out,
                    source,
                })
        }
        Err(other) => Err(other),
    }
}

fn remove(file: &Path) -> Result<(), Failure> {
    match fs::remove_file(file) {
        Err(source) if source.kind() != ErrorKind::NotFound => Err(Failure::File {
            path: file.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

/// Builds a guest unless its component was made of the same sources by the same recipe.
fn build_if_changed(
    workspace: &Workspace,
    language: &Language,
    guest: &Guest,
) -> Result<(), Failure> {
    let component = workspace
        .root
        .join(format!("guests/dist/{}.wasm", guest.name));
    let note = guest.build.join("made-of");
    let made_of = made_of(workspace, language, guest)?;
    let is_fresh = fs::read_to_string(&note).is_ok_and(|text| text == made_of);
    if is_fresh && component.is_file() {
        return Ok(());
    }
    fs::create_dir_all(&guest.build).map_err(|source| Failure::File {
        path: guest.build.clone(),
        source,
    })?;
    (language.build)(workspace, guest)?;
    copy_if_changed(&guest.component(), &component)?;
    // Written last: without it the guest is built again.
    fs::write(&note, made_of).map_err(|source| Failure::File { path: note, source })
}

/// What a component depends on, as one number.
fn made_of(workspace: &Workspace, language: &Language, guest: &Guest) -> Result<String, Failure> {
    let requirements = workspace
        .root
        .join(format!("guests/{}/requirements.txt", language.name));
    let mut paths = vec![guest.folder.clone(), workspace.root.join("wit")];
    paths.extend(requirements.is_file().then_some(requirements));
    digest::of(language.recipe, &paths)
}

/// Leaves a file that is the same alone: what includes it is then not built again.
///
/// # Errors
/// [`Failure::File`] if one can't be read or the other not be written.
pub(crate) fn copy_if_changed(from: &Path, to: &Path) -> Result<(), Failure> {
    let copy = || {
        let bytes = fs::read(from)?;
        if fs::read(to).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(to, bytes)
    };
    copy().map_err(|source| Failure::File {
        path: from.to_owned(),
        source,
    })
}

/// Copies the files of a folder, and not its folders.
///
/// # Errors
/// [`Failure::File`] if one can't be copied.
pub(crate) fn copy_files(from: &Path, to: &Path) -> Result<(), Failure> {
    let copy = || {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let path = entry?.path();
            if path.is_file() {
                fs::copy(&path, to.join(path.file_name().unwrap_or_default()))?;
            }
        }
        Ok(())
    };
    copy().map_err(|source| Failure::File {
        path: from.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_only_when_it_differs() {
        let folder = std::env::temp_dir().join(format!("xtask-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("dist/to"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(&from, "one").unwrap();
        copy_if_changed(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "one");

        let written = fs::metadata(&to).unwrap().modified().unwrap();
        copy_if_changed(&from, &to).unwrap();
        assert_eq!(fs::metadata(&to).unwrap().modified().unwrap(), written);

        fs::write(&from, "two").unwrap();
        copy_if_changed(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "two");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_guest_is_chosen_by_its_name_or_its_language() {
        for (which, language, name, taken) in [
            (Which::All, "c", "digest", true),
            (Which::Only("c"), "c", "digest", true),
            (Which::Only("digest"), "c", "digest", true),
            (Which::Only("digest"), "go", "calendar", false),
        ] {
            assert_eq!(which.takes(language, name), taken, "{which:?} {name}");
        }
    }
}
