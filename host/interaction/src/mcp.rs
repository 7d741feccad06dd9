//! MCP servers as a caller sees them (SPEC M1-M3): a registry of clients, asked by name.
//!
//! A client is a port ([`McpClient`]): the connection behind it belongs to the application.
//! Deliberately absent: wire shapes, transports, retries, and asking a server that nobody permitted.

mod client;
mod discover;
mod invoke;
mod request;
mod served;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use thiserror::Error;
use tidegate_contract::grant::Grant;
use tidegate_contract::{CallError, Limits, Problem, ToolCall};

pub use client::{McpBlob, McpClient, McpError, McpHints, McpPage, McpTool, McpToolResult};
pub(crate) use discover::discover;
pub(crate) use invoke::{invoke, source};
pub use request::{McpAnswer, McpRequest};
pub use served::{LeftOut, ServeError, Served};

/// The longest name of a server, in characters.
const NAME_CHARACTERS: usize = 64;

/// Most pages that a discovery may be permitted to ask for.
pub const MAX_DISCOVERY_PAGES: u32 = 10_000;

/// Most capabilities that a discovery may be permitted to give.
pub const MAX_CAPABILITIES: u32 = 100_000;

/// What the calls of one registry may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpSettings {
    /// Pages that one discovery asks for, over all servers. Default: 100; from 1 to
    /// [`MAX_DISCOVERY_PAGES`].
    pub max_discovery_pages: u32,
    /// Capabilities that one discovery gives, over all servers. Default: 1,000; from 1 to
    /// [`MAX_CAPABILITIES`].
    pub max_capabilities: u32,
    /// `deadline_ms`, `arguments_bytes` and `result_bytes` hold for each discovery and each call.
    pub limits: Limits,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            max_discovery_pages: 100,
            max_capabilities: 1_000,
            limits: Limits::default(),
        }
    }
}

/// Why a registry or a registration was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum McpRegisterError {
    /// A server has this name already.
    #[error("the MCP server `{0}` is registered already")]
    Duplicate(String),
    /// The name is of another shape.
    #[error(
        "the name of an MCP server is 1 to {NAME_CHARACTERS} characters without spaces and controls"
    )]
    Name,
    /// A budget is out of range.
    #[error("{name} must be from 1 to {maximum}")]
    Budget {
        /// The setting.
        name: &'static str,
        /// Its maximum.
        maximum: u32,
    },
}

/// One registered server.
pub(crate) struct Server {
    name: String,
    client: Box<dyn McpClient>,
}

impl Server {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

type Servers = RwLock<Vec<Arc<Server>>>;

/// The MCP servers of one or more runtimes, in the order of registration. Cloning gives another handle
/// to the same registry.
///
/// ```
/// use tidegate::{
///     BoxFuture, CancellationToken, McpClient, McpError, McpPage, McpRegistry, McpToolResult,
/// };
/// use tidegate::contract::JsonObject;
///
/// /// A server that this program talks to itself.
/// struct Empty;
///
/// impl McpClient for Empty {
///     fn list_tools<'a>(
///         &'a self,
///         _cursor: Option<&'a str>,
///         _cancel: &'a CancellationToken,
///     ) -> BoxFuture<'a, Result<McpPage, McpError>> {
///         Box::pin(async { Ok(McpPage::default()) })
///     }
///
///     fn call_tool<'a>(
///         &'a self,
///         _name: &'a str,
///         _arguments: &'a JsonObject,
///         _cancel: &'a CancellationToken,
///     ) -> BoxFuture<'a, Result<McpToolResult, McpError>> {
///         Box::pin(async { Ok(McpToolResult::default()) })
///     }
/// }
///
/// let servers = McpRegistry::default();
/// let mut handle = servers.register("files", Empty)?;
/// assert!(handle.unregister(), "true the first time");
/// assert!(!handle.unregister(), "false after");
/// # Ok::<(), tidegate::McpRegisterError>(())
/// ```
#[derive(Clone, Default)]
pub struct McpRegistry {
    servers: Arc<Servers>,
    settings: McpSettings,
}

impl fmt::Debug for McpRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("McpRegistry").field(&self.names()).finish()
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Server").field(&self.name).finish()
    }
}

/// Takes a server out of its registry. Dropping it leaves the server in.
#[derive(Debug)]
#[must_use = "dropping the handle leaves the server registered for good"]
pub struct McpRegistration {
    servers: Weak<Servers>,
    server: Weak<Server>,
}

