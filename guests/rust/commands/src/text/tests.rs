//! The edges of what is kept, and every short stream under every small bound.

use super::*;

const WIDE: Bounds = Bounds {
    bytes: 1 << 20,
    lines: 10_000,
};

fn bounded(stream: impl AsRef<[u8]>, bytes: usize, lines: usize) -> BoundedText {
    BoundedText::new(stream.as_ref(), 0, Bounds { bytes, lines })
}

fn shown(stream: &[u8]) -> String {
    let bounded = BoundedText::new(stream, 0, WIDE);
    assert_eq!(bounded.omitted_bytes, 0);
    bounded.text
}

#[test]
fn ou01_a_cut_never_splits_a_character() {
    let cut = bounded("고리 ", 5, 10);
    assert_eq!((cut.text.as_str(), cut.omitted_bytes), ("고", 4));
    let cut = bounded("é".repeat(40_000), 65_535, 10);
    assert_eq!((cut.text.len(), cut.omitted_bytes), (65_534, 14_466));
}

#[test]
fn ou02_a_character_in_two_writes_is_one_character() {
    let mut stream = b"cleanup \xe2".to_vec();
    stream.extend(b"\x80\x94 end");
    assert_eq!(shown(&stream), "cleanup — end");
    assert_eq!(shown(b"a\xe2"), "a\\xe2");
    assert_eq!(shown(b"a\xe2\x80b"), "a\\xe2\\x80b");
}

#[test]
fn ou02_a_character_that_the_host_has_cut_is_left_out_and_counted() {
    let cut = BoundedText::new(b"ab\xe2\x80", 7, WIDE);
    let expected = BoundedText {
        text: "ab".to_owned(),
        omitted_bytes: 9,
        omitted_lines: None,
    };
    assert_eq!(cut, expected);
    let cut = BoundedText::new(b"ab\r", 7, WIDE);
    assert_eq!((cut.text.as_str(), cut.omitted_bytes), ("ab", 8));
    let invalid = BoundedText::new(b"ab\xff", 7, WIDE);
    assert_eq!(
        (invalid.text.as_str(), invalid.omitted_bytes),
        ("ab\\xff", 7)
    );
}

#[test]
fn ou04_a_cap_of_10_bytes_keeps_10_bytes_and_no_marker() {
    let cut = bounded("x".repeat(1_000), 10, 10);
    assert_eq!((cut.text.as_str(), cut.omitted_bytes), ("xxxxxxxxxx", 990));
}

#[test]
fn ou06_a_final_newline_is_no_line_and_exactly_n_is_not_truncated() {
    for (stream, bytes, lines, text, omitted) in [
        ("a\nb\nc\n", 100, 3, "a\nb\nc\n", (0, 0)),
        ("a\nb\nc", 100, 3, "a\nb\nc", (0, 0)),
        ("a\nb\nc\nd\n", 100, 3, "a\nb\nc\n", (2, 1)),
        ("a\nb\nc\nd", 100, 3, "a\nb\nc\n", (1, 1)),
        ("a\nb\nc\n\n", 100, 3, "a\nb\nc\n", (1, 1)),
        ("a\nb\n", 4, 9, "a\nb\n", (0, 0)),
        ("a\nb\n", 3, 9, "a\nb", (1, 0)),
        ("a\nbcd\ne\nf", 4, 9, "a\nbc", (5, 2)),
        ("a\nb\n", 2, 9, "a\n", (2, 1)),
        ("", 1, 1, "", (0, 0)),
        ("é\n", 1, 1, "", (3, 1)),
    ] {
        let cut = bounded(stream, bytes, lines);
        let counted = (cut.omitted_bytes, cut.omitted_lines.expect("all seen"));
        assert_eq!((cut.text.as_str(), counted), (text, omitted), "{stream:?}");
    }
}

#[test]
fn r4_at_each_bound_one_less_and_the_same_are_whole_and_one_more_is_cut() {
    let limit = 65_536;
    for (length, omitted) in [(limit - 1, 0), (limit, 0), (limit + 1, 1)] {
        let cut = bounded("x".repeat(length), limit, 1);
        assert_eq!(cut.omitted_bytes, omitted, "{length} bytes");
    }
    for (lines, omitted) in [(999, 0), (1_000, 0), (1_001, 1)] {
        let cut = bounded("ab\n".repeat(lines), 1 << 20, 1_000);
        assert_eq!(cut.omitted_lines, Some(omitted), "{lines} lines");
        assert_eq!(cut.omitted_bytes, omitted * 3, "{lines} lines");
        assert!(cut.text.ends_with("ab\n"));
    }
}

