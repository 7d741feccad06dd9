//! Compilers of other people, in the user's cache folder: each is downloaded once, pinned by digest,
//! and shared by all checkouts. Nothing is installed system-wide.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::digest;
use crate::failure::Failure;
use crate::step;
use crate::workspace::Workspace;

/// A folder for `name` under the user's cache folder, made if it isn't there.
///
/// # Errors
/// [`Failure::NoCache`] if the user has no home, [`Failure::File`] if it can't be made.
pub(crate) fn folder(name: &str) -> Result<PathBuf, Failure> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty());
    let cache = match (set("XDG_CACHE_HOME"), set("HOME")) {
        (Some(cache), _) => PathBuf::from(cache),
        (None, Some(home)) => Path::new(&home).join(".cache"),
        (None, None) => return Err(Failure::NoCache),
    };
    let path = cache.join("tidegate/guest-tools").join(name);
    match fs::create_dir_all(&path) {
        Ok(()) => Ok(path),
        Err(source) => Err(Failure::File { path, source }),
    }
}

/// The packages of a requirements file of pip, with digests, in a folder of their own: that of the first
/// package's name and version, which the build scripts of `tidegate new` look for too.
///
/// # Errors
/// [`Failure::NoAnswer`] if the registry can't be reached, [`Failure::Start`] without Python,
/// [`Failure::Step`] if pip fails for another reason, such as another digest.
pub(crate) fn python_packages(
    workspace: &Workspace,
    requirements: &str,
) -> Result<PathBuf, Failure> {
    let file = workspace.root.join(requirements);
    let text = fs::read_to_string(&file).map_err(|source| Failure::File {
        path: file.clone(),
        source,
    })?;
    once("pip", &first_package(&text), |folder| {
        let mut pip = workspace.command("python3");
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        pip.args(["--root-user-action", "ignore", "--no-compile"]);
        pip.args(["--retries", "2", "--timeout", "20"]);
        pip.args(["--no-deps", "--only-binary", ":all:", "--require-hashes"]);
        pip.arg("--target")
            .arg(folder)
            .arg("--requirement")
            .arg(&file);
        step::download(workspace, pip)
    })
}

/// The packages of a lock file of npm, in a folder of their own.
///
/// # Errors
/// As for [`python_packages`], with Node.js in the place of Python.
pub(crate) fn node_packages(workspace: &Workspace, project: &Path) -> Result<PathBuf, Failure> {
    let files = ["package.json", "package-lock.json", ".npmrc"].map(|name| project.join(name));
    once("npm", &digest::of("", &files)?, |folder| {
        for file in &files {
            let to = folder.join(file.file_name().unwrap_or_default());
            fs::copy(file, &to).map_err(|source| Failure::File { path: to, source })?;
        }
        let mut npm = workspace.command("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]);
        npm.args(["--loglevel", "error", "--fetch-retries", "2"]);
        npm.arg("--prefix").arg(folder).current_dir(folder);
        step::download(workspace, npm)
    })
}

/// `ziglang-0.16.0` of a file that asks for `ziglang==0.16.0` first.
fn first_package(requirements: &str) -> String {
    let mut lines = requirements.lines().map(str::trim_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    let pinned = first.and_then(|line| line.split_whitespace().next());
    pinned.unwrap_or_default().replace("==", "-")
}

/// Makes a folder of a name, unless it is there. What fails or is interrupted leaves none.
fn once(
    kind: &str,
    name: &str,
    make: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<PathBuf, Failure> {
    let parent = folder(kind)?;
    let made = parent.join(name);
    if made.is_dir() {
        return Ok(made);
    }
    let staging = parent.join(format!("making-{}", std::process::id()));
    fs::create_dir_all(&staging).map_err(|source| Failure::File {
        path: staging.clone(),
        source,
    })?;
    let outcome = make(&staging).and_then(|()| match fs::rename(&staging, &made) {
        // Another checkout was faster.
        Err(_) if made.is_dir() => Ok(()),
        Err(source) => Err(Failure::File {
            path: made.clone(),
            source,
        }),
        Ok(()) => Ok(()),
    });
    // What is left here is of no use, and its absence no fault.
    drop(fs::remove_dir_all(&staging));
    outcome.map(|()| made)
}

/// The program that makes bindings for C and Go, and components of core modules; compiled by cargo
/// in the cache folder.
///
/// # Errors
/// [`Failure::NoAnswer`] if the registry of crates can't be reached, [`Failure::Step`] if it does
/// not compile.
pub(crate) fn bindgen(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let target = folder("bindgen")?;
    let mut fetch = workspace.cargo(&["fetch", "--locked", "--manifest-path", BINDGEN]);
    fetch.env("CARGO_TARGET_DIR", &target);
    step::download(workspace, fetch)?;
    let mut build =
        workspace.cargo(&["build", "--locked", "--offline", "--manifest-path", BINDGEN]);
    build.env("CARGO_TARGET_DIR", &target);
    step::run(workspace, build)?;
    Ok(target.join("debug/guest-bindgen"))
}

/// The manifest of what [`bindgen`] builds, from the root.
const BINDGEN: &str = "guests/xtask/bindgen/Cargo.toml";

/// The folder of a crate that [`bindgen`] is made of.
///
/// # Errors
/// [`Failure::Step`] if cargo does not know, [`Failure::NoCrate`] if there is no such crate.
pub(crate) fn source_of(workspace: &Workspace, name: &str) -> Result<PathBuf, Failure> {
    let asked = ["metadata", "--format-version", "1", "--offline", "--locked"];
    let mut metadata = workspace.cargo(&asked);
    metadata.args(["--manifest-path", BINDGEN]);
    let text = step::answer(workspace, metadata)?;
    // The one field that is wanted has a form of its own: no need to read JSON.
    let manifest = text
        .split("\"manifest_path\":\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .find(|path| path.contains(&format!("/{name}-")) && path.ends_with("/Cargo.toml"));
    let folder = manifest.and_then(|path| Path::new(path).parent());
    folder
        .map(Path::to_owned)
        .ok_or_else(|| Failure::NoCrate(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::first_package;

    #[test]
    fn a_folder_of_packages_has_the_name_and_version_of_the_first() {
        let requirements = "# The compiler.\nziglang==0.16.0 \\\n    --hash=sha256:00\nmore==1\n";
        assert_eq!(first_package(requirements), "ziglang-0.16.0");
    }
}
