//! The binary carries the shipped plugins; this says what to run when they are not built yet.

use std::path::Path;

fn main() -> Result<(), String> {
    for plugin in [
        "read-text",
        "commands",
        "posix",
        "web-search",
        "file",
        "webhook",
        "console",
    ] {
        let path = format!("../../guests/dist/{plugin}.wasm");
        println!("cargo:rerun-if-changed={path}");
        if !Path::new(&path).is_file() {
            return Err(format!(
                "the shipped plugin `{plugin}` is not built: run `cargo xtask guests` first"
            ));
        }
    }
    Ok(())
}
