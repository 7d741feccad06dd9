//! A result over its bound: the whole of what does not fit goes to an artifact, and the result keeps
//! its head, a reference, and how much was left out (SPEC S5, O3).
//!
//! What is kept is written from where it is: there is no second copy of it. The same for components and
//! for Rust types.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;
use tidegate_contract::failure::host_failure;
use tidegate_contract::json::{self, JsonBounds};
use tidegate_contract::limits::Limits;
use tidegate_contract::result::HOST_METADATA;
use tidegate_contract::text::{self, TextBuffer};
use tidegate_contract::{
    CallError, Content, Failure, JsonObject, Part, Reference, ResultError, ToolOutcome, Value,
};
use tidegate_sandbox::artifacts::{ArtifactError, Kept};
use tidegate_sandbox::{Artifacts, Owner, Shelf};

use crate::bounds;
use crate::caller::Caller;

/// The store as a caller sees it.
pub(crate) fn shelf(artifacts: Option<&Artifacts>, caller: &Caller) -> Option<Shelf> {
    Some(Shelf {
        artifacts: artifacts?.clone(),
        owner: Owner {
            tenant: caller.tenant.clone(),
            run: caller.run.clone(),
        },
    })
}

/// Keeps what is over `result_bytes` of an outcome; a failure that names the limit where it can't be
/// kept.
pub(crate) async fn what_is_over(
    outcome: ToolOutcome,
    limits: Limits,
    shelf: Option<&Shelf>,
) -> Result<ToolOutcome, CallError> {
    let Some(shelf) = shelf.cloned() else {
        return Ok(lost(outcome, &limits));
    };
    let largest = Limits {
        result_bytes: limits.artifact_bytes.max(limits.result_bytes),
        ..limits
    };
    match outcome.check(&bounds::of_result(&largest)) {
        Ok(()) => aside(move || cut(outcome, &limits, &shelf)).await,
        Err(ResultError::Json(json::JsonError::TooLarge { .. })) => {
            outcome.discard();
            let message = format!(
                "the result is larger than artifact_bytes = {}",
                limits.artifact_bytes
            );
            Ok(ToolOutcome::failed(host_failure("LIMIT_RESULT", message)))
        }
        Err(error) => {
            outcome.discard();
            Err(CallError::InvalidResult {
                reason: error.to_string(),
            })
        }
    }
}

/// Runs a job that reads or writes files on a thread that may wait for them.
pub(crate) async fn aside<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CallError> {
    let done = tokio::task::spawn_blocking(job).await;
    done.map_err(|error| CallError::HostFault {
        reason: error.to_string(),
    })
}

/// What a caller is told of an error of the store, which the operator's log has whole.
pub(crate) fn told(error: &ArtifactError) -> Failure {
    if let ArtifactError::Failed { step, source } = error {
        tracing::error!(step, %source, "the store of artifacts failed");
    }
    error.to_failure()
}

/// The fields that may be cut, in the order in which they are kept.
#[derive(Default)]
struct Omitted {
    references: Vec<Reference>,
    said: JsonObject,
}

impl Omitted {
    fn add(&mut self, field: &str, media_type: &str, kept: Kept, omitted_bytes: usize) {
        let said = json!({ "omittedBytes": omitted_bytes, "uri": kept.uri });
        self.said.insert(field.to_owned(), said);
        self.references.push(Reference {
            uri: kept.uri,
            media_type: Some(media_type.to_owned()),
            digest: Some(kept.digest),
        });
    }
}

/// Of two fields that do not fit beside each other, the larger one is cut.
fn cut(mut outcome: ToolOutcome, limits: &Limits, shelf: &Shelf) -> ToolOutcome {
    let bytes = bounds::of_result(limits).bytes;
    let Some(room) = bytes.checked_sub(fixed_size(&outcome)) else {
        return lost(outcome, limits);
    };
    let content = outcome.content.as_ref().map_or(0, content_size);
    let structured = outcome.structured_content.as_ref().map_or(0, size);
    let is_over = content.saturating_add(structured) > room;
    let cuts_structured = structured > room || (structured >= content && is_over);
    let left = if cuts_structured {
        room
    } else {
        room.saturating_sub(structured)
    };
    let mut omitted = Omitted::default();
    if cuts_structured && let Some(value) = outcome.structured_content.take() {
        let kept = shelf.put_written(JSON, |file| write_json(file, &value));
        json::discard(value);
        match kept {
            Ok(kept) => omitted.add("structuredContent", JSON, kept, structured),
            Err(error) => return not_kept(outcome, limits, &error),
        }
    }
    if content > left
        && let Some(whole) = outcome.content.take()
    {
        let media_type = match whole {
            Content::Text(_) => TEXT,
            Content::Json(_) | Content::Parts(_) => JSON,
        };
        match head(whole, left, shelf) {
            Ok((kept, head)) => {
                let omitted_bytes = content.saturating_sub(content_size(&head));
                omitted.add("content", media_type, kept, omitted_bytes);
                outcome.content = Some(head);
            }
            Err(error) => return not_kept(outcome, limits, &error),
        }
    }
    let references = outcome.references.get_or_insert_default();
    references.extend(omitted.references);
    let metadata = outcome.metadata.get_or_insert_default();
    metadata.insert("omitted".to_owned(), omitted.said.into());
    outcome
}

