//! What a call came to (SPEC W1, W3).
//!
//! A failure says the same whatever went wrong: words of a provider and parts of the request never
//! get into a message.

use std::fmt::Write as _;

use serde::Serialize;

use crate::bindings::exports::tidegate::plugin::tools::Problem;
use crate::bindings::tidegate::plugin::types::{Content, Failure, Outcome, Reference, Status};
use crate::results::{Page, Results};

/// The structured content; its schema is in `definition`.
#[derive(Serialize)]
struct Structured<'a> {
    query: &'a str,
    results: &'a [Page],
    truncated: bool,
}

/// The outcome of a search that was answered, with results or without.
pub(crate) fn found(query: &str, results: &Results) -> Outcome {
    let structured = Structured {
        query,
        results: &results.list,
        truncated: results.truncated,
    };
    let reference = |page: &Page| Reference {
        uri: page.url.clone(),
        media_type: None,
        digest: None,
    };
    Outcome {
        status: Status::Success,
        content: Some(Content::Text(list(&results.list))),
        // Strings and a boolean alone always have a JSON text.
        structured_content: serde_json::to_string(&structured).ok(),
        references: results.list.iter().map(reference).collect(),
        error: None,
        metadata: None,
    }
}

/// The results to be read, or that there are none.
fn list(results: &[Page]) -> String {
    if results.is_empty() {
        return "The search found nothing.".to_owned();
    }
    let mut list = String::new();
    for (index, page) in results.iter().enumerate() {
        if index > 0 {
            list.push_str("\n\n");
        }
        let number = index + 1;
        match write!(list, "{number}. {}\n{}", page.title, page.url) {
            // Writing to a string does not fail.
            Ok(()) | Err(_) => {}
        }
        if !page.snippet.is_empty() {
            list.push('\n');
            list.push_str(&page.snippet);
        }
    }
    list
}

/// The outcome of a search that was not answered.
pub(crate) fn failed() -> Outcome {
    not_done(
        Status::Failed,
        "WEB_SEARCH_FAILED",
        "the web search provider failed",
    )
}

/// The outcome of a search that the caller no longer wants.
pub(crate) fn cancelled() -> Outcome {
    not_done(
        Status::Cancelled,
        "WEB_SEARCH_CANCELLED",
        "the web search was cancelled",
    )
}

/// The outcome of a call that should not have passed `validate`.
pub(crate) fn invalid_arguments(problems: &[Problem]) -> Outcome {
    let message = match problems {
        [Problem { pointer, reason }, ..] if pointer.is_empty() => reason.clone(),
        [Problem { reason, .. }, ..] => format!("an argument {reason}"),
        [] => "the arguments are not those of this tool".to_owned(),
    };
    not_done(Status::Failed, "INVALID_ARGUMENTS", &message)
}

/// The outcome under settings that are wrong: an operator's mistake, no caller's.
pub(crate) fn invalid_config(reason: &str) -> Outcome {
    not_done(Status::Failed, "CONFIG_INVALID", reason)
}

fn not_done(status: Status, code: &str, message: &str) -> Outcome {
    Outcome {
        status,
        content: None,
        structured_content: None,
        references: Vec::new(),
        error: Some(Failure {
            code: code.to_owned(),
            message: message.to_owned(),
            retryable: None,
        }),
        metadata: None,
    }
}
