//! The command tools beside spawning GNU's: what an agent pays for a `grep`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};
use tidegate::{
    ComponentTool, Engine, EngineSettings, Executor, Handles, InvokeOptions, Plugin, PluginSource,
    Runtime, RuntimeOptions, ToolRegistry, Workspace,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::json::JsonBounds;
use tidegate_contract::{
    CallId, Document, ExternalResult, JsonObject, Limits, Status, ToolCall, ToolName,
};

use crate::samples::{at_least, at_most, ms, percentile, plain, us};

const NAMES: [&str; 14] = [
    "grep", "ls", "cat", "find", "head", "tail", "wc", "sort", "uniq", "cut", "stat", "file", "du",
    "pwd",
];

/// Times that a small or large command is run; the middle one counts.
const SMALL: usize = 201;
const LARGE: usize = 7;

/// Files of the tree.
const FILES: usize = 20_000;

/// All figures.
pub(crate) fn commands() {
    let folder = tempfile::TempDir::new().unwrap();
    lay_out(folder.path());
    let tools = Tools::new(folder.path());
    small(&tools, folder.path());
    large(&tools, folder.path());
    tree(&tools, folder.path());
}

/// A 5 KiB file, a folder with a few, 10 and 100 MiB of lines, and many files.
fn lay_out(folder: &Path) {
    let line = "the quick brown fox jumps over the lazy dog 0123456789\n";
    let text = |bytes: usize| line.repeat(bytes / line.len());
    fs::write(folder.join("small.txt"), text(5 * 1024)).unwrap();
    fs::create_dir(folder.join("few")).unwrap();
    for number in 0..20 {
        fs::write(folder.join(format!("few/{number}.txt")), "few\n").unwrap();
    }
    fs::write(folder.join("ten.txt"), text(10 * 1024 * 1024)).unwrap();
    fs::write(folder.join("hundred.txt"), text(100 * 1024 * 1024)).unwrap();
    for number in 0..FILES {
        let below = folder.join(format!("tree/{}", number / 200));
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join(format!("{number}.txt")), "leaf\n").unwrap();
    }
}

struct Tools {
    runtime: Runtime,
    _threads: tokio::runtime::Runtime,
}

impl Tools {
    fn new(folder: &Path) -> Self {
        let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guests/dist");
        let guest = |name: &str| fs::read(guests.join(name)).unwrap();
        let mut grant = Grant::default();
        for name in NAMES {
            parse_allow(&format!("tool={name}"), &mut grant).unwrap();
            parse_allow(&format!("execute={name}"), &mut grant).unwrap();
        }
        parse_allow("read", &mut grant).unwrap();
        let workspace = Workspace::open(folder).unwrap();
        let engine = Engine::new(EngineSettings::default()).unwrap();
        let threads = tokio::runtime::Runtime::new().unwrap();
        let source = PluginSource {
            name: "commands".to_owned(),
            bytes: guest("commands.wasm"),
            handles: Handles::open(&grant, &workspace).unwrap(),
            limits: Limits::default(),
            config: JsonObject::new(),
        };
        let plugin: Plugin = threads.block_on(engine.load(source)).unwrap();
        let posix = engine.load_commands("posix", &guest("posix.wasm"), &NAMES);
        let plugin = plugin
            .with_executor(Executor::Component(posix.unwrap()))
            .unwrap();
        let tools = ToolRegistry::new();
        for tool in ComponentTool::all(&plugin, "").unwrap() {
            drop(tools.register(tool).unwrap());
        }
        let options = RuntimeOptions {
            sandbox: grant,
            tools,
            engine: Some(engine),
            ..RuntimeOptions::default()
        };
        Self {
            runtime: Runtime::new(options).unwrap(),
            _threads: threads,
        }
    }

    /// One call on this thread, and what came back.
    fn call(&self, name: &str, arguments: &Value) -> ExternalResult {
        let call = ToolCall {
            id: CallId::new("call-1").unwrap(),
            name: ToolName::new(name).unwrap(),
            arguments: Document::parse(arguments.to_string(), &JsonBounds::default()).unwrap(),
        };
        let blocking = self.runtime.blocking().unwrap();
        blocking.act_tool(call, InvokeOptions::default()).unwrap()
    }
}

