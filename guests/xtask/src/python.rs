//! Guests in Python: their modules and `CPython` in one component.

use crate::failure::Failure;
use crate::guests::{Guest, copy_files};
use crate::step;
use crate::tools;
use crate::workspace::Workspace;

/// This file.
pub(crate) const RECIPE: &str = include_str!("python.rs");

/// The packages that make components, with their digests.
const REQUIREMENTS: &str = "guests/python/requirements.txt";

/// Writes the component of one guest: the modules of its folder, `plugin.py` first.
///
/// # Errors
/// Those of [`tools`]; [`Failure::Step`] if it does not load.
pub(crate) fn build(workspace: &Workspace, guest: &Guest) -> Result<(), Failure> {
    let packages = tools::python_packages(workspace, REQUIREMENTS)?;
    // A copy: the Python inside leaves compiled modules beside what it loads.
    let modules = guest.fresh("modules")?;
    copy_files(&guest.folder, &modules)?;
    let mut componentize = workspace.command(packages.join("bin/componentize-py"));
    componentize.env("PYTHONPATH", &packages);
    // An environment without packages, so that none of this machine's get into the component.
    let environment = guest.fresh("environment")?;
    guest.fresh("environment/lib/site-packages")?;
    componentize.env("VIRTUAL_ENV", &environment);
    componentize.args([
        "--wit-path",
        "wit",
        "--world",
        "tool-plugin",
        "componentize",
    ]);
    componentize.arg("--python-path").arg(&modules);
    componentize
        .args(["plugin", "--output"])
        .arg(guest.component());
    step::run(workspace, componentize)
}
