//! ACT, the host that `docs/comparison.md` looks at, with a tool that adds: installed and built under
//! the target folder the first time, by pip and cargo.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The version that was looked at.
const PACKAGES: [&str; 2] = ["act-cli==0.14.6", "act-build==0.14.6"];

/// The crate that carries the interface of its tools.
const INTERFACE: &str = "act-runtime@0.14.6";

const TARGET: &str = "wasm32-wasip2";

const MANIFEST: &str = r#"
[package]
name = "add"
version = "0.1.0"
edition = "2024"

[lib]
crate-type = ["cdylib"]

[dependencies]
act-sdk = "=0.14.2"
schemars = "1"
serde = { version = "1", features = ["derive"] }

[workspace]
"#;

const GUEST: &str = r#"
use act_sdk::prelude::*;

#[act_component]
mod component {
    use super::*;

    #[act_tool(description = "Adds two numbers", read_only)]
    fn add(a: i64, b: i64) -> ActResult<String> {
        Ok((a + b).to_string())
    }
}
"#;

const WORLD: &str = "
package figures:add;

world component-world {
    export act:tools/tool-provider@0.2.0;
}
";

/// The command that serves the tool over MCP; what could not be done, where there is none.
pub(crate) fn command() -> Result<Command, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("act");
    let component = folder.join("add").join("add.wasm");
    if !component.is_file() {
        make(&folder, &component)?;
    }
    let mut command = Command::new(folder.join("python/bin/act"));
    command.args(["run", "--mcp"]).arg(component);
    Ok(command)
}

fn make(folder: &Path, component: &Path) -> Result<(), String> {
    // What an earlier run left half made.
    drop(fs::remove_dir_all(folder));
    let guest = folder.join("add");
    fs::create_dir_all(guest.join("src")).unwrap();
    fs::write(guest.join("Cargo.toml"), MANIFEST).unwrap();
    fs::write(guest.join("src/lib.rs"), GUEST).unwrap();
    let python = folder.join("python");
    done(Command::new("python3").args(["-m", "venv"]).arg(&python))?;
    let mut pip = Command::new(python.join("bin/pip"));
    done(pip.args(["install", "--quiet"]).args(PACKAGES))?;
    done(cargo(folder).args(["info", "--quiet", INTERFACE]))?;
    let deps = guest.join("wit/deps");
    fs::create_dir_all(&deps).unwrap();
    fs::write(guest.join("wit/world.wit"), WORLD).unwrap();
    done(
        Command::new("cp")
            .arg("-r")
            .arg(interface(folder)?)
            .arg(&deps),
    )?;
    let build = ["build", "--quiet", "--release", "--target", TARGET];
    done(cargo(folder).args(build).current_dir(&guest))?;
    let built = guest.join("target").join(TARGET).join("release/add.wasm");
    let mut pack = Command::new(python.join("bin/act-build"));
    done(pack.arg("pack").arg(&built).current_dir(&guest))?;
    fs::copy(built, component).unwrap();
    Ok(())
}

/// A cargo with a home of its own, so that it is known where a crate lies.
fn cargo(folder: &Path) -> Command {
    let mut cargo = Command::new("cargo");
    cargo
        .env("CARGO_HOME", folder.join("cargo"))
        .env_remove("CARGO_TARGET_DIR")
        .current_dir(folder);
    cargo
}

/// The interface, in the sources of the one registry that there is.
fn interface(folder: &Path) -> Result<PathBuf, String> {
    let sources = folder.join("cargo/registry/src");
    let registries = fs::read_dir(sources).map_err(|error| error.to_string())?;
    let crates = registries.map(|registry| registry.unwrap().path());
    crates
        .map(|registry| {
            registry
                .join(INTERFACE.replace('@', "-"))
                .join("wit/deps/.")
        })
        .find(|deps| deps.is_dir())
        .ok_or_else(|| format!("{INTERFACE} has no WIT files"))
}

fn done(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let last = stderr.lines().last().unwrap_or_default();
    Err(format!("{command:?}: {last}"))
}
