//! What a plugin prints: bounded in bytes, never split inside a character, counted to the byte
//! (SPEC S5; WA06, OU01, OU02, OU04).

use std::fmt::Write as _;

use serde_json::{Value, json};
use tidegate::{InvokeOptions, LineSink, Node, Runtime};

use super::asking::{ask, assert_says};
use crate::support::{Fixture, Printed};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Prints chunks, each in a write of its own, and gives what was kept of them.
async fn printed(runtime: &Runtime, stream: &str, chunks: &[&[u8]]) -> Value {
    let chunks: Vec<String> = chunks.iter().map(|chunk| hex(chunk)).collect();
    let told = json!({"stream": stream, "chunks": chunks, "pause_ms": 1});
    let result = ask(runtime, "write_split", told).await;
    assert_says(&result, "ok");
    result["metadata"][stream].clone()
}

fn kept(text: &str, omitted_bytes: u64) -> Value {
    json!({"text": text, "omittedBytes": omitted_bytes})
}

#[tokio::test]
async fn s5_printed_bytes_are_kept_up_to_the_bound_and_counted_from_there() {
    for stream in ["stdout", "stderr"] {
        for limit in [0_usize, 1, 10] {
            let name = format!("{stream}_bytes");
            let fixture = Fixture::new(&[]).limit(&name, u64::try_from(limit).unwrap());
            let runtime = fixture.runtime(&["probe"]).await;
            for bytes in [limit.saturating_sub(1), limit, limit + 1, 4_000] {
                let omitted = u64::try_from(bytes.saturating_sub(limit)).unwrap();
                let expected = match bytes {
                    0 => Value::Null,
                    _ => kept(&"x".repeat(bytes.min(limit)), omitted),
                };
                let found = printed(&runtime, stream, &[&vec![b'x'; bytes]]).await;
                assert_eq!(found, expected, "{bytes} of {limit}");
            }
        }
    }
}

/// The count of what is missing stands beside the text and takes nothing from it.
#[tokio::test]
async fn ou04_the_bound_holds_for_the_text_alone() {
    let fixture = Fixture::new(&[])
        .limit("stdout_bytes", 200)
        .limit("stderr_bytes", 10);
    let runtime = fixture.runtime(&["probe"]).await;
    let line = [b'x'; 1_000];
    assert_eq!(
        printed(&runtime, "stdout", &[&line]).await,
        kept(&"x".repeat(200), 800)
    );
    assert_eq!(
        printed(&runtime, "stderr", &[&line]).await,
        kept("xxxxxxxxxx", 990)
    );
}

#[tokio::test]
async fn ou01_a_bound_inside_a_character_leaves_the_character_out() {
    for (limit, text, expected) in [
        (5, "고리 ", kept("고", 4)),
        (3, "고리 ", kept("고", 4)),
        (2, "고리 ", kept("", 7)),
        (6, "고리 ", kept("고리", 1)),
        (7, "고리 ", kept("고리 ", 0)),
        (4, "a😀b", kept("a", 5)),
        (5, "a😀b", kept("a😀", 1)),
    ] {
        let fixture = Fixture::new(&[]).limit("stdout_bytes", limit);
        let runtime = fixture.runtime(&["probe"]).await;
        assert_eq!(
            printed(&runtime, "stdout", &[text.as_bytes()]).await,
            expected,
            "{limit}"
        );
        // Byte for byte it is the same.
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(
            printed(&runtime, "stdout", &bytes).await,
            expected,
            "{limit}"
        );
    }
    let fixture = Fixture::new(&[]).limit("stdout_bytes", 65_535);
    let runtime = fixture.runtime(&["probe"]).await;
    let many = "é".repeat(40_000);
    let chunks: Vec<&[u8]> = many.as_bytes().chunks(4_095).collect();
    let found = printed(&runtime, "stdout", &chunks).await;
    assert_eq!(found, kept(&"é".repeat(32_767), 80_000 - 65_534));
}

