//! A runtime over one built guest.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate::{
    Artifacts, ComponentSink, ComponentTool, ComponentWorker, Engine, EngineSettings, Handles,
    InvokeOptions, LineSink, Plugin, PluginSource, ReadArtifact, Runtime, RuntimeOptions, Sinks,
    ToolRegistry, Workers, Workspace,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::json::JsonBounds;
use tidegate_contract::{
    CallError, Document, ExternalResult, JsonObject, Limits, ToolCall, ToolName,
};
use tidegate_sandbox::{Injection, Network};

/// The bytes of a guest that `cargo xtask guests` built.
pub(crate) fn guest(name: &str) -> Vec<u8> {
    let path = root().join("guests/dist").join(format!("{name}.wasm"));
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask guests`", path.display()))
}

/// The top of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// One engine for all tests, with a cache in the target folder.
pub(crate) fn engine() -> Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE
        .get_or_init(|| {
            // The command's tests have the same one, so that each guest is compiled once.
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("command/tidegate");
            let cache = tidegate_sandbox::ambient::open_cache(&folder).unwrap();
            Engine::new(EngineSettings {
                cache: Some(cache),
                ..EngineSettings::default()
            })
            .unwrap()
        })
        .clone()
}

/// A plugin, a workspace of its own, and what is granted and limited.
pub(crate) struct Fixture {
    pub(crate) workspace: TempDir,
    pub(crate) grant: Grant,
    pub(crate) limits: Limits,
    pub(crate) config: JsonObject,
    pub(crate) stdout: Option<LineSink>,
    pub(crate) network: Network,
    pub(crate) inject: Vec<Injection>,
    pub(crate) artifacts: Option<Artifacts>,
    pub(crate) concurrency: Option<u32>,
    pub(crate) queue: usize,
}

impl Fixture {
    /// Grants as on the command line; every tool is permitted.
    pub(crate) fn new(allow: &[&str]) -> Self {
        let mut grant = Grant::default();
        parse_allow("tool=*", &mut grant).unwrap();
        for allow in allow {
            parse_allow(allow, &mut grant).unwrap();
        }
        Self {
            workspace: TempDir::new().unwrap(),
            grant,
            limits: Limits::default(),
            config: JsonObject::new(),
            stdout: None,
            network: Network::default(),
            inject: Vec::new(),
            artifacts: None,
            concurrency: None,
            queue: tidegate::DEFAULT_QUEUE,
        }
    }

    pub(crate) fn limit(mut self, name: &str, value: u64) -> Self {
        self.limits.set(name, value).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.workspace.path().join(name)
    }

    /// Writes a file of the workspace, with the folders on its way.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Loads a component under the fixture's grants and limits.
    pub(crate) async fn plugin(&self, name: &str, bytes: Vec<u8>) -> Plugin {
        self.try_plugin(name, bytes).await.unwrap()
    }

    pub(crate) async fn try_plugin(
        &self,
        name: &str,
        bytes: Vec<u8>,
    ) -> Result<Plugin, tidegate::EngineError> {
        let workspace = Workspace::open(self.workspace.path()).unwrap();
        let mut handles = Handles::open(&self.grant, &workspace)
            .unwrap()
            .through(&self.network, self.inject.clone());
        if self.stdout.is_some() {
            handles.stdout.clone_from(&self.stdout);
        }
        let source = PluginSource {
            name: name.to_owned(),
            bytes,
            handles,
            limits: self.limits,
            config: self.config.clone(),
        };
        engine().load(source).await
    }

    /// A runtime over the tools and sinks of some built guests.
    pub(crate) async fn runtime(&self, guests: &[&str]) -> Runtime {
        let mut plugins = Vec::new();
        for name in guests {
            plugins.push(self.plugin(name, guest(name)).await);
        }
        self.runtime_of(&plugins)
    }

    pub(crate) fn runtime_of(&self, plugins: &[Plugin]) -> Runtime {
        let tools = ToolRegistry::new();
        let (mut sinks, mut workers) = (Sinks::default(), Workers::default());
        if self.artifacts.is_some() {
            drop(
                tools
                    .register(ReadArtifact::new(self.limits).unwrap())
                    .unwrap(),
            );
        }
        for plugin in plugins {
            for tool in ComponentTool::all(plugin, "").unwrap() {
                drop(tools.register(tool).unwrap());
            }
            if let Some(sink) = ComponentSink::new(plugin) {
                sinks.insert(plugin.name(), sink);
            }
            if let Some(worker) = ComponentWorker::new(plugin) {
                workers.insert(plugin.name(), worker);
            }
        }
        Runtime::new(RuntimeOptions {
            sandbox: self.grant.clone(),
            tools,
            sinks,
            workers,
            artifacts: self.artifacts.clone(),
            concurrency: self.concurrency,
            queue: self.queue,
            engine: Some(engine()),
            ..RuntimeOptions::default()
        })
        .unwrap()
    }

    /// Calls one tool of one guest.
    pub(crate) async fn call(
        &self,
        guest: &str,
        tool: &str,
        arguments: Value,
    ) -> Result<ExternalResult, CallError> {
        let runtime = self.runtime(&[guest]).await;
        runtime
            .act_tool(call(tool, arguments), InvokeOptions::default())
            .await
    }

    /// The `probe` guest's answer to a file operation: `ok`, an error's name, or the text read.
    pub(crate) async fn probe_files(&self, arguments: Value) -> String {
        let result = self.call("probe", "fs", arguments).await.unwrap();
        serde_json::to_value(&result).unwrap()["content"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}

/// A call with the id `call-1`.
pub(crate) fn call(tool: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: tidegate_contract::CallId::new("call-1").unwrap(),
        name: ToolName::new(tool).unwrap(),
        arguments: Document::from_value(arguments, &JsonBounds::default()).unwrap(),
    }
}

/// No arguments.
pub(crate) fn nothing() -> Value {
    json!({})
}
