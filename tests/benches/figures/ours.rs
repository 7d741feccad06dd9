//! Our own call path, from parsed arguments to the checked result.

use serde_json::json;
use tidegate::{
    ComponentTool, Engine, EngineSettings, Handles, InvokeOptions, Plugin, PluginSource, Runtime,
    RuntimeOptions, ToolRegistry,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::json::JsonBounds;
use tidegate_contract::{CallId, Document, JsonObject, Limits, ToolCall, ToolName};

/// A runtime over one guest.
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
    /// A runtime over the `probe` guest, whose `echo` gets these arguments.
    pub(crate) fn new(bytes: Vec<u8>, arguments: &str) -> Self {
        Self::of(bytes, arguments)
    }

    /// The same over any guest.
    pub(crate) fn of(bytes: Vec<u8>, arguments: &str) -> Self {
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
        parse_allow("tool=*", &mut sandbox).unwrap();
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

    /// A call of another tool of the guest, without arguments.
    pub(crate) fn call_of(&self, name: &str) -> ToolCall {
        ToolCall {
            name: ToolName::new(name).unwrap(),
            arguments: Document::parse("{}".to_owned(), &JsonBounds::default()).unwrap(),
            ..self.parsed()
        }
    }

    /// Calls at once from one thread that serves them all; how many were answered.
    pub(crate) fn at_once(&self, calls: usize) -> usize {
        self.threads.block_on(async {
            let mut running = tokio::task::JoinSet::new();
            for _ in 0..calls {
                let (runtime, call) = (self.runtime.clone(), self.parsed());
                running
                    .spawn(async move { runtime.act_tool(call, InvokeOptions::default()).await });
            }
            let ends = running.join_all().await;
            ends.iter().filter(|end| end.is_ok()).count()
        })
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
