//! Serving one client over two byte streams, as a program on its standard streams does.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{ClientNotification, ClientRequest, ProtocolVersion, ServerConfig, ServerResult};
use rmcp::service::{
    NotificationContext, RequestContext, RoleServer, RunningService, Service, serve_server_with_ct,
};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::McpServer;
use super::client::Client;
use super::transport::{Handed, REQUESTS};
use super::turns::Turns;
use super::{changes, panics};
use crate::asked::Asked;
use crate::frame::Framer;
use crate::incoming::LineInput;
use crate::outgoing::{LineOutput, Outgoing};

/// Messages that the SDK has still to take.
const HANDED: usize = 64;

impl McpServer {
    /// Serves one client until its input is over and every request has its answer, or until it is
    /// cancelled. Must be polled on a tokio runtime. The input is read by threads of its own, one of
    /// which may still wait in it when the client was given up.
    ///
    /// # Errors
    ///
    /// What the client did in the place of opening the protocol, or that nothing can be written.
    pub async fn serve_lines(
        &self,
        input: impl LineInput,
        output: impl LineOutput,
        cancel: CancellationToken,
    ) -> Result<(), String> {
        let (outgoing, writer) = Outgoing::start(output).map_err(|error| error.to_string())?;
        let (sdk, heard) = mpsc::channel(HANDED);
        let over = CancellationToken::new();
        let client = Arc::new(Client {
            server: self.on_a_line(over.clone()),
            asked: Asked::default(),
            places: Arc::new(Semaphore::new(usize::from(REQUESTS))),
            outgoing: outgoing.downgrade(),
            peer: OnceLock::new(),
            over,
            cancel: cancel.clone(),
            runtime: Handle::current(),
        });
        let handed = Handed {
            heard,
            outgoing: Some(outgoing),
            asked: client.asked.clone(),
            places: Arc::clone(&client.places),
        };
        let answering = Answering(client.server.clone());
        // From before the client is greeted, so that nothing between is missed.
        let changes = self.runtime.tool_changes();
        let framer = Framer::new("the client".into(), self.settings.messages);
        let started = Turns::start(Arc::clone(&client), (input, framer), sdk);
        started.map_err(|error| error.to_string())?;
        let served = match serve_server_with_ct(answering, handed, cancel.clone()).await {
            Ok(running) => {
                // It is set once.
                client.peer.get_or_init(|| running.peer().clone());
                wait(running, changes).await
            }
            Err(error) => Err(error.to_string()),
        };
        // The last answer is on its way until the thread has written it; of a client that does not
        // read, somebody who ends the program does not wait for that.
        let written = tokio::task::spawn_blocking(move || writer.join());
        let given_up = async {
            cancel.cancelled().await;
            tokio::time::sleep(UNREAD).await;
        };
        tokio::select! {
            written = written => match written {
                Ok(Ok(())) => served,
                _ => Err("writing ended early".to_owned()),
            },
            () = given_up => Err("the client does not read its answers".to_owned()),
        }
    }
}

/// How long a client may take to read its last answers once it is to be served no longer.
const UNREAD: Duration = Duration::from_secs(2);

/// Waits for the end of a client, and tells it of tools that come and go.
async fn wait(
    running: RunningService<RoleServer, Answering>,
    changes: watch::Receiver<()>,
) -> Result<(), String> {
    let peer = running.peer().clone();
    let has_shaken_hands = peer.peer_info().is_some_and(|info| {
        info.protocol_version.as_str() < ProtocolVersion::V_2026_07_28.as_str()
    });
    let telling = async {
        if has_shaken_hands {
            changes::tell_peer(changes, peer).await;
        }
        std::future::pending::<()>().await;
    };
    let ended = tokio::select! {
        ended = running.waiting() => ended,
        () = telling => return Ok(()),
    };
    ended.map(drop).map_err(|error| error.to_string())
}

/// The server as the SDK asks it.
struct Answering(McpServer);

impl Service<RoleServer> for Answering {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        panics::answered(self.0.handle_request(request, context)).await
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.0)
    }
}
