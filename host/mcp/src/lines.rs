//! Messages as lines over two byte streams, for either role of the SDK.
//!
//! The reading side is checked by `frame.rs`. The writing side is bounded: `outgoing.rs` for a server,
//! `unsent.rs` for a client. As a server, a peer that asks faster than it reads is not read from: each request
//! holds a place until its answer is handed over. As a client, one that does not read is given up.

use std::io;
use std::sync::Arc;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, JsonRpcMessage,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::{RoleClient, RoleServer};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tidegate_contract::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::asked::{Answer, Asked};
use crate::frame::{Broken, Fault, Frame, Framer, MessageBounds};
use crate::outgoing::Outgoing;
use crate::questions::{Heard, Questions};
use crate::said::{PeerName, Said};
use crate::unsent::Unsent;

/// Bytes that are read at once: as much as a pipe holds by default.
const READ_BYTES: usize = 64 * 1024;

/// Requests of one client that are taken before an answer of the first is handed over: as many as may
/// wait for a call by default, so that a queue fills before its client waits.
const REQUESTS: u16 = 1_024;

/// Under which key the data of an error says that the host made it, and why.
const MARK: &str = "tidegate/fault";

/// The reading half.
#[derive(Debug)]
struct Reading<R> {
    source: R,
    framer: Framer,
    piece: Vec<u8>,
}

impl<R: AsyncRead + Send + Unpin> Reading<R> {
    fn new(source: R, peer: PeerName, bounds: MessageBounds) -> Self {
        Self {
            source,
            framer: Framer::new(peer, bounds),
            piece: vec![0; READ_BYTES],
        }
    }

    /// The next frame; none when the stream is over. Dropping the future loses nothing.
    async fn next(&mut self) -> Option<Frame> {
        loop {
            match self.framer.next() {
                Some(Frame::Flood) => {
                    tracing::warn!("a peer sends a line without an end; its connection is closed");
                    return None;
                }
                Some(frame) => return Some(frame),
                None => {}
            }
            match self.source.read(&mut self.piece).await {
                Ok(0) => return None,
                Ok(read) => self.framer.push(self.piece.get(..read).unwrap_or_default()),
                Err(error) => {
                    tracing::debug!(%error, "reading from a peer");
                    return None;
                }
            }
        }
    }
}

/// The connection of a client to a server.
#[derive(Debug)]
pub(crate) struct ClientLines<R> {
    reading: Reading<R>,
    unsent: Option<Unsent>,
    over: CancellationToken,
    questions: Questions,
}

impl<R: AsyncRead + Send + Unpin> ClientLines<R> {
    pub(crate) fn new(
        source: R,
        (unsent, changed): (Unsent, Arc<Notify>),
        (peer, bounds): (PeerName, MessageBounds),
    ) -> Self {
        Self {
            reading: Reading::new(source, peer, bounds),
            over: unsent.over(),
            unsent: Some(unsent),
            questions: Questions::new(changed),
        }
    }

