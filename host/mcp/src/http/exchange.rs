//! One message to a server and what comes back, for the SDK's client.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use rmcp::RoleClient;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetMeta as _,
    JsonRpcMessage, ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::Transport;
use tidegate_contract::{JsonError, Limits, Value, json};
use tidegate_sandbox::Egress;
use tidegate_sandbox::egress::{Bounds, EgressError, ResponseBody};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::events::{Events, TooLong};
use super::marked::Marked;
use crate::error::NotSent;
use crate::frame::{self, Broken, Fault, MessageBounds};
use crate::lines;
use crate::questions::{Heard, Questions};
use crate::said::{PeerName, Said};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The longest of each: the deadline of the call ends it before.
const LONGEST: Duration = Duration::from_millis(Limits::MAXIMUM.deadline_ms);

/// How long a server may take to hear what needs no answer: nobody waits for that.
const TELL: Duration = Duration::from_secs(10);

/// How long a server may take to end a session at the end: it forgets it by itself at last.
const END: Duration = Duration::from_secs(2);

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);

/// All events of one answer may be so many times larger than one message.
const EVENTS: u64 = 16;

/// Messages of the server that nobody has taken yet.
const INCOMING: usize = 64;

/// Where messages go.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) name: PeerName,
    pub(crate) url: String,
    pub(crate) egress: Egress,
    pub(crate) headers: HeaderMap,
    pub(crate) bounds: MessageBounds,
}

/// The connection of a client to a server over HTTP.
#[derive(Debug)]
pub(super) struct HttpTransport {
    shared: Arc<Shared>,
    incoming: mpsc::Receiver<ServerJsonRpcMessage>,
}

#[derive(Debug)]
struct Shared {
    target: Arc<Target>,
    taken: mpsc::Sender<ServerJsonRpcMessage>,
    /// What the server called this connection, and the version that was agreed on.
    session: Mutex<HeaderMap>,
    /// Parameters that belong in headers.
    marked: Mutex<Marked>,
    /// Requests that wait for their answer.
    asked: Mutex<HashMap<RequestId, CancellationToken>>,
    /// Requests of the server that wait for theirs.
    questions: Mutex<Questions>,
    said: Mutex<Said>,
    /// The server knows the session no longer.
    forgotten: AtomicBool,
    /// The server is given up.
    lost: CancellationToken,
}

/// What is known of a connection while the SDK has its transport.
#[derive(Debug)]
pub(super) struct View(Arc<Shared>);

impl View {
    /// Whether the server has said that it knows the session no longer.
    pub(super) fn is_forgotten(&self) -> bool {
        self.0.forgotten.load(Ordering::SeqCst)
    }

