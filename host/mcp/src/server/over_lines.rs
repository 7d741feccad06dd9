//! Serving one client over two byte streams, as a program on its standard streams does.
//!
//! The answer of a call is written by the thread that ran the guest: the SDK's own way back from there
//! wakes two more threads, which takes longer than a short call.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    ClientNotification, ClientRequest, ProtocolVersion, ServerConfig, ServerJsonRpcMessage,
    ServerResult,
};
use rmcp::service::{
    NotificationContext, RequestContext, RoleServer, RunningService, Service, serve_server_with_ct,
};
use tokio::io::AsyncRead;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::McpServer;
use super::{changes, panics};
use crate::asked::Asked;
use crate::lines::{self, ServerLines};
use crate::outgoing::{LineOutput, Outgoing};

impl McpServer {
    /// Serves one client until its input is over and every request has its answer, or until it is
    /// cancelled. Must be polled on a tokio runtime.
    ///
    /// # Errors
    ///
    /// What the client did in the place of opening the protocol, or that nothing can be written.
    pub async fn serve_lines(
        &self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl LineOutput,
        cancel: CancellationToken,
    ) -> Result<(), String> {
        let (outgoing, writer) = Outgoing::start(output).map_err(|error| error.to_string())?;
        let (asked, over) = (Asked::default(), CancellationToken::new());
        let lines = ServerLines::new(
            input,
            (outgoing.clone(), asked.clone(), over.clone()),
            ("the client".into(), self.settings.messages),
        );
        let answering = Answering {
            server: self.on_a_line(over),
            outgoing,
            asked,
        };
        // From before the client is greeted, so that nothing between is missed.
        let changes = self.runtime.tool_changes();
        let served = serve_server_with_ct(answering, lines, cancel.clone()).await;
        let served = match served {
            Ok(running) => wait(running, changes).await,
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

/// A server that writes the answers of calls itself.
struct Answering {
    server: McpServer,
    outgoing: Outgoing,
    asked: Asked,
}

impl Service<RoleServer> for Answering {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let is_call = matches!(request, ClientRequest::CallToolRequest(_));
        // What was told of a call goes the SDK's way, and comes before its answer.
        let is_long = !is_call || context.meta.get_progress_token().is_some();
        let (id, cancel) = (context.id.clone(), context.ct.clone());
        // A request that panicked would keep its place for ever.
        let answer = panics::caught(Box::pin(self.server.handle_request(request, context))).await;
        let answer = answer.unwrap_or_else(|| {
            let failed = ErrorData::internal_error("the request failed", None);
            Err(failed)
        });
        if is_long || cancel.is_cancelled() {
            return answer;
        }
        let Some(place) = self.asked.take(&id) else {
            return answer;
        };
        let message = match answer {
            Ok(result) => ServerJsonRpcMessage::response(result, id),
            Err(error) => ServerJsonRpcMessage::error(error, Some(id)),
        };
        let given = match lines::line(&message) {
            Ok(line) => tokio::select! {
                given = self.outgoing.give(line) => given,
                () = cancel.cancelled() => Err(io::ErrorKind::BrokenPipe.into()),
            },
            Err(error) => Err(error),
        };
        if let Err(error) = given {
            tracing::debug!(%error, "an answer is not written");
        }
        drop(place);
        // Stands for the answer until the transport drops it.
        Ok(ServerResult::empty(()))
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.server.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.server)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.server)
    }
}
