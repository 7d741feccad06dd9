//! The connection to a client as the SDK has it: what the threads of the client have not answered
//! themselves, and the way back.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::{Semaphore, mpsc};

use crate::asked::Asked;
use crate::lines;
use crate::outgoing::Outgoing;

/// Requests of one client that are taken before an answer of the first is handed over: as many as may
/// wait for a call by default, so that a queue fills before its client waits.
pub(super) const REQUESTS: u16 = 1_024;

/// The SDK's side of a connection.
pub(super) struct Handed {
    pub(super) heard: mpsc::Receiver<ClientJsonRpcMessage>,
    /// None once it is closed.
    pub(super) outgoing: Option<Outgoing>,
    pub(super) asked: Asked,
    pub(super) places: Arc<Semaphore>,
}

impl Transport<RoleServer> for Handed {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let id = match &item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let place = id.and_then(|id| self.asked.answered(id));
        let outgoing = self.outgoing.clone();
        async move {
            let outgoing = outgoing.ok_or(io::ErrorKind::BrokenPipe)?;
            let sent = outgoing.give(lines::line(&item)?).await;
            drop(place);
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        if let Some(message) = self.heard.recv().await {
            return Some(message);
        }
        // A client that has asked all it wants still reads its answers.
        let places = Arc::clone(&self.places);
        let _every = places.acquire_many_owned(u32::from(REQUESTS)).await;
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing = None;
        Ok(())
    }
}
