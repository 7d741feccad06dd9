//! A server that is given secrets: what it says with one of them in it is thrown away (SPEC S7).

use tidegate::{BoxFuture, CancellationToken, McpClient, McpError, McpPage, McpToolResult, Secret};
use tidegate_contract::{Content, JsonObject, Part, Reference};

use crate::said::HIDDEN;

/// A client whose answers must not hold any of these secrets.
#[derive(Debug)]
pub struct Sealed<C> {
    client: C,
    secrets: Vec<Secret>,
}

impl<C> Sealed<C> {
    /// Keeps secrets out of what a client gives.
    #[must_use]
    pub fn new(client: C, secrets: Vec<Secret>) -> Self {
        Self { client, secrets }
    }

    fn shows(&self, text: &str) -> bool {
        self.secrets.iter().any(|secret| secret.is_in(text))
    }

    fn shows_value(&self, value: &tidegate_contract::Value) -> bool {
        self.secrets.iter().any(|secret| secret.is_in_value(value))
    }

    /// The same error; its text is for the log, and may be the server's.
    fn hidden(&self, mut error: McpError) -> McpError {
        if let McpError::Unavailable { reason }
        | McpError::Broken { reason }
        | McpError::Protocol { reason, .. } = &mut error
            && self.shows(reason)
        {
            HIDDEN.clone_into(reason);
        }
        error
    }

    fn shows_bytes(&self, bytes: &[u8]) -> bool {
        self.secrets.iter().any(|secret| secret.is_in_bytes(bytes))
    }

    fn shows_any<const N: usize>(&self, texts: [Option<&String>; N]) -> bool {
        texts.into_iter().flatten().any(|text| self.shows(text))
    }

    fn is_in_reference(&self, reference: &Reference) -> bool {
        self.shows_any([
            Some(&reference.uri),
            reference.media_type.as_ref(),
            reference.digest.as_ref(),
        ])
    }

    fn is_shown_by(&self, result: &McpToolResult) -> bool {
        let in_content = match &result.content {
            None => false,
            Some(Content::Text(text)) => self.shows(text),
            Some(Content::Json(value)) => self.shows_value(value),
            Some(Content::Parts(parts)) => parts.iter().any(|part| match part {
                Part::Text { text } => self.shows(text),
                Part::Json { data } => self.shows_value(data),
                Part::Reference { reference } => self.is_in_reference(reference),
            }),
        };
        let values = result.structured_content.iter().chain(&result.error);
        let mut references = result.references.iter().flatten();
        let mut blobs = result.blobs.iter();
        in_content
            || values.into_iter().any(|value| self.shows_value(value))
            || references.any(|reference| self.is_in_reference(reference))
            || blobs.any(|blob| {
                let texts = [blob.uri.as_ref(), blob.media_type.as_ref()];
                self.shows_any(texts) || self.shows_bytes(&blob.bytes)
            })
    }
}

impl<C: McpClient> McpClient for Sealed<C> {
    fn list_tools<'a>(
        &'a self,
        cursor: Option<&'a str>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<McpPage, McpError>> {
        Box::pin(async move {
            let page = self.client.list_tools(cursor, cancel).await;
            let page = page.map_err(|error| self.hidden(error))?;
            let shown = page.tools.iter().any(|tool| {
                self.shows(&tool.name)
                    || self.shows(tool.description.as_deref().unwrap_or_default())
                    || self.shows_value(&tool.input_schema)
                    || tool
                        .output_schema
                        .iter()
                        .any(|schema| self.shows_value(schema))
            });
            if shown {
                return Err(McpError::SecretInResult);
            }
            Ok(page)
        })
    }

    fn call_tool<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a JsonObject,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<McpToolResult, McpError>> {
        Box::pin(async move {
            let result = self.client.call_tool(name, arguments, cancel).await;
            let result = result.map_err(|error| self.hidden(error))?;
            if self.is_shown_by(&result) {
                return Err(McpError::SecretInResult);
            }
            Ok(result)
        })
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        self.client.changed()
    }
}
