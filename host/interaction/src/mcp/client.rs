//! The port of an MCP server: what a connection is to the registry, and what an embedder's Rust type
//! can be as well. Its values are as the server gave them; the registry checks them.

use std::future::pending;

use thiserror::Error;
use tidegate_contract::{Content, Effect, JsonObject, Reference, Value};
use tokio_util::sync::CancellationToken;

use crate::tool::BoxFuture;

/// What of an error the log shows, in bytes, before it is escaped.
const SHOWN_BYTES: usize = 200;

/// One connected MCP server.
///
/// The registry has checked permission and registration, and races each call against the caller's
/// deadline: dropping a future gives the call up.
pub trait McpClient: Send + Sync {
    /// One page of the server's tools: the first, or the one that a cursor of the page before names.
    ///
    /// # Errors
    ///
    /// [`McpError`].
    fn list_tools<'a>(
        &'a self,
        cursor: Option<&'a str>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<McpPage, McpError>>;

    /// Calls one tool once. That the tool failed is a result, not an error.
    ///
    /// # Errors
    ///
    /// [`McpError`].
    fn call_tool<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a JsonObject,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<McpToolResult, McpError>>;

    /// Ends when the server has said that its tools are others now, since this was last asked. The
    /// default never ends.
    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(pending())
    }
}

/// One page of a server's tools.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McpPage {
    /// The tools.
    pub tools: Vec<McpTool>,
    /// Names the next page; `None` on the last.
    pub next_cursor: Option<String>,
}

/// One tool, as the server describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McpTool {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// JSON Schema of the arguments: an object, or discovery fails.
    pub input_schema: Value,
    /// JSON Schema of the structured content: an object where there is one.
    pub output_schema: Option<Value>,
    /// What it says of its effects.
    pub hints: McpHints,
}

/// What a server says of a tool's effects (`annotations`). Words: nothing here is bounded by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct McpHints {
    /// It changes nothing. Where it does not say so, it may.
    pub read_only: Option<bool>,
    /// What it changes may be lost. Where it does not say otherwise, it may be.
    pub destructive: Option<bool>,
    /// It asks a world that others can write to. Where it does not say otherwise, it does.
    pub open_world: Option<bool>,
}

impl McpHints {
    /// The effects that a definition of the tool has: all that is not ruled out.
    #[must_use]
    pub fn effects(self) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.read_only != Some(true) {
            if self.destructive != Some(false) {
                effects.push(Effect::Write);
            }
            effects.push(Effect::Execute);
        }
        if self.open_world != Some(false) {
            effects.push(Effect::Network);
        }
        effects
    }
}

/// What a tool gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McpToolResult {
    /// What to read.
    pub content: Option<Content>,
    /// What to compute with; null is a value.
    pub structured_content: Option<Value>,
    /// What is kept elsewhere.
    pub references: Option<Vec<Reference>>,
    /// Bytes that stand in the answer itself, such as an image. They become references.
    pub blobs: Vec<McpBlob>,
    /// Whether the tool says that it failed.
    pub is_error: bool,
    /// `{code, message, retryable?}`, where the server tells what went wrong. What is unfit for the
    /// public is replaced.
    pub error: Option<Value>,
}

/// Bytes in an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpBlob {
    /// Where the server says that they are kept, if anywhere.
    pub uri: Option<String>,
    /// Their media type.
    pub media_type: Option<String>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Why a server gave no answer. The texts are for the log; what callers are told is fixed.
#[derive(Debug, Error)]
pub enum McpError {
    /// The server could not be reached: nothing was asked of it.
    #[error("the server can't be reached: {reason}")]
    Unavailable {
        /// What happened.
        reason: String,
    },
    /// The connection broke after the request was sent: whether it had an effect is unknown.
    #[error("the connection broke: {reason}")]
    Broken {
        /// What happened.
        reason: String,
    },
    /// The server answered with an error of the protocol, or with what is no answer.
    #[error("protocol error: {reason}")]
    Protocol {
        /// The number that the protocol has for it.
        code: Option<i64>,
        /// What the server said, or what is wrong with its answer.
        reason: String,
    },
    /// The answer is larger than the client reads.
    #[error("the answer is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The client's bound.
        limit_bytes: u64,
    },
    /// The answer holds a secret that the host gave to the server, so it was thrown away.
    #[error("the answer holds a secret")]
    SecretInResult,
    /// The caller gave up.
    #[error("cancelled")]
    Cancelled,
}

impl McpError {
    /// The error as the log shows it: on one line, and cut, since a server may choose its text.
    pub(super) fn shown(&self) -> String {
        let text = self.to_string();
        let cut = text.get(..text.floor_char_boundary(SHOWN_BYTES));
        cut.unwrap_or_default().escape_debug().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mc06_what_a_server_says_of_an_error_is_cut_and_on_one_line() {
        let shown = |reason: String| McpError::Protocol { code: None, reason }.shown();
        assert_eq!(shown("a\nb\u{1b}".into()), r"protocol error: a\nb\u{1b}");
        let before = "protocol error: ".len();
        for (bytes, kept) in [(199, 199), (200, 200), (201, 200)] {
            assert_eq!(shown("x".repeat(bytes - before)).len(), kept);
        }
        assert_eq!(shown("é".repeat(1_000)).len(), 200);
    }
}
