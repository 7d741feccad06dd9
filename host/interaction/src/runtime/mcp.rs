//! `INTERACTION.ACT.MCP` (SPEC M1-M3): the checks, a permit, then the servers.

use std::time::Instant;

use tidegate_contract::json::JsonBounds;
use tidegate_contract::{CallError, ExternalResult, McpCapability, ToolCall, ToolOutcome, Value};
use tracing::Span;

use super::bound::Bound;
use super::{InvokeOptions, Runtime};
use crate::artifact::keep;
use crate::mcp::{self, McpAnswer, McpRegistry, McpRequest};
use crate::nodes::Node;
use crate::tool::BoxFuture;

impl Runtime {
    /// Lists the tools of MCP servers, or calls one of them.
    ///
    /// # Errors
    ///
    /// As [`mcp_discover`](Self::mcp_discover) and [`mcp_invoke`](Self::mcp_invoke).
    pub async fn act_mcp(
        &self,
        request: McpRequest,
        options: InvokeOptions,
    ) -> Result<McpAnswer, CallError> {
        Ok(match request {
            McpRequest::Discover { server } => McpAnswer::Discover {
                capabilities: self.mcp_discover(server.as_deref(), options).await?,
            },
            McpRequest::Invoke { server, call } => McpAnswer::Invoke {
                result: Box::new(self.mcp_invoke(&server, call, options).await?),
            },
        })
    }

    /// The same as a node. It has a place of its own: flows nest what holds the work of a node, and
    /// this is the largest.
    pub(super) fn mcp_node(
        &self,
        request: McpRequest,
        options: InvokeOptions,
    ) -> BoxFuture<'_, Result<McpAnswer, CallError>> {
        Box::pin(self.act_mcp(request, options))
    }

    /// The tools of one MCP server, or of each that is registered.
    ///
    /// # Errors
    ///
    /// [`CallError`]: a refusal before any server was asked; [`CallError::InvalidResult`] where one
    /// gave no valid list; [`CallError::Ended`] at the deadline and for a caller who gave up.
    pub async fn mcp_discover(
        &self,
        server: Option<&str>,
        options: InvokeOptions,
    ) -> Result<Vec<McpCapability>, CallError> {
        self.open()?;
        let registry = self.mcp()?;
        let servers = registry.listed(server, &self.permissions(&options.caller))?;
        let bound = Bound::new(&registry.settings().limits, &options);
        let _permit = self.admit(&bound, &options, &Span::current()).await?;
        let work = mcp::discover(&servers, registry.settings(), &options.cancel);
        let cut = |status, failure| Err(CallError::Ended { status, failure });
        bound.race(&options.cancel, work, cut).await
    }

    /// Calls one tool of one MCP server; the result's source is `server:tool`.
    ///
    /// # Errors
    ///
    /// [`CallError`]: a refusal before the server was asked. Whatever happens after is a result.
    pub async fn mcp_invoke(
        &self,
        server: &str,
        call: ToolCall,
        options: InvokeOptions,
    ) -> Result<ExternalResult, CallError> {
        self.open()?;
        let registry = self.mcp()?;
        let started = Instant::now();
        let source = mcp::source(server, &call);
        let permissions = self.permissions(&options.caller);
        let asked = registry.asked(server, &call, &permissions);
        let trail = self.0.audit.as_ref().map(|audit| {
            let of = (source.as_str(), &call);
            audit.decided_mcp(of, &options.caller.tenant, asked.as_ref().err(), started)
        });
        let end = match asked {
            Ok(server) => self.call_mcp(&server, &call, &options).await,
            Err(error) => Err(error),
        };
        if let Some(trail) = trail {
            trail.end(&end, None);
        }
        end
    }

    async fn call_mcp(
        &self,
        server: &mcp::Server,
        call: &ToolCall,
        options: &InvokeOptions,
    ) -> Result<ExternalResult, CallError> {
        let limits = self.mcp()?.settings().limits;
        let bound = Bound::new(&limits, options);
        let _permit = self.admit(&bound, options, &Span::current()).await?;
        let cut = |status, failure| {
            let outcome = ToolOutcome::ended(status, failure);
            let source = mcp::source(server.name(), call);
            Ok(ExternalResult::new(&call.id, source, outcome))
        };
        let shelf = keep::shelf(self.0.artifacts.as_ref(), &options.caller);
        let work = mcp::invoke(server, call, (&limits, shelf.as_ref()), &options.cancel);
        bound.race(&options.cancel, work, cut).await
    }

    /// Reads a request, where there are servers to ask.
    pub(super) fn mcp_input(
        &self,
        input: Value,
        bounds: &JsonBounds,
    ) -> Result<McpRequest, CallError> {
        self.mcp()?;
        McpRequest::from_value(input, bounds)
    }

    /// Makes the checks of a request and asks no server.
    pub(super) fn check_mcp(
        &self,
        request: &McpRequest,
        options: &InvokeOptions,
    ) -> Result<(), CallError> {
        let permissions = self.permissions(&options.caller);
        match request {
            McpRequest::Discover { server } => {
                let server = server.as_deref();
                self.mcp()?.listed(server, &permissions).map(drop)
            }
            McpRequest::Invoke { server, call } => {
                self.mcp()?.asked(server, call, &permissions).map(drop)
            }
        }
    }

    fn mcp(&self) -> Result<&McpRegistry, CallError> {
        self.0.mcp.as_ref().ok_or(CallError::NotInjected {
            node: Node::ActMcp.as_str(),
        })
    }
}
