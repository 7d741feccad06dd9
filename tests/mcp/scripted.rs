//! A client that answers what it was told to, and counts what it was asked.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tidegate::{
    BoxFuture, CancellationToken, InvokeOptions, McpClient, McpError, McpPage, McpRegistry,
    McpSettings, McpTool, McpToolResult, Node, Runtime, RuntimeOptions,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::{CallError, JsonObject};

/// What a client does with each request.
type Pages = dyn Fn(Option<&str>) -> Result<McpPage, McpError> + Send + Sync;

#[derive(Clone)]
pub(super) struct Scripted {
    pages: Arc<Pages>,
    results: Arc<Mutex<VecDeque<Result<McpToolResult, McpError>>>>,
    asked: Arc<AtomicUsize>,
}

impl Scripted {
    /// A client whose pages are made by a function of the cursor.
    pub(super) fn listing(
        pages: impl Fn(Option<&str>) -> Result<McpPage, McpError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            pages: Arc::new(pages),
            results: Arc::default(),
            asked: Arc::default(),
        }
    }

    /// A client whose calls give one result.
    pub(super) fn giving(result: Result<McpToolResult, McpError>) -> Self {
        let client = Self::listing(|_| Ok(McpPage::default()));
        client.results.lock().unwrap().push_back(result);
        client
    }

    /// Gives one result more.
    pub(super) fn gives(&mut self, result: McpToolResult) {
        self.results.lock().unwrap().push_back(Ok(result));
    }

    /// How often it was asked anything.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl McpClient for Scripted {
    fn list_tools<'a>(
        &'a self,
        cursor: Option<&'a str>,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<McpPage, McpError>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { (self.pages)(cursor) })
    }

    fn call_tool<'a>(
        &'a self,
        _name: &'a str,
        _arguments: &'a JsonObject,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<McpToolResult, McpError>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let next = self.results.lock().unwrap().pop_front();
        Box::pin(async move { next.unwrap_or_else(|| Ok(McpToolResult::default())) })
    }
}

pub(super) fn tool(name: &str) -> McpTool {
    McpTool {
        name: name.to_owned(),
        input_schema: json!({"type": "object"}),
        ..McpTool::default()
    }
}

pub(super) fn page(tools: &[&str], next: Option<&str>) -> McpPage {
    McpPage {
        tools: tools.iter().map(|name| tool(name)).collect(),
        next_cursor: next.map(str::to_owned),
    }
}

/// A runtime over servers, with these grants.
pub(super) fn over(servers: &McpRegistry, grants: &[&str]) -> Runtime {
    let mut sandbox = Grant::default();
    for grant in grants {
        parse_allow(grant, &mut sandbox).unwrap();
    }
    Runtime::new(RuntimeOptions {
        sandbox,
        mcp: Some(servers.clone()),
        ..RuntimeOptions::default()
    })
    .unwrap()
}

/// A registry with one server, permitted.
pub(super) fn one(client: Scripted) -> Runtime {
    let servers = McpRegistry::new(McpSettings::default()).unwrap();
    drop(servers.register("files", client).unwrap());
    over(&servers, &["mcp=files"])
}

pub(super) async fn ask(runtime: &Runtime, input: Value) -> Result<Value, CallError> {
    let options = InvokeOptions::default();
    runtime.invoke(Node::ActMcp, input, options).await
}

pub(super) fn invoke(tool: &str, arguments: &Value) -> Value {
    json!({
        "operation": "invoke",
        "server": "files",
        "call": {"id": "mcp-1", "name": tool, "arguments": arguments},
    })
}
