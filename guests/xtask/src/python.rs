//! Guests in Python: their modules and `CPython` in one component.

use crate::failure::Failure;
use crate::guests::Guest;
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
    let mut componentize = workspace.command(packages.join("bin/componentize-py"));
    componentize.env("PYTHONPATH", &packages);
    // An environment without packages, so that none of this machine's get into the component.
    let environment = guest.fresh("environment")?;
    guest.fresh("environment/lib/site-packages")?;
    componentize.env("VIRTUAL_ENV", &environment);
    // Otherwise compiled modules would stand beside the sources.
    componentize.env("PYTHONDONTWRITEBYTECODE", "1");
    componentize.args([
        "--wit-path",
        "wit",
        "--world",
        "tool-plugin",
        "componentize",
    ]);
    componentize.arg("--python-path").arg(&guest.folder);
    componentize
        .args(["plugin", "--output"])
        .arg(guest.component());
    step::run(workspace, componentize)
}
