//! Bindings for guests in C and Go, and components from the core modules that their compilers make:
//! what two command line tools do, as far as guests need it.
//!
//! A package of its own, so that `xtask` compiles at once and this only where C or Go is built.
#![expect(clippy::print_stderr, reason = "a build tool reports to a terminal")]

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_bindgen_core::Files;
use wit_component::{ComponentEncoder, StringEncoding};
use wit_parser::{Resolve, WorldId};

const USAGE: &str = "\
Usage: guest-bindgen bindings c|go WIT WORLD FOLDER    write bindings
       guest-bindgen component MODULE FILE [WIT WORLD] make a component of a core module, \
with the world put in first where the compiler has not
       guest-bindgen command MODULE FILE               the same of a program that has a main function";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("guest-bindgen: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<()> {
    match words {
        ["bindings", language, wit, world, folder] => {
            bindings(language, &read_world(wit, world)?, Path::new(folder))
        }
        ["component", module, file] => {
            component(&read(module)?, file, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)
        }
        ["component", module, file, wit, world] => {
            let World { resolve, id } = read_world(wit, world)?;
            let mut bytes = read(module)?;
            wit_component::embed_component_metadata(
                &mut bytes,
                &resolve,
                id,
                StringEncoding::UTF8,
            )?;
            component(&bytes, file, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)
        }
        ["command", module, file] => {
            component(&read(module)?, file, WASI_SNAPSHOT_PREVIEW1_COMMAND_ADAPTER)
        }
        _ => bail!("{USAGE}"),
    }
}

fn read(module: &str) -> Result<Vec<u8>> {
    fs::read(module).with_context(|| module.to_owned())
}

/// A world with all that it names.
struct World {
    resolve: Resolve,
    id: WorldId,
}

fn read_world(wit: &str, name: &str) -> Result<World> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit)?;
    let id = resolve.select_world(&[package], Some(name))?;
    Ok(World { resolve, id })
}

fn bindings(language: &str, world: &World, folder: &Path) -> Result<()> {
    let mut generator = match language {
        "c" => wit_bindgen_c::Opts::default().build(),
        "go" => wit_bindgen_go::Opts::default().build(),
        _ => bail!("no bindings for `{language}`; there are c and go"),
    };
    let mut resolve = world.resolve.clone();
    let mut files = Files::default();
    generator.generate(&mut resolve, world.id, &mut files)?;
    for (name, bytes) in files.iter() {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
        }
        fs::write(&path, bytes).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn component(module: &[u8], file: &str, adapter: &[u8]) -> Result<()> {
    let component = ComponentEncoder::default()
        .module(module)?
        .adapter("wasi_snapshot_preview1", adapter)?
        .validate(true)
        .encode()?;
    fs::write(file, component).with_context(|| file.to_owned())
}
