//! Our own call path, from parsed arguments to the checked result.

use serde_json::json;
use tidegate::{
    ComponentTool, Engine, EngineSettings, Handles, InvokeOptions, Plugin, PluginSource, Runtime,
    RuntimeOptions, ToolRegistry,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::json::JsonBounds;
use tidegate_contract::{CallId, Document, JsonObject, Limits, ToolCall, ToolName};

/// A runtime over the `probe` guest.
pub(crate) struct Ours {
    pub(crate) threads: tokio::runtime::Runtime,
    pub(crate) runtime: Runtime,
    arguments: String,
}

/// Loads the guest under a name.
pub(crate) async fn load(engine: &Engine, name: &str, bytes: Vec<u8>) -> Plugin {
    let source = PluginSource {
        name: name.to_owned(),
        bytes,
        handles: Handles::default(),
        limits: Limits::default(),
        config: JsonObject::new(),
    };
    engine.load(source).await.unwrap()
}

impl Ours {
    pub(crate) fn new(bytes: Vec<u8>, arguments: &str) -> Self {
        let threads = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let engine = Engine::new(EngineSettings::default()).unwrap();
        let plugin = threads.block_on(load(&engine, "probe", bytes));
        let tools = ToolRegistry::new();
        for tool in ComponentTool::all(&plugin, "").unwrap() {
            drop(tools.register(tool).unwrap());
        }
        let mut sandbox = Grant::default();
        parse_allow("tool=echo", &mut sandbox).unwrap();
        let runtime = Runtime::new(RuntimeOptions {
            sandbox,
            tools,
            engine: Some(engine),
            ..RuntimeOptions::default()
        })
        .unwrap();
        Self {
            threads,
            runtime,
            arguments: arguments.to_owned(),
        }
    }

    /// Parsing the arguments is part of a call: a door does it for each.
    pub(crate) fn parsed(&self) -> ToolCall {
        let bounds = JsonBounds::default();
        ToolCall {
            id: CallId::new("call-1").unwrap(),
            name: ToolName::new("echo").unwrap(),
            arguments: Document::parse(self.arguments.clone(), &bounds).unwrap(),
        }
    }

    /// One call on the calling thread.
    pub(crate) fn call(&self) {
        let blocking = self.runtime.blocking().unwrap();
        let result = blocking.act_tool(self.parsed(), InvokeOptions::default());
        assert_eq!(json!(result.unwrap().status), "success");
    }

    /// One call from a thread that serves others: the guest runs on another one.
    pub(crate) fn call_by_a_hop(&self) {
        let call = self
            .runtime
            .act_tool(self.parsed(), InvokeOptions::default());
        let result = self.threads.block_on(call);
        assert_eq!(json!(result.unwrap().status), "success");
    }
}
