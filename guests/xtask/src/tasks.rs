//! What each command runs, in order. Builds name the whole workspace even where one program is
//! wanted: with the same features everywhere, a dependency is compiled once for all commands.

use std::ffi::OsString;
use std::process::Command;

use crate::failure::Failure;
use crate::guests::{self, Which};
use crate::lint;
use crate::rust;
use crate::step;
use crate::workspace::Workspace;

/// What the demo gives the `tidegate` program, as a newcomer would type it in the root.
const DEMO: &str =
    "run examples/read-and-deliver.yaml --allow tool=read_text --allow read --allow stdout";

/// Runs the first example with freshly built guests.
///
/// # Errors
/// [`Failure::Step`] for the first program that fails; the same holds for each task here.
pub(crate) fn demo(workspace: &Workspace) -> Result<(), Failure> {
    rust::build(workspace)?;
    step::run(
        workspace,
        workspace.cargo(&["build", "--workspace", "--bin", "tidegate"]),
    )?;
    let mut tidegate = workspace.command(workspace.target.join("debug/tidegate"));
    tidegate.args(DEMO.split(' '));
    step::run(workspace, tidegate)
}

/// Runs every test. Programs that tests start are built first: `cargo test` alone would not.
pub(crate) fn test(workspace: &Workspace, arguments: &[OsString]) -> Result<(), Failure> {
    guests::build(workspace, Which::All)?;
    step::run(workspace, workspace.cargo(&["build", "--workspace"]))?;
    if arguments.is_empty() {
        rust::test(workspace)?;
    }
    let test = workspace.cargo(&["test", "--workspace"]);
    step::run(workspace, handing_on(test, arguments))
}

/// Refuses what a reviewer should not have to see. Guests are built first: tests include them.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    step::run(workspace, workspace.cargo(&["fmt", "--all", "--check"]))?;
    let toolchain = rust::build(workspace)?;
    rust::lint(workspace, &toolchain)?;
    lint::others(workspace)?;
    let clippy = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    step::run(workspace, workspace.cargo(&clippy))?;
    let mut documentation = workspace.cargo(&["doc", "--workspace", "--no-deps"]);
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    step::run(workspace, documentation)?;
    dependencies(workspace)
}

/// Holds the dependencies to `deny.toml`, where cargo-deny is installed. Advisories are left out:
/// they need the network, and would turn a commit red that changed nothing.
fn dependencies(workspace: &Workspace) -> Result<(), Failure> {
    if step::answer(workspace, workspace.cargo(&["deny", "--version"])).is_err() {
        eprintln!(
            "xtask: licences and sources of dependencies are not checked: cargo-deny is missing; \
             `cargo install cargo-deny --locked` brings it"
        );
        return Ok(());
    }
    // Also the crates of systems that nothing is built for here have licences to look at.
    step::run(workspace, workspace.cargo(&["fetch", "--locked"]))?;
    let deny = ["deny", "--offline", "check", "bans", "licenses", "sources"];
    step::run(workspace, workspace.cargo(&deny))
}

/// Measures, in the bench profile.
pub(crate) fn figures(workspace: &Workspace, arguments: &[OsString]) -> Result<(), Failure> {
    rust::build(workspace)?;
    // The large guest of the figures.
    guests::build(workspace, Which::Only("table"))?;
    // Some figures are of the program; the bench profile's dependencies are those of release.
    step::run(
        workspace,
        workspace.cargo(&["build", "--workspace", "--release", "--bin", "tidegate"]),
    )?;
    let bench = workspace.cargo(&["bench", "--workspace", "--bench", "figures"]);
    step::run(workspace, handing_on(bench, arguments))
}

/// Makes many calls and looks for what they leave behind, in the bench profile.
pub(crate) fn soak(workspace: &Workspace) -> Result<(), Failure> {
    rust::build(workspace)?;
    step::run(
        workspace,
        workspace.cargo(&["bench", "--workspace", "--bench", "soak"]),
    )
}

fn handing_on(mut cargo: Command, arguments: &[OsString]) -> Command {
    if !arguments.is_empty() {
        cargo.arg("--").args(arguments);
    }
    cargo
}
