//! One client on a connection: what becomes of what it says, and the answers of its calls.

use std::sync::{Arc, OnceLock};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData,
    GetExtensions as _, GetMeta as _, JsonRpcMessage, JsonRpcRequest, RequestId,
    ServerJsonRpcMessage,
};
use rmcp::service::{Peer, RequestContext, RoleServer, Service as _};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::messages::{self, Refusal};
use super::turns::Calling;
use super::{McpServer, panics};
use crate::asked::{Asked, OpenCall, Place};
use crate::frame::Frame;
use crate::lines;
use crate::outgoing::{Outgoing, WeakOutgoing};

/// One client, as every thread of it knows it.
pub(super) struct Client {
    pub(super) server: McpServer,
    pub(super) asked: Asked,
    /// Places of requests that have no answer yet.
    pub(super) places: Arc<Semaphore>,
    /// A thread that waits for the client does not keep it open.
    pub(super) outgoing: WeakOutgoing,
    /// The connection, once the protocol is open.
    pub(super) peer: OnceLock<Peer<RoleServer>>,
    /// Cancelled when nothing more comes.
    pub(super) over: CancellationToken,
    /// Cancelled when the client is to be served no longer.
    pub(super) cancel: CancellationToken,
    pub(super) runtime: Handle,
}

/// What becomes of a message.
pub(super) enum Heard {
    /// A call that the thread which has read it runs.
    Call(Box<Call>),
    /// The SDK is to hear of it.
    Sdk(Box<ClientJsonRpcMessage>),
    Nothing,
}

/// A call to be run.
pub(super) struct Call {
    request: ClientRequest,
    context: RequestContext<RoleServer>,
    open: OpenCall,
    calling: Calling,
}

impl Client {
    /// The place of the next request; none when the client is to be served no longer.
    pub(super) fn place(&self) -> Option<Place> {
        let places = || Arc::clone(&self.places);
        if let Ok(place) = places().try_acquire_owned() {
            return Some(place);
        }
        self.wait(places().acquire_owned())?.ok()
    }

    /// Nothing more comes.
    pub(super) fn is_over(&self) {
        self.over.cancel();
    }

    /// Blocks this thread; none when the client is to be served no longer.
    fn wait<T>(&self, what: impl Future<Output = T>) -> Option<T> {
        self.runtime.block_on(self.cancel.run_until_cancelled(what))
    }

    /// What becomes of what was read. `calling` makes this thread one that runs a call, where it may.
    pub(super) fn hear(
        &self,
        frame: Frame,
        place: Place,
        calling: impl FnOnce() -> Option<Calling>,
    ) -> Heard {
        let heard = messages::read(frame).and_then(|message| match message {
            Some(JsonRpcMessage::Request(request)) => self.request(request, place, calling),
            Some(JsonRpcMessage::Notification(notification)) => {
                let is_the_sdks = match &notification.notification {
                    ClientNotification::CancelledNotification(cancelled) => {
                        let mut id = cancelled.params.request_id.iter();
                        id.all(|id| self.asked.give_up(id))
                    }
                    _ => true,
                };
                let message = JsonRpcMessage::Notification(notification);
                Ok(if is_the_sdks {
                    Heard::Sdk(Box::new(message))
                } else {
                    Heard::Nothing
                })
            }
            Some(message) => Ok(Heard::Sdk(Box::new(message))),
            None => Ok(Heard::Nothing),
        });
        heard.unwrap_or_else(|refusal| {
            self.refuse(refusal);
            Heard::Nothing
        })
    }

    fn request(
        &self,
        request: JsonRpcRequest<ClientRequest>,
        place: Place,
        calling: impl FnOnce() -> Option<Calling>,
    ) -> Result<Heard, Refusal> {
        let twice = |id: RequestId| {
            let reason = "another request of this id has no answer yet".to_owned();
            Refusal(Some(id), ErrorCode::INVALID_REQUEST, reason)
        };
        let Some((peer, calling)) = self.own(&request.request).zip(calling()) else {
            return if self.asked.open(&request.id, place) {
                Ok(Heard::Sdk(Box::new(JsonRpcMessage::Request(request))))
            } else {
                Err(twice(request.id))
            };
        };
        let cancel = self.cancel.child_token();
        let Some(open) = self.asked.open_call(&request.id, place, cancel.clone()) else {
            return Err(twice(request.id));
        };
        let JsonRpcRequest {
            id, mut request, ..
        } = request;
        // As the SDK gives a request to its handler.
        let mut context = RequestContext::new(id, peer.clone());
        context.ct = cancel;
        std::mem::swap(&mut context.meta, request.get_meta_mut());
        std::mem::swap(&mut context.extensions, request.extensions_mut());
        Ok(Heard::Call(Box::new(Call {
            request,
            context,
            open,
            calling,
        })))
    }

    /// The connection, where a request is a call that the server's own threads may run: once the
    /// protocol is open, and where nothing is to be told before the answer.
    fn own(&self, request: &ClientRequest) -> Option<&Peer<RoleServer>> {
        match request {
            ClientRequest::CallToolRequest(_)
                if request.get_meta().get_progress_token().is_none() =>
            {
                self.peer.get()
            }
            _ => None,
        }
    }

    fn refuse(&self, Refusal(id, code, reason): Refusal) {
        let message = ServerJsonRpcMessage::error(ErrorData::new(code, reason, None), id);
        if let Some(outgoing) = self.outgoing.upgrade() {
            self.wait(give(&outgoing, &message));
        }
    }

    /// Runs a call on this thread, and writes its answer.
    pub(super) fn answer(&self, call: Box<Call>) {
        let Call {
            request,
            context,
            open,
            calling,
        } = *call;
        let Some(outgoing) = self.outgoing.upgrade() else {
            return;
        };
        let id = context.id.clone();
        let answering = self.server.handle_request(request, context);
        let answer = self.runtime.block_on(panics::answered(answering));
        let Some(_place) = open.take() else {
            return;
        };
        // The client asks next once it has its answer: another thread more would be started for that.
        drop(calling);
        let message = match answer {
            Ok(result) => ServerJsonRpcMessage::response(result, id),
            Err(error) => ServerJsonRpcMessage::error(error, Some(id)),
        };
        self.wait(give(&outgoing, &message));
    }
}

async fn give(outgoing: &Outgoing, message: &ServerJsonRpcMessage) {
    let given = match lines::line(message) {
        Ok(line) => outgoing.give(line).await,
        Err(error) => Err(error),
    };
    if let Err(error) = given {
        tracing::debug!(%error, "an answer is not written");
    }
}
