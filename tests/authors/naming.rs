//! What `tidegate new` writes and refuses, without building it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use crate::support::tidegate_in;

const LANGUAGES: [&str; 5] = ["rust", "python", "javascript", "c", "go"];

/// Where templates have a name put in.
const PLACES: [&str; 4] = ["{{name}}", "{{world}}", "{{kind}}", "{{attempt}}"];

#[test]
fn p3_every_language_and_kind_is_written_with_nothing_left_to_fill_in() {
    let folder = TempDir::new().unwrap();
    for language in LANGUAGES {
        for kind in ["tool", "sink", "worker"] {
            let name = format!("{kind}-{language}");
            let words = ["new", &name, "--lang", language, "--kind", kind, "--json"];
            let output = tidegate_in(folder.path(), &words);
            assert_eq!(output.exit, 0, "{}", output.stderr);
            let made = output.json();
            assert_eq!(made["folder"], json!(name));
            assert_eq!(made["next"].as_array().unwrap().len(), 3);
            let files = made["files"].as_array().unwrap();
            let files: Vec<&str> = files.iter().map(|file| file.as_str().unwrap()).collect();
            for needed in [
                "README.md",
                ".gitignore",
                "build.sh",
                "test.sh",
                "tidegate.yaml",
            ] {
                assert!(files.contains(&needed), "{name}: {needed}");
            }
            for file in files {
                let path = folder.path().join(&name).join(file);
                let text = fs::read_to_string(&path).unwrap();
                let left = PLACES.iter().find(|place| text.contains(*place));
                assert_eq!(left, None, "{name}: {file}");
                let runs = fs::metadata(&path).unwrap().permissions().mode() & 0o100 != 0;
                let is_script = Path::new(file).extension().is_some_and(|end| end == "sh");
                assert_eq!(runs, is_script, "{name}: {file}");
            }
        }
    }
}

#[test]
fn p3_a_folder_that_is_not_empty_and_a_bad_name_are_refused_and_nothing_is_written() {
    let folder = TempDir::new().unwrap();
    let new = |words: &[&str]| tidegate_in(folder.path(), &[&["new"], words].concat());
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::create_dir(folder.path().join("full")).unwrap();
    fs::write(folder.path().join("full/file"), "mine").unwrap();
    fs::write(folder.path().join("file"), "mine").unwrap();
    for (words, part) in [
        (["full", "--lang", "c"], "`full`: it is not empty"),
        (["file", "--lang", "c"], "`file`"),
        (["a b", "--lang", "c"], "letters, digits and `-`"),
        (["../up", "--lang", "c"], "letters, digits and `-`"),
        (["grep", "--lang", "c"], "carries a tool `grep`"),
        (
            ["name", "--lang", "cobol"],
            "rust, python, javascript, c, go",
        ),
    ] {
        let output = new(&words);
        assert_eq!(output.exit, 2, "{words:?}");
        assert!(output.stderr.contains(part), "{words:?}: {}", output.stderr);
    }
    assert_eq!(
        fs::read_to_string(folder.path().join("file")).unwrap(),
        "mine"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
    let elsewhere = new(&["name", "--lang", "go", "--dir", "empty"]);
    assert_eq!(elsewhere.exit, 0, "{}", elsewhere.stderr);
    assert!(
        elsewhere.stdout.contains("  cd empty\n"),
        "{}",
        elsewhere.stdout
    );
    assert!(folder.path().join("empty/src/plugin.go").is_file());
}
