//! Results over their bound and what plugins keep: artifacts, and paging through them (SPEC O3, S5,
//! X7).

use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate::{
    ArtifactBounds, Artifacts, Caller, InvokeOptions, ReadArtifact, Runtime, RuntimeOptions,
    ToolRegistry,
};
use tidegate_contract::{Content, Tenant, ToolOutcome};

use super::native::native;
use crate::support::{Fixture, call};

/// A fixture with a store of its own, whose folder goes with the other value.
pub(super) fn keeping(limits: &[(&str, u64)]) -> (Fixture, TempDir) {
    let folder = TempDir::new().unwrap();
    let mut fixture = Fixture::new(&[]);
    for (name, value) in limits {
        fixture = fixture.limit(name, *value);
    }
    fixture.artifacts = Some(store(&folder, ArtifactBounds::default()));
    (fixture, folder)
}

pub(super) fn store(folder: &TempDir, bounds: ArtifactBounds) -> Artifacts {
    Artifacts::open(&folder.path().join("kept"), bounds).unwrap()
}

fn of(tenant: &str, run: Option<&str>) -> InvokeOptions {
    InvokeOptions {
        caller: Caller {
            tenant: Tenant::new(tenant).unwrap(),
            run: run.map(Arc::from),
            ..Caller::default()
        },
        ..InvokeOptions::default()
    }
}

async fn ask_as(runtime: &Runtime, options: InvokeOptions, tool: &str, input: Value) -> Value {
    let told = format!("{tool} {input}");
    let ended = runtime.act_tool(call(tool, input), options).await;
    let result = ended.unwrap_or_else(|error| panic!("{told:.200}: {error}"));
    serde_json::to_value(result).unwrap()
}

pub(super) async fn ask(runtime: &Runtime, tool: &str, input: Value) -> Value {
    ask_as(runtime, InvokeOptions::default(), tool, input).await
}

/// The uri of the artifact in which a field of a result is whole.
pub(super) fn whole(result: &Value, field: &str) -> String {
    let uri = result["metadata"]["omitted"][field]["uri"].as_str();
    let uri = uri.unwrap_or_else(|| panic!("{field} is whole in {result:.300}"));
    let reference = result["references"].as_array().into_iter().flatten();
    let mut digests = reference.filter(|reference| reference["uri"] == uri);
    let digest = digests.next().unwrap()["digest"].as_str().unwrap();
    assert_eq!(uri, format!("artifact:{digest}"));
    uri.to_owned()
}

/// Reads an artifact in pieces of a length.
async fn read(runtime: &Runtime, uri: &str, length: usize) -> String {
    let (mut text, mut offset) = (String::new(), 0);
    loop {
        let input = json!({ "uri": uri, "offset": offset, "length": length });
        let piece = ask(runtime, "read_artifact", input).await;
        assert_eq!(piece["status"], "success", "{piece}");
        let (content, at) = (
            piece["content"].as_str().unwrap(),
            &piece["structuredContent"],
        );
        assert!(content.len() <= length);
        text.push_str(content);
        assert_eq!(at["nextOffset"], text.len());
        if at["eof"] == true {
            assert_eq!(at["sizeBytes"], text.len());
            return text;
        }
        assert_ne!(at["nextOffset"], offset, "each piece makes progress");
        offset = text.len();
    }
}

pub(super) fn code(result: &Value) -> &str {
    result["error"]["code"].as_str().unwrap_or("success")
}

#[tokio::test]
async fn o3_a_text_over_its_bound_keeps_its_head_and_is_read_back_whole() {
    let (fixture, _folder) = keeping(&[("result_bytes", 1_000)]);
    let runtime = fixture.runtime(&["probe"]).await;
    for bytes in [999, 1_000] {
        let result = ask(&runtime, "large", json!({ "text": bytes })).await;
        assert_eq!(result["content"], "x".repeat(bytes));
        assert_eq!(
            (&result["references"], &result["metadata"]),
            (&Value::Null, &Value::Null)
        );
    }
    for bytes in [1_001, 5_000_000] {
        let result = ask(&runtime, "large", json!({ "text": bytes })).await;
        assert_eq!(result["status"], "success");
        assert_eq!(result["content"], "x".repeat(1_000));
        let omitted = &result["metadata"]["omitted"]["content"]["omittedBytes"];
        assert_eq!(*omitted, bytes - 1_000);
        assert_eq!(result["references"][0]["mediaType"], "text/plain");
        let uri = whole(&result, "content");
        assert_eq!(read(&runtime, &uri, bytes.min(500)).await.len(), bytes);
    }
}

