//! Guests in JavaScript: their modules and `QuickJS` in one component.

use crate::failure::Failure;
use crate::guests::{Guest, copy_files};
use crate::step;
use crate::tools;
use crate::workspace::Workspace;

/// This file.
pub(crate) const RECIPE: &str = include_str!("javascript.rs");

/// Writes the component of one guest. Its folder has `src/plugin.js` and, in `wit`, a world of the
/// folder's name that includes the contract's.
///
/// # Errors
/// Those of [`tools`]; [`Failure::Step`] if it does not compile.
pub(crate) fn build(workspace: &Workspace, guest: &Guest) -> Result<(), Failure> {
    let packages = tools::node_packages(workspace, &guest.folder)?;
    let wit = guest.fresh("wit")?;
    copy_files(&guest.folder.join("wit"), &wit)?;
    copy_files(
        &workspace.root.join("wit"),
        &wit.join("deps/tidegate-plugin"),
    )?;

    let mut componentize = workspace.command(packages.join("node_modules/.bin/componentize-qjs"));
    componentize
        .arg("--wit")
        .arg(&wit)
        .args(["--world", &guest.name]);
    componentize
        .arg("--js")
        .arg(guest.folder.join("src/plugin.js"));
    // Without `--sync` it would need an ABI that the host does not speak.
    componentize.args(["--sync", "--opt-size", "--minify"]);
    componentize.arg("--output").arg(guest.component());
    step::run(workspace, componentize)
}