const TEXT: &str = "text/plain";

const JSON: &str = "application/json";

/// Keeps the whole of a content, and gives its first `left` bytes.
fn head(whole: Content, left: usize, shelf: &Shelf) -> Result<(Kept, Content), ArtifactError> {
    match whole {
        Content::Text(mut text) => {
            let kept = shelf.put(TEXT, text.as_bytes())?;
            text.truncate(text::cut(&text, left).len());
            text.shrink_to_fit();
            Ok((kept, Content::Text(text)))
        }
        Content::Json(value) => {
            let mut head = TextBuffer::new(left);
            let kept = shelf.put_written(JSON, |file| {
                let both = Both {
                    file,
                    head: &mut head,
                };
                write_json(both, &value)
            });
            json::discard(value);
            Ok((kept?, Content::Text(head.finish().text().to_owned())))
        }
        Content::Parts(parts) => {
            let kept = shelf.put_written(JSON, |file| write_json(file, &parts))?;
            Ok((kept, first_parts(parts, left)))
        }
    }
}

/// The parts that fit, and the head of a text that does not.
fn first_parts(parts: Vec<Part>, mut left: usize) -> Content {
    let mut first = Vec::new();
    let mut parts = parts.into_iter();
    for part in parts.by_ref() {
        let bytes = part_size(&part);
        if bytes <= left {
            left -= bytes;
            first.push(part);
            continue;
        }
        if let Part::Text { text } = &part {
            let text = text::cut(text, left).to_owned();
            first.push(Part::Text { text });
        }
        discard(vec![part]);
        break;
    }
    discard(parts.collect());
    if first.is_empty() {
        return Content::Text(String::new());
    }
    Content::Parts(first)
}

fn discard(parts: Vec<Part>) {
    Content::Parts(parts).discard();
}

/// Writes to an artifact and collects the head on the way.
struct Both<'a, W> {
    file: W,
    head: &'a mut TextBuffer,
}

impl<W: Write> Write for Both<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all(bytes)?;
        self.head.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes compact JSON, in pieces of some size: the writer of JSON makes very small ones.
fn write_json(file: impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut file = io::BufWriter::with_capacity(64 * 1024, file);
    serde_json::to_writer(&mut file, value)?;
    file.flush()
}

/// What references and the tool's own metadata take.
fn fixed_size(outcome: &ToolOutcome) -> usize {
    let references = outcome.references.iter().flatten().map(reference_size);
    let own = |key: &str| !HOST_METADATA.contains(&key);
    let metadata = outcome.metadata.iter().flatten();
    let metadata = metadata
        .filter(|(key, _)| own(key))
        .map(|(key, value)| key.len().saturating_add(size(value)));
    references.chain(metadata).fold(0, usize::saturating_add)
}

fn content_size(content: &Content) -> usize {
    match content {
        Content::Text(text) => text.len(),
        Content::Json(value) => size(value),
        Content::Parts(parts) => parts.iter().map(part_size).fold(0, usize::saturating_add),
    }
}

fn part_size(part: &Part) -> usize {
    match part {
        Part::Text { text } => text.len(),
        Part::Json { data } => size(data),
        Part::Reference { reference } => reference_size(reference),
    }
}

fn reference_size(reference: &Reference) -> usize {
    let texts = [
        Some(&reference.uri),
        reference.media_type.as_ref(),
        reference.digest.as_ref(),
    ];
    texts.into_iter().flatten().map(String::len).sum()
}

/// The compact size of a value whose size and depth were checked before.
fn size(value: &Value) -> usize {
    let any = JsonBounds {
        bytes: usize::MAX,
        ..JsonBounds::default()
    };
    json::measure(value, &any).unwrap_or(usize::MAX)
}

fn not_kept(outcome: ToolOutcome, limits: &Limits, error: &ArtifactError) -> ToolOutcome {
    tracing::warn!(%error, "a result over its bound was not kept");
    lost(outcome, limits)
}

fn lost(outcome: ToolOutcome, limits: &Limits) -> ToolOutcome {
    outcome.discard();
    ToolOutcome::failed(Failure::result_too_large(limits.result_bytes))
}
