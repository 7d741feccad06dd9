//! The `tidegate` command: what was typed (`cli`), what it means (`config`, `loaded`, `wanted`,
//! `plugins`), and one file for each door.

mod artifacts;
mod audit;
mod builtin;
mod call;
mod check;
mod cli;
mod commands;
mod config;
mod deliver;
mod input;
mod inspect;
mod interrupt;
mod loaded;
mod logging;
mod mcp;
mod mcp_servers;
mod mcp_tools;
mod network;
mod new;
mod observe;
mod overrides;
mod plan;
mod plugins;
mod print;
mod refusal;
mod run;
mod secrets;
mod serve;
mod settings;
mod share;
mod shell;
mod tools;
mod trust;
mod waiting;
mod wanted;
mod web_search;
mod yaml;

use std::process::ExitCode;

use clap::Parser as _;
use tidegate_sandbox::ambient;
use tidegate_sandbox::command::launcher;

use crate::cli::{Cli, Command};
use crate::refusal::Exit;

/// A command waits for one call; a service answers as many at once as there are processors.
fn threads(command: &Command) -> usize {
    match command {
        Command::Serve(_) => std::thread::available_parallelism().map_or(1, usize::from),
        _ => 1,
    }
}

fn main() -> ExitCode {
    // Before anything else is opened or started: this process is to become a confined command.
    if ambient::first_argument_is(launcher::ARGUMENT) {
        return launcher::main();
    }
    let cli = Cli::parse();
    logging::start(cli.verbose);
    ambient::raise_open_files();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads(&cli.command))
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            print::warning(&format!("error: no threads for the command: {error}"));
            return Exit::Failed.into();
        }
    };
    let exit = runtime.block_on(async {
        match &cli.command {
            Command::Call(arguments) => call::run(arguments).await,
            Command::Tools(arguments) => tools::run(arguments).await,
            Command::Run(arguments) => run::run(arguments).await,
            Command::Observe(arguments) => observe::run(arguments),
            Command::Deliver(arguments) => deliver::run(arguments).await,
            Command::Mcp(arguments) => mcp::run(arguments).await,
            Command::Serve(arguments) => serve::run(arguments).await,
            Command::Inspect(arguments) => inspect::run(arguments).await,
            Command::Check(arguments) => check::run(arguments).await,
            Command::New(arguments) => new::run(arguments),
            Command::Config(command) => settings::run(command),
            Command::Trust(arguments) => trust::run(arguments),
            Command::Completions { shell } => shell::completions(*shell),
            Command::Man => shell::man(),
        }
    });
    // A thread that still waits for a reader of standard output must not hold up the exit.
    runtime.shutdown_background();
    exit.into()
}