    fn put(
        &self,
        message: &ClientJsonRpcMessage,
        question: Option<OwnedSemaphorePermit>,
    ) -> io::Result<()> {
        let line = line(message)?;
        match &self.unsent {
            Some(unsent) => unsent.put(line, question),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// What the SDK is to hear of a message; the outer option is none when the connection is over.
    #[expect(
        clippy::option_option,
        reason = "the end of the connection, or a further look at it"
    )]
    fn hear(&mut self, message: ServerJsonRpcMessage) -> Option<Option<ServerJsonRpcMessage>> {
        match self.questions.hear(message) {
            Heard::HandOn(message) => Some(Some(message)),
            Heard::Leave => Some(None),
            Heard::Refuse(refusal, place) => self.put(&refusal, Some(place)).ok().map(|()| None),
            Heard::Flood => {
                tracing::warn!("a server asks without reading answers; its connection is closed");
                None
            }
        }
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleClient> for ClientLines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let question = self.questions.answered(&item);
        std::future::ready(self.put(&item, question))
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let frame = tokio::select! {
                biased;
                () = self.over.cancelled() => return None,
                frame = self.reading.next() => frame?,
            };
            match frame {
                Frame::Message(message) => {
                    if let Some(message) = answer(message, self.reading.framer.said())
                        && let Some(message) = self.hear(message)?
                    {
                        return Some(message);
                    }
                }
                Frame::Broken(broken) if !broken.is_request => {
                    if let Some(message) = failed_answer(&broken) {
                        return Some(message);
                    }
                }
                // What a server asks of a client is not answered here in any case.
                Frame::Broken(_) => {}
                Frame::Flood => return None,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.unsent = None;
        Ok(())
    }
}

/// A message of a server as the SDK takes it; what it can't take fails the request that it answers.
pub(crate) fn answer(message: Value, said: &mut Said) -> Option<ServerJsonRpcMessage> {
    let id = message.get("id").cloned();
    let is_request = message.get("method").is_some();
    match typed(message) {
        Ok(message) => Some(message),
        Err(reason) => {
            // It repeats words of the message.
            if let Some(reason) = said.shown(reason.as_bytes()) {
                let server = said.by();
                tracing::warn!(
                    server,
                    reason,
                    "a message of a server is none of the protocol"
                );
            }
            failed_answer(&Broken {
                id: id.filter(|_| !is_request)?,
                is_request,
                fault: Fault::Invalid { reason },
            })
        }
    }
}

/// An error in the place of an answer that can't be taken.
pub(crate) fn failed_answer(broken: &Broken) -> Option<ServerJsonRpcMessage> {
    let (message, data) = match &broken.fault {
        Fault::TooLong { limit_bytes } => (
            format!("the answer is longer than {limit_bytes} bytes"),
            json!({ MARK: limit_bytes }),
        ),
        Fault::Invalid { reason } => (
            format!("the answer is not valid: {reason}"),
            json!({ MARK: "invalid" }),
        ),
    };
    let error = ErrorData::new(ErrorCode::PARSE_ERROR, message, Some(data));
    Some(ServerJsonRpcMessage::error(error, Some(id(&broken.id)?)))
}

/// The fault that [`failed_answer`] made an error of.
pub(crate) fn fault_of(error: &ErrorData) -> Option<Fault> {
    let mark = error.data.as_ref()?.get(MARK)?;
    Some(match mark.as_u64().map(usize::try_from) {
        Some(Ok(limit_bytes)) => Fault::TooLong { limit_bytes },
        _ => Fault::Invalid {
            reason: error.message.to_string(),
        },
    })
}

/// The connection of a server to a client.
#[derive(Debug)]
pub(crate) struct ServerLines<R> {
    reading: Reading<R>,
    outgoing: Option<Outgoing>,
    places: Arc<Semaphore>,
    asked: Asked,
    /// A message whose turn has not come.
    held: Option<(ClientJsonRpcMessage, OwnedSemaphorePermit)>,
    refusal: Option<Vec<u8>>,
    /// Cancelled when nothing more comes.
    over: CancellationToken,
}

impl<R: AsyncRead + Send + Unpin> ServerLines<R> {
    pub(crate) fn new(
        source: R,
        (outgoing, asked, over): (Outgoing, Asked, CancellationToken),
        (peer, bounds): (PeerName, MessageBounds),
    ) -> Self {
        Self {
            reading: Reading::new(source, peer, bounds),
            outgoing: Some(outgoing),
            places: Arc::new(Semaphore::new(usize::from(REQUESTS))),
            asked,
            held: None,
            refusal: None,
            over,
        }
    }

    /// Keeps an error answer until there is room for it: this future may be dropped at any wait.
    fn refuse(&mut self, id: Option<RequestId>, code: ErrorCode, reason: String) {
        let error = ErrorData::new(code, reason, None);
        self.refusal = line(&ServerJsonRpcMessage::error(error, id)).ok();
    }

    /// Nobody reads any more where it can't be given; the end of the input comes next.
    async fn send_refusal(&mut self) {
        let (Some(refusal), Some(outgoing)) = (&self.refusal, &self.outgoing) else {
            return;
        };
        if let Err(error) = outgoing.give(refusal.clone()).await {
            tracing::debug!(%error, "a refusal is not written");
        }
        self.refusal = None;
    }

