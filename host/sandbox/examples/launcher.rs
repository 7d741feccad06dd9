//! A program that is nothing but the launcher of native commands: what an embedder installs beside a
//! program of its own that can't call `launcher::main` first thing.

use std::process::ExitCode;

use tidegate_sandbox::command::launcher;

fn main() -> ExitCode {
    launcher::main()
}
