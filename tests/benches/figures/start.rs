//! Starting the program with 1, 10 and 100 plugins that are in the cache.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::samples::{ms, ms_at_most, plain};

/// Starts of which the mean is taken.
const STARTS: u32 = 20;

/// Starts the program so often and tells the CPU time of its children, as a shell counts it.
const SCRIPT: &str = r#"
    for _ in $(seq "$3"); do "$1" tools --config "$2" > /dev/null 2>&1 || exit 1; done
    times
"#;

/// `tidegate tools` over many plugins: process time, user and system.
pub(crate) fn start(bytes: &[u8]) {
    let folder = tempfile::TempDir::new().unwrap();
    for count in [1, 10, 100] {
        let config = config(folder.path(), bytes, count);
        // Compiles what is not in the cache yet.
        process_time(folder.path(), &config, 1);
        let mean = process_time(folder.path(), &config, STARTS) / f64::from(STARTS);
        let figure = format!("`tidegate tools`, {count} cached plugins, process time");
        if count == 100 {
            ms_at_most(&figure, mean, 0.05);
        } else {
            plain(&figure, &ms(mean));
        }
    }
}

/// Components that differ in a custom section (id 0, its size, the size of its name, the name), and
/// the file that names them.
fn config(folder: &Path, bytes: &[u8], count: u8) -> PathBuf {
    let mut text = "sandbox: { tools: \"*\" }\nplugins:\n".to_owned();
    for number in 0..count {
        let component = [bytes, &[0, 2, 1, number]].concat();
        std::fs::write(folder.join(format!("p{number}.wasm")), component).unwrap();
        let entry = json!({
            "name": format!("p{number}"),
            "component": format!("p{number}.wasm"),
            "prefix": format!("p{number}_"),
        });
        // JSON is YAML too.
        writeln!(text, "  - {entry}").unwrap();
    }
    let path = folder.join(format!("{count}.yaml"));
    std::fs::write(&path, text).unwrap();
    path
}

/// Seconds of CPU that some starts took together.
fn process_time(folder: &Path, config: &Path, starts: u32) -> f64 {
    let program = program();
    let output = Command::new("sh")
        .args(["-c", SCRIPT, "sh"])
        .args([&program, config])
        .arg(starts.to_string())
        .env("XDG_CACHE_HOME", folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "is {} built?", program.display());
    let said = String::from_utf8(output.stdout).unwrap();
    // The second line is the children's: user and system, each as 0m0.123456s.
    let children = said.lines().nth(1).unwrap();
    children.split_whitespace().map(seconds).sum()
}

/// The command: this program lies in `deps`, beside what the same command has built.
pub(crate) fn program() -> PathBuf {
    let figures = std::env::current_exe().unwrap();
    figures.parent().unwrap().parent().unwrap().join("tidegate")
}

fn seconds(text: &str) -> f64 {
    let (minutes, seconds) = text.trim_end_matches('s').split_once('m').unwrap();
    minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
}
