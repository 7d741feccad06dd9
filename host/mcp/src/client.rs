//! A connected server as the registry's port: the SDK's answers become the neutral ones.

pub(crate) mod base64;
mod content;

use std::io;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, ClientRequest,
    Implementation, ListToolsRequest, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerResult, ToolAnnotations,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RunningService};
use rmcp::transport::Transport;
use rmcp::{
    ClientHandler, ClientLifecycleMode, Peer, RoleClient, ServiceError, serve_client_with_lifecycle,
};
use tidegate::{CancellationToken, McpError, McpHints, McpPage, McpTool, McpToolResult};
use tidegate_contract::{JsonObject, Value};
use tokio::runtime::Handle;
use tokio::sync::oneshot::error::RecvError;

use crate::error::NotSent;
use crate::frame::Fault;
use crate::lines;

/// Which era of the protocol a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Era {
    /// It is asked; one that does not know the question is of the era before.
    #[default]
    Ask,
    /// It shakes hands once (up to 2025-11-25).
    Handshake,
    /// Each request stands for itself (from 2026-07-28).
    Stateless,
}

impl Era {
    fn lifecycle(self) -> ClientLifecycleMode {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        match self {
            Self::Ask => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
            Self::Handshake => ClientLifecycleMode::Initialize,
            Self::Stateless => ClientLifecycleMode::Discover { preferred_versions },
        }
    }
}

/// What the host is to a server: it offers nothing, and answers no question of it.
#[derive(Debug)]
struct Host;

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let host = Implementation::new("tidegate", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), host)
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }
}

/// One connection. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Connection(RunningService<RoleClient, Host>);

impl Connection {
    /// Opens the protocol over a transport.
    ///
    /// # Errors
    ///
    /// What the server did, in words for the log.
    pub(crate) async fn open<T>(transport: T, era: Era) -> Result<Self, String>
    where
        T: Transport<RoleClient> + 'static,
    {
        let opened = Box::pin(serve_client_with_lifecycle(
            Host,
            transport,
            era.lifecycle(),
        ));
        let opened = opened.await;
        opened.map(Self).map_err(|error| error.to_string())
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.peer().is_transport_closed()
    }

    /// Closes it, and waits until what carries it is told.
    pub(crate) async fn close(self) {
        if let Err(error) = self.0.cancel().await {
            tracing::debug!(%error, "closing a connection to an MCP server");
        }
    }

    pub(crate) fn peer(&self) -> Peer<RoleClient> {
        self.0.peer().clone()
    }
}

/// One page of the server's tools.
pub(crate) async fn list_tools(
    peer: &Peer<RoleClient>,
    cursor: Option<&str>,
    cancel: &CancellationToken,
) -> Result<McpPage, McpError> {
    // Not the SDK's own method, which may answer from what it has heard before.
    let request = ClientRequest::ListToolsRequest(ListToolsRequest {
        method: rmcp::model::ListToolsRequestMethod,
        params: cursor
            .map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor.to_owned()))),
        extensions: rmcp::model::Extensions::default(),
    });
    let asked = peer.send_request_with_option(request, PeerRequestOptions::no_options());
    let mut asked = Asked {
        handle: Some(asked.await.map_err(failed)?),
        tasks: Handle::current(),
    };
    let answer = tokio::select! {
        biased;
        answer = asked.answer() => answer,
        () = cancel.cancelled() => return Err(McpError::Cancelled),
    };
    match answer {
        Ok(Ok(ServerResult::ListToolsResult(page))) => Ok(self::page(page)),
        Ok(Ok(_other)) => Err(no_answer("the answer is no list of tools")),
        Ok(Err(error)) => Err(failed(error)),
        Err(_closed) => Err(failed(ServiceError::TransportClosed)),
    }
}

/// A request whose answer is awaited. Dropped before, it is given up, and the server is told.
struct Asked {
    handle: Option<RequestHandle<RoleClient>>,
    tasks: Handle,
}

