//! `mcp` and `interaction.mcp`: the MCP servers that flows may ask, and whose tools may be served (SPEC
//! L4, M2, M4).
//!
//! The section has the shape that other programs call `mcpServers`. A program is found when the file is
//! read, for servers that are granted; it is started by the first call.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use tidegate::{
    BoxFuture, CancellationToken, Injection, McpClient, McpError, McpPage, McpRegistry,
    McpSettings, McpToolResult, Network, Secret,
};
use tidegate_contract::{JsonObject, Limits, Names, NetworkGrant, NetworkRule, ToolName};
use tidegate_mcp::{
    ConnectSettings, Era, HttpEndpoint, HttpServer, MessageBounds, PeerName, Sealed, StdioServer,
};
use tidegate_sandbox::ChildProgram;

use crate::secrets::Secrets;

/// One entry of `mcp`: a program or an address.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServerConfig {
    /// What other programs write too; it says nothing that the other keys don't.
    pub(crate) r#type: Option<ServerType>,
    pub(crate) command: Option<String>,
    pub(crate) args: Vec<String>,
    pub(crate) env: BTreeMap<String, Setting>,
    pub(crate) url: Option<String>,
    pub(crate) headers: BTreeMap<String, Setting>,
    /// Addresses that are not public and that the URL's name may lead to.
    pub(crate) addresses: Vec<String>,
    pub(crate) protocol: Protocol,
    pub(crate) start_ms: Option<u64>,
    pub(crate) message_bytes: Option<usize>,
    /// Whether its tools are tools of this host too.
    pub(crate) serve: bool,
    /// What stands before the name of each tool then.
    pub(crate) prefix: String,
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ServerType {
    Stdio,
    Http,
    StreamableHttp,
}

/// Which era of the protocol a server speaks.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Protocol {
    #[default]
    #[serde(rename = "ask")]
    Ask,
    #[serde(rename = "2025-11-25")]
    Handshake,
    #[serde(rename = "2026-07-28")]
    Stateless,
}

/// A value that stands in the file, or one of `secrets`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a text, or {secret: NAME, prefix: TEXT}")]
pub(crate) enum Setting {
    Text(String),
    Secret(SecretSetting),
}

/// A secret by its name, after a text such as `Bearer `.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecretSetting {
    pub(crate) secret: String,
    #[serde(default)]
    pub(crate) prefix: String,
}

/// `interaction.mcp`.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Budgets {
    pub(crate) max_discovery_pages: Option<u32>,
    pub(crate) max_capabilities: Option<u32>,
}

impl Budgets {
    pub(crate) fn settings(self, limits: Limits) -> McpSettings {
        let default = McpSettings::default();
        McpSettings {
            max_discovery_pages: self
                .max_discovery_pages
                .unwrap_or(default.max_discovery_pages),
            max_capabilities: self.max_capabilities.unwrap_or(default.max_capabilities),
            limits,
        }
    }
}

impl ServerConfig {
    /// What it reaches, for whoever decides whether to trust the file that names it.
    pub(crate) fn reaches(&self) -> String {
        match (&self.command, &self.url) {
            (Some(command), _) => {
                let words = std::iter::once(command).chain(&self.args);
                let words: Vec<&str> = words.map(String::as_str).collect();
                format!("the command {}", words.join(" "))
            }
            (None, Some(url)) => url.clone(),
            (None, None) => "nothing".to_owned(),
        }
    }

    /// Checks that it is one server, and that its values are in range.
    ///
    /// # Errors
    ///
    /// Keys of both kinds, or of none.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if !self.serve && !self.prefix.is_empty() {
            bail!("`prefix` goes with `serve: true`");
        }
        // One letter stands for the rest of a name.
        if ToolName::new(format!("{}x", self.prefix)).is_err() {
            bail!("`prefix`: expected at most 63 of letters, digits, `_` and `-`");
        }
        let of_url = !self.headers.is_empty() || !self.addresses.is_empty();
        let of_command = !self.args.is_empty() || !self.env.is_empty();
        match (&self.command, &self.url) {
            (Some(_), Some(_)) | (None, None) => bail!("expected exactly one of command and url"),
            (Some(_), None) if of_url => bail!("`headers` and `addresses` go with `url`"),
            (None, Some(_)) if of_command => bail!("`args` and `env` go with `command`"),
            (Some(_), None) if self.r#type.is_some_and(|of| of != ServerType::Stdio) => {
                bail!("the type of a server with a command is `stdio`")
            }
            (None, Some(_)) if self.r#type == Some(ServerType::Stdio) => {
                bail!("the type of a server with a url is `http`")
            }
            _ => Ok(()),
        }
    }

    fn settings(&self) -> ConnectSettings {
        let default = ConnectSettings::default();
        ConnectSettings {
            messages: self
                .message_bytes
                .map_or(default.messages, |message_bytes| MessageBounds {
                    message_bytes,
                }),
            start_ms: self.start_ms.unwrap_or(default.start_ms),
            era: match self.protocol {
                Protocol::Ask => Era::Ask,
                Protocol::Handshake => Era::Handshake,
                Protocol::Stateless => Era::Stateless,
            },
        }
    }
}

/// The servers that a host has open, so that a door can end them.
#[derive(Debug, Default)]
pub(crate) struct Servers(Vec<Server>);

#[derive(Debug)]
enum Server {
    Program(StdioServer),
    Address(HttpServer),
}

impl Servers {
    /// Ends every program that was started, and every connection.
    pub(crate) async fn close(&self) {
        for server in &self.0 {
            match server {
                Server::Program(server) => server.close().await,
                Server::Address(server) => server.close().await,
            }
        }
    }
}

