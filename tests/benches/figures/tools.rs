//! A runtime over the command tools, for figures of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use tidegate::{
    ComponentTool, Engine, EngineSettings, Executor, Handles, InvokeOptions, Plugin, PluginSource,
    Runtime, RuntimeOptions, ToolRegistry, Workspace,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::json::JsonBounds;
use tidegate_contract::{
    CallId, Document, ExternalResult, JsonObject, Limits, Names, ToolCall, ToolName,
};
use tidegate_sandbox::command::{NativeCommand, NativeCommands, Options};

const NAMES: [&str; 14] = [
    "grep", "ls", "cat", "find", "head", "tail", "wc", "sort", "uniq", "cut", "stat", "file", "du",
    "pwd",
];

/// What runs the commands.
#[derive(Clone, Copy)]
pub(crate) enum By {
    Component,
    Native,
}

/// The command tools over one workspace.
pub(crate) struct Tools {
    runtime: Runtime,
    _threads: tokio::runtime::Runtime,
}

impl Tools {
    pub(crate) fn new(folder: &Path, by: By) -> Self {
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
            limits: Limits {
                // What sorting 64 MiB takes.
                memory_bytes: 512 * 1024 * 1024,
                ..Limits::default()
            },
            config: JsonObject::new(),
        };
        let plugin: Plugin = threads.block_on(engine.load(source)).unwrap();
        let executor = match by {
            By::Component => {
                let posix = engine.load_commands("posix", &guest("posix.wasm"), &NAMES);
                Executor::Component(posix.unwrap())
            }
            By::Native => {
                let offered: Vec<NativeCommand> = NAMES.iter().map(|name| native(name)).collect();
                let native = NativeCommands::open(&offered, &Names::All, Options::default());
                Executor::Native(Arc::new(native.unwrap()))
            }
        };
        let plugin = plugin.with_executor(executor).unwrap();
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
    pub(crate) fn call(&self, name: &str, arguments: &Value) -> ExternalResult {
        self.call_with(name, arguments, InvokeOptions::default())
    }

    pub(crate) fn call_with(
        &self,
        name: &str,
        arguments: &Value,
        options: InvokeOptions,
    ) -> ExternalResult {
        let call = ToolCall {
            id: CallId::new("call-1").unwrap(),
            name: ToolName::new(name).unwrap(),
            arguments: Document::parse(arguments.to_string(), &JsonBounds::default()).unwrap(),
        };
        let blocking = self.runtime.blocking().unwrap();
        blocking.act_tool(call, options).unwrap()
    }
}

/// GNU's program of a name, where its links lead.
fn native(name: &str) -> NativeCommand {
    let folders = ["/usr/bin", "/bin"];
    let mut paths = folders.iter().map(|folder| Path::new(folder).join(name));
    let path: PathBuf = paths.find(|path| path.exists()).unwrap();
    NativeCommand {
        name: name.to_owned(),
        path: fs::canonicalize(path).unwrap(),
        digest: None,
        also: Vec::new(),
    }
}