impl Asked {
    async fn answer(&mut self) -> Result<Result<ServerResult, ServiceError>, RecvError> {
        let handle = self.handle.as_mut();
        let answer = match handle {
            Some(handle) => (&mut handle.rx).await,
            None => Ok(Err(ServiceError::TransportClosed)),
        };
        self.handle = None;
        answer
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else {
            return;
        };
        drop(self.tasks.spawn(async move {
            if let Err(error) = handle.cancel(None).await {
                // The connection is over, and the request with it.
                tracing::debug!(%error, "giving up a request");
            }
        }));
    }
}

fn page(page: ListToolsResult) -> McpPage {
    let tool = |tool: rmcp::model::Tool| McpTool {
        name: tool.name.into_owned(),
        description: tool.description.map(std::borrow::Cow::into_owned),
        input_schema: Value::Object(unshared(tool.input_schema)),
        output_schema: tool
            .output_schema
            .map(|schema| Value::Object(unshared(schema))),
        hints: tool.annotations.as_ref().map(hints).unwrap_or_default(),
    };
    McpPage {
        tools: page.tools.into_iter().map(tool).collect(),
        next_cursor: page.next_cursor,
    }
}

fn hints(annotations: &ToolAnnotations) -> McpHints {
    McpHints {
        read_only: annotations.read_only_hint,
        destructive: annotations.destructive_hint,
        open_world: annotations.open_world_hint,
    }
}

fn unshared(schema: Arc<JsonObject>) -> JsonObject {
    Arc::unwrap_or_clone(schema)
}

/// Calls one tool. Dropping the future tells the server that nobody waits any more.
pub(crate) async fn call_tool(
    peer: &Peer<RoleClient>,
    (name, arguments): (&str, &JsonObject),
    cancel: &CancellationToken,
) -> Result<McpToolResult, McpError> {
    let request = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments.clone());
    let answer = tokio::select! {
        biased;
        answer = peer.call_tool_once(request) => answer,
        () = cancel.cancelled() => return Err(McpError::Cancelled),
    };
    match answer.map_err(failed)? {
        CallToolResponse::Complete(result) => Ok(content::result(result)),
        CallToolResponse::InputRequired(_) => Err(no_answer(
            "the server asks for input, which the host has none of",
        )),
        CallToolResponse::Task(_) => Err(no_answer("the server made a task, which was not asked")),
        _ => Err(no_answer("the answer is of a kind that is not known")),
    }
}

fn no_answer(reason: &str) -> McpError {
    McpError::Protocol {
        code: None,
        reason: reason.to_owned(),
    }
}

/// Once a request was handed over nobody knows how far it came, so a broken connection is one that
/// may have had an effect, unless the transport says that nothing was sent.
fn failed(error: ServiceError) -> McpError {
    match error {
        ServiceError::McpError(error) => match lines::fault_of(&error) {
            Some(Fault::TooLong { limit_bytes }) => McpError::TooLarge {
                limit_bytes: u64::try_from(limit_bytes).unwrap_or(u64::MAX),
            },
            Some(Fault::Invalid { reason }) => McpError::Protocol { code: None, reason },
            None => McpError::Protocol {
                code: Some(i64::from(error.code.0)),
                reason: error.message.into_owned(),
            },
        },
        ServiceError::UnexpectedResponse => no_answer("the answer is none to this request"),
        ServiceError::Cancelled { .. } => McpError::Cancelled,
        ServiceError::TransportSend(error) if was_not_sent(&*error.error) => {
            McpError::Unavailable {
                reason: error.to_string(),
            }
        }
        other => McpError::Broken {
            reason: other.to_string(),
        },
    }
}

fn was_not_sent(error: &(dyn std::error::Error + 'static)) -> bool {
    let carried = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    carried.is_some_and(<dyn std::error::Error + Send + Sync>::is::<NotSent>)
}
