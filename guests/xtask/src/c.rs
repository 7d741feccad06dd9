//! Guests in C: bindings, then Zig's C compiler with its C library for WASI, then a component.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::guests::Guest;
use crate::step;
use crate::tools;
use crate::workspace::Workspace;

/// This file.
pub(crate) const RECIPE: &str = include_str!("c.rs");

/// The compiler's packages, with their digests.
const REQUIREMENTS: &str = "guests/c/requirements.txt";

/// Writes the component of one guest: all `src/*.c` of its folder.
///
/// # Errors
/// Those of [`tools`]; [`Failure::Step`] if it does not compile without a warning.
pub(crate) fn build(workspace: &Workspace, guest: &Guest) -> Result<(), Failure> {
    let packages = tools::python_packages(workspace, REQUIREMENTS)?;
    let bindgen = tools::bindgen(workspace)?;
    let bindings = guest.fresh("bindings")?;
    let mut generate = workspace.command(&bindgen);
    generate
        .args(["bindings", "c", "wit", "tool-plugin"])
        .arg(&bindings);
    step::run(workspace, generate)?;

    let module = guest.build.join("module.wasm");
    let mut compile = workspace.command(packages.join("ziglang/zig"));
    let cache = tools::folder("zig")?;
    compile.env("ZIG_GLOBAL_CACHE_DIR", &cache);
    compile.env("ZIG_LOCAL_CACHE_DIR", &cache);
    compile.args(["cc", "-target", "wasm32-wasi", "-mexec-model=reactor"]);
    compile.args(["-std=c17", "-O2", "-s", "-Wall", "-Wextra", "-Werror"]);
    // Zig would reserve 16 MiB.
    compile.arg("-Wl,-z,stack-size=65536");
    compile.arg("-I").arg(&bindings).arg("-o").arg(&module);
    compile.args(sources(&guest.folder.join("src"))?);
    compile.arg(bindings.join("tool_plugin.c"));
    compile.arg(bindings.join("tool_plugin_component_type.o"));
    step::run(workspace, compile)?;

    let mut component = workspace.command(&bindgen);
    component
        .arg("component")
        .arg(&module)
        .arg(guest.component());
    step::run(workspace, component)
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(folder).map_err(|source| Failure::File {
        path: folder.to_owned(),
        source,
    })?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    files.sort();
    Ok(files)
}
