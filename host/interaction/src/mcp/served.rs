//! The tools of a server as tools of this host (SPEC M5): registered beside those of plugins, called
//! under the same permissions and bounds, and answered with the same observations.
//!
//! A server may change its tools while it runs; [`Served::follow`] keeps up with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tidegate_contract::grant::{Grant, Names};
use tidegate_contract::{
    CallError, JsonObject, Limits, McpCapability, ToolCall, ToolDefinition, ToolName, ToolOutcome,
};
use tokio_util::sync::CancellationToken;

use super::discover;
use super::invoke;
use super::{McpHints, McpRegistry, McpSettings, Server};
use crate::registry::{RegisterError, Registration, ToolRegistry};
use crate::tool::{BoxFuture, CallContext, Tool};

/// How long the list of a server that says it has changed is left alone.
const SETTLES: Duration = Duration::from_millis(200);

/// The longest that it is left alone, where it goes on changing or can't be listed.
const SETTLES_AT_MOST: Duration = Duration::from_mins(1);

/// Why a server's tools are not served.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The server could not be listed.
    #[error("its tools could not be listed")]
    Listing(#[source] CallError),
    /// A tool has the name of another that is registered.
    #[error("a tool that it lists has the name of another; give its tools a prefix")]
    Taken(#[source] RegisterError),
}

/// A tool of a server that can't be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The server's own name for it, as it may be shown.
    pub tool: String,
    /// Why.
    pub reason: String,
}

/// What a server lists, as it stands in the registry. Dropping it leaves the tools in.
#[derive(Debug)]
pub struct Served {
    server: Arc<Server>,
    settings: McpSettings,
    prefix: String,
    tools: ToolRegistry,
    registered: BTreeMap<String, (ToolDefinition, Registration)>,
    left_out: Vec<LeftOut>,
}

impl McpRegistry {
    /// Registers what a server lists now, each tool under its own name after a prefix.
    ///
    /// # Errors
    ///
    /// [`ServeError`]; nothing is registered then.
    pub async fn serve(
        &self,
        (server, prefix): (&str, &str),
        tools: &ToolRegistry,
        cancel: &CancellationToken,
    ) -> Result<Served, ServeError> {
        let server = self.named(server).ok_or_else(|| {
            ServeError::Listing(CallError::UnknownServer {
                name: server.to_owned(),
            })
        })?;
        let mut served = Served {
            server,
            settings: *self.settings(),
            prefix: prefix.to_owned(),
            tools: tools.clone(),
            registered: BTreeMap::new(),
            left_out: Vec::new(),
        };
        if let Some(taken) = served.refresh(cancel).await.map_err(ServeError::Listing)? {
            for (_, registration) in served.registered.values_mut() {
                registration.unregister();
            }
            return Err(ServeError::Taken(taken));
        }
        Ok(served)
    }
}

