//! Answers over HTTP/2, each stream by itself.
//!
//! Deliberately absent: pushes, broken frames, and answers that are no responses.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::header::CONTENT_LENGTH;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::answer::{Answer, End, Head, Piece};
use super::record::Entry;
use super::request::Request;
use super::wire::Wire;
use super::{Moment, Service, go_on};

/// How many frames of a repetition are queued before the wire has to take them.
const QUEUED: u64 = 256;

/// Serves a connection until either side ends it.
pub(super) async fn serve(wire: Wire, entry: &Arc<Entry>, service: &Arc<Service>) {
    let flushed = wire.flushed();
    let Ok(mut connection) = h2::server::handshake(wire).await else {
        return;
    };
    let mut streams = JoinSet::new();
    loop {
        tokio::select! {
            // A panic first, as where connections are accepted.
            biased;
            Some(done) = streams.join_next() => match done {
                Err(error) => go_on(error),
                Ok(Some(End::Close)) => connection.abrupt_shutdown(Reason::NO_ERROR),
                Ok(Some(End::Cut)) => return,
                Ok(_) => {}
            },
            accepted = connection.accept() => {
                let Some(Ok((request, respond))) = accepted else {
                    return;
                };
                let (entry, service) = (Arc::clone(entry), Arc::clone(service));
                let stream = Stream { respond, flushed: Arc::clone(&flushed) };
                streams.spawn(async move { stream.serve(request, &entry, &service).await });
            }
        }
    }
}

/// One request and the way to answer it.
struct Stream {
    respond: SendResponse<Bytes>,
    flushed: Arc<Notify>,
}

impl Stream {
    /// Answers a request; what the answer does to the whole connection.
    async fn serve(
        mut self,
        request: http::Request<RecvStream>,
        entry: &Entry,
        service: &Service,
    ) -> Option<End> {
        let (head, mut body) = request.into_parts();
        let mut request = Request::from(&head);
        if service.moment == Moment::Request {
            request.body = collected(&mut body).await.ok()?;
        }
        let request = entry.request(request);
        let mut answer = (service.script)(&request);
        let head = answer.head.as_mut();
        // Frames are all the chunks there are.
        head.expect("HTTP/2 carries only responses").is_chunked = false;
        if request.method == "HEAD" {
            answer = answer.without_body();
        }
        // An answer that fails has lost its client.
        self.say(answer).await.ok().flatten()
    }

    async fn say(&mut self, mut answer: Answer) -> Result<Option<End>, h2::Error> {
        let length = answer.length();
        let head = answer.head.take().unwrap_or_default();
        if let Some((status, times)) = answer.interim {
            for count in 1..=times {
                self.respond
                    .send_informational(response(status, HeaderMap::new()))?;
                self.give_way(count).await;
            }
        }
        let headers = fields(&head, length);
        let has_no_more = answer.pieces.is_empty() && head.trailers.is_empty();
        let started = response(head.status, headers);
        let mut stream = self.respond.send_response(started, has_no_more)?;
        for piece in answer.pieces {
            match piece {
                Piece::End(end) => return self.end(&mut stream, end).await,
                Piece::Pause(duration) => pause(&mut stream, duration).await?,
                Piece::Bytes(bytes) => send(&mut stream, bytes.into()).await?,
                Piece::Drip { bytes, every } => {
                    for byte in bytes {
                        pause(&mut stream, every).await?;
                        send(&mut stream, vec![byte].into()).await?;
                    }
                }
                Piece::Repeat { bytes, times } => {
                    self.repeat(&mut stream, &bytes.into(), times).await?;
                }
            }
        }
        match (has_no_more, head.trailers.is_empty()) {
            (true, _) => {}
            (false, true) => stream.send_data(Bytes::new(), true)?,
            (false, false) => stream.send_trailers(map(&head.trailers))?,
        }
        Ok(None)
    }

    async fn repeat(
        &self,
        stream: &mut SendStream<Bytes>,
        bytes: &Bytes,
        times: Option<u64>,
    ) -> Result<(), h2::Error> {
        for count in 1..=times.unwrap_or(u64::MAX) {
            if bytes.is_empty() {
                stream.send_data(Bytes::new(), false)?;
            } else {
                send(stream, bytes.clone()).await?;
            }
            self.give_way(count).await;
        }
        Ok(())
    }

    /// Waits now and then until what is queued was written: a flood may not fill the own memory.
    async fn give_way(&self, count: u64) {
        if count.is_multiple_of(QUEUED) {
            self.flushed.notified().await;
        }
    }

    async fn end(
        &self,
        stream: &mut SendStream<Bytes>,
        end: End,
    ) -> Result<Option<End>, h2::Error> {
        if end == End::Hang {
            poll_fn(|context| stream.poll_reset(context)).await?;
            return Ok(None);
        }
        // Both would throw away what is queued. With one frame more there is something to wait for.
        stream.send_data(Bytes::new(), false)?;
        self.flushed.notified().await;
        if end == End::Reset {
            stream.send_reset(Reason::INTERNAL_ERROR);
            return Ok(None);
        }
        Ok(Some(end))
    }
}

impl From<&http::request::Parts> for Request {
    fn from(head: &http::request::Parts) -> Self {
        let uri = &head.uri;
        let pseudo = [
            (":scheme", uri.scheme_str()),
            (":authority", uri.authority().map(Authority::as_str)),
        ];
        let pseudo = pseudo
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?.as_bytes())));
        let named = head.headers.iter();
        let named = named.map(|(name, value)| (name.as_str(), value.as_bytes()));
        let headers = pseudo.chain(named);
        Self {
            method: head.method.to_string(),
            target: uri
                .path_and_query()
                .map(ToString::to_string)
                .unwrap_or_default(),
            version: "HTTP/2".to_owned(),
            headers: headers
                .map(|(name, value)| (name.to_owned(), value.to_vec()))
                .collect(),
            ..Self::default()
        }
    }
}

async fn collected(body: &mut RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut all = Vec::new();
    while let Some(part) = body.data().await {
        let part = part?;
        body.flow_control().release_capacity(part.len())?;
        all.extend(part);
    }
    Ok(all)
}

/// Waits, but no longer than the client wants the stream.
async fn pause(stream: &mut SendStream<Bytes>, duration: Duration) -> Result<(), h2::Error> {
    tokio::select! {
        () = sleep(duration) => Ok(()),
        reset = poll_fn(|context| stream.poll_reset(context)) => Err(reset?.into()),
    }
}

/// Sends bytes as fast as the client makes room for them.
async fn send(stream: &mut SendStream<Bytes>, mut bytes: Bytes) -> Result<(), h2::Error> {
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let room = poll_fn(|context| stream.poll_capacity(context)).await;
        let room = room.unwrap_or(Err(Reason::CANCEL.into()))?;
        stream.send_data(bytes.split_to(room.min(bytes.len())), false)?;
    }
    Ok(())
}

fn response(status: u16, headers: HeaderMap) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    *response.headers_mut() = headers;
    response
}

fn fields(head: &Head, length: Option<u64>) -> HeaderMap {
    let mut headers = map(&head.headers);
    if let Some(length) = length {
        headers.append(CONTENT_LENGTH, length.into());
    }
    headers
}

fn map(fields: &[(String, Vec<u8>)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in fields {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        let value = HeaderValue::from_bytes(value).unwrap();
        map.try_append(name, value).unwrap();
    }
    map
}