#[test]
fn r6_text_is_shown_as_it_is_and_anything_else_by_its_number() {
    for (stream, text) in [
        (&b"a\tb\nc\\x1b\n"[..], "a\tb\nc\\x1b\n"),
        (b"one\r\ntwo\r\n", "one\r\ntwo\r\n"),
        (b"a\rb\r", "a\\x0db\\x0d"),
        (b"\r\r\n", "\\x0d\r\n"),
        (b"\r\xff\n", "\\x0d\\xff\n"),
        (b"\0\x1b[2K\x7f\x07", "\\x00\\x1b[2K\\x7f\\x07"),
        (b"\xff\xfe\xc3\xa9", "\\xff\\xfeé"),
        (b"\xed\xa0\x80", "\\xed\\xa0\\x80"),
        ("\u{80}\u{9b}".as_bytes(), "\\u{80}\\u{9b}"),
        ("\u{2028}\u{2029}".as_bytes(), "\\u{2028}\\u{2029}"),
        ("x\u{202e}gpj.exe".as_bytes(), "x\\u{202e}gpj.exe"),
        (
            "\u{61c}\u{200f}\u{2067}".as_bytes(),
            "\\u{61c}\\u{200f}\\u{2067}",
        ),
        ("\u{feff}é𝄞\u{a0}".as_bytes(), "\u{feff}é𝄞\u{a0}"),
    ] {
        assert_eq!(shown(stream), text);
    }
}

#[test]
fn no_bound_is_passed_by_the_escapes() {
    let cut = bounded([0_u8; 100], 10, 10);
    assert_eq!((cut.text.as_str(), cut.omitted_bytes), ("\\x00\\x00", 98));
    let cut = bounded("\u{202e}\u{202e}", 15, 10);
    assert_eq!((cut.text.as_str(), cut.omitted_bytes), ("\\u{202e}", 3));
    let cut = bounded("a\r\nb", 2, 10);
    assert_eq!((cut.text.as_str(), cut.omitted_bytes), ("a", 3));
}

/// Streams of up to five pieces out of those that matter, each whole and under every small bound.
#[test]
fn r4_every_short_stream_keeps_as_much_as_fits_and_counts_the_rest() {
    let pieces: [&[u8]; 9] = [
        b"a",
        b"\n",
        b"\r",
        b"\xc3",
        b"\xa9",
        b"\xe2\x80",
        b"\xae",
        b"\x1b",
        b"\xc2\x85",
    ];
    let mut streams: Vec<Vec<u8>> = vec![Vec::new()];
    for _ in 0..5 {
        let longer = streams
            .iter()
            .flat_map(|stream| pieces.map(|piece| [stream.as_slice(), piece].concat()));
        streams = longer.collect();
        for stream in &streams {
            check_all_bounds(stream);
        }
    }
}

fn check_all_bounds(stream: &[u8]) {
    let whole = shown(stream);
    let is_safe = |character: char| !character.is_control() || "\t\n\r".contains(character);
    assert!(whole.chars().all(is_safe), "{whole:?}");
    assert_eq!(whole.replace("\r\n", "").find('\r'), None, "{whole:?}");
    let mut before = String::new();
    for bytes in 0..=whole.len() {
        let cut = bounded(stream, bytes, 3);
        assert!(cut.text.len() <= bytes, "{stream:?} in {bytes}");
        assert!(whole.starts_with(&cut.text), "{stream:?} in {bytes}");
        assert!(cut.text.starts_with(&before), "{stream:?} in {bytes}");
        assert!(cut.text.lines().count() <= 3, "{stream:?} in {bytes}");
        assert_eq!(
            cut.omitted_bytes == 0,
            cut.text == whole,
            "{stream:?} in {bytes}"
        );
        before = cut.text;
    }
    for (kept, _) in stream.iter().enumerate() {
        let (head, missing) = stream.split_at(kept);
        let cut = BoundedText::new(head, wide(missing.len()), WIDE);
        assert!(whole.starts_with(&cut.text), "{head:?} of {stream:?}");
        assert!(cut.omitted_bytes >= wide(missing.len()) && cut.omitted_lines.is_none());
    }
    let expected: String = whole.split_inclusive('\n').take(3).collect();
    assert_eq!(before, expected, "{stream:?}");
}