#[tokio::test]
async fn o3_neither_head_nor_piece_splits_a_character() {
    for (room, head) in [(10, "가나다"), (11, "가나다"), (12, "가나다가")] {
        let (fixture, _folder) = keeping(&[("result_bytes", room)]);
        let runtime = fixture.runtime(&["probe"]).await;
        let input = json!({ "text": 90, "word": "가나다" });
        let result = ask(&runtime, "large", input).await;
        assert_eq!(result["content"], head);
        assert_eq!(
            result["metadata"]["omitted"]["content"]["omittedBytes"],
            90 - head.len()
        );
    }
    let (fixture, _folder) = keeping(&[("result_bytes", 1_000)]);
    let runtime = fixture.runtime(&["probe"]).await;
    let input = json!({ "text": 3_000, "word": "a😀é" });
    let uri = whole(&ask(&runtime, "large", input).await, "content");
    let expected = format!("{}{}", "a😀é".repeat(428), "....");
    for length in [4, 5, 7, 100] {
        assert_eq!(read(&runtime, &uri, length).await, expected, "{length}");
    }
    // An offset inside of a character means the next one.
    let input = json!({ "uri": uri, "offset": 3, "length": 4 });
    let piece = ask(&runtime, "read_artifact", input).await;
    assert_eq!(
        (&piece["content"], &piece["structuredContent"]["offset"]),
        (&json!("é"), &json!(5))
    );
}

#[tokio::test]
async fn o3_the_larger_field_is_cut_and_each_artifact_holds_a_whole_field() {
    let (fixture, _folder) = keeping(&[("result_bytes", 1_000)]);
    let runtime = fixture.runtime(&["probe"]).await;
    let sizes = |result: &Value| {
        let content = result["content"].as_str().map(str::len);
        let structured = result["structuredContent"]
            .as_str()
            .map(|text| text.len() + 2);
        (content, structured)
    };
    for (text, structured, kept) in [
        (600, 400, (Some(600), Some(400))),
        (601, 400, (Some(600), Some(400))),
        (400, 601, (Some(400), None)),
        (500, 501, (Some(500), None)),
        (501, 500, (Some(500), Some(500))),
        (1_001, 10, (Some(990), Some(10))),
        (10, 1_001, (Some(10), None)),
        (2_000, 3_000, (Some(1_000), None)),
        (3_000, 2_000, (Some(1_000), None)),
    ] {
        let input = json!({ "text": text, "structured": structured });
        let result = ask(&runtime, "large", input).await;
        assert_eq!(sizes(&result), kept, "{text} {structured}");
        if kept.0 != Some(text) {
            let uri = whole(&result, "content");
            assert_eq!(read(&runtime, &uri, 400).await, "x".repeat(text));
        }
        if kept.1 != Some(structured) {
            let uri = whole(&result, "structuredContent");
            let json = format!("\"{}\"", "j".repeat(structured - 2));
            assert_eq!(read(&runtime, &uri, 400).await, json);
        }
    }
}

#[tokio::test]
async fn o3_json_and_parts_keep_a_head_too() {
    let (fixture, _folder) = keeping(&[("result_bytes", 1_000)]);
    let runtime = fixture.runtime(&["probe"]).await;
    let result = ask(&runtime, "large", json!({ "json": 2_000 })).await;
    assert_eq!(result["content"], format!("[\"{}", "j".repeat(998)));
    let uri = whole(&result, "content");
    assert_eq!(result["references"][0]["mediaType"], "application/json");
    assert_eq!(read(&runtime, &uri, 1_000).await.len(), 2_000);

    for (parts, cut) in [(10, false), (11, true), (500, true)] {
        let input = json!({ "parts": parts, "structured": 3 });
        let result = ask(&runtime, "large", input).await;
        let kept = result["content"].as_array().unwrap();
        assert_eq!(kept[0]["text"].as_str().unwrap().len(), 100);
        assert_eq!(kept.len(), 10);
        let last = kept[9]["text"].as_str().unwrap();
        // Three bytes go to the structured content.
        assert_eq!(last.len(), 97, "{cut}");
        let uri = whole(&result, "content");
        let all: Value = serde_json::from_str(&read(&runtime, &uri, 400).await).unwrap();
        assert_eq!(all.as_array().unwrap().len(), parts);
    }
}

