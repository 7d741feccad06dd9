//! The tool `read_artifact`: the bounds of its pieces, and what is no text (SPEC O3).

use serde_json::{Value, json};
use tidegate::{ArtifactBounds, InvokeOptions};

use super::artifacts::{ask, code, keeping, store, whole};
use crate::support::call;

#[tokio::test]
async fn o3_pieces_have_bounds_and_bytes_that_are_no_text_are_told() {
    let (fixture, folder) = keeping(&[]);
    let runtime = fixture.runtime(&[]).await;
    let owner = tidegate::Owner::default();
    let artifacts = store(&folder, ArtifactBounds::default());
    let binary = artifacts
        .put(&owner, "image/png", b"\x89PNG\r\n\xff")
        .unwrap();
    let result = ask(&runtime, "read_artifact", json!({ "uri": binary.uri })).await;
    assert_eq!(code(&result), "NOT_TEXT");
    assert!(
        result["error"]["message"]
            .as_str()
            .unwrap()
            .contains("7 bytes")
    );

    let text = artifacts
        .put(&owner, "text/plain", "tide ".repeat(200_000).as_bytes())
        .unwrap();
    let whole = 1_000_000;
    for (input, starts, length) in [
        (json!({}), 0, 65_536),
        (json!({ "length": 4 }), 0, 4),
        (json!({ "length": 524_288 }), 0, 524_288),
        (json!({ "offset": whole - 1 }), whole - 1, 1),
        (json!({ "offset": whole }), whole, 0),
        (json!({ "offset": u64::MAX }), u64::MAX, 0),
    ] {
        let mut asked = input.clone();
        asked["uri"] = json!(text.uri);
        let piece = ask(&runtime, "read_artifact", asked).await;
        let at = &piece["structuredContent"];
        assert_eq!(piece["content"].as_str().unwrap().len(), length, "{input}");
        assert_eq!(at["offset"], starts, "{input}");
        assert_eq!(at["eof"], starts.saturating_add(65_536) >= whole, "{input}");
    }
    for (field, value) in [
        ("length", json!(3)),
        ("length", json!(524_289)),
        ("length", json!(1.5)),
        ("offset", json!(-1)),
        ("offset", json!("1")),
        ("uri", json!(7)),
        ("uri", json!("file:///x")),
        ("other", json!(1)),
    ] {
        let mut asked = json!({ "uri": text.uri });
        asked[field] = value;
        let refused = runtime.act_tool(call("read_artifact", asked), InvokeOptions::default());
        let refused = refused.await.unwrap_err();
        assert_eq!(refused.code(), "INVALID_ARGUMENTS", "{field}");
        assert!(refused.to_failure().message().contains(field), "{field}");
    }
}

#[tokio::test]
async fn o3_a_piece_of_a_tool_with_a_small_bound_is_not_cut_in_its_turn() {
    let (fixture, _folder) = keeping(&[("result_bytes", 1_000)]);
    let runtime = fixture.runtime(&["probe"]).await;
    let large = ask(&runtime, "large", json!({ "text": 5_000 })).await;
    let input = json!({ "uri": whole(&large, "content") });
    let piece = ask(&runtime, "read_artifact", input).await;
    assert_eq!(piece["content"].as_str().unwrap().len(), 488);
    assert_eq!(
        (&piece["metadata"], &piece["references"]),
        (&Value::Null, &Value::Null)
    );
}
