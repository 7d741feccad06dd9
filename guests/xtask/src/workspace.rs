//! Where the project is, where it builds, and how cargo is called in it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf, absolute};
use std::process::Command;

use crate::failure::Failure;

/// The checkout this program was started from.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The folder of the root manifest, absolute.
    pub(crate) root: PathBuf,
    /// Where cargo builds: `CARGO_TARGET_DIR`, else `target` in the root. Absolute.
    pub(crate) target: PathBuf,
    cargo: OsString,
}

impl Workspace {
    /// Reads what `cargo run` tells a program that it starts.
    ///
    /// # Errors
    /// [`Failure::NotByCargo`] if it was not `cargo run` that did.
    pub(crate) fn find() -> Result<Self, Failure> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").ok_or(Failure::NotByCargo)?;
        // This package is guests/xtask.
        let root = Path::new(&manifest)
            .ancestors()
            .nth(2)
            .ok_or(Failure::NotByCargo)?
            .to_owned();
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => absolute(&folder).map_err(|source| Failure::File {
                path: folder.into(),
                source,
            })?,
            None => root.join("target"),
        };
        let cargo = env::var_os("CARGO").ok_or(Failure::NotByCargo)?;
        Ok(Self {
            root,
            target,
            cargo,
        })
    }

    /// `program`, started in the root.
    pub(crate) fn command(&self, program: impl Into<OsString>) -> Command {
        let mut command = Command::new(program.into());
        command.current_dir(&self.root);
        command
    }

    /// The cargo that started this program, with `arguments`.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(&self.cargo);
        command.args(arguments);
        // Words of `cargo run` about xtask. Some build scripts watch them, and would run again in
        // turn for `cargo xtask` and for cargo called by hand.
        for (name, _) in env::vars_os() {
            let known = name.to_str().unwrap_or_default();
            if known.starts_with("CARGO_PKG_") || known.starts_with("CARGO_MANIFEST_") {
                command.env_remove(name);
            }
        }
        if env::var_os("CARGO_TARGET_DIR").is_some() {
            command.env("CARGO_TARGET_DIR", &self.target);
        }
        command
    }

    /// `command` as it would be typed in the root.
    pub(crate) fn typed(&self, command: &Command) -> String {
        let set = command.get_envs().filter_map(|(name, value)| {
            Some(format!(
                "{}={}",
                name.display(),
                quoted(&value?.to_string_lossy())
            ))
        });
        let program = command.get_program();
        let program = if program == self.cargo {
            "cargo".into()
        } else {
            program.to_string_lossy()
        };
        let arguments = command
            .get_args()
            .map(|word| quoted(&word.to_string_lossy()));
        let words: Vec<String> = set.chain([quoted(&program)]).chain(arguments).collect();
        words
            .join(" ")
            .replace(&format!("{}/", self.root.display()), "")
    }
}

fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=+./:,".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> Workspace {
        Workspace {
            root: "/p".into(),
            target: "/p/target".into(),
            cargo: "/bin/cargo".into(),
        }
    }

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let workspace = workspace();
        let mut command = workspace.command("/bin/cargo");
        command
            .args(["test", "--", "two words"])
            .env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(
            workspace.typed(&command),
            "RUSTDOCFLAGS='-D warnings' cargo test -- 'two words'"
        );
        let command = workspace.command("/p/target/debug/tidegate");
        assert_eq!(workspace.typed(&command), "target/debug/tidegate");
    }

    #[test]
    fn a_word_is_quoted_only_where_a_shell_needs_it() {
        for (word, shown) in [
            ("a=b", "a=b"),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("$x", "'$x'"),
        ] {
            assert_eq!(quoted(word), shown);
        }
    }
}
