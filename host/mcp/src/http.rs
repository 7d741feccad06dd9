//! A server that is reached over HTTP (streamable HTTP), through the sandbox's gate to the network.
//!
//! Each message is one POST; its answers come as JSON or as events. Redirects are not followed, and no
//! address that the server names is opened. Deliberately absent: the standing GET stream, since the
//! host answers no question of a server, and OAuth.
//!
//! A server that says by 404 that it knows a session no longer, or by the protocol's error that it misses
//! a header, has taken nothing of the request. That request is sent again, once: in a new session, or
//! with the headers that the list of tools tells of. Nothing else is ever sent twice.

mod events;
mod exchange;
mod marked;

use std::sync::Arc;

use http::HeaderMap;
use rmcp::{Peer, RoleClient};
use tidegate::{
    BoxFuture, CancellationToken, Injection, McpClient, McpError, McpPage, McpToolResult, Network,
};
use tidegate_contract::{JsonObject, NetworkGrant};
use tidegate_sandbox::Egress;

use crate::client::{self, Connection, Era};
use crate::error::StartError;
use crate::link::{self, ConnectSettings, Link, Live};
use crate::said::PeerName;

pub(crate) use exchange::Target;
use exchange::{HttpTransport, View};

/// The protocol's error for a request whose headers are not what its body says (MCP 2026-07-28).
const HEADER_MISMATCH: i64 = -32_020;

/// Pages that are asked for what they say of headers.
const PAGES: usize = 100;

/// What is sent to a server with each request.
#[derive(Debug)]
pub struct HttpEndpoint {
    /// Where it is: http or https.
    pub url: String,
    /// What may be reached: the URL's origin, with the addresses that its name may lead to where they
    /// are not public.
    pub grant: NetworkGrant,
    /// Headers that are no secrets.
    pub headers: HeaderMap,
    /// Headers that are.
    pub injections: Vec<Injection>,
}

/// A server over HTTP. Cloning gives another handle to the same one.
#[derive(Clone, Debug)]
pub struct HttpServer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    target: Arc<Target>,
    settings: ConnectSettings,
    link: Link<View>,
}

impl HttpServer {
    /// A server under its name in the registry. Nothing is connected yet.
    ///
    /// # Errors
    ///
    /// [`StartError::Url`] when the URL can't be asked; [`StartError::Bound`] when a setting is out of
    /// range.
    pub fn new(
        name: impl Into<PeerName>,
        endpoint: HttpEndpoint,
        network: &Network,
        settings: ConnectSettings,
    ) -> Result<Self, StartError> {
        settings.check()?;
        let HttpEndpoint {
            url,
            grant,
            headers,
            injections,
        } = endpoint;
        let egress = Egress::open(&grant, network, injections);
        egress
            .check("POST", &url)
            .map_err(|_refusal| StartError::Url)?;
        Ok(Self(Arc::new(Inner {
            target: Arc::new(Target {
                name: name.into(),
                url,
                egress,
                headers,
                bounds: settings.messages,
            }),
            settings,
            link: Link::default(),
        })))
    }

    /// Ends the connection, and its session with it; a later call would make it again.
    pub async fn close(&self) {
        if let Some(live) = self.0.link.take().await {
            live.connection.close().await;
        }
    }

    /// Asks over the connection; once more over another, where the server has taken nothing.
    async fn ask<T, F>(
        &self,
        cancel: &CancellationToken,
        ask: impl Fn(Peer<RoleClient>) -> F,
    ) -> Result<T, McpError>
    where
        F: Future<Output = Result<T, McpError>>,
    {
        let live = self.live(cancel).await?;
        let answer = ask(live.connection.peer()).await;
        if !live.carrier.is_forgotten() {
            return answer;
        }
        self.0.link.give_up(&live).await;
        match answer {
            Err(McpError::Unavailable { .. }) => {
                let live = self.live(cancel).await?;
                ask(live.connection.peer()).await
            }
            other => other,
        }
    }

    /// Goes through the list of tools for what it says of headers: whether it wants some for a tool. A
    /// server of the era before never does.
    async fn wants_headers(&self, tool: &str, cancel: &CancellationToken) -> bool {
        let mut cursor = None;
        for _ in 0..PAGES {
            match self.list_tools(cursor.as_deref(), cancel).await {
                Ok(page) if page.next_cursor.is_some() => cursor = page.next_cursor,
                Ok(_last) => break,
                Err(_error) => return false,
            }
        }
        let live = self.live(cancel).await;
        live.is_ok_and(|live| live.carrier.marks(tool))
    }

    async fn live(&self, cancel: &CancellationToken) -> Result<Arc<Live<View>>, McpError> {
        let ConnectSettings { start_ms, era, .. } = self.0.settings;
        let make = link::within(start_ms, era, |era| self.0.connect(era));
        self.0.link.live(make, cancel).await
    }
}

impl Inner {
    async fn connect(&self, era: Era) -> Result<Live<View>, String> {
        let transport =
            HttpTransport::new(Arc::clone(&self.target), Arc::clone(self.link.changed()));
        let carrier = transport.view();
        let connection = Connection::open(transport, era).await?;
        Ok(Live {
            connection,
            carrier,
        })
    }
}

impl McpClient for HttpServer {
    fn list_tools<'a>(
        &'a self,
        cursor: Option<&'a str>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<McpPage, McpError>> {
        let ask = move |peer: Peer<RoleClient>| async move {
            client::list_tools(&peer, cursor, cancel).await
        };
        Box::pin(self.ask(cancel, ask))
    }

    fn call_tool<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a JsonObject,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<McpToolResult, McpError>> {
        let ask = move |peer: Peer<RoleClient>| async move {
            client::call_tool(&peer, (name, arguments), cancel).await
        };
        Box::pin(async move {
            let answer = self.ask(cancel, ask).await;
            match answer {
                Err(McpError::Protocol {
                    code: Some(HEADER_MISMATCH),
                    ..
                }) if self.wants_headers(name, cancel).await => self.ask(cancel, ask).await,
                answer => answer,
            }
        })
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.link.changed().notified())
    }
}
