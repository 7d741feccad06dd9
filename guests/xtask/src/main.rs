//! `cargo xtask`: the commands that build and check this project. `cargo xtask --help` names them.
//!
//! No dependencies, so that it compiles in a second or two before anything else does. It only
//! runs other programs: what a guest, a test or a figure is stands elsewhere.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a build tool runs programs, reads the environment and reports to a terminal"
)]

mod c;
mod command_line;
mod digest;
mod failure;
mod fuzz;
mod go;
mod guests;
mod javascript;
mod lint;
mod python;
mod rust;
mod step;
mod tasks;
mod toolchain;
mod tools;
mod workspace;

use std::process::ExitCode;

use crate::command_line::{HELP, Task};
use crate::failure::Failure;
use crate::guests::Which;
use crate::workspace::Workspace;

fn main() -> ExitCode {
    match command_line::read(std::env::args_os().skip(1)).and_then(carry_out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {}", failure.with_causes());
            failure.exit_code()
        }
    }
}

fn carry_out(task: Task) -> Result<(), Failure> {
    let workspace = Workspace::find()?;
    match task {
        Task::Help => print!("{HELP}"),
        Task::Guests(None) => guests::build(&workspace, Which::All).map(drop)?,
        Task::Guests(Some(name)) => guests::build(&workspace, Which::Only(&name)).map(drop)?,
        Task::Demo => tasks::demo(&workspace)?,
        Task::Test(arguments) => tasks::test(&workspace, &arguments)?,
        Task::Check => tasks::check(&workspace)?,
        Task::Figures(arguments) => tasks::figures(&workspace, &arguments)?,
        Task::Soak => tasks::soak(&workspace)?,
        Task::Fuzz(what) => fuzz::run(&workspace, &what)?,
    }
    Ok(())
}
