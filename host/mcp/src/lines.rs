//! Messages as lines: the connection of a client to a server, and what both roles share.
//!
//! The reading side is checked by `frame.rs`, the writing side bounded by `unsent.rs`: a server that
//! does not read is given up. The connection of a server to a client is in `server/`.

use std::io;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tidegate_contract::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio_util::sync::CancellationToken;

use crate::frame::{Broken, Fault, Frame, Framer, MessageBounds};
use crate::questions::{Heard, Questions};
use crate::said::{PeerName, Said};
use crate::unsent::Unsent;

/// Bytes that are read at once: as much as a pipe holds by default.
pub(crate) const READ_BYTES: usize = 64 * 1024;

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

pub(crate) fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

pub(crate) fn typed<T: DeserializeOwned>(message: Value) -> Result<T, String> {
    serde_json::from_value(message).map_err(|error| error.to_string())
}

pub(crate) fn id(id: &Value) -> Option<RequestId> {
    match id {
        Value::Number(number) => number.as_i64().map(RequestId::Number),
        Value::String(text) => Some(RequestId::String(text.as_str().into())),
        _ => None,
    }
}
