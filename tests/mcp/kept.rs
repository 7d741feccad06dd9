//! Results of MCP servers that are too large for an answer, and bytes in them: artifacts, where there is
//! a store (SPEC M3, O3, S5).

use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate::{
    ArtifactBounds, Artifacts, McpBlob, McpRegistry, McpSettings, McpToolResult, Runtime,
    RuntimeOptions,
};
use tidegate_contract::grant::{Grant, parse_allow};
use tidegate_contract::{Content, Limits};
use tidegate_sandbox::Owner;

use super::scripted::{Scripted, ask, invoke};

pub(super) fn store(folder: &TempDir) -> Artifacts {
    Artifacts::open(folder.path(), ArtifactBounds::default()).unwrap()
}

/// A runtime over servers, with a store.
pub(super) fn keeping(servers: &McpRegistry, store: Artifacts) -> Runtime {
    let mut sandbox = Grant::default();
    parse_allow("mcp=files", &mut sandbox).unwrap();
    Runtime::new(RuntimeOptions {
        sandbox,
        mcp: Some(servers.clone()),
        artifacts: Some(store),
        ..RuntimeOptions::default()
    })
    .unwrap()
}

/// What a call comes to whose server answers so, under this `result_bytes`.
async fn result(folder: Option<&TempDir>, result_bytes: u64, answer: McpToolResult) -> Value {
    let limits = Limits {
        result_bytes,
        ..Limits::default()
    };
    let settings = McpSettings {
        limits,
        ..McpSettings::default()
    };
    let servers = McpRegistry::new(settings).unwrap();
    drop(
        servers
            .register("files", Scripted::giving(Ok(answer)))
            .unwrap(),
    );
    let runtime = match folder {
        Some(folder) => keeping(&servers, store(folder)),
        None => super::scripted::over(&servers, &["mcp=files"]),
    };
    let answer = ask(&runtime, invoke("read", &json!({}))).await.unwrap();
    answer["result"].clone()
}

fn read(folder: &TempDir, reference: &Value) -> Vec<u8> {
    let uri = reference["uri"].as_str().unwrap();
    let slice = store(folder).read(&Owner::default(), uri, 0, 1 << 20);
    slice.unwrap_or_else(|error| panic!("{uri}: {error}")).bytes
}

fn text(bytes: usize) -> McpToolResult {
    McpToolResult {
        content: Some(Content::Text("x".repeat(bytes))),
        ..McpToolResult::default()
    }
}

#[tokio::test]
async fn o3_a_text_over_its_bound_keeps_its_head_and_is_whole_in_an_artifact() {
    let folder = TempDir::new().unwrap();
    for (bytes, is_whole) in [(999, true), (1_000, true), (1_001, false), (500_000, false)] {
        let said = result(Some(&folder), 1_000, text(bytes)).await;
        assert_eq!(said["status"], "success", "{bytes}");
        let content = said["content"].as_str().unwrap();
        assert_eq!(content.len(), bytes.min(1_000), "{bytes}");
        assert_eq!(said.get("references").is_none(), is_whole, "{bytes}");
        if !is_whole {
            let omitted = &said["metadata"]["omitted"]["content"];
            assert_eq!(omitted["omittedBytes"], bytes - 1_000);
            assert_eq!(read(&folder, &said["references"][0]).len(), bytes);
        }
    }
}

#[tokio::test]
async fn o3_without_a_store_a_text_over_its_bound_is_a_passed_limit() {
    for (bytes, status) in [(1_000, "success"), (1_001, "failed")] {
        let said = result(None, 1_000, text(bytes)).await;
        assert_eq!(said["status"], status, "{said}");
    }
    let said = result(None, 1_000, text(1_001)).await;
    assert_eq!(said["error"]["code"], "LIMIT_RESULT", "{said}");
}

fn blob(number: usize) -> McpBlob {
    McpBlob {
        uri: None,
        media_type: Some("image/png".to_owned()),
        bytes: format!("picture {number}").into_bytes(),
    }
}

#[tokio::test]
async fn o3_bytes_of_an_answer_are_kept_sixty_four_of_them() {
    let folder = TempDir::new().unwrap();
    for count in [63, 64, 65] {
        let answer = McpToolResult {
            blobs: (0..count).map(blob).collect(),
            ..McpToolResult::default()
        };
        let said = result(Some(&folder), 1_000_000, answer).await;
        let references = said["references"].as_array().unwrap();
        assert_eq!(references.len(), count);
        for (number, reference) in references.iter().enumerate() {
            assert_eq!(reference["mediaType"], "image/png");
            if number < 64 {
                assert_eq!(read(&folder, reference), blob(number).bytes);
            } else {
                let uri = reference["uri"].as_str().unwrap();
                assert!(uri.starts_with("urn:sha-256:"), "{uri}");
            }
        }
    }
}

#[tokio::test]
async fn o3_bytes_with_a_place_or_a_kind_of_the_server_s_own_are_kept_beside_it() {
    let folder = TempDir::new().unwrap();
    let of = |uri: Option<&str>, media_type: Option<&str>| McpBlob {
        uri: uri.map(str::to_owned),
        media_type: media_type.map(str::to_owned),
        bytes: b"bytes".to_vec(),
    };
    for (blob, expected) in [
        (
            of(Some("file:///a"), Some("image/png")),
            vec!["artifact:", "file:///a"],
        ),
        (of(Some(" "), None), vec!["artifact:"]),
        (of(None, None), vec!["artifact:"]),
        (of(None, Some("no kind")), vec!["artifact:"]),
        (
            of(None, Some("text/plain; charset=utf-8")),
            vec!["artifact:"],
        ),
    ] {
        let answer = McpToolResult {
            blobs: vec![blob.clone()],
            ..McpToolResult::default()
        };
        let said = result(Some(&folder), 1_000_000, answer).await;
        let references = said["references"].as_array().unwrap();
        assert_eq!(references.len(), expected.len(), "{blob:?}: {said}");
        for (reference, start) in references.iter().zip(expected) {
            let uri = reference["uri"].as_str().unwrap();
            assert!(uri.starts_with(start), "{blob:?}: {said}");
        }
    }
}
