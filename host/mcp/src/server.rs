//! Tidegate as an MCP server: the tools that a caller is permitted to use.
//!
//! The SDK speaks the protocol; each call goes through the runtime's own checks, on the runtime's own
//! threads, and has an answer even when the host's code panics. Deliberately absent: prompts,
//! resources, sampling, and every question to the client.

mod answer;
mod changes;
mod client;
mod listing;
mod messages;
mod over_http;
mod over_lines;
mod panics;
mod reporting;
mod transport;
mod turns;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorCode, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use tidegate::{Caller, InvokeOptions, Runtime};
use tidegate_contract::json::JsonBounds;
use tidegate_contract::{
    CallError, CallId, Document, ExternalResult, Limits, Problem, ToolCall, ToolName, Value,
};
use tidegate_sandbox::ambient;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::frame::MessageBounds;

pub use over_http::{AnswerBody, HttpSettings, McpHttpService};

/// Tools on one page of a list.
const PAGE_TOOLS: usize = 100;

/// How the registry is served.
#[derive(Clone, Debug, Default)]
pub struct ServerSettings {
    /// Who calls, where the transport does not tell.
    pub caller: Caller,
    /// What one message may be.
    pub messages: MessageBounds,
}

/// The permitted tools of a runtime, as an MCP server. Cloning gives another handle to the same one.
#[derive(Clone)]
pub struct McpServer {
    runtime: Runtime,
    settings: ServerSettings,
    /// Calls run here, apart from what drives the protocol.
    tasks: Handle,
    ids: Arc<CallIds>,
    /// The connection, where there is one: each of its requests has a task of its own, which a guest
    /// may hold up, and it can be told that the tools are others now.
    line: Option<Line>,
}

/// The ids of calls: one for the server, which is asked of the system, and a number.
struct CallIds {
    server: String,
    next: AtomicU64,
}

impl CallIds {
    fn next(&self) -> Result<CallId, CallError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        CallId::new(format!("mcp-{}-{number}", self.server))
    }
}

/// A connection, as its requests know it.
#[derive(Clone)]
struct Line {
    /// Cancelled when nothing more comes from the client.
    over: CancellationToken,
    /// Places of requests that listen.
    listeners: Arc<Semaphore>,
}

/// Requests of one client that listen at once. Each has a place among its open ones until it ends.
const LISTENERS: usize = 4;

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("runtime", &self.runtime)
            .finish_non_exhaustive()
    }
}

impl McpServer {
    /// Serves a runtime. `tasks` drives the calls.
    #[must_use]
    pub fn new(runtime: Runtime, settings: ServerSettings, tasks: Handle) -> Self {
        Self {
            runtime,
            settings,
            tasks,
            ids: Arc::new(CallIds {
                server: ambient::random_id(),
                next: AtomicU64::new(0),
            }),
            line: None,
        }
    }

    /// The same server over a connection, whose input is over when this is cancelled.
    fn on_a_line(&self, over: CancellationToken) -> Self {
        Self {
            line: Some(Line {
                over,
                listeners: Arc::new(Semaphore::new(LISTENERS)),
            }),
            ..self.clone()
        }
    }

    /// The same server for a caller whom the transport has told.
    fn called_by(&self, caller: Caller) -> Self {
        let settings = ServerSettings {
            caller,
            messages: self.settings.messages,
        };
        Self {
            settings,
            ..self.clone()
        }
    }

    async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = ToolName::new(request.name.into_owned());
        let name = name.map_err(|error| refused(ErrorCode::INVALID_PARAMS, &error))?;
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let call = match self.ids.next().and_then(|id| call(id, name, arguments)) {
            Ok(call) => call,
            Err(error) => return answer::of(Err(error)),
        };
        // Whoever drops this future no longer wants the answer.
        let cancel = context.ct.child_token();
        let _given_up = cancel.clone().drop_guard();
        let (progress, reports) = reporting::channel(&context);
        let options = InvokeOptions {
            caller: self.settings.caller.clone(),
            cancel,
            progress,
            ..InvokeOptions::default()
        };
        answer::of(self.run(call, options, reports).await)
    }

    async fn run(
        &self,
        call: ToolCall,
        options: InvokeOptions,
        reports: Option<reporting::Reports>,
    ) -> Result<ExternalResult, CallError> {
        let panicked = || {
            let reason = "the call ended early".to_owned();
            Err(CallError::HostFault { reason })
        };
        // What is reported is told while the call runs.
        if self.line.is_some() && reports.is_none() {
            let work = self.runtime.act_tool_in_place(call, options);
            return panics::caught(work).await.unwrap_or_else(panicked);
        }
        let runtime = self.runtime.clone();
        let work = async move { runtime.act_tool(call, options).await };
        let work = self.tasks.spawn(work);
        let end = reporting::while_waiting(reports, work).await;
        end.unwrap_or_else(|error| {
            tracing::error!(%error, "a call panicked");
            panicked()
        })
    }
}

/// A call as the runtime takes it. The protocol's own ids are each client's, so a call has another.
fn call(id: CallId, name: ToolName, arguments: Value) -> Result<ToolCall, CallError> {
    let bytes = usize::try_from(Limits::MAXIMUM.arguments_bytes).unwrap_or(usize::MAX);
    let bounds = JsonBounds {
        bytes,
        ..JsonBounds::default()
    };
    let arguments =
        Document::from_value(arguments, &bounds).map_err(|error| CallError::InvalidArguments {
            problems: vec![Problem {
                pointer: String::new(),
                reason: error.to_string(),
            }],
        })?;
    Ok(ToolCall {
        id,
        name,
        arguments,
    })
}

/// An error of the protocol that keeps the host's code.
fn refused(code: ErrorCode, error: &CallError) -> ErrorData {
    let failure = error.to_failure();
    let data = serde_json::json!({ "tidegate/error": failure });
    ErrorData::new(code, failure.message().to_owned(), Some(data))
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools();
        let capabilities = match self.line {
            Some(_) => capabilities.enable_tool_list_changed().build(),
            None => capabilities.build(),
        };
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("tidegate", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let tools = self.runtime.tools_of(&self.settings.caller);
        listing::page(tools, cursor.as_deref(), PAGE_TOOLS)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.call(request, context).await
    }

    fn accepted_subscription_filter(
        &self,
        _requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.line.as_ref().map(|_| changes::accepted())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Some(Line { over, listeners }) = &self.line else {
            return Ok(());
        };
        let Ok(_place) = listeners.try_acquire() else {
            let reason = format!("a client listens {LISTENERS} times at most");
            return Err(ErrorData::invalid_request(reason, None));
        };
        changes::tell(self.runtime.tool_changes(), &context, over).await;
        Ok(())
    }

    /// What the SDK compares the headers of a call over HTTP with: parameters that the schema marks
    /// with `x-mcp-header` (MCP 2026-07-28, streamable HTTP).
    fn get_tool(&self, name: &str) -> Option<Tool> {
        let mut tools = self.runtime.tools_of(&self.settings.caller).into_iter();
        let definition = tools.find(|tool| tool.name.as_str() == name)?;
        Some(listing::listed(definition))
    }
}