    /// The message that is held, if the SDK is to hear it, once it has done with an earlier request of
    /// its id.
    async fn turn(&mut self) -> Option<ClientJsonRpcMessage> {
        if let Some((JsonRpcMessage::Request(request), _)) = &self.held {
            self.asked.settled(&request.id).await;
        }
        let (message, place) = self.held.take()?;
        self.note(&message, place).then_some(message)
    }

    /// Gives a request its place, and takes back that of one that was given up. Says whether the SDK is
    /// to hear of it.
    fn note(&mut self, message: &ClientJsonRpcMessage, place: OwnedSemaphorePermit) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                let is_opened = self.asked.open(&request.id, place);
                if !is_opened {
                    let reason = "another request of this id has no answer yet".to_owned();
                    self.refuse(Some(request.id.clone()), ErrorCode::INVALID_REQUEST, reason);
                }
                is_opened
            }
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ClientNotification::CancelledNotification(cancelled) => {
                    let mut id = cancelled.params.request_id.iter();
                    id.all(|id| self.asked.give_up(id))
                }
                _ => true,
            },
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => true,
        }
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for ServerLines<R> {
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
        let answer = id.map_or(Answer::Send(None), |id| self.asked.settle(id));
        let outgoing = self.outgoing.clone();
        async move {
            let Answer::Send(place) = answer else {
                return Ok(());
            };
            let outgoing = outgoing.ok_or(io::ErrorKind::BrokenPipe)?;
            let sent = outgoing.give(line(&item)?).await;
            drop(place);
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.send_refusal().await;
            if let Some(message) = self.turn().await {
                return Some(message);
            }
            if self.refusal.is_some() {
                continue;
            }
            if self.over.is_cancelled() {
                // A client that has asked all it wants still reads its answers.
                let places = Arc::clone(&self.places);
                let _every = places.acquire_many_owned(u32::from(REQUESTS)).await.ok()?;
                return None;
            }
            let places = Arc::clone(&self.places);
            let place = places.acquire_owned().await.ok()?;
            let Some(frame) = self.reading.next().await else {
                self.over.cancel();
                continue;
            };
            match frame {
                Frame::Message(message) => {
                    let id = message.get("id").and_then(id);
                    match typed::<ClientJsonRpcMessage>(message) {
                        Ok(message) => match misread(&message) {
                            None => self.held = Some((message, place)),
                            Some(method) => {
                                let reason = format!("the params are none of {method}");
                                self.refuse(id, ErrorCode::INVALID_PARAMS, reason);
                            }
                        },
                        Err(reason) => self.refuse(id, ErrorCode::INVALID_REQUEST, reason),
                    }
                }
                Frame::Broken(broken) if broken.is_request => {
                    let (code, reason) = match broken.fault {
                        Fault::TooLong { limit_bytes } => (
                            ErrorCode::INVALID_REQUEST,
                            format!("the message is longer than {limit_bytes} bytes"),
                        ),
                        Fault::Invalid { reason } => (ErrorCode::PARSE_ERROR, reason),
                    };
                    self.refuse(id(&broken.id), code, reason);
                }
                // What a client answers was not asked.
                Frame::Broken(_) | Frame::Flood => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing = None;
        Ok(())
    }
}

/// The method of a request that the SDK knows by its name and not by its params: it takes it for a
/// method of somebody's own.
fn misread(message: &ClientJsonRpcMessage) -> Option<&'static str> {
    let JsonRpcMessage::Request(request) = message else {
        return None;
    };
    let ClientRequest::CustomRequest(request) = &request.request else {
        return None;
    };
    let known = ["initialize", "server/discover", "tools/call", "tools/list"];
    known.into_iter().find(|known| *known == request.method)
}

pub(crate) fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

fn typed<T: DeserializeOwned>(message: Value) -> Result<T, String> {
    serde_json::from_value(message).map_err(|error| error.to_string())
}

fn id(id: &Value) -> Option<RequestId> {
    match id {
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        Value::String(text) => Some(RequestId::String(text.as_str().into())),
        _ => None,
    }
}