#[tokio::test]
async fn s5_a_result_fails_from_the_first_byte_over_artifact_bytes() {
    let limits = [("result_bytes", 1_000), ("artifact_bytes", 5_000)];
    let (fixture, _folder) = keeping(&limits);
    let runtime = fixture.runtime(&["probe"]).await;
    for (bytes, fits) in [(4_999, true), (5_000, true), (5_001, false)] {
        for input in [json!({ "text": bytes }), json!({ "structured": bytes })] {
            let result = ask(&runtime, "large", input).await;
            if fits {
                assert_eq!(result["status"], "success", "{bytes}");
                continue;
            }
            assert_eq!(code(&result), "LIMIT_RESULT");
            let message = result["error"]["message"].as_str().unwrap();
            assert!(message.contains("artifact_bytes = 5000"), "{message}");
        }
    }
    // What can't be cut has the smaller bound alone, and so has all where it is no larger.
    for input in [
        json!({ "text": 1, "references": 200 }),
        json!({ "text": 1, "metadata": 1_000 }),
    ] {
        let result = ask(&runtime, "large", input).await;
        let message = result["error"]["message"].as_str().unwrap();
        assert!(message.contains("result_bytes = 1000"), "{message}");
    }
    let (fixture, _folder) = keeping(&[("result_bytes", 1_000), ("artifact_bytes", 1_000)]);
    let runtime = fixture.runtime(&["probe"]).await;
    let result = ask(&runtime, "large", json!({ "text": 1_001 })).await;
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("result_bytes = 1000"), "{message}");
}

#[tokio::test]
async fn s5_what_is_copied_from_a_component_at_once_bounds_its_result_as_well() {
    let (fixture, _folder) =
        keeping(&[("host_allocation_bytes", 100_000), ("result_bytes", 1_000)]);
    let runtime = fixture.runtime(&["probe"]).await;
    let kept = ask(&runtime, "large", json!({ "text": 90_000 })).await;
    assert_eq!(kept["status"], "success");
    let lost = ask(&runtime, "large", json!({ "text": 200_000 })).await;
    assert_eq!(code(&lost), "LIMIT_RESULT");
    let message = lost["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("host_allocation_bytes = 100000"),
        "{message}"
    );
}

#[tokio::test]
async fn o3_a_failure_over_its_bound_stays_one() {
    let (fixture, _folder) = keeping(&[("result_bytes", 1_000)]);
    let runtime = fixture.runtime(&["probe"]).await;
    let result = ask(&runtime, "large", json!({ "text": 2_000, "failed": true })).await;
    assert_eq!(
        (&result["status"], code(&result)),
        (&json!("failed"), "LARGE")
    );
    assert_eq!(result["content"], "x".repeat(1_000));
    whole(&result, "content");
}

#[tokio::test]
async fn o3_rust_tools_are_treated_alike() {
    let folder = TempDir::new().unwrap();
    let tools = ToolRegistry::new();
    let large = native("large", |_, _| Ok(ToolOutcome::text("y".repeat(3 << 20))));
    let keep = native("keep", |_, context| {
        let kept = context
            .shelf
            .as_ref()
            .unwrap()
            .put("text/plain", b"kept")
            .unwrap();
        Ok(ToolOutcome {
            content: Some(Content::Text(kept.uri)),
            ..ToolOutcome::text("")
        })
    });
    drop(tools.register(large).unwrap());
    drop(tools.register(keep).unwrap());
    drop(
        tools
            .register(ReadArtifact::new(tidegate_contract::Limits::default()).unwrap())
            .unwrap(),
    );
    let runtime = |artifacts| {
        Runtime::new(RuntimeOptions {
            sandbox: Fixture::new(&[]).grant,
            tools: tools.clone(),
            artifacts,
            ..RuntimeOptions::default()
        })
        .unwrap()
    };
    let keeping = runtime(Some(store(&folder, ArtifactBounds::default())));
    let result = ask(&keeping, "large", json!({})).await;
    assert_eq!(result["content"].as_str().unwrap().len(), 1 << 20);
    let uri = whole(&result, "content");
    assert_eq!(read(&keeping, &uri, 512 << 10).await.len(), 3 << 20);
    let uri = ask(&keeping, "keep", json!({})).await["content"].clone();
    assert_eq!(read(&keeping, uri.as_str().unwrap(), 100).await, "kept");

    let without = runtime(None);
    assert_eq!(
        code(&ask(&without, "large", json!({})).await),
        "LIMIT_RESULT"
    );
    let piece = ask(&without, "read_artifact", json!({ "uri": uri })).await;
    assert_eq!(code(&piece), "ARTIFACTS_UNAVAILABLE");
}

