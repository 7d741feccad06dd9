//! The tools of MCP servers beside those of plugins: `mcp.NAME.serve` (SPEC M5).
//!
//! A server is asked for its tools once the plugins are loaded, so that a collision of names does not
//! depend on which of the two answers first: it is refused.

use std::collections::BTreeMap;

use anyhow::Context as _;
use tidegate::{CancellationToken, LeftOut, McpRegistry, ServeError, ToolRegistry};
use tidegate_contract::grant::Grant;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::mcp_servers::ServerConfig;
use crate::print;

/// The servers that are to be served, and what keeps up with those that are.
#[derive(Debug)]
pub(crate) struct Upstream {
    /// Names and prefixes.
    servers: Vec<(String, String)>,
    registry: Option<McpRegistry>,
    tools: ToolRegistry,
    following: Mutex<JoinSet<()>>,
}

impl Upstream {
    /// Those of a file that are granted, and have a tool that may be.
    pub(crate) fn new(
        configs: &BTreeMap<String, ServerConfig>,
        sandbox: &Grant,
        (registry, tools): (Option<&McpRegistry>, &ToolRegistry),
    ) -> Self {
        let is_wanted = |name: &str, config: &ServerConfig| {
            config.serve && sandbox.mcp.allows(name) && !sandbox.tools.is_empty()
        };
        let servers = configs
            .iter()
            .filter(|(name, config)| is_wanted(name, config))
            .map(|(name, config)| (name.clone(), config.prefix.clone()));
        Self {
            servers: servers.collect(),
            registry: registry.cloned(),
            tools: tools.clone(),
            following: Mutex::default(),
        }
    }

    /// Registers what each lists. One that can't be listed is left out, with a warning.
    ///
    /// # Errors
    ///
    /// A tool has the name of another.
    pub(crate) async fn take_in(&self, cancel: &CancellationToken) -> anyhow::Result<()> {
        let Some(registry) = &self.registry else {
            return Ok(());
        };
        for (name, prefix) in &self.servers {
            let served = registry.serve((name, prefix), &self.tools, cancel).await;
            if cancel.is_cancelled() {
                return Ok(());
            }
            match served {
                Ok(served) => {
                    for LeftOut { tool, reason } in served.left_out() {
                        print::warning(&format!(
                            "warning: mcp.{name}: the tool `{tool}` is not served: {reason}"
                        ));
                    }
                    let mut following = self.following.lock().await;
                    drop(following.spawn(served.follow()));
                }
                Err(ServeError::Listing(error)) => {
                    print::warning(&format!("warning: mcp.{name}: not served: {error}"));
                }
                Err(error @ ServeError::Taken(_)) => {
                    return Err(error).with_context(|| format!("mcp.{name}"));
                }
            }
        }
        Ok(())
    }

    /// Asks no server any more.
    pub(crate) async fn end(&self) {
        self.following.lock().await.shutdown().await;
    }
}
