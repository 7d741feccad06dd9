//! Discovery: the pages of each server, under budgets that hold over all of them (SPEC M2).
//!
//! There is no partial list: a passed budget, a cursor that comes again, or a tool that can't be
//! described fails the whole discovery.

use std::collections::HashSet;
use std::sync::Arc;

use tidegate_contract::json::{self, JsonBounds};
use tidegate_contract::tool::{DESCRIPTION_BYTES, SCHEMA_BYTES};
use tidegate_contract::{CallError, Failure, JsonObject, McpCapability, Status, Value};
use tokio_util::sync::CancellationToken;

use super::{McpError, McpHints, McpPage, McpSettings, McpTool, Server};

/// Most bytes of names, descriptions and schemas that one discovery keeps.
const DISCOVERY_BYTES: usize = 16 * 1024 * 1024;

/// The longest name of a tool that a server may list, in bytes.
const TOOL_NAME_BYTES: usize = 256;

/// The longest cursor, in bytes: it is kept to know it again.
const CURSOR_BYTES: usize = 4096;

/// Lists the tools of servers, in order.
pub(crate) async fn discover(
    servers: &[Arc<Server>],
    settings: &McpSettings,
    cancel: &CancellationToken,
) -> Result<Vec<McpCapability>, CallError> {
    let mut found = Found::new(settings);
    for server in servers {
        let listed = found.list(server, cancel).await;
        listed.map_err(|problem| problem.of(&server.name))?;
    }
    Ok(found
        .capabilities
        .into_iter()
        .map(|(found, _)| found)
        .collect())
}

/// Lists the tools of one server, with what it says of their effects.
pub(super) async fn of_one(
    server: &Server,
    settings: &McpSettings,
    cancel: &CancellationToken,
) -> Result<Vec<(McpCapability, McpHints)>, CallError> {
    let mut found = Found::new(settings);
    let listed = found.list(server, cancel).await;
    listed.map_err(|problem| problem.of(&server.name))?;
    Ok(found.capabilities)
}

/// What a discovery has found so far.
struct Found<'a> {
    capabilities: Vec<(McpCapability, McpHints)>,
    settings: &'a McpSettings,
    pages: u32,
    left_bytes: usize,
}

/// Why a discovery fails.
enum Problem {
    Cancelled,
    Client(McpError),
    Listing(String),
}

impl From<String> for Problem {
    fn from(reason: String) -> Self {
        Self::Listing(reason)
    }
}

impl Problem {
    fn of(self, server: &str) -> CallError {
        let reason = match self {
            Self::Cancelled | Self::Client(McpError::Cancelled) => {
                return CallError::Ended {
                    status: Status::Cancelled,
                    failure: Failure::cancelled(),
                };
            }
            Self::Client(McpError::SecretInResult) => return CallError::SecretInResult,
            Self::Client(error) => {
                tracing::warn!(
                    server,
                    error = error.shown(),
                    "an MCP server could not be listed"
                );
                match error {
                    McpError::Unavailable { .. } => "could not be reached".to_owned(),
                    McpError::TooLarge { limit_bytes } => {
                        format!("listed a page of more than {limit_bytes} bytes")
                    }
                    _ => "answered `tools/list` with no valid page".to_owned(),
                }
            }
            Self::Listing(reason) => reason,
        };
        CallError::InvalidResult {
            reason: format!("the MCP server `{server}` {reason}"),
        }
    }
}

impl<'a> Found<'a> {
    fn new(settings: &'a McpSettings) -> Self {
        Self {
            capabilities: Vec::new(),
            settings,
            pages: 0,
            left_bytes: DISCOVERY_BYTES,
        }
    }

