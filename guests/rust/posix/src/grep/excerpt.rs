//! A line too long for the caller, cut down to what surrounds its first match.

use std::ops::Range;

/// How much of such a line is shown, in bytes: enough to see what it is.
const WINDOW_BYTES: usize = 2048;

/// What says how much is left out on one side takes at most so much, in bytes.
const MARK_BYTES: usize = "[18446744073709551615 bytes omitted]".len();

/// The part of `line` around `found` that fits into `room` bytes, between marks that say how much
/// is missing. Characters stay whole where they are UTF-8. Where marks alone would fill the room
/// there are none.
pub(crate) fn around(line: &[u8], found: Range<usize>, room: usize) -> Vec<u8> {
    let marked = room > 3 * MARK_BYTES;
    let marks = if marked { 2 * MARK_BYTES } else { 0 };
    let window = room.saturating_sub(marks).min(WINDOW_BYTES);
    let found_length = found.end.saturating_sub(found.start);
    let margin = window.saturating_sub(found_length) / 2;
    let start = found.start.saturating_sub(margin);
    let end = start.saturating_add(window).min(line.len());
    // A match near the end leaves room on the left.
    let start = start.min(end.saturating_sub(window));
    let start = (start..end)
        .find(|at| is_boundary(line, *at))
        .unwrap_or(end);
    let end = (start..=end)
        .rev()
        .find(|at| is_boundary(line, *at))
        .unwrap_or(start);
    let window = line.get(start..end).unwrap_or_default();
    if !marked {
        return window.to_owned();
    }
    [&mark(start), window, &mark(line.len() - end)].concat()
}

fn mark(omitted: usize) -> Vec<u8> {
    if omitted == 0 {
        return Vec::new();
    }
    format!("[{omitted} bytes omitted]").into_bytes()
}

/// Whether no character is cut in two before this byte. A run of bytes that only continue
/// characters is no UTF-8 and may be cut anywhere.
fn is_boundary(line: &[u8], at: usize) -> bool {
    let continues = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
    if !line.get(at).is_some_and(continues) {
        return true;
    }
    let before = line.get(at.saturating_sub(4)..=at).unwrap_or_default();
    before.len() == 5 && before.iter().all(continues)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CM06.
    #[test]
    fn a_long_line_is_cut_on_character_boundaries() {
        for shift in 0..4 {
            let mut line = vec![b'x'; shift];
            line.extend_from_slice("é".repeat(450_000).as_bytes());
            let at = line.len();
            line.extend_from_slice("needle".as_bytes());
            line.extend_from_slice("é고".repeat(20_000).as_bytes());
            for room in [120, 121, 122, 123, 1000, 65_536] {
                let excerpt = around(&line, at..at + 6, room);
                let text = String::from_utf8(excerpt).unwrap();
                assert!(text.len() <= room, "{}", text.len());
                assert!(text.contains("needle"), "{text}");
                let total: usize = text
                    .split(['[', ']'])
                    .map(|piece| match piece.strip_suffix(" bytes omitted") {
                        Some(number) => number.parse().unwrap(),
                        None => piece.len(),
                    })
                    .sum();
                assert_eq!(total, line.len());
            }
        }
    }

    #[test]
    fn little_room_has_no_marks() {
        let line = "é".repeat(100);
        for room in 0..100 {
            let excerpt = around(line.as_bytes(), 51..52, room);
            assert!(excerpt.len() <= room);
            assert!(str::from_utf8(&excerpt).is_ok());
        }
    }

    #[test]
    fn a_match_at_an_end_has_one_mark() {
        let line = [b"needle".to_vec(), vec![b'x'; 10_000]].concat();
        let text = String::from_utf8(around(&line, 0..6, 1000)).unwrap();
        assert!(text.starts_with("needlexxx"));
        assert!(text.ends_with("x[9078 bytes omitted]"), "{text}");

        let line = [vec![b'x'; 10_000], b"needle".to_vec()].concat();
        let text = String::from_utf8(around(&line, 10_000..10_006, 1000)).unwrap();
        assert!(text.starts_with("[9078 bytes omitted]x"), "{text}");
        assert!(text.ends_with("xneedle"));
    }

    #[test]
    fn bytes_that_are_no_text_may_be_cut_anywhere() {
        let line = vec![0x80; 10_000];
        let excerpt = around(&line, 5000..5001, 500);
        assert!(excerpt.len() > 400);
    }
}
