//! `GET /v1/runs/{id}/artifacts/{digest}`: what was too large for an answer of a run (SPEC O3, X7).
//!
//! A plugin chose the bytes and their type: a browser is told to save them, to run nothing of them and
//! to take them for nothing else. They are read piece by piece, as fast as the client takes them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use http::header::{self, HeaderValue};
use http_body::{Frame, SizeHint};
use tidegate_sandbox::artifacts::{ArtifactError, Owner, Shelf};
use tidegate_worker::content::{self, Choice};
use tidegate_worker::token::Verb;
use tokio::task::JoinHandle;

use super::door::Door;
use super::framing::{Busy, Gate};
use super::refused::Refused;
use super::runs::Asked;
use super::worker::{Path, conditions, segment, set};
use super::{answer, query};

/// How much of an artifact is held at once.
const PIECE_BYTES: usize = 256 * 1024;

/// What stands before the digits of a digest.
const SHA_256: &str = "sha-256:";

/// The type of bytes whose own can't be written into a field.
const BYTES: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// Shows an artifact of a run to whoever may read the run.
pub(super) async fn read(
    State(door): State<Arc<Door>>,
    path: Path,
    request: Request,
) -> Result<Response, Refused> {
    let asked = Asked::of(&door, &path, &request, Verb::Read)?;
    query::none(request.uri())?;
    let digest = segment(&path, "digest")?.ok_or_else(Refused::not_found)?;
    let artifacts = door.artifacts.clone().ok_or_else(Refused::not_found)?;
    let uri = format!("artifact:{digest}");
    let found = door.manage(move |runs| {
        runs.status(&asked.tenant, &asked.run)?;
        let owner = Owner {
            tenant: asked.tenant,
            run: Some(asked.run.into()),
        };
        Ok(Found::of(Shelf { artifacts, owner }, uri))
    });
    let found = found.await?.map_err(refused)?;
    let gate = request.extensions().get::<Arc<Gate>>();
    let etag = content::etag(digest.strip_prefix(SHA_256).unwrap_or(&digest));
    let choice = content::choose(&etag, found.size_bytes, conditions(request.headers()))?;
    let mut response = found.shown(choice, gate.map(Gate::answer));
    set(&mut response, header::ETAG, etag);
    set(
        &mut response,
        header::CONTENT_DISPOSITION,
        format!("attachment; filename=\"{}\"", digest.replace(':', "-")),
    );
    Ok(response)
}

/// An artifact that is there.
struct Found {
    shelf: Shelf,
    uri: String,
    size_bytes: u64,
    media_type: String,
}

impl Found {
    fn of(shelf: Shelf, uri: String) -> Result<Self, ArtifactError> {
        let slice = shelf.read(&uri, 0, 0)?;
        Ok(Self {
            shelf,
            uri,
            size_bytes: slice.size_bytes,
            media_type: slice.media_type,
        })
    }

    /// What was chosen of it.
    fn shown(self, choice: Choice, busy: Option<Busy>) -> Response {
        let size_bytes = self.size_bytes;
        let media_type = HeaderValue::try_from(&*self.media_type).unwrap_or(BYTES);
        let mut response = match choice {
            Choice::NotModified => answer::empty(StatusCode::NOT_MODIFIED),
            Choice::Whole => {
                let pieces = Pieces::of(self, (0, size_bytes), busy);
                answer::with_type(Response::new(Body::new(pieces)), media_type)
            }
            Choice::Range { first, last } => {
                let pieces = Pieces::of(self, (first, last.saturating_add(1)), busy);
                let mut response = answer::with_type(Response::new(Body::new(pieces)), media_type);
                *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                let range = format!("bytes {first}-{last}/{size_bytes}");
                set(&mut response, header::CONTENT_RANGE, range);
                response
            }
        };
        for (name, value) in [
            (header::ACCEPT_RANGES, "bytes"),
            (header::CACHE_CONTROL, "private, no-cache"),
            (
                header::CONTENT_SECURITY_POLICY,
                "default-src 'none'; sandbox",
            ),
        ] {
            let value = HeaderValue::from_static(value);
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// Why an artifact is not shown. Whose it is makes no difference to who may not have it.
fn refused(error: ArtifactError) -> Refused {
    match error {
        ArtifactError::Uri | ArtifactError::NotFound => Refused::not_found(),
        ArtifactError::Damaged => {
            tracing::warn!("an artifact was damaged and is gone");
            Refused::not_found()
        }
        other => {
            let cause: &dyn std::error::Error = &other;
            tracing::error!(error = cause, "an artifact can't be read");
            Refused::fault("the artifact can't be read")
        }
    }
}

/// A body that reads its next piece when the last one has been taken.
struct Pieces {
    found: Arc<Found>,
    next: u64,
    /// After the last byte.
    end: u64,
    reading: Option<JoinHandle<Result<Vec<u8>, ArtifactError>>>,
    _busy: Option<Busy>,
}

impl Pieces {
    fn of(found: Found, (next, end): (u64, u64), busy: Option<Busy>) -> Self {
        Self {
            found: Arc::new(found),
            next,
            end,
            reading: None,
            _busy: busy,
        }
    }

    fn read(&self) -> JoinHandle<Result<Vec<u8>, ArtifactError>> {
        let (found, offset) = (Arc::clone(&self.found), self.next);
        let left = usize::try_from(self.left()).unwrap_or(PIECE_BYTES);
        let length = left.min(PIECE_BYTES);
        tokio::task::spawn_blocking(move || {
            let slice = found.shelf.read(&found.uri, offset, length)?;
            Ok(slice.bytes)
        })
    }

    fn left(&self) -> u64 {
        self.end.saturating_sub(self.next)
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.left() == 0 {
            return Poll::Ready(None);
        }
        let mut reading = match self.reading.take() {
            Some(reading) => reading,
            None => self.read(),
        };
        let Poll::Ready(read) = Pin::new(&mut reading).poll(context) else {
            self.reading = Some(reading);
            return Poll::Pending;
        };
        let piece = match read {
            Ok(Ok(piece)) if !piece.is_empty() => piece,
            // It was removed meanwhile: what is missing is seen by the length that was announced.
            _gone => return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))),
        };
        let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        self.next = self.next.saturating_add(length);
        Poll::Ready(Some(Ok(Frame::data(piece.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}