/// What servers are opened with.
pub(crate) struct Opening<'a, 'b> {
    /// The servers that may be asked; the others are not looked at.
    pub(crate) granted: &'a Names,
    pub(crate) settings: McpSettings,
    pub(crate) folder: &'a Path,
    pub(crate) network: &'a Network,
    pub(crate) secrets: &'a mut Secrets<'b>,
}

impl Opening<'_, '_> {
    /// The registry of the servers of a file; none where it names none.
    ///
    /// # Errors
    ///
    /// Names the server, and what is wrong with it.
    pub(crate) fn open(
        mut self,
        configs: &BTreeMap<String, ServerConfig>,
    ) -> anyhow::Result<(Option<McpRegistry>, Servers)> {
        let registry = McpRegistry::new(self.settings).context("interaction.mcp")?;
        let mut servers = Servers::default();
        if configs.is_empty() {
            return Ok((None, servers));
        }
        for (name, config) in configs {
            let opened = self.server(name, config);
            let opened = opened.with_context(|| format!("mcp.{name}"))?;
            let given = match &opened {
                Some(_) => self.given(config),
                None => Ok(Vec::new()),
            };
            let given = given.with_context(|| format!("mcp.{name}"))?;
            let registered = match &opened {
                Some(Server::Program(server)) => {
                    registry.register(name, Sealed::new(server.clone(), given))
                }
                Some(Server::Address(server)) => {
                    registry.register(name, Sealed::new(server.clone(), given))
                }
                None => registry.register(name, Ungranted),
            };
            // The registration lives as long as the registry: a command never takes a server out.
            drop(registered.with_context(|| format!("mcp.{name}"))?);
            servers.0.extend(opened);
        }
        Ok((Some(registry), servers))
    }

    fn server(&mut self, name: &str, config: &ServerConfig) -> anyhow::Result<Option<Server>> {
        config.check()?;
        if !self.granted.allows(name) {
            return Ok(None);
        }
        let name = PeerName::with_secrets(name, self.given(config)?);
        if let Some(command) = &config.command {
            let environment = self.environment(config)?;
            let args = config.args.clone();
            let program = ChildProgram::find(command, self.folder, args, &environment)?;
            let server = StdioServer::new(name, program, config.settings())?;
            return Ok(Some(Server::Program(server)));
        }
        let url = config.url.clone().unwrap_or_default();
        let endpoint = self.endpoint(url, config)?;
        let server = HttpServer::new(name, endpoint, self.network, config.settings())?;
        Ok(Some(Server::Address(server)))
    }

    /// The secrets that a server is given. It is not asked of one that is not granted.
    fn given(&mut self, config: &ServerConfig) -> anyhow::Result<Vec<Secret>> {
        let settings = config.env.values().chain(config.headers.values());
        let names = settings.filter_map(|setting| match setting {
            Setting::Secret(SecretSetting { secret, .. }) => Some(secret),
            Setting::Text(_) => None,
        });
        names.map(|name| self.secrets.secret(name)).collect()
    }

    fn environment(&mut self, config: &ServerConfig) -> anyhow::Result<Vec<(String, String)>> {
        let mut environment = Vec::new();
        for (name, setting) in &config.env {
            let value = match setting {
                Setting::Text(text) => text.clone(),
                Setting::Secret(SecretSetting { secret, prefix }) => {
                    let secret = self.secrets.secret(secret);
                    let secret = secret.with_context(|| format!("env.{name}"))?;
                    format!("{prefix}{}", secret.reveal())
                }
            };
            environment.push((name.clone(), value));
        }
        Ok(environment)
    }

    fn endpoint(&mut self, url: String, config: &ServerConfig) -> anyhow::Result<HttpEndpoint> {
        let origin = origin_of(&url)?;
        let mut rule = NetworkRule::new(origin).context("url")?;
        for address in &config.addresses {
            rule = rule.with_address(address).context("addresses")?;
        }
        let mut grant = NetworkGrant::default();
        let origin = rule.origin().to_owned();
        grant.insert(rule);
        let mut headers = HeaderMap::new();
        let mut injections = Vec::new();
        for (name, setting) in &config.headers {
            let at = || format!("headers.{name}");
            match setting {
                Setting::Text(text) => {
                    let value = HeaderValue::try_from(text.as_str()).with_context(at)?;
                    headers.insert(HeaderName::try_from(name.as_str()).with_context(at)?, value);
                }
                Setting::Secret(SecretSetting { secret, prefix }) => {
                    let secret = self.secrets.secret(secret).with_context(at)?;
                    let made = Injection::new(&origin, name, prefix, secret);
                    injections.push(made.with_context(at)?);
                }
            }
        }
        Ok(HttpEndpoint {
            url,
            grant,
            headers,
            injections,
        })
    }
}

/// The part of a URL before its path; what it is worth is judged where it is granted.
fn origin_of(url: &str) -> anyhow::Result<&str> {
    let Some((scheme, rest)) = url.split_once("://") else {
        bail!("url: expected http:// or https:// and a host");
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let length = scheme.len() + "://".len() + end;
    url.get(..length).context("url")
}

/// Stands for a server that is not granted: permission is checked before anybody is asked.
struct Ungranted;

impl Ungranted {
    fn unavailable() -> McpError {
        McpError::Unavailable {
            reason: "it is not granted".to_owned(),
        }
    }
}

impl McpClient for Ungranted {
    fn list_tools<'a>(
        &'a self,
        _cursor: Option<&'a str>,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<McpPage, McpError>> {
        Box::pin(async { Err(Self::unavailable()) })
    }

    fn call_tool<'a>(
        &'a self,
        _name: &'a str,
        _arguments: &'a JsonObject,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<McpToolResult, McpError>> {
        Box::pin(async { Err(Self::unavailable()) })
    }
}
