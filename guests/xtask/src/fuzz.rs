//! Running the fuzz targets, which need a nightly compiler and cargo-fuzz; `docs/fuzzing.md` says
//! how to get both. A target ends with the first input that breaks what it holds.

use crate::command_line::Fuzz;
use crate::failure::Failure;
use crate::rust;
use crate::step;
use crate::workspace::Workspace;

/// The targets, cheapest to build first.
const TARGETS: [&str; 5] = [
    "json",
    "public_errors",
    "names_and_paths",
    "outcomes",
    PLUGINS,
];

/// The one that runs guests, behind the feature of its name.
const PLUGINS: &str = "calls";

/// Runs one target or all of them, each over its seeds and what earlier runs have found.
///
/// # Errors
/// [`Failure::Usage`] for a target that there isn't, [`Failure::Step`] for a finding.
pub(crate) fn run(workspace: &Workspace, what: &Fuzz) -> Result<(), Failure> {
    let targets: Vec<&str> = match what.target.as_deref() {
        None => TARGETS.to_vec(),
        Some(named) => TARGETS.into_iter().filter(|name| *name == named).collect(),
    };
    if targets.is_empty() {
        let known = TARGETS.join(", ");
        return Err(Failure::Usage(format!("the fuzz targets are {known}")));
    }
    for target in targets {
        if target == PLUGINS {
            rust::build(workspace)?;
        }
        run_one(workspace, target, what.seconds)?;
    }
    Ok(())
}

fn run_one(workspace: &Workspace, target: &str, seconds: u32) -> Result<(), Failure> {
    // Found inputs go into the first folder, which has to be there.
    let corpus = format!("fuzz/corpus/{target}");
    let path = workspace.root.join(&corpus);
    std::fs::create_dir_all(&path).map_err(|source| Failure::File { path, source })?;
    let mut fuzz = workspace.command("rustup");
    fuzz.args(["run", "nightly", "cargo", "fuzz", "run"]);
    // Without the address sanitizer: the host has one `unsafe` block, and this is twice as fast.
    fuzz.args(["--sanitizer", "none"]);
    if target == PLUGINS {
        fuzz.args(["--features", PLUGINS]);
    }
    fuzz.args([target, &corpus, &format!("fuzz/seeds/{target}"), "--"]);
    fuzz.args(["-timeout=20", &format!("-max_total_time={seconds}")]);
    step::run(workspace, fuzz)
}
