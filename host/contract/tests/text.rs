//! Bounded text (CASES OU01, OU02, OU04).

use proptest::prelude::*;
use tidegate_contract::text::cut;
use tidegate_contract::{BoundedText, TextBuffer};

/// Pushes the chunks into a buffer of the size and gives the text and what was left out.
fn collect(max_bytes: usize, chunks: &[&[u8]]) -> (String, u64) {
    let mut buffer = TextBuffer::new(max_bytes);
    for chunk in chunks {
        buffer.push(chunk);
    }
    let text = buffer.finish();
    (text.text().to_owned(), text.omitted_bytes())
}

#[test]
fn ou01_a_cut_never_splits_a_character() {
    assert_eq!(cut("고리 ", 5), "고");
    assert_eq!(cut(&"é".repeat(40_000), 65_535).len(), 65_534);
    for (text, max_bytes, expected) in [
        ("", 0, ""),
        ("abc", 0, ""),
        ("abc", 3, "abc"),
        ("abc", usize::MAX, "abc"),
        ("é", 1, ""),
        ("aé", 2, "a"),
        ("\u{1f4a5}", 3, ""),
        ("\u{1f4a5}", 4, "\u{1f4a5}"),
    ] {
        assert_eq!(cut(text, max_bytes), expected, "{text:?} {max_bytes}");
    }
}

#[test]
fn ou01_the_buffer_leaves_out_a_character_that_the_bound_splits() {
    assert_eq!(collect(5, &["고리 ".as_bytes()]), ("고".to_owned(), 4));
    let many = "é".repeat(40_000);
    assert_eq!(
        collect(65_535, &[many.as_bytes()]),
        ("é".repeat(32_767), 80_000 - 65_534)
    );
    assert_eq!(collect(1, &[b"\xe2", b"\x80\x94"]), (String::new(), 3));
}

#[test]
fn ou02_a_character_split_over_two_pushes_is_whole() {
    let chunks: [&[u8]; 2] = [b"cleanup \xe2", b"\x80\x94 end"];
    assert_eq!(
        collect(100, &chunks),
        ("cleanup \u{2014} end".to_owned(), 0)
    );
    let four: [&[u8]; 4] = [b"\xf0", b"\x9f", b"\x92", b"\xa5"];
    assert_eq!(collect(4, &four), ("\u{1f4a5}".to_owned(), 0));
}

#[test]
fn ou02_each_invalid_sequence_is_one_replacement() {
    for (bytes, expected) in [
        (b"a\xffb".as_slice(), "a\u{fffd}b"),
        (b"\xff\xfe", "\u{fffd}\u{fffd}"),
        (b"\xe2\x80x", "\u{fffd}x"),
        (b"\xe2", "\u{fffd}"),
        (b"end \xf0\x9f\x92", "end \u{fffd}"),
        (b"\xc0\x80", "\u{fffd}\u{fffd}"),
        (b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}"),
    ] {
        assert_eq!(
            collect(100, &[bytes]),
            (expected.to_owned(), 0),
            "{bytes:?}"
        );
        assert_eq!(String::from_utf8_lossy(bytes), expected);
    }
}

#[test]
fn ou04_the_bound_holds_for_the_text_itself() {
    let output = [b'x'; 1000];
    assert_eq!(collect(200, &[&output]), ("x".repeat(200), 800));
    assert_eq!(collect(10, &[&output]), ("x".repeat(10), 990));
    assert_eq!(collect(0, &[&output]), (String::new(), 1000));
    assert_eq!(collect(1000, &[&output]), ("x".repeat(1000), 0));
}

#[test]
fn ou04_replacements_do_not_pass_the_bound() {
    assert_eq!(collect(10, &[&[0xff; 10]]), ("\u{fffd}".repeat(3), 7));
    assert_eq!(collect(2, &[b"\xff"]), (String::new(), 1));
    assert_eq!(collect(4, &[b"a\xff\xff\xff"]), ("a\u{fffd}".to_owned(), 2));
    assert_eq!(collect(5, &[b"a\xffbcd"]), ("a\u{fffd}b".to_owned(), 2));
}

#[test]
fn s5_bounded_text_says_what_is_missing_on_the_wire() {
    let text = BoundedText::new("고리 ", 5);
    let wire = serde_json::to_string(&text).expect("JSON");
    assert_eq!(wire, r#"{"text":"고","omittedBytes":4}"#);
    assert!(!text.is_empty());
    assert!(BoundedText::default().is_empty());
    assert!(BoundedText::new("", 5).is_empty());
    assert!(!BoundedText::new("abc", 0).is_empty());
}

/// Bytes that are often nearly UTF-8.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<String>().prop_map(String::into_bytes),
        any::<Vec<u8>>(),
        Just(b"\xe2\x80".to_vec()),
        Just(b"\xf0\x9f\x92\xa5".to_vec()),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn ou01_cut_is_the_longest_prefix_that_fits(text in any::<String>(), max_bytes in 0_usize..64) {
        let kept = cut(&text, max_bytes);
        prop_assert!(text.starts_with(kept) && kept.len() <= max_bytes);
        if let Some(next) = text.chars().nth(kept.chars().count()) {
            prop_assert!(kept.len() + next.len_utf8() > max_bytes);
        }
    }

    #[test]
    fn ou02_how_a_stream_is_split_makes_no_difference(
        bytes in bytes(),
        max_bytes in 0_usize..80,
        step in 1_usize..9,
    ) {
        let whole = collect(max_bytes, &[&bytes]);
        let chunks: Vec<&[u8]> = bytes.chunks(step).collect();
        prop_assert_eq!(collect(max_bytes, &chunks), whole);
    }

    #[test]
    fn ou04_nothing_passes_the_bound_and_nothing_is_lost(bytes in bytes(), max_bytes in 0_usize..80) {
        let (text, omitted) = collect(max_bytes, &[&bytes]);
        prop_assert!(text.len() <= max_bytes);
        let used = bytes.len() - usize::try_from(omitted).expect("small");
        prop_assert_eq!(String::from_utf8_lossy(&bytes[..used]), text);
    }

    #[test]
    fn ou02_a_stream_within_the_bound_is_decoded_as_a_whole(bytes in bytes()) {
        let (text, omitted) = collect(bytes.len() * 3, &[&bytes]);
        prop_assert_eq!((text, omitted), (String::from_utf8_lossy(&bytes).into_owned(), 0));
    }
}
