//! `outline`: a worker that reads one Markdown document of the workspace, stages its headings as the
//! part `outline.md`, and returns how many there are.
//!
//! The smallest useful worker, and the example for the others. The document is the one that `document`
//! of the context names, else the one that the prompt names. Deliberately absent: choosing where the
//! outline is written. That is the flow's.

use std::fs::File;
use std::io::{ErrorKind, Read as _};

use tidegate_plugin::serde_json::{Value, json};
use tidegate_plugin::{Failure, Invocation, Retryable, Worker, stage};

mod headings;

/// The part that is staged.
const PART: &str = "outline.md";

/// The longest document that is read, in bytes.
const DOCUMENT_BYTES: u64 = 8 * 1024 * 1024;

struct Outline;

tidegate_plugin::export_worker!(Outline);

impl Worker for Outline {
    fn run(invocation: Invocation) -> Result<Value, Failure> {
        let path = document(&invocation)?;
        let headings = headings::of(&read(&path)?);
        stage(PART, &headings::outline(&headings))?;
        Ok(json!({
            "document": path,
            "headings": headings.len(),
            "title": headings.first().map(|heading| &heading.text),
        }))
    }
}

/// The document's path, relative to the workspace.
fn document(invocation: &Invocation) -> Result<String, Failure> {
    let known = invocation.known();
    let named = known.get("document").and_then(Value::as_str);
    match named.unwrap_or(&invocation.prompt).trim() {
        "" => Err(failure(
            "NO_DOCUMENT",
            "neither context nor prompt name one",
        )),
        path if path.starts_with('/') => Err(failure(
            "READ_DENIED",
            "the document is not in the workspace",
        )),
        path => Ok(path.to_owned()),
    }
}

fn read(path: &str) -> Result<String, Failure> {
    let file = File::open(path).map_err(|error| why(&error))?;
    let mut bytes = Vec::new();
    // One byte over the bound is asked for, so that a longer document is told from a whole one.
    let read = file.take(DOCUMENT_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| why(&error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > DOCUMENT_BYTES) {
        return Err(failure("TOO_LARGE", "the document is longer than 8 MiB"));
    }
    String::from_utf8(bytes).map_err(|_not_utf8| failure("NOT_TEXT", "the document is not UTF-8"))
}

fn why(error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            failure("NOT_FOUND", "no such document in the workspace")
        }
        ErrorKind::PermissionDenied => {
            failure("READ_DENIED", "the worker may not read the document")
        }
        _ => failure("READ_FAILED", "the document could not be read"),
    }
}

fn failure(code: &str, message: &str) -> Failure {
    Failure::new(code, message).retryable(Retryable::Never)
}