#[tokio::test]
async fn x7_an_artifact_is_for_its_tenant_and_run_alone() {
    let (fixture, _folder) = keeping(&[("result_bytes", 1_000)]);
    let runtime = fixture.runtime(&["probe"]).await;
    let whose = [
        ("acme", None),
        ("acme", Some("run-1")),
        ("acme", Some("run-2")),
        ("other", None),
        ("other", Some("run-1")),
    ];
    for (at, (tenant, run)) in whose.into_iter().enumerate() {
        let text = format!("of {at}");
        let input = json!({ "text": text });
        let put = ask_as(&runtime, of(tenant, run), "artifact", input).await;
        let kept = put["references"][0]["uri"].clone();
        let input = json!({ "text": 2_000, "word": text });
        let large = ask_as(&runtime, of(tenant, run), "large", input).await;
        let whole = json!(whole(&large, "content"));
        for (reader, (tenant, run)) in whose.into_iter().enumerate() {
            for uri in [&kept, &whole] {
                let input = json!({ "uri": uri });
                let read = ask_as(&runtime, of(tenant, run), "read_artifact", input).await;
                if reader == at {
                    assert!(read["content"].as_str().unwrap().starts_with(&text));
                    continue;
                }
                // The same in every word as for what nobody has.
                let nobodys = json!({ "uri": format!("artifact:sha-256:{}", "0".repeat(64)) });
                let absent = ask_as(&runtime, of(tenant, run), "read_artifact", nobodys).await;
                assert_eq!(code(&read), "NOT_FOUND");
                assert_eq!(read, absent);
            }
        }
    }
}

#[tokio::test]
async fn o3_a_plugin_keeps_bytes_within_the_bounds_of_its_call() {
    let (fixture, _folder) = keeping(&[("artifact_bytes", 1_000), ("result_bytes", 900)]);
    let runtime = fixture.runtime(&["probe"]).await;
    let one = json!({ "text": "hello", "media_type": "text/x.note+plain" });
    let first = ask(&runtime, "artifact", one.clone()).await;
    let reference = &first["references"][0];
    let digest = format!("sha-256:{}", tidegate_engine::digest(b"hello"));
    assert_eq!(
        *reference,
        json!({ "uri": format!("artifact:{digest}"), "mediaType": "text/x.note+plain", "digest": digest })
    );
    assert_eq!(
        ask(&runtime, "artifact", one).await["references"],
        first["references"]
    );
    let uri = reference["uri"].as_str().unwrap();
    assert_eq!(read(&runtime, uri, 64).await, "hello");

    for (bytes, times, expected) in [
        (0, 1, "ok"),
        (999, 1, "ok"),
        (1_000, 1, "ok"),
        (1_001, 1, "ARTIFACTS_FULL"),
        (500, 2, "ok"),
        (500, 3, "ARTIFACTS_FULL"),
    ] {
        let input = json!({ "bytes": bytes, "times": times, "last": true });
        let result = ask(&runtime, "artifact", input).await;
        assert_eq!(result["content"], expected, "{bytes} {times}: {result}");
    }
    for (times, expected) in [(999, "ok"), (1_000, "ok"), (1_001, "ARTIFACTS_FULL")] {
        let input = json!({ "text": "", "times": times, "last": true });
        assert_eq!(
            ask(&runtime, "artifact", input).await["content"],
            expected,
            "{times}"
        );
    }
    let input = json!({ "text": "x", "media_type": "text/plain\r\n\r\nx" });
    assert_eq!(
        ask(&runtime, "artifact", input).await["content"],
        "INVALID_MEDIA_TYPE"
    );
    let without = Fixture::new(&[]).runtime(&["probe"]).await;
    let input = json!({ "text": "x" });
    assert_eq!(
        ask(&without, "artifact", input).await["content"],
        "ARTIFACTS_UNAVAILABLE"
    );
}

#[tokio::test]
async fn o3_a_result_that_the_store_has_no_room_for_is_lost_and_says_so() {
    let folder = TempDir::new().unwrap();
    let mut fixture = Fixture::new(&[]).limit("result_bytes", 1_000);
    let bounds = ArtifactBounds {
        tenant_bytes: 8_192,
        ..ArtifactBounds::default()
    };
    fixture.artifacts = Some(store(&folder, bounds));
    let runtime = fixture.runtime(&["probe"]).await;
    let kept = ask(&runtime, "large", json!({ "text": 8_192 })).await;
    assert_eq!(kept["status"], "success");
    let lost = ask(&runtime, "large", json!({ "text": 1_001 })).await;
    assert_eq!(code(&lost), "LIMIT_RESULT");
    // What is there already needs no room.
    let again = ask(&runtime, "large", json!({ "text": 8_192 })).await;
    assert_eq!(again, kept);
    // Another tenant has room of its own.
    let others = ask_as(
        &runtime,
        of("other", None),
        "large",
        json!({ "text": 1_001 }),
    )
    .await;
    assert_eq!(others["status"], "success");
}
