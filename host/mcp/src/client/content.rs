//! What a tool's answer holds, in the neutral words: text stays text, everything else is a reference.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use tidegate::{McpBlob, McpToolResult};
use tidegate_contract::{Content, Part, Reference};

use super::base64;

/// Where a server of this kind tells its own error: `{code, message, retryable?}`.
const ERROR_META: &str = "tidegate/error";

pub(super) fn result(result: CallToolResult) -> McpToolResult {
    let mut taken = McpToolResult {
        structured_content: result.structured_content,
        is_error: result.is_error.unwrap_or(false),
        error: result.meta.and_then(|mut meta| meta.0.remove(ERROR_META)),
        ..McpToolResult::default()
    };
    let mut texts = Vec::new();
    let mut references = Vec::new();
    for block in result.content {
        match block {
            ContentBlock::Text(text) => texts.push(text.text),
            ContentBlock::Image(image) => taken.blobs.push(blob(&image.data, image.mime_type)),
            ContentBlock::Audio(audio) => taken.blobs.push(blob(&audio.data, audio.mime_type)),
            ContentBlock::ResourceLink(link) => references.push(Reference {
                uri: link.uri,
                media_type: link.mime_type,
                digest: None,
            }),
            ContentBlock::Resource(embedded) => match embedded.resource {
                ResourceContents::TextResourceContents {
                    uri,
                    mime_type,
                    text,
                    ..
                } => {
                    texts.push(text);
                    references.push(Reference {
                        uri,
                        media_type: mime_type,
                        digest: None,
                    });
                }
                ResourceContents::BlobResourceContents {
                    uri,
                    mime_type,
                    blob: data,
                    ..
                } => taken.blobs.push(McpBlob {
                    uri: Some(uri),
                    ..blob(&data, mime_type.unwrap_or_default())
                }),
                _ => {}
            },
            _ => {}
        }
    }
    taken.content = content(texts);
    taken.references = (!references.is_empty()).then_some(references);
    taken
}

fn content(mut texts: Vec<String>) -> Option<Content> {
    match texts.len() {
        0 => None,
        1 => texts.pop().map(Content::Text),
        _ => {
            let parts = texts.into_iter().map(|text| Part::Text { text });
            Some(Content::Parts(parts.collect()))
        }
    }
}

/// What is no base64 is kept as it was written: the digest still tells one from another.
fn blob(data: &str, media_type: String) -> McpBlob {
    McpBlob {
        uri: None,
        media_type: (!media_type.is_empty()).then_some(media_type),
        bytes: base64::decode(data).unwrap_or_else(|| data.as_bytes().to_vec()),
    }
}
