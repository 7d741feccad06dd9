//! Fourteen read-only commands in one component: the first argument says which one runs.
//!
//! The workspace is the working folder and paths are relative to it. Each command takes one fixed
//! shape of options (`shape.rs`) and gives what GNU gives for it in the C locale; README.md lists
//! where it differs. Deliberately absent: reading standard input, writing files, every other option.

#![cfg_attr(target_family = "wasm", no_main)]

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
    named("cat", &cat::SHAPE, cat::run),
    named("cut", &cut::SHAPE, cut::run),
    named("du", &du::SHAPE, du::run),
    named("file", &file::SHAPE, file::run),
    named("find", &find::SHAPE, find::run),
    named("grep", &grep::SHAPE, grep::run),
    named("head", &head::SHAPE, head::run),
    named("ls", &ls::SHAPE, ls::run),
    named("pwd", &pwd::SHAPE, pwd::run),
    named("sort", &sort::SHAPE, sort::run),
    named("stat", &stat::SHAPE, stat::run),
    named("tail", &tail::SHAPE, tail::run),
    named("uniq", &uniq::SHAPE, uniq::run),
    named("wc", &wc::SHAPE, wc::run),
];

const fn named(
    name: &'static str,
    shape: &'static Shape,
    run: fn(&Arguments, &mut Console) -> Result<(), End>,
) -> Command {
    Command { name, shape, run }
}

#[cfg(not(target_family = "wasm"))]
fn main() {
    command();
}

/// What this target calls a `main` that takes no arguments: one that takes some has them read by the
/// C library, and its variables, folders and terminals with them.
#[cfg(target_family = "wasm")]
#[unsafe(export_name = "__main_void")]
extern "C" fn main() -> std::ffi::c_int {
    command();
    0
}

/// Runs the command that the first argument names.
fn command() {
    let mut arguments = system::arguments();
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
