//! `/v1/worker/`: what a worker fetches and what it sends back (SPEC I1 to I4).
//!
//! The service decides; these routes turn requests into its questions and its answers into numbers.

use std::sync::Arc;

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::response::Response;
use http::StatusCode;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http_body::Body as _;
use tidegate_worker::content::{Body, Conditions, Served};
use tidegate_worker::service::{Accepted, Service, Submit};

use super::access::Guest;
use super::door::Door;
use super::refused::Refused;
use super::{access, answer, body, query};

/// The largest body that is read before it is known who sends it: all connections may do so at once.
const UNKNOWN_BYTES: u64 = 64 * 1024;

type Answer = Result<Response, Refused>;

/// The path of a route; what can't be read of it names nothing that is there.
pub(super) type Path = Result<RawPathParams, RawPathParamsRejection>;

/// `GET prompt`.
pub(super) async fn prompt(State(door): State<Arc<Door>>, request: Request) -> Answer {
    let guest = door.access.guest(&request)?;
    query::none(request.uri())?;
    // Going to another thread costs several times what a look-up by a key does.
    let payload = match door.service.prompt_at_once(guest.caller()) {
        Some(payload) => payload,
        None => door.ask(guest, Service::prompt).await?,
    };
    answer::json(StatusCode::OK, &payload)
}

/// `GET system`.
pub(super) async fn system(State(door): State<Arc<Door>>, request: Request) -> Answer {
    let guest = door.access.guest(&request)?;
    query::none(request.uri())?;
    let system = door.ask(guest, Service::system);
    Ok(answer::text(system.await?))
}

/// `GET content/{step}` and `GET content/{step}/{part}`.
pub(super) async fn content(State(door): State<Arc<Door>>, path: Path, request: Request) -> Answer {
    let guest = door.access.guest(&request)?;
    query::none(request.uri())?;
    let step = segment(&path, "step")?.ok_or_else(Refused::not_found)?;
    let part = segment(&path, "part")?;
    let (parts, _no_body) = request.into_parts();
    let served = door.ask(guest, move |service, caller| {
        let conditions = conditions(&parts.headers);
        service.content(caller, &step, part.as_deref(), conditions)
    });
    Ok(shown(served.await?))
}

/// `POST artifact?name=`.
pub(super) async fn artifact(State(door): State<Arc<Door>>, request: Request) -> Answer {
    let guest = door.access.guest(&request)?;
    let [name] = query::read(request.uri(), ["name"])?;
    let name = name.ok_or_else(|| Refused::invalid("the query must hold `name`"))?;
    let content = brought(&door, &guest, request).await?;
    let accepted = door.ask(guest, move |service, caller| {
        service.artifact(caller, &name, &content)
    });
    Ok(taken(&accepted.await?))
}

/// `POST submit`.
pub(super) async fn submit(State(door): State<Arc<Door>>, request: Request) -> Answer {
    let guest = door.access.guest(&request)?;
    let [ok, verdict] = query::read(request.uri(), ["ok", "verdict"])?;
    let content = brought(&door, &guest, request).await?;
    // Where nothing but the commit takes long, this very thread does it.
    let submit = Submit {
        body: &content,
        ok: ok.as_deref(),
        verdict: verdict.as_deref(),
    };
    let kept = door.service.submit_here(guest.caller(), submit);
    if let Some(accepted) = door.within(kept).await? {
        return Ok(taken(&accepted?));
    }
    let accepted = door.ask(guest, move |service, caller| {
        let submit = Submit {
            body: &content,
            ok: ok.as_deref(),
            verdict: verdict.as_deref(),
        };
        service.submit(caller, submit)
    });
    Ok(taken(&accepted.await?))
}

/// The body of a guest's request. A large one is read from those alone who are known.
async fn brought(door: &Door, guest: &Guest, request: Request) -> Result<bytes::Bytes, Refused> {
    let most = request.body().size_hint().upper();
    if most.is_none_or(|most| most > UNKNOWN_BYTES) {
        door.ask(guest.clone(), access::known).await?;
    }
    sent(door, request).await
}

/// The body of a request, as it was sent.
pub(super) async fn sent(door: &Door, request: Request) -> Result<bytes::Bytes, Refused> {
    body::is_plain(request.headers())?;
    let limits = &door.limits;
    body::read(request.into_body(), limits.body_bytes, limits.body_ms).await
}

/// 204; what the operator should know goes to the log.
fn taken(accepted: &Accepted) -> Response {
    for warning in &accepted.warnings {
        tracing::warn!("{warning}");
    }
    answer::empty(StatusCode::NO_CONTENT)
}

/// A segment of the path, decoded.
pub(super) fn segment(path: &Path, name: &str) -> Result<Option<String>, Refused> {
    let path = path.as_ref().map_err(|_not_text| Refused::not_found())?;
    let mut segments = path.iter();
    let found = segments.find(|(key, _)| *key == name);
    Ok(found.map(|(_, value)| value.to_owned()))
}

/// What a reader says it has and wants.
pub(super) fn conditions(fields: &HeaderMap) -> Conditions<'_> {
    let value = |name: HeaderName| fields.get(name).and_then(|value| value.to_str().ok());
    Conditions {
        if_none_match: value(header::IF_NONE_MATCH),
        range: value(header::RANGE),
        if_range: value(header::IF_RANGE),
    }
}

/// Content as HTTP shows it (RFC 9110 15.3.7, 15.4.5).
fn shown(served: Served) -> Response {
    let Served {
        etag,
        size_bytes,
        body,
    } = served;
    let mut response = match body {
        Body::Whole(bytes) => answer::text(bytes),
        Body::NotModified => answer::empty(StatusCode::NOT_MODIFIED),
        Body::Range { first, last, bytes } => {
            let mut response = answer::text(bytes);
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let range = format!("bytes {first}-{last}/{size_bytes}");
            set(&mut response, header::CONTENT_RANGE, range);
            response
        }
    };
    set(&mut response, header::ETAG, etag);
    set(&mut response, header::ACCEPT_RANGES, "bytes".to_owned());
    // A worker may keep what it has fetched, and has to ask whether it still is so.
    set(
        &mut response,
        header::CACHE_CONTROL,
        "private, no-cache".to_owned(),
    );
    response
}

/// Sets a field; every value here is visible ASCII.
pub(super) fn set(response: &mut Response, name: HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        response.headers_mut().insert(name, value);
    }
}