impl McpRegistration {
    /// Unregisters the server: true the first time, false after. It closes nothing, and a call that
    /// runs ends by itself.
    pub fn unregister(&mut self) -> bool {
        let (Some(servers), Some(server)) = (self.servers.upgrade(), self.server.upgrade()) else {
            return false;
        };
        let mut servers = servers.write().unwrap_or_else(PoisonError::into_inner);
        let before = servers.len();
        servers.retain(|other| !Arc::ptr_eq(other, &server));
        self.server = Weak::new();
        servers.len() < before
    }
}

impl McpRegistry {
    /// An empty registry.
    ///
    /// # Errors
    ///
    /// [`McpRegisterError::Budget`] when a budget is 0 or over its maximum.
    pub fn new(settings: McpSettings) -> Result<Self, McpRegisterError> {
        let budgets = [
            (
                "max_discovery_pages",
                settings.max_discovery_pages,
                MAX_DISCOVERY_PAGES,
            ),
            (
                "max_capabilities",
                settings.max_capabilities,
                MAX_CAPABILITIES,
            ),
        ];
        for (name, value, maximum) in budgets {
            if !(1..=maximum).contains(&value) {
                return Err(McpRegisterError::Budget { name, maximum });
            }
        }
        Ok(Self {
            servers: Arc::default(),
            settings,
        })
    }

    /// Adds a server under a name that no other has.
    ///
    /// # Errors
    ///
    /// [`McpRegisterError`]; nothing is registered then.
    pub fn register(
        &self,
        name: &str,
        client: impl McpClient + 'static,
    ) -> Result<McpRegistration, McpRegisterError> {
        let unfit = |letter: char| letter.is_control() || letter.is_whitespace();
        if name.is_empty() || name.chars().count() > NAME_CHARACTERS || name.contains(unfit) {
            return Err(McpRegisterError::Name);
        }
        let mut servers = self.servers.write().unwrap_or_else(PoisonError::into_inner);
        if servers.iter().any(|server| server.name == name) {
            return Err(McpRegisterError::Duplicate(name.to_owned()));
        }
        let server = Arc::new(Server {
            name: name.to_owned(),
            client: Box::new(client),
        });
        servers.push(Arc::clone(&server));
        Ok(McpRegistration {
            servers: Arc::downgrade(&self.servers),
            server: Arc::downgrade(&server),
        })
    }

    /// The names of the servers, in the order of registration.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        servers.iter().map(|server| server.name.clone()).collect()
    }

    /// What its calls may use.
    #[must_use]
    pub fn settings(&self) -> &McpSettings {
        &self.settings
    }

    fn named(&self, name: &str) -> Option<Arc<Server>> {
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        servers
            .iter()
            .find(|server| server.name == name)
            .map(Arc::clone)
    }

    /// The servers that a discovery asks, in order. Every permission is checked before the first of
    /// them is asked (GAP 18).
    pub(crate) fn listed(
        &self,
        server: Option<&str>,
        permissions: &Grant,
    ) -> Result<Vec<Arc<Server>>, CallError> {
        if let Some(name) = server {
            return Ok(vec![self.permitted(name, permissions)?]);
        }
        let servers = self.servers.read().unwrap_or_else(PoisonError::into_inner);
        for server in servers.iter() {
            check_permission(&server.name, permissions)?;
        }
        Ok(servers.clone())
    }

    /// The server that a call asks, after every check of the call.
    pub(crate) fn asked(
        &self,
        server: &str,
        call: &ToolCall,
        permissions: &Grant,
    ) -> Result<Arc<Server>, CallError> {
        let server = self.permitted(server, permissions)?;
        self.check_arguments(call)?;
        Ok(server)
    }

    /// Permission first, so that nobody learns what is registered.
    fn permitted(&self, name: &str, permissions: &Grant) -> Result<Arc<Server>, CallError> {
        check_permission(name, permissions)?;
        self.named(name).ok_or_else(|| CallError::UnknownServer {
            name: name.to_owned(),
        })
    }

    fn check_arguments(&self, call: &ToolCall) -> Result<(), CallError> {
        let limit_bytes = self.settings.limits.arguments_bytes;
        let bytes = call.arguments.text().len();
        let reason = if call.arguments.as_object().is_none() {
            "expected a JSON object".to_owned()
        } else if u64::try_from(bytes).map_or(true, |bytes| bytes > limit_bytes) {
            format!("the arguments are {bytes} bytes, more than arguments_bytes = {limit_bytes}")
        } else {
            return Ok(());
        };
        Err(CallError::InvalidArguments {
            problems: vec![Problem {
                pointer: String::new(),
                reason,
            }],
        })
    }
}

fn check_permission(name: &str, permissions: &Grant) -> Result<(), CallError> {
    if permissions.mcp.allows(name) {
        Ok(())
    } else {
        Err(CallError::denied("mcp", name))
    }
}