impl Served {
    /// The tools that can't be served, of those that the server listed last.
    #[must_use]
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Keeps up with what the server says of its tools, until it is dropped. A server that says so again
    /// and again, or that can't be listed, is asked ever less often.
    pub async fn follow(mut self) {
        let mut pause = SETTLES;
        let mut is_current = true;
        loop {
            if is_current {
                let changed = self.server.client.changed();
                if tokio::time::timeout(pause * 4, changed).await.is_err() {
                    pause = SETTLES;
                    self.server.client.changed().await;
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(SETTLES_AT_MOST);
            let before = self.left_out.clone();
            let refreshed = self.refresh(&CancellationToken::new()).await;
            is_current = refreshed.is_ok();
            let server = self.server.name();
            if let Err(error) = refreshed {
                tracing::warn!(server, %error, "the changed list of an MCP server");
            }
            for LeftOut { tool, reason } in &self.left_out {
                if before.iter().all(|known| known.tool != *tool) {
                    tracing::warn!(
                        server,
                        tool,
                        reason,
                        "a tool of an MCP server is not served"
                    );
                }
            }
        }
    }

    /// Brings the registry to what the server lists now. Gives the first error of a name that is taken.
    async fn refresh(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<Option<RegisterError>, CallError> {
        let limit = Duration::from_millis(self.settings.limits.deadline_ms);
        let listing = discover::of_one(&self.server, &self.settings, cancel);
        let listed = tokio::time::timeout(limit, listing).await;
        let listed = listed.map_err(|_late| CallError::InvalidResult {
            reason: format!(
                "the MCP server `{}` did not list its tools within deadline_ms = {}",
                self.server.name(),
                self.settings.limits.deadline_ms
            ),
        })??;
        self.left_out.clear();
        let mut wanted = BTreeMap::new();
        for (capability, hints) in listed {
            let own_name = capability.name.clone();
            match self.definition(capability, hints) {
                Ok(definition) => drop(wanted.insert(own_name, definition)),
                Err(reason) => self.leave_out(&own_name, reason),
            }
        }
        self.registered
            .retain(|own_name, (definition, registration)| {
                let stays = wanted.get(own_name) == Some(definition);
                if !stays {
                    registration.unregister();
                }
                stays
            });
        let mut taken = None;
        for (own_name, definition) in wanted {
            if self.registered.contains_key(&own_name) {
                continue;
            }
            let tool = self.tool(&own_name, definition.clone());
            match self.tools.register(tool) {
                Ok(registration) => {
                    let kept = (definition, registration);
                    drop(self.registered.insert(own_name, kept));
                }
                Err(error) => {
                    let reason = std::error::Error::source(&error)
                        .map_or_else(|| error.to_string(), ToString::to_string);
                    self.leave_out(&own_name, reason);
                    if matches!(error, RegisterError::Duplicate(_)) {
                        taken.get_or_insert(error);
                    }
                }
            }
        }
        Ok(taken)
    }

    fn leave_out(&mut self, tool: &str, reason: String) {
        let tool = discover::shown(tool);
        self.left_out.push(LeftOut { tool, reason });
    }

    fn definition(
        &self,
        capability: McpCapability,
        hints: McpHints,
    ) -> Result<ToolDefinition, String> {
        let name = format!("{}{}", self.prefix, capability.name);
        let name = ToolName::new(name).map_err(|error| error.to_string())?;
        Ok(ToolDefinition {
            name,
            description: capability.description,
            input_schema: capability.input_schema.unwrap_or_default(),
            output_schema: capability.output_schema,
            effects: hints.effects(),
            requires_approval: false,
        })
    }

    fn tool(&self, own_name: &str, definition: ToolDefinition) -> RemoteTool {
        let name = self.server.name().to_owned();
        RemoteTool {
            server: Arc::clone(&self.server),
            definition,
            own_name: own_name.to_owned(),
            grant: Grant {
                mcp: Names::These(BTreeSet::from([name])),
                ..Grant::default()
            },
            limits: self.settings.limits,
        }
    }
}

/// One tool of a server.
struct RemoteTool {
    server: Arc<Server>,
    definition: ToolDefinition,
    own_name: String,
    /// The server itself: what a caller must be permitted to ask.
    grant: Grant,
    limits: Limits,
}

impl Tool for RemoteTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn execute<'a>(
        &'a self,
        call: &'a ToolCall,
        context: &'a CallContext,
    ) -> BoxFuture<'a, Result<ToolOutcome, CallError>> {
        Box::pin(async move {
            let nothing = JsonObject::new();
            let arguments = call.arguments.as_object().unwrap_or(&nothing);
            let asked = (self.own_name.as_str(), arguments);
            let bounds = (&self.limits, context.shelf.as_ref());
            invoke::ask(&self.server, asked, bounds, &context.cancel).await
        })
    }

    fn server(&self) -> Option<&str> {
        Some(self.server.name())
    }

    fn grant(&self) -> Option<&Grant> {
        Some(&self.grant)
    }

    fn limits(&self) -> Limits {
        self.limits
    }
}
