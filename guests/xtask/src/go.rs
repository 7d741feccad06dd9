//! Guests in Go: bindings, then the stock compiler, then a component.

use crate::failure::Failure;
use crate::guests::{Guest, copy_files};
use crate::step;
use crate::tools;
use crate::workspace::Workspace;

/// This file.
pub(crate) const RECIPE: &str = include_str!("go.rs");

/// The compiler's packages, with their digests.
const REQUIREMENTS: &str = "guests/go/requirements.txt";

/// The package of the bindings that a guest's files belong to.
const EXPORTS: &str = "export_tidegate_plugin_tools";

/// The module that the bindings need. It comes inside of their generator, so that no module proxy
/// is asked.
const RUNTIME: &str = "go.bytecodealliance.org/pkg";

/// Writes the component of one guest: all files of its folder.
///
/// # Errors
/// Those of [`tools`]; [`Failure::Step`] if it does not compile.
pub(crate) fn build(workspace: &Workspace, guest: &Guest) -> Result<(), Failure> {
    let packages = tools::python_packages(workspace, REQUIREMENTS)?;
    let bindgen = tools::bindgen(workspace)?;
    let module = guest.fresh("module")?;
    let mut generate = workspace.command(&bindgen);
    generate
        .args(["bindings", "go", "wit", "tool-plugin"])
        .arg(&module);
    step::run(workspace, generate)?;
    copy_files(&guest.folder, &module.join(EXPORTS))?;
    let runtime = tools::source_of(workspace, "wit-bindgen-go")?.join("src/pkg");

    let go = |arguments: &[&str]| -> Result<_, Failure> {
        let mut go = workspace.command(packages.join("go/bin/go"));
        go.args(arguments).current_dir(&module);
        go.env("GOROOT", packages.join("go"));
        go.env("GOCACHE", tools::folder("go-cache")?);
        go.env("GOPATH", tools::folder("go-path")?);
        go.env("GOOS", "wasip1").env("GOARCH", "wasm");
        go.env("GOPROXY", "off")
            .env("GOTOOLCHAIN", "local")
            .env("GOFLAGS", "-mod=mod");
        Ok(go)
    };
    let replace = format!("-replace={RUNTIME}={}", runtime.display());
    step::run(workspace, go(&["mod", "edit", &replace])?)?;
    let core = guest.build.join("module.wasm");
    let mut compile = go(&["build", "-buildmode=c-shared", "-trimpath"])?;
    // The runtime package of the bindings links to a name that Go keeps to itself.
    compile
        .args(["-ldflags=-s -w -checklinkname=0", "-o"])
        .arg(&core)
        .arg(".");
    step::run(workspace, compile)?;

    let mut component = workspace.command(&bindgen);
    component.arg("component").arg(&core).arg(guest.component());
    component.args(["wit", "tool-plugin"]);
    step::run(workspace, component)
}
