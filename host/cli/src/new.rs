//! `tidegate new`: a small working project of a plugin (SPEC P3).
//!
//! What is written is in [`template`], file by file; names are put in at a few places. Deliberately
//! absent: building it, version control, questions.

mod name;
mod template;

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::json;
use tidegate_sandbox::ambient::project::NewFolder;

use crate::cli::NewArguments;
use crate::print;
use crate::refusal::{self, Exit, Form};

/// What a plugin is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Cargo and rustup's target wasm32-wasip2.
    Rust,
    /// componentize-py, from pip.
    Python,
    /// componentize-qjs, from npm.
    Javascript,
    /// Zig's C compiler, from pip; cargo.
    C,
    /// The stock compiler, from pip; cargo.
    Go,
}

/// What a plugin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// A tool that callers call.
    Tool,
    /// A place where final messages go.
    Sink,
    /// A worker that does one step of a flow.
    Worker,
}

impl Kind {
    /// The world of the contract that it is.
    fn world(self) -> &'static str {
        match self {
            Self::Tool => "tool-plugin",
            Self::Sink => "sink-plugin",
            Self::Worker => "worker-plugin",
        }
    }

    /// What is typed in its folder to see it work.
    fn attempt(self, name: &str) -> String {
        match self {
            Self::Tool => format!("tidegate call {name} '{{\"text\":\"to be or not\"}}'"),
            Self::Sink => format!("tidegate deliver < {DELIVERY}"),
            Self::Worker => "./test.sh".to_owned(),
        }
    }
}

/// The file of a sink's project that has something to deliver.
const DELIVERY: &str = "delivery.json";

/// Runs the command.
pub(crate) fn run(arguments: &NewArguments) -> Exit {
    let form = Form::of(arguments.json);
    match make(arguments, form) {
        Ok(()) => Exit::Success,
        Err(error) => refusal::usage(&error, form),
    }
}

fn make(arguments: &NewArguments, form: Form) -> anyhow::Result<()> {
    let NewArguments {
        name,
        language,
        kind,
        dir,
        ..
    } = arguments;
    name::check(name, *kind)?;
    let folder = dir.clone().unwrap_or_else(|| PathBuf::from(name));
    let new = NewFolder::make(&folder)?;
    let files = template::files(*language, *kind, name);
    for file in &files {
        new.write(&file.path, &file.text, file.runs)?;
    }
    let next = [
        format!("cd {}", quoted(&folder)),
        "./build.sh".to_owned(),
        kind.attempt(name),
    ];
    match form {
        Form::Json => {
            let paths: Vec<_> = files.iter().map(|file| &file.path).collect();
            print::json(&json!({ "folder": folder, "files": paths, "next": next }));
        }
        Form::Text => {
            let next = next.map(|command| format!("  {command}\n")).concat();
            let (shown, count) = (folder.display(), files.len());
            print::text(&format!("made {shown} with {count} files; next:\n{next}"));
        }
    }
    Ok(())
}

/// A path as a word of a shell.
fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if path.chars().all(plain) && !path.starts_with('-') {
        return path;
    }
    format!("-- '{}'", path.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p3_a_path_is_one_word_of_a_shell() {
        for (path, word) in [
            ("a/b-c_1.d", "a/b-c_1.d"),
            ("a b", "-- 'a b'"),
            ("it's", r"-- 'it'\''s'"),
            ("-a", "-- '-a'"),
        ] {
            assert_eq!(quoted(Path::new(path)), word);
        }
    }
}
