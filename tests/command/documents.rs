//! Every `console` block of the documents is run and compared with what it shows.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{binary, root};

/// The Markdown files of the repository that show commands.
fn documents() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("docs")).unwrap();
    let mut documents: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    documents.push(root().join("README.md"));
    documents.push(root().join("host/README.md"));
    documents.sort();
    documents
}

/// One command with the output that the document shows.
#[derive(Debug, Default)]
struct Example {
    command: String,
    exit: i32,
    shown: String,
}

/// The `$ tidegate …` commands of a document's `console` blocks.
fn examples(document: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in document.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if inside && let Some(command) = line.strip_prefix("$ ") {
            examples.push(Example {
                command: command.to_owned(),
                ..Example::default()
            });
        } else if inside && let Some(example) = examples.last_mut() {
            if let Some(exit) = line.strip_prefix("# exit ") {
                example.exit = exit.trim().parse().unwrap();
            } else {
                example.shown.push_str(line);
                example.shown.push('\n');
            }
        }
    }
    examples
}

#[test]
fn every_shown_command_gives_what_is_shown() {
    let folder = binary().parent().unwrap().to_owned();
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("command");
    let mut run = 0;
    for path in documents() {
        for example in examples(&fs::read_to_string(&path).unwrap()) {
            assert!(
                example.command.contains("tidegate "),
                "{}: {example:?}",
                path.display()
            );
            let output = Command::new("/bin/sh")
                .args(["-c", &example.command])
                .current_dir(root())
                .env_clear()
                .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
                .env("XDG_CACHE_HOME", &cache)
                .output()
                .unwrap();
            let stdout = String::from_utf8(output.stdout).unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            let shown = format!("{}: {}\n{stderr}", path.display(), example.command);
            assert_eq!(stdout.trim_end(), example.shown.trim_end(), "{shown}");
            assert_eq!(output.status.code(), Some(example.exit), "{shown}");
            run += 1;
        }
    }
    assert!(run >= 20, "only {run} commands were found");
}