    async fn list(&mut self, server: &Server, cancel: &CancellationToken) -> Result<(), Problem> {
        let mut seen = HashSet::new();
        let mut names = HashSet::new();
        let mut cursor: Option<String> = None;
        loop {
            if cancel.is_cancelled() {
                return Err(Problem::Cancelled);
            }
            if self.pages >= self.settings.max_discovery_pages {
                let limit = self.settings.max_discovery_pages;
                return Err(format!("has more pages than max_discovery_pages = {limit}").into());
            }
            self.pages += 1;
            let page = server.client.list_tools(cursor.as_deref(), cancel).await;
            let McpPage { tools, next_cursor } = page.map_err(Problem::Client)?;
            if cancel.is_cancelled() {
                return Err(Problem::Cancelled);
            }
            self.take(&server.name, tools, &mut names)?;
            let Some(next) = next_cursor else {
                return Ok(());
            };
            check_cursor(&next)?;
            if !seen.insert(next.clone()) {
                return Err("repeated a cursor of its pages".to_owned().into());
            }
            cursor = Some(next);
        }
    }

    /// The budget is checked before anything of the page is kept.
    fn take(
        &mut self,
        server: &str,
        tools: Vec<McpTool>,
        names: &mut HashSet<String>,
    ) -> Result<(), String> {
        let limit = self.settings.max_capabilities;
        let count = self.capabilities.len().saturating_add(tools.len());
        if u32::try_from(count).map_or(true, |count| count > limit) {
            return Err(format!("has more tools than max_capabilities = {limit}"));
        }
        for tool in tools {
            let hints = tool.hints;
            let capability = self.capability(server, tool)?;
            if !names.insert(capability.name.clone()) {
                let name = shown(&capability.name);
                return Err(format!("lists two tools of the name `{name}`"));
            }
            self.capabilities.push((capability, hints));
        }
        Ok(())
    }

    fn capability(&mut self, server: &str, tool: McpTool) -> Result<McpCapability, String> {
        let McpTool {
            name,
            description,
            input_schema,
            output_schema,
            hints: _,
        } = tool;
        if name.trim().is_empty() || name.len() > TOOL_NAME_BYTES {
            return Err(format!(
                "lists a tool whose name is not 1 to {TOOL_NAME_BYTES} bytes"
            ));
        }
        self.spend(name.len(), &name)?;
        if let Some(description) = &description {
            // A description longer than a plugin may have is no reason to lose the server.
            self.spend(description.len().min(DESCRIPTION_BYTES), &name)?;
        }
        let input_schema = Some(self.schema("inputSchema", input_schema, &name)?);
        let output_schema = output_schema
            .map(|schema| self.schema("outputSchema", schema, &name))
            .transpose()?;
        Ok(McpCapability {
            server: server.to_owned(),
            name,
            description: description
                .map(|text| tidegate_contract::text::cut(&text, DESCRIPTION_BYTES).to_owned()),
            input_schema,
            output_schema,
        })
    }

    fn schema(&mut self, field: &str, schema: Value, tool: &str) -> Result<JsonObject, String> {
        let tool = shown(tool);
        let bounds = JsonBounds {
            bytes: SCHEMA_BYTES.min(self.left_bytes),
            ..JsonBounds::default()
        };
        match json::measure(&schema, &bounds) {
            Ok(bytes) => self.spend(bytes, &tool)?,
            Err(error) => {
                json::discard(schema);
                return Err(format!(
                    "lists the tool `{tool}` with an {field} that passes a bound: {error}"
                ));
            }
        }
        match schema {
            Value::Object(schema) => Ok(schema),
            _ => Err(format!(
                "lists the tool `{tool}` with an {field} that is no object"
            )),
        }
    }

    fn spend(&mut self, bytes: usize, tool: &str) -> Result<(), String> {
        match self.left_bytes.checked_sub(bytes) {
            Some(left) => {
                self.left_bytes = left;
                Ok(())
            }
            None => Err(format!(
                "passes {DISCOVERY_BYTES} bytes of tools at `{}`",
                shown(tool)
            )),
        }
    }
}

fn check_cursor(cursor: &str) -> Result<(), String> {
    if cursor.trim().is_empty() {
        return Err("gave a blank cursor".to_owned());
    }
    if cursor.len() > CURSOR_BYTES {
        return Err(format!("gave a cursor of more than {CURSOR_BYTES} bytes"));
    }
    Ok(())
}

/// A name that a server chose, as an error may show it.
pub(super) fn shown(name: &str) -> String {
    let letters = name.chars().filter(|letter| !letter.is_control());
    letters.take(64).collect()
}