/// Spawns GNU's and reads all that it prints.
fn spawn(folder: &Path, words: &[&str]) -> Vec<u8> {
    let (program, arguments) = words.split_first().unwrap();
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    output.stdout
}

/// Medians of both, in seconds, one after the other in turn.
fn beside(times: usize, mut ours: impl FnMut(), mut theirs: impl FnMut()) -> (f64, f64) {
    let seconds = |run: &mut dyn FnMut()| {
        let started = Instant::now();
        run();
        started.elapsed().as_secs_f64()
    };
    let (mut own, mut gnu): (Vec<f64>, Vec<f64>) = (0..times)
        .map(|_| (seconds(&mut ours), seconds(&mut theirs)))
        .unzip();
    own.sort_by(f64::total_cmp);
    gnu.sort_by(f64::total_cmp);
    (percentile(&own, 50), percentile(&gnu, 50))
}

fn small(tools: &Tools, folder: &Path) {
    let path = json!({"path": "small.txt"});
    let cases: [(&str, Value, &[&str]); 6] = [
        ("cat", path.clone(), &["cat", "--", "small.txt"]),
        (
            "grep",
            json!({"pattern": "lazy", "paths": ["small.txt"]}),
            &["grep", "-n", "--", "lazy", "small.txt"],
        ),
        ("wc", path.clone(), &["wc", "-l", "--", "small.txt"]),
        ("head", path, &["head", "-n", "20", "--", "small.txt"]),
        ("ls", json!({"path": "few"}), &["ls", "-1", "--", "few"]),
        (
            "find",
            json!({"path": "few"}),
            &["find", "few", "-maxdepth", "8", "-print"],
        ),
    ];
    for (name, arguments, words) in cases {
        let result = tools.call(name, &arguments);
        assert_eq!(result.status, Status::Success, "{result:?}");
        let (ours, theirs) = beside(
            SMALL,
            || drop(tools.call(name, &arguments)),
            || drop(spawn(folder, words)),
        );
        plain(
            &format!("{name}, 5 KiB or a small folder: ours / spawned"),
            &pair(ours, theirs),
        );
        at_least(
            &format!("{name}, small, times faster than spawning"),
            theirs / ours,
            15.0,
        );
    }
}

fn pair(ours: f64, theirs: f64) -> String {
    format!("{} / {}", us(ours), us(theirs))
}

fn large(tools: &Tools, folder: &Path) {
    for (file, size) in [("ten.txt", "10 MiB"), ("hundred.txt", "100 MiB")] {
        let cases: [(&str, Value, [&str; 5]); 2] = [
            ("wc", json!({"path": file}), ["wc", "-l", "--", file, ""]),
            (
                "grep",
                json!({"pattern": "lazy dog 0123456789x", "paths": [file]}),
                ["grep", "-n", "--", "lazy dog 0123456789x", file],
            ),
        ];
        for (name, arguments, words) in cases {
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            let (ours, theirs) = beside(
                LARGE,
                || drop(tools.call(name, &arguments)),
                || drop(spawn(folder, &words)),
            );
            plain(
                &format!("{name}, {size}: ours / spawned"),
                &format!("{} / {}", ms(ours), ms(theirs)),
            );
            if size == "100 MiB" {
                at_most(
                    &format!("{name}, {size}, to GNU's time"),
                    ours / theirs,
                    1.5,
                );
            }
        }
    }
}

fn tree(tools: &Tools, folder: &Path) {
    let grep = json!({"pattern": "absent", "paths": ["tree"], "recursive": true});
    let cases: [(&str, Value, &[&str]); 2] = [
        ("grep", grep, &["grep", "-n", "-R", "--", "absent", "tree"]),
        (
            "find",
            json!({"path": "tree", "name": "nothing"}),
            &[
                "find",
                "tree",
                "-maxdepth",
                "8",
                "-name",
                "nothing",
                "-print",
            ],
        ),
    ];
    for (name, arguments, words) in cases {
        let (ours, theirs) = beside(
            LARGE,
            || drop(tools.call(name, &arguments)),
            || drop(spawn(folder, words)),
        );
        plain(
            &format!("{name}, {FILES} files: ours / spawned"),
            &format!("{} / {}", ms(ours), ms(theirs)),
        );
    }
}
