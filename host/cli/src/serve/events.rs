//! The events of a run as a stream that a client can take up again (SPEC I2).
//!
//! Nothing is kept here for a slow reader: the next event is read from the store when the last one
//! has been taken. Source: WHATWG HTML 9.2, server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::{HeaderMap, HeaderValue};
use http_body::Frame;
use serde_json::Value;
use tidegate_worker::runs::Events;
use tidegate_worker::store::Event;

use super::answer;
use super::door::Door;
use super::framing::Busy;
use super::refused::Refused;
use super::shares::Share;

/// The type of a stream of events.
pub(super) const TYPE: HeaderValue = HeaderValue::from_static("text/event-stream");

/// A line that is no event: the connection lives.
const ALIVE: Bytes = Bytes::from_static(b":\n\n");

/// The event that a client saw last, by its own word.
///
/// # Errors
///
/// 400 for what is no number of an event.
pub(super) fn last_seen(fields: &HeaderMap) -> Result<Option<u64>, Refused> {
    let Some(value) = fields.get("last-event-id") else {
        return Ok(None);
    };
    let number = value.to_str().ok().and_then(|value| value.parse().ok());
    let number = number.ok_or_else(|| Refused::invalid("Last-Event-ID is the number of an event"));
    number.map(Some)
}

/// What a stream has while it goes on: its place among its token's, and its connection's attention.
pub(super) type Held = (Share, Option<Busy>);

/// The answer that goes on until the run has ended, the service stops, or the client goes away.
pub(super) fn stream(door: &Arc<Door>, events: Events, held: Held) -> Response {
    let stream = Stream {
        step: Some(Box::pin(next(Arc::clone(door), events))),
        _held: held,
    };
    answer::with_type(Response::new(Body::new(stream)), TYPE)
}

/// The text of the next event, with what the one after it is made from; `None` at the end.
type Made = Option<(Bytes, (Arc<Door>, Events))>;

async fn next(door: Arc<Door>, mut events: Events) -> Made {
    let alive = Duration::from_millis(door.limits.heartbeat_ms);
    let text = tokio::select! {
        biased;
        event = events.next() => match event {
            Ok(event) => text(&event?),
            Err(error) => {
                let cause: &dyn std::error::Error = &error;
                tracing::error!(error = cause, "a stream of events ends early");
                return None;
            }
        },
        () = door.stopping.cancelled() => return None,
        () = tokio::time::sleep(alive) => ALIVE,
    };
    Some((text, (door, events)))
}

/// One event on the wire. JSON has no line break of its own.
fn text(event: &Event) -> Bytes {
    let Event { id, kind, data } = event;
    let data = Value::Object(data.clone());
    format!("id: {id}\nevent: {kind}\ndata: {data}\n\n").into()
}

/// A body that makes its next piece when the last one has been taken.
struct Stream {
    step: Option<Pin<Box<dyn Future<Output = Made> + Send>>>,
    _held: Held,
}

impl http_body::Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let Some(step) = &mut this.step else {
            return Poll::Ready(None);
        };
        let made = ready!(step.as_mut().poll(context));
        this.step = None;
        Poll::Ready(made.map(|(text, (door, events))| {
            this.step = Some(Box::pin(next(door, events)));
            Ok(Frame::data(text))
        }))
    }
}
