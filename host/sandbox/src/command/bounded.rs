//! The first bytes of an output that may never end (SPEC R4; CASES OU02, OU06, OU11).

/// Keeps the first bytes of an output and counts the rest. Memory is bounded by what is kept.
#[derive(Clone, Debug)]
pub struct Bounded {
    kept: Vec<u8>,
    seen: u64,
    max_bytes: usize,
    max_lines: Option<usize>,
}

impl Bounded {
    /// Keeps up to `max_bytes`.
    #[must_use]
    pub fn bytes(max_bytes: u32) -> Self {
        Self {
            kept: Vec::new(),
            seen: 0,
            max_bytes: size(max_bytes),
            max_lines: None,
        }
    }

    /// Keeps up to `max_bytes` and of these up to `max_lines`.
    #[must_use]
    pub fn lines(max_bytes: u32, max_lines: u32) -> Self {
        Self {
            max_lines: Some(size(max_lines)),
            ..Self::bytes(max_bytes)
        }
    }

    /// Takes the next bytes of the output, wherever they were cut.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = self.max_bytes.saturating_sub(self.kept.len());
        let fits = bytes.get(..room).unwrap_or(bytes);
        self.kept.extend_from_slice(fits);
        self.seen = self.seen.saturating_add(wide(bytes.len()));
    }

    /// What was kept, and how many bytes of the output are missing.
    ///
    /// Bytes are bounded first, and a character that the bound would split is left out; then lines,
    /// where the last whole one keeps its newline. An output that fits is given as it is, even
    /// where it is not UTF-8.
    #[must_use]
    pub fn finish(mut self) -> (Vec<u8>, u64) {
        if self.seen > wide(self.kept.len()) {
            let whole = whole_characters(&self.kept);
            self.kept.truncate(whole);
        }
        if let Some(max_lines) = self.max_lines {
            let end = end_of_lines(&self.kept, max_lines);
            self.kept.truncate(end);
        }
        let omitted = self.seen.saturating_sub(wide(self.kept.len()));
        (self.kept, omitted)
    }
}

/// How many bytes are left when a character that only starts at the end is taken away.
fn whole_characters(bytes: &[u8]) -> usize {
    // The longest unfinished character has three bytes; before a lead byte nothing can be split.
    let lead = bytes
        .iter()
        .rev()
        .take(3)
        .position(|byte| !matches!(byte, 0x80..=0xBF));
    let Some(start) = lead.and_then(|back| bytes.len().checked_sub(back + 1)) else {
        return bytes.len();
    };
    let tail = bytes.get(start..).unwrap_or_default();
    match std::str::from_utf8(tail) {
        Err(error) if error.error_len().is_none() => start,
        Ok(_) | Err(_) => bytes.len(),
    }
}

/// Where the first `max_lines` lines end, behind their newline.
fn end_of_lines(bytes: &[u8], max_lines: usize) -> usize {
    let Some(before_last) = max_lines.checked_sub(1) else {
        return 0;
    };
    let newlines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let last = newlines.map(|(at, _)| at).nth(before_last);
    last.map_or(bytes.len(), |at| at + 1)
}

fn size(bound: u32) -> usize {
    usize::try_from(bound).unwrap_or(usize::MAX)
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mut bounded: Bounded, pushes: &[&[u8]], kept: &[u8], omitted: u64) {
        for bytes in pushes {
            bounded.push(bytes);
        }
        assert_eq!(bounded.finish(), (kept.to_vec(), omitted), "{pushes:?}");
    }

    #[test]
    fn bytes_are_kept_up_to_the_bound_and_the_rest_is_counted() {
        check(Bounded::bytes(4), &[b"abc"], b"abc", 0);
        check(Bounded::bytes(4), &[b"abcd"], b"abcd", 0);
        check(Bounded::bytes(4), &[b"abcde"], b"abcd", 1);
        check(Bounded::bytes(4), &[b"ab", b"cd", b"ef", b""], b"abcd", 2);
        check(Bounded::bytes(0), &[b"a"], b"", 1);
        check(Bounded::bytes(0), &[], b"", 0);
    }

    #[test]
    fn a_bound_splits_no_character() {
        let dash = "— end".as_bytes();
        check(Bounded::bytes(1), &[dash], b"", 7);
        check(Bounded::bytes(2), &[dash], b"", 7);
        check(Bounded::bytes(3), &[dash], "—".as_bytes(), 4);
        check(Bounded::bytes(4), &[dash], "— ".as_bytes(), 3);
        let clef = "a𝄞".as_bytes();
        check(Bounded::bytes(4), &[clef], b"a", 4);
        check(Bounded::bytes(5), &[clef], clef, 0);
        // Nothing here is the start of a character that the bound would split.
        check(
            Bounded::bytes(3),
            &[b"\x80\x80\x80\x80"],
            b"\x80\x80\x80",
            1,
        );
        check(Bounded::bytes(2), &[b"a\xffb"], b"a\xff", 1);
    }

    #[test]
    fn ou02_an_output_that_fits_is_given_as_it_came() {
        let whole = "cleanup — end".as_bytes();
        check(
            Bounded::bytes(64),
            &[b"cleanup \xe2", b"\x80\x94 end"],
            whole,
            0,
        );
        check(Bounded::bytes(64), &[b"cut \xe2"], b"cut \xe2", 0);
    }

    #[test]
    fn ou06_a_final_newline_is_no_further_line() {
        check(Bounded::lines(64, 4), &[b"a\nb\nc\n"], b"a\nb\nc\n", 0);
        check(Bounded::lines(64, 3), &[b"a\nb\nc\n"], b"a\nb\nc\n", 0);
        check(Bounded::lines(64, 2), &[b"a\nb\nc\n"], b"a\nb\n", 2);
        check(Bounded::lines(64, 3), &[b"a\nb\nc"], b"a\nb\nc", 0);
        check(Bounded::lines(64, 1), &[b"a\nb"], b"a\n", 1);
        check(Bounded::lines(64, 0), &[b"a\n"], b"", 2);
        check(Bounded::lines(3, 2), &[b"a\nbcd\n"], b"a\nb", 3);
    }
}
