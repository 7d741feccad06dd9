//! The guests in Rust: `guests/rust`, a workspace of its own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::failure::Failure;
use crate::guests::copy_if_changed;
use crate::step;
use crate::toolchain::{self, TARGET, Toolchain};
use crate::workspace::Workspace;

/// The folder under `guests/`.
pub(crate) const LANGUAGE: &str = "rust";

/// The guests' manifest, from the root.
const MANIFEST: &str = "guests/rust/Cargo.toml";

/// The packages of guests that have tests of their own.
const TESTED: [&str; 8] = [
    "commands",
    "exchange",
    "file",
    "outline",
    "posix",
    "tidegate-plugin",
    "web-search",
    "webhook",
];

/// Builds every guest in Rust, and gives back the toolchain that did.
///
/// # Errors
/// Those of [`toolchain::ensure`]; [`Failure::Step`] if a guest does not compile.
pub(crate) fn build(workspace: &Workspace) -> Result<Toolchain, Failure> {
    let toolchain = toolchain::ensure(workspace)?;
    let (mut cargo, built) = cargo(workspace, "build", &toolchain);
    if let Toolchain::Private { rustc } = &toolchain {
        cargo.env("RUSTC", rustc);
    }
    cargo.args(["--target", TARGET]);
    step::run(workspace, cargo)?;
    let built = built.join(TARGET).join("release");
    let dist = workspace.root.join("guests/dist");
    for name in names(workspace)? {
        let from = built.join(format!("{}.wasm", name.replace('-', "_")));
        let to = dist.join(format!("{name}.wasm"));
        copy_if_changed(&from, &to)?;
    }
    Ok(toolchain)
}

/// Formatting and clippy of the guests. Clippy needs the standard library of its own compiler, so
/// beside a private toolchain it reads the guests as code for this machine.
///
/// # Errors
/// [`Failure::Step`] if either has something to say.
pub(crate) fn lint(workspace: &Workspace, toolchain: &Toolchain) -> Result<(), Failure> {
    let format = ["fmt", "--all", "--check", "--manifest-path", MANIFEST];
    step::run(workspace, workspace.cargo(&format))?;
    let (mut clippy, _) = cargo(workspace, "clippy", &Toolchain::Active);
    if let Toolchain::Active = toolchain {
        clippy.args(["--target", TARGET]);
    }
    clippy.args(["--all-targets", "--", "-D", "warnings"]);
    step::run(workspace, clippy)
}

/// Tests of the guests as programs of this machine, where the tools that they are compared with are.
///
/// # Errors
/// [`Failure::Step`] if one fails.
pub(crate) fn test(workspace: &Workspace) -> Result<(), Failure> {
    let mut test = workspace.cargo(&["test", "--manifest-path", MANIFEST]);
    test.env("CARGO_TARGET_DIR", workspace.target.join("guests-native"));
    for package in TESTED {
        test.args(["-p", package]);
    }
    step::run(workspace, test)
}

/// A cargo command over the guests, with the folder it builds in. Always the release profile:
/// procedural macros are then compiled once for building and linting.
fn cargo(workspace: &Workspace, command: &str, toolchain: &Toolchain) -> (Command, PathBuf) {
    let target = workspace.target.join(toolchain.build_folder());
    let mut cargo = workspace.cargo(&[command, "--release", "--manifest-path", MANIFEST]);
    cargo.env("CARGO_TARGET_DIR", &target);
    // Searching and counting in wide steps; every engine that Tidegate runs on has them.
    cargo.env(
        "CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS",
        "-C target-feature=+simd128",
    );
    (cargo, target)
}

/// The names of those in Rust: a guest is a folder of `guests/rust` that has a manifest, and has the
/// package's name.
///
/// # Errors
/// [`Failure::File`] if the folder can't be read.
pub(crate) fn names(workspace: &Workspace) -> Result<Vec<String>, Failure> {
    let folder = workspace.root.join("guests/rust");
    let entries = fs::read_dir(&folder).map_err(|source| Failure::File {
        path: folder,
        source,
    })?;
    let guests = entries
        .flatten()
        .filter(|entry| entry.path().join("Cargo.toml").exists());
    Ok(guests
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect())
}
