//! What a project is made of: real files under `templates/`, the contract, and the library of its
//! language, all of them carried by the binary.

use std::path::PathBuf;

use tidegate_sandbox::ambient::project::Runs;

use super::{Kind, Language};

mod contents;

/// One file of a project.
#[derive(Debug)]
pub(crate) struct File {
    /// Where it is, from the project's folder.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) runs: Runs,
}

/// The files of a project.
pub(crate) fn files(language: Language, kind: Kind, name: &str) -> Vec<File> {
    let filled = |text: &str| {
        text.replace("{{name}}", name)
            .replace("{{world}}", kind.world())
            .replace("{{kind}}", kind.noun())
            .replace("{{attempt}}", &kind.attempt(name))
    };
    let file = |path: String, text: String| {
        let path = PathBuf::from(path);
        let is_script = path.extension().is_some_and(|extension| extension == "sh");
        let runs = if is_script { Runs::Yes } else { Runs::No };
        File { path, text, runs }
    };
    let templates = contents::templates(language, kind);
    let templates = templates.map(|(path, text)| file((*path).to_owned(), filled(text)));
    let contract = contents::CONTRACT.iter().map(|(path, text)| {
        let folder = language.contract();
        file(format!("{folder}/{path}"), (*text).to_owned())
    });
    let library = contents::library(language).iter();
    let library = library.map(|(path, text)| file((*path).to_owned(), standing_alone(text)));
    templates.chain(contract).chain(library).collect()
}

impl Kind {
    fn noun(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Sink => "sink",
            Self::Worker => "worker",
        }
    }
}

impl Language {
    /// The folder of the contract.
    fn contract(self) -> &'static str {
        match self {
            Self::Javascript => "wit/deps/tidegate-plugin",
            _ => "wit",
        }
    }
}

/// A file of a library as it is in the repository, without what ties it to its place there.
fn standing_alone(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    let is_kept = |line: &&str| !line.starts_with("workspace = ") && *line != "[lints]\n";
    let kept: String = lines.filter(is_kept).collect();
    kept.replace("../../../wit", "../wit")
}
