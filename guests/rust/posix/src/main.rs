//! Fourteen read-only commands in one component: the first argument says which one runs.
//!
//! The workspace is the working folder and paths are relative to it. Each command takes one fixed
//! shape of options (`shape.rs`) and gives what GNU gives for it in the C locale; README.md lists
//! where it differs. Deliberately absent: reading standard input, writing files, every other option.

mod cat;
mod class;
mod console;
mod cut;
mod du;
mod file;
mod find;
mod glob;
mod grep;
mod head;
mod input;
mod lines;
mod link;
mod listing;
mod ls;
mod name;
mod newlines;
mod pwd;
mod reason;
mod shape;
mod sort;
mod stat;
mod status;
#[cfg(not(target_family = "wasm"))]
#[path = "system/native.rs"]
mod system;
#[cfg(target_family = "wasm")]
#[path = "system/wasi.rs"]
mod system;
mod tail;
mod uniq;
mod walk;
mod wc;

use std::env;
use std::ffi::OsString;

use console::{Console, End};
use shape::{Arguments, Shape};

/// One command: its name, the shape of its arguments, and the code.
struct Command {
    name: &'static str,
    shape: &'static Shape,
    run: fn(&Arguments, &mut Console) -> Result<(), End>,
}

const COMMANDS: &[Command] = &[
    command("cat", &cat::SHAPE, cat::run),
    command("cut", &cut::SHAPE, cut::run),
    command("du", &du::SHAPE, du::run),
    command("file", &file::SHAPE, file::run),
    command("find", &find::SHAPE, find::run),
    command("grep", &grep::SHAPE, grep::run),
    command("head", &head::SHAPE, head::run),
    command("ls", &ls::SHAPE, ls::run),
    command("pwd", &pwd::SHAPE, pwd::run),
    command("sort", &sort::SHAPE, sort::run),
    command("stat", &stat::SHAPE, stat::run),
    command("tail", &tail::SHAPE, tail::run),
    command("uniq", &uniq::SHAPE, uniq::run),
    command("wc", &wc::SHAPE, wc::run),
];

const fn command(
    name: &'static str,
    shape: &'static Shape,
    run: fn(&Arguments, &mut Console) -> Result<(), End>,
) -> Command {
    Command { name, shape, run }
}

fn main() {
    let mut arguments = env::args_os();
    let first = arguments.next().unwrap_or_default();
    let code = run(&first, arguments.collect());
    if code != 0 {
        system::exit(code);
    }
}

/// Runs the command of that name to its end, and gives its exit code.
fn run(first: &OsString, arguments: Vec<OsString>) -> u8 {
    let name = first.to_str().and_then(|name| name.rsplit('/').next());
    let found = COMMANDS.iter().find(|command| Some(command.name) == name);
    let Some(command) = found else {
        let mut console = Console::new("posix");
        let shown = name::shown(first.as_encoded_bytes());
        console.complain(2, format_args!("unknown command {shown}"));
        return console.finish(&Ok(()));
    };
    let mut console = Console::new(command.name);
    let end = match command.shape.parse(arguments) {
        Ok(arguments) => (command.run)(&arguments, &mut console),
        Err(misuse) => {
            console.complain(2, &misuse);
            Ok(())
        }
    };
    console.finish(&end)
}