#[tokio::test]
async fn ou02_a_character_split_over_two_writes_is_one_character() {
    let runtime = Fixture::new(&[]).runtime(&["probe"]).await;
    for (chunks, expected) in [
        (
            vec![b"cleanup \xe2".as_slice(), b"\x80\x94 end"],
            "cleanup — end",
        ),
        (vec![b"\xf0".as_slice(), b"\x9f", b"\x98", b"\x80"], "😀"),
        (vec![b"a\xc3".as_slice(), b"", b"\xa9"], "aé"),
        // A byte that is no UTF-8 is one replacement character, wherever it stands.
        (vec![b"a\xffb".as_slice()], "a\u{fffd}b"),
        (vec![b"a".as_slice(), b"\xff", b"b"], "a\u{fffd}b"),
        (vec![b"\xff".as_slice()], "\u{fffd}"),
        // A character that never comes to its end is one as well.
        (vec![b"a\xe2".as_slice()], "a\u{fffd}"),
        (vec![b"a\xe2\x80".as_slice()], "a\u{fffd}"),
        (vec![b"a\xe2".as_slice(), b"\x80"], "a\u{fffd}"),
        (vec![b"a\xe2".as_slice(), b"b"], "a\u{fffd}b"),
        (
            vec![b"\xf0\x9f\x98".as_slice(), b"\xe2\x80\x94"],
            "\u{fffd}—",
        ),
    ] {
        for stream in ["stdout", "stderr"] {
            assert_eq!(
                printed(&runtime, stream, &chunks).await,
                kept(expected, 0),
                "{chunks:?}"
            );
        }
    }
}

/// Replacement characters are longer than what they stand for; the bound holds for them too.
#[tokio::test]
async fn ou02_a_text_of_invalid_bytes_is_no_longer_than_the_bound() {
    let fixture = Fixture::new(&[]).limit("stdout_bytes", 100);
    let runtime = fixture.runtime(&["probe"]).await;
    for bytes in [99, 100, 101, 1_000] {
        let found = printed(&runtime, "stdout", &[&vec![0xff; bytes]]).await;
        assert_eq!(found["text"], "\u{fffd}".repeat(33));
        assert_eq!(found["omittedBytes"], bytes - 33);
    }
}

#[tokio::test]
async fn wa06_a_flood_of_output_keeps_its_head_and_the_tools_success() {
    const FLOOD: usize = 2_000_000;
    let line = "the same sixty-three characters and a newline, again and again.\n";
    let runtime = Fixture::new(&[]).runtime(&["misbehave"]).await;
    for (tool, stream, bound) in [
        ("flood_stdout", "stdout", 65_536),
        ("flood_stderr", "stderr", 8_192),
    ] {
        let result = ask(&runtime, tool, json!({ "bytes": FLOOD })).await;
        assert_says(&result, "done");
        let head = &line.repeat(bound / line.len());
        let omitted = u64::try_from(FLOOD - bound).unwrap();
        assert_eq!(result["metadata"], json!({ stream: kept(head, omitted) }));
    }
}

/// Standard output carries results only: a grant of it is for deliveries, not for what a tool prints.
#[tokio::test]
async fn l5_what_a_tool_prints_stays_beside_its_result_under_a_stdout_grant_too() {
    let sink = Printed::default();
    let mut fixture = Fixture::new(&["stdout"]).limit("stdout_bytes", 100);
    fixture.stdout = Some(LineSink::new(sink.clone()));
    let runtime = fixture.runtime(&["probe"]).await;
    let line = [[b'x'; 149].as_slice(), b"\n"].concat();
    let found = printed(&runtime, "stdout", &[&line]).await;
    assert_eq!(found, kept(&"x".repeat(100), 50));
    assert_eq!(*sink.0.lock().unwrap(), b"");
}

/// The second path of output, which a bound must not forget: a delivery's line, whole or not at all.
#[tokio::test]
async fn wa06_a_delivery_over_the_bound_is_rejected_and_no_byte_of_it_is_written() {
    let message = json!({"role": "user", "content": "x".repeat(10_000)});
    let input = json!({"deliveryId": "d-1", "message": message});
    let line = json!({"id": "d-1", "message": message}).to_string().len() + 1;
    for (limit, status) in [
        (line - 1, "rejected"),
        (line, "accepted"),
        (line + 1, "accepted"),
    ] {
        let sink = Printed::default();
        let mut fixture =
            Fixture::new(&["stdout"]).limit("stdout_bytes", u64::try_from(limit).unwrap());
        fixture.stdout = Some(LineSink::new(sink.clone()));
        let runtime = fixture.runtime(&["console"]).await;
        let receipt = runtime
            .invoke(Node::Output, input.clone(), InvokeOptions::default())
            .await;
        assert_eq!(receipt.unwrap()["status"], status, "{limit}");
        let written = if status == "accepted" { line } else { 0 };
        assert_eq!(sink.0.lock().unwrap().len(), written, "{limit}");
    }
}
