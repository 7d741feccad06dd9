//! `tidegate completions` and `tidegate man`: what a shell and a reader want, made from the command
//! line itself so that it is never behind.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::print;
use crate::refusal::Exit;

/// Prints the completions of a shell.
pub(crate) fn completions(shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tidegate", &mut script);
    print::bytes(&script);
    Exit::Success
}

/// Prints the man page, each command with its options.
pub(crate) fn man() -> Exit {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let mut written = clap_mangen::Man::new(command.clone()).render(&mut page);
    for command in command
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
    {
        let mut section = format!(".SH \"TIDEGATE {}\"\n", command.get_name().to_uppercase());
        page.append(&mut std::mem::take(&mut section).into_bytes());
        let man = clap_mangen::Man::new(command.clone());
        written = written
            .and_then(|()| man.render_synopsis_section(&mut page))
            .and_then(|()| man.render_description_section(&mut page))
            .and_then(|()| man.render_options_section(&mut page));
    }
    match written {
        Ok(()) => print::bytes(&page),
        Err(error) => {
            print::warning(&format!("error: can't make the man page: {error}"));
            return Exit::Failed;
        }
    }
    Exit::Success
}
