//! What authors of plugins start from: `tidegate new`, the page that teaches them, and components that
//! were made without a thought of Tidegate (SPEC P2, P3, T7).
//!
//! A language whose guest `cargo xtask guests` left out, for want of an answer from a registry, is passed
//! over here too, which the test says.

mod foreign;
mod naming;
mod page;
mod projects;
mod words;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{binary, root};

/// A language with the guest that its tools have built.
#[derive(Clone, Copy, Debug)]
struct Language {
    name: &'static str,
    guest: &'static str,
}

const RUST: Language = Language {
    name: "rust",
    guest: "read-text",
};
const PYTHON: Language = Language {
    name: "python",
    guest: "table",
};
const JAVASCRIPT: Language = Language {
    name: "javascript",
    guest: "markdown",
};
const C: Language = Language {
    name: "c",
    guest: "digest",
};
const GO: Language = Language {
    name: "go",
    guest: "calendar",
};

impl Language {
    /// Whether its tools are here.
    #[expect(clippy::print_stderr, reason = "a test that proves nothing says so")]
    fn is_here(self) -> bool {
        let note = root().join(format!("guests/dist/{}.left-out", self.guest));
        let Ok(reason) = fs::read_to_string(note) else {
            return true;
        };
        eprintln!("{} is passed over: {reason}", self.name);
        false
    }
}

/// The folder that cargo builds in.
fn target() -> PathBuf {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    temporary.parent().unwrap().to_owned()
}

/// A shell as an author has it: the command is on the path, and the compilers' caches are the user's.
///
/// Crates are compiled in one folder, that of the guests, so that each is compiled once; and those in Rust,
/// where rustup has no target for them, by the compiler that `cargo xtask guests` has made.
fn shell(language: Language, folder: &Path, script: &str) -> Command {
    let mut shell = Command::new("sh");
    let path = std::env::var("PATH").unwrap();
    let own = binary();
    let own = own.parent().unwrap().display();
    shell
        .args(["-eu", "-c", script])
        .current_dir(folder)
        .env("PATH", format!("{own}:{path}"))
        .env_remove("RUSTFLAGS")
        .env(
            "CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS",
            "-C target-feature=+simd128",
        );
    if language.name != RUST.name {
        return shell;
    }
    let private = target().join("guest-toolchain/bin/rustc");
    if has_target() {
        shell.env("CARGO_TARGET_DIR", target().join("guests-rustup"));
    } else {
        shell
            .env("CARGO_TARGET_DIR", target().join("guests-fallback"))
            .env("RUSTC", private);
    }
    shell
}

/// Whether the active toolchain compiles guests.
fn has_target() -> bool {
    let asked = ["--print", "target-libdir", "--target", "wasm32-wasip2"];
    let output = Command::new("rustc").args(asked).output().unwrap();
    Path::new(String::from_utf8(output.stdout).unwrap().trim()).is_dir()
}

/// What cargo, pip and npm say where a registry is not to be reached.
const SILENCE: [&str; 10] = [
    "Could not resolve host",
    "Couldn't connect to server",
    "Timeout was reached",
    "EAI_AGAIN",
    "ECONNREFUSED",
    "ECONNRESET",
    "ENOTFOUND",
    "ETIMEDOUT",
    "NewConnectionError",
    "ReadTimeoutError",
];

/// Runs a script to its end, and shows all that it said where it failed; none where a registry did not
/// answer, which the test says.
#[expect(clippy::print_stderr, reason = "a test that proves nothing says so")]
fn succeeds(language: Language, folder: &Path, script: &str) -> Option<String> {
    let output = shell(language, folder, script).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let also = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && SILENCE.iter().any(|silence| also.contains(silence)) {
        eprintln!("{} is passed over: {also}", language.name);
        return None;
    }
    assert!(output.status.success(), "{script}\n{said}\n{also}");
    Some(said)
}
