//! Components that were made without a thought of Tidegate: each of `tests/foreign/components.json` is made
//! or fetched, loaded and run, or says why not (SPEC T7).
//!
//! What comes from a registry is kept under the folder for temporary files of the build. Where a registry
//! does not answer, the component is passed over, which the test says.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{C, GO, JAVASCRIPT, PYTHON, RUST, SILENCE, shell};
use crate::support::{Output, root, tidegate_in};

/// Where made components are kept.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign")
}

/// The entries of the list that are made in one of these ways.
fn listed(hows: &[&str]) -> Vec<Value> {
    let text = fs::read_to_string(root().join("tests/foreign/components.json")).unwrap();
    let all: Vec<Value> = serde_json::from_str(&text).unwrap();
    let is_wanted = |entry: &Value| hows.contains(&entry["how"].as_str().unwrap());
    all.into_iter().filter(is_wanted).collect()
}

/// The file of a component, made where it is not kept yet; none where what it is made with is not here.
#[expect(clippy::print_stderr, reason = "a test that proves nothing says so")]
fn component(entry: &Value) -> Option<PathBuf> {
    let [name, how, what] = ["name", "how", "what"].map(|key| entry[key].as_str().unwrap());
    let language = match how {
        "python" => PYTHON,
        "javascript" => JAVASCRIPT,
        "c" => C,
        "go" | "go-command" => GO,
        _ => RUST,
    };
    let source = |name: &str| fs::read(root().join("tests/foreign").join(name));
    let own = source(&format!("{what}.{}", end(how))).unwrap_or_default();
    let [shared, script] = ["wit/words.wit", "build.sh"].map(|name| source(name).unwrap());
    let file = kept().join(format!("{name}.wasm"));
    let note = kept().join(format!("{name}.made-of"));
    let made_of = [what.as_bytes(), &own, &shared, &script].concat();
    if file.is_file() && fs::read(&note).is_ok_and(|noted| noted == made_of) {
        return Some(file);
    }
    if !language.is_here() {
        return None;
    }
    fs::create_dir_all(kept()).unwrap();
    let script = root()
        .join("tests/foreign/build.sh")
        .canonicalize()
        .unwrap();
    let words = format!("{} {how} {what} {}", script.display(), file.display());
    let output = shell(language, &kept(), &words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && SILENCE.iter().any(|silence| said.contains(silence)) {
        eprintln!("{name} is passed over: {said}");
        return None;
    }
    assert!(output.status.success(), "{name}: {said}");
    fs::write(note, made_of).unwrap();
    Some(file)
}

/// How sources of a way end.
fn end(how: &str) -> &str {
    match how {
        "python" => "py",
        "javascript" => "js",
        other => other,
    }
}

/// Calls a tool of a component that is granted nothing.
fn call(file: &Path, tool: &str, arguments: &Value) -> Output {
    let (file, arguments) = (file.to_str().unwrap(), arguments.to_string());
    let permit = format!("tool={tool}");
    let words = [
        "call", tool, &arguments, "--json", "--plugin", file, "--allow", &permit,
    ];
    tidegate_in(&kept(), &words)
}

#[test]
fn t7_typed_exports_of_four_languages_are_tools_with_the_same_schemas_and_answers() {
    let mut schemas = Vec::new();
    for entry in listed(&["python", "javascript", "c", "go"]) {
        let Some(file) = component(&entry) else {
            continue;
        };
        let name = &entry["name"];
        let text = json!({"text": " to be, d\u{e9}j\u{e0} vu\n"});
        let counted = call(&file, "words_count", &text).json();
        let expected = json!({"result": {"words": 4, "letters": 11}});
        assert_eq!(counted["structuredContent"], expected, "{name}: {counted}");
        let longest = call(&file, "words_longest", &text).json();
        assert_eq!(longest["content"], "d\u{e9}j\u{e0}", "{name}: {longest}");
        let none = call(&file, "words_longest", &json!({"text": " "}));
        assert_eq!(none.exit, 1);
        assert_eq!(none.json()["error"]["message"], "no words", "{name}");
        let wrong = call(&file, "words_count", &json!({"text": 1}));
        assert_eq!(wrong.json()["error"]["code"], "INVALID_ARGUMENTS", "{name}");
        let path = file.to_str().unwrap();
        // Some tools export more: what they set a component up with.
        let own = [
            "--allow",
            "tool=words_count",
            "--allow",
            "tool=words_longest",
        ];
        let words = [&["tools", "--json", "--plugin", path][..], &own].concat();
        schemas.push(tidegate_in(&kept(), &words).json());
    }
    assert!(
        schemas.windows(2).all(|pair| pair[0] == pair[1]),
        "{schemas:?}"
    );
}

/// The commands of one way of making them.
fn commands_run(how: &str, least: usize) {
    let entries = listed(&[how]);
    assert!(entries.len() >= least);
    for entry in entries {
        let Some(file) = component(&entry) else {
            continue;
        };
        let name = entry["name"].as_str().unwrap();
        for expected in entry["calls"].as_array().unwrap() {
            let output = call(&file, name, &expected["arguments"]);
            let result = output.json();
            let exit = expected.get("exitCode").unwrap_or(&json!(0)).clone();
            let ended = &result["structuredContent"];
            assert_eq!(ended["exitCode"], exit, "{name}: {result}");
            if let Some(stdout) = expected.get("stdout") {
                assert_eq!(&ended["stdout"], stdout, "{name}: {result}");
            }
        }
    }
}

#[test]
fn t7_commands_that_cargo_makes_of_published_crates_are_tools() {
    commands_run("crate", 5);
}

#[test]
fn t7_a_command_of_gos_own_sources_is_a_tool() {
    commands_run("go-command", 1);
}

#[test]
fn t7_what_is_no_component_is_refused_with_the_reason() {
    for entry in listed(&["npm"]) {
        let Some(file) = component(&entry) else {
            continue;
        };
        let output = call(&file, "anything", &json!({}));
        let reason = entry["refused"].as_str().unwrap();
        assert_eq!(output.exit, 2);
        assert!(output.stderr.contains(reason), "{}", output.stderr);
    }
}

#[test]
fn t7_at_least_ten_foreign_components_are_listed_and_each_says_what_it_is() {
    let text = fs::read_to_string(root().join("tests/foreign/components.json")).unwrap();
    let all: Vec<Value> = serde_json::from_str(&text).unwrap();
    let run = all.iter().filter(|entry| entry.get("refused").is_none());
    assert!(run.count() >= 10);
    assert!(all.iter().all(|entry| entry["made"].is_string()));
}