    /// Whether the server is known to want parameters of a tool in headers.
    pub(super) fn marks(&self, tool: &str) -> bool {
        lock(&self.0.marked).has(tool)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HttpTransport {
    pub(super) fn new(target: Arc<Target>, changed: Arc<Notify>) -> Self {
        let (taken, incoming) = mpsc::channel(INCOMING);
        Self {
            shared: Arc::new(Shared {
                said: Mutex::new(Said::new(target.name.clone())),
                target,
                taken,
                session: Mutex::default(),
                marked: Mutex::default(),
                asked: Mutex::default(),
                questions: Mutex::new(Questions::new(changed)),
                forgotten: AtomicBool::new(false),
                lost: CancellationToken::new(),
            }),
            incoming,
        }
    }

    pub(super) fn view(&self) -> View {
        View(Arc::clone(&self.shared))
    }
}

impl Transport<RoleClient> for HttpTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let shared = Arc::clone(&self.shared);
        async move {
            if let JsonRpcMessage::Notification(notification) = &item
                && let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                && let Some(id) = &cancelled.params.request_id
                && let Some(asked) = lock(&shared.asked).remove(id)
            {
                asked.cancel();
            }
            let JsonRpcMessage::Request(request) = &item else {
                let _place = lock(&shared.questions).answered(&item);
                return shared.tell(&item).await;
            };
            let id = request.id.clone();
            let given_up = CancellationToken::new();
            lock(&shared.asked).insert(id.clone(), given_up.clone());
            let answered = tokio::select! {
                answered = shared.ask(&item, &id) => answered,
                () = given_up.cancelled() => Ok(()),
            };
            lock(&shared.asked).remove(&id);
            answered
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        tokio::select! {
            biased;
            message = self.incoming.recv() => message,
            () = self.shared.lost.cancelled() => None,
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.shared.lost.cancel();
        let ended = tokio::time::timeout(END, self.shared.end()).await;
        ended.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl Shared {
    /// Sends what needs no answer.
    async fn tell(&self, message: &ClientJsonRpcMessage) -> io::Result<()> {
        let told = tokio::time::timeout(TELL, self.post(message)).await;
        let response = told.map_err(|_elapsed| io::Error::from(io::ErrorKind::TimedOut))??;
        if !response.status().is_success() {
            tracing::debug!(server = self.target.name.name, status = %response.status(), "told a server");
        }
        Ok(())
    }

    /// Sends a request and hands its answer on, with what the server says before.
    async fn ask(&self, message: &ClientJsonRpcMessage, id: &RequestId) -> io::Result<()> {
        let response = self.post(message).await?;
        let (head, body) = response.into_parts();
        if head.status == StatusCode::NOT_FOUND && lock(&self.session).contains_key(SESSION) {
            self.forgotten.store(true, Ordering::SeqCst);
            return Err(io::Error::other(NotSent::Session));
        }
        if let Some(session) = head.headers.get(SESSION) {
            lock(&self.session).insert(SESSION, session.clone());
        }
        let kind = head.headers.get(CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if head.status.is_success() && kind.eq_ignore_ascii_case("text/event-stream") {
            return self.events(body, id).await;
        }
        let bytes = self.whole(body).await?;
        let Some(bytes) = bytes else {
            let limit_bytes = self.target.bounds.message_bytes;
            return self.fail(id, Fault::TooLong { limit_bytes }).await;
        };
        if kind.eq_ignore_ascii_case("application/json") && self.take(&bytes, id).await? {
            return Ok(());
        }
        let status = head.status;
        let refused = ErrorData::new(
            ErrorCode::INVALID_REQUEST,
            format!("the server answered with the HTTP status {status} and no message"),
            None,
        );
        self.hand_on(ServerJsonRpcMessage::error(refused, Some(id.clone())))
            .await
    }

    /// Tells the server that the session is over, where there is one.
    async fn end(&self) -> io::Result<()> {
        if self.forgotten.load(Ordering::SeqCst) || !lock(&self.session).contains_key(SESSION) {
            return Ok(());
        }
        let response = self.send("DELETE", HeaderMap::new(), Bytes::new()).await?;
        // A server need not let its clients end sessions.
        tracing::debug!(server = self.target.name.name, status = %response.status(), "ended a session");
        Ok(())
    }

    async fn post(&self, message: &ClientJsonRpcMessage) -> io::Result<Response<ResponseBody>> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, both);
        describe(message, &lock(&self.marked), &mut headers);
        let body = Bytes::from(serde_json::to_vec(message)?);
        self.send("POST", headers, body).await
    }

    /// Sends one request, with the headers of all and of the session.
    async fn send(
        &self,
        method: &str,
        own: HeaderMap,
        body: Bytes,
    ) -> io::Result<Response<ResponseBody>> {
        let target = &self.target;
        let permitted = target.egress.check(method, &target.url);
        let permitted = permitted.map_err(|_refusal| io::Error::other(NotSent::Url))?;
        let mut headers = target.headers.clone();
        headers.extend(lock(&self.session).clone());
        headers.extend(own);
        let body = Full::new(body).map_err(|never| match never {});
        let message_bytes = u64::try_from(target.bounds.message_bytes).unwrap_or(u64::MAX);
        let bounds = Bounds {
            connect: CONNECT,
            first_byte: LONGEST,
            between_bytes: LONGEST,
            response_bytes: message_bytes.saturating_mul(EVENTS),
            header_bytes: Limits::DEFAULT.http_header_bytes,
        };
        let sent = target
            .egress
            .send(permitted, headers, body.boxed_unsync(), bounds);
        sent.await.map_err(not_sent)
    }

    /// Reads a body that is one message; none when it is too long.
    async fn whole(&self, mut body: ResponseBody) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        while let Some(piece) = body.frame().await {
            if let Ok(data) = piece.map_err(failed)?.into_data() {
                if bytes.len().saturating_add(data.len()) > self.target.bounds.message_bytes {
                    return Ok(None);
                }
                bytes.extend_from_slice(&data);
            }
        }
        Ok(Some(bytes))
    }

    /// Hands events on until the answer is among them.
    async fn events(&self, mut body: ResponseBody, id: &RequestId) -> io::Result<()> {
        let limit_bytes = self.target.bounds.message_bytes;
        let mut events = Events::new(limit_bytes);
        while let Some(piece) = body.frame().await {
            let Ok(data) = piece.map_err(failed)?.into_data() else {
                continue;
            };
            let complete = match events.push(&data) {
                Ok(complete) => complete,
                Err(TooLong) => return self.fail(id, Fault::TooLong { limit_bytes }).await,
            };
            for event in complete {
                if self.take(&event, id).await? {
                    return Ok(());
                }
            }
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }

    /// Takes one message; true when it answers the request.
    async fn take(&self, message: &[u8], id: &RequestId) -> io::Result<bool> {
        let bounds = self.target.bounds;
        let error = match json::parse_bytes(message, &bounds.json()) {
            Ok(value @ Value::Object(_)) => {
                let answer = lines::answer(value, &mut lock(&self.said));
                return match answer {
                    Some(message) => self.taken(message, id).await,
                    None => Ok(false),
                };
            }
            Ok(other) => {
                json::discard(other);
                JsonError::NotAnObject
            }
            Err(error) => error,
        };
        let broken = frame::broken(message, &error, bounds.message_bytes);
        if broken.is_some_and(|Broken { is_request, .. }| is_request) {
            return Ok(false);
        }
        let reason = error.to_string();
        self.fail(id, Fault::Invalid { reason })
            .await
            .map(|()| true)
    }

    async fn taken(&self, message: ServerJsonRpcMessage, id: &RequestId) -> io::Result<bool> {
        let (message, answers) = match message {
            // A server that could not read the request can't name it.
            JsonRpcMessage::Error(mut error) => {
                error.id = Some(id.clone());
                (JsonRpcMessage::Error(error), true)
            }
            JsonRpcMessage::Response(mut response) => {
                if let ServerResult::ListToolsResult(page) = &mut response.result
                    && !lock(&self.session).contains_key(VERSION)
                {
                    lock(&self.marked).learn(&mut page.tools);
                }
                let answers = response.id.to_string() == id.to_string();
                if let ServerResult::InitializeResult(agreed) = &response.result
                    && let Ok(version) = HeaderValue::from_str(agreed.protocol_version.as_str())
                {
                    lock(&self.session).insert(VERSION, version);
                }
                (JsonRpcMessage::Response(response), answers)
            }
            other => (other, false),
        };
        let heard = lock(&self.questions).hear(message);
        match heard {
            Heard::HandOn(message) => self.hand_on(message).await.map(|()| answers),
            Heard::Leave => Ok(false),
            Heard::Refuse(refusal, _place) => {
                // A server that does not hear it has its request unanswered.
                if let Err(error) = self.tell(&refusal).await {
                    tracing::debug!(%error, "refusing a request of a server");
                }
                Ok(false)
            }
            Heard::Flood => {
                self.lost.cancel();
                Err(io::Error::other("the server asks without taking answers"))
            }
        }
    }

    async fn fail(&self, id: &RequestId, fault: Fault) -> io::Result<()> {
        let broken = Broken {
            id: id.clone().into_json_value(),
            is_request: false,
            fault,
        };
        match lines::failed_answer(&broken) {
            Some(message) => self.hand_on(message).await,
            None => Ok(()),
        }
    }

    async fn hand_on(&self, message: ServerJsonRpcMessage) -> io::Result<()> {
        let taken = self.taken.send(message).await;
        taken.map_err(|_nobody| io::ErrorKind::BrokenPipe.into())
    }
}

/// The headers that say what a message is, which servers of the stateless era compare with it.
fn describe(message: &ClientJsonRpcMessage, marked: &Marked, headers: &mut HeaderMap) {
    let JsonRpcMessage::Request(request) = message else {
        return;
    };
    let Some(version) = request.request.get_meta().protocol_version() else {
        return;
    };
    if let Ok(version) = HeaderValue::from_str(version.as_str()) {
        headers.insert(VERSION, version);
    }
    if version < ProtocolVersion::STANDARD_HEADERS {
        return;
    }
    if let Ok(method) = HeaderValue::from_str(request.request.method()) {
        headers.insert(METHOD, method);
    }
    if let ClientRequest::CallToolRequest(call) = &request.request {
        if let Ok(name) = HeaderValue::from_str(&call.params.name) {
            headers.insert(NAME, name);
        }
        headers.extend(marked.headers(&call.params));
    }
}

/// What becomes of a request without the head of an answer.
fn not_sent(error: EgressError) -> io::Error {
    match error {
        EgressError::Denied(_)
        | EgressError::Dns
        | EgressError::Refused
        | EgressError::ConnectTimeout
        | EgressError::Tls(_) => io::Error::other(NotSent::Connection(error)),
        _ => failed(error),
    }
}

fn failed(error: EgressError) -> io::Error {
    io::Error::other(error)
}
