//! Finding the end of a body that comes in chunks, by the strictest reading of it (CASES IO12).
//!
//! Pure, and fed in whatever pieces the bytes come. Deliberately absent: the content.

/// Most bytes of chunk extensions and trailers in one message: nothing here asks for any.
const EXTRAS: usize = 4_096;

/// Most hex digits of a chunk's size.
const DIGITS: u8 = 15;

/// The bytes are no chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotChunked;

/// A chunked body being followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunks {
    at: At,
    extras: usize,
}

/// What the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// A digit of a size, or what ends it.
    Size { size: u64, digits: u8 },
    /// Of an extension, or what ends it.
    Extension { size: u64 },
    /// The LF after a size.
    SizeEnd { size: u64 },
    /// One of so many bytes of data.
    Data(u64),
    /// The CR after data.
    DataEnd,
    /// The LF after data.
    DataLine,
    /// The first of a trailer, or the CR of the last line.
    Trailers,
    /// Of a trailer.
    Trailer,
    /// The LF of a trailer.
    TrailerEnd,
    /// The last LF.
    Last,
    /// Of the next message.
    Done,
}

const SIZE: At = At::Size { size: 0, digits: 0 };

impl Chunks {
    /// At the start of a body.
    pub(super) fn new() -> Self {
        Self {
            at: SIZE,
            extras: 0,
        }
    }

    /// Whether the body is over.
    pub(super) fn is_done(&self) -> bool {
        self.at == At::Done
    }

    /// Follows these bytes and answers how many of them are of this body.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<usize, NotChunked> {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
            taken += match self.at {
                At::Done => return Ok(taken),
                At::Data(left) => self.skip(left, rest.len()),
                _ => {
                    let next = rest.first().map(|byte| self.step(*byte));
                    self.at = next.unwrap_or(Err(NotChunked))?;
                    1
                }
            };
        }
        Ok(taken)
    }

    fn skip(&mut self, left: u64, there: usize) -> usize {
        let skipped = usize::try_from(left).unwrap_or(usize::MAX).min(there);
        let left = left.saturating_sub(u64::try_from(skipped).unwrap_or(u64::MAX));
        self.at = if left == 0 {
            At::DataEnd
        } else {
            At::Data(left)
        };
        skipped
    }

    fn step(&mut self, byte: u8) -> Result<At, NotChunked> {
        Ok(match (self.at, byte) {
            (At::Size { size, digits }, byte) if byte.is_ascii_hexdigit() && digits < DIGITS => {
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                At::Size {
                    size: (size << 4) | u64::from(digit),
                    digits: digits + 1,
                }
            }
            (At::Size { size, digits: 1.. }, b';') => At::Extension { size },
            (At::Size { size, digits: 1.. } | At::Extension { size }, b'\r') => {
                At::SizeEnd { size }
            }
            (At::Extension { size }, byte) => {
                self.extra(byte)?;
                At::Extension { size }
            }
            (At::SizeEnd { size: 0 } | At::TrailerEnd, b'\n') => At::Trailers,
            (At::SizeEnd { size }, b'\n') => At::Data(size),
            (At::DataEnd, b'\r') => At::DataLine,
            (At::DataLine, b'\n') => SIZE,
            (At::Trailers, b'\r') => At::Last,
            (At::Trailer, b'\r') => At::TrailerEnd,
            (At::Trailers | At::Trailer, byte) => {
                self.extra(byte)?;
                At::Trailer
            }
            (At::Last, b'\n') => At::Done,
            _ => return Err(NotChunked),
        })
    }

    /// Counts a byte that is of no use.
    fn extra(&mut self, byte: u8) -> Result<(), NotChunked> {
        self.extras += 1;
        let is_text = byte == b'\t' || (b' '..0x7f).contains(&byte);
        if is_text && self.extras <= EXTRAS {
            Ok(())
        } else {
            Err(NotChunked)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bytes are of the body, fed whole and byte by byte.
    fn end_of(body: &str) -> Result<Option<usize>, NotChunked> {
        let mut whole = Chunks::new();
        let at_once = whole.take(body.as_bytes());
        let mut chunks = Chunks::new();
        let mut taken = Ok(0);
        for byte in body.as_bytes() {
            taken = taken.and_then(|sum| Ok(sum + chunks.take(std::slice::from_ref(byte))?));
        }
        assert_eq!(at_once, taken, "{body:?}");
        at_once.map(|taken| whole.is_done().then_some(taken))
    }

    #[test]
    fn io12_a_chunked_body_ends_where_it_says() {
        for (body, rest) in [
            ("0\r\n\r\n", "GET"),
            ("000\r\n\r\n", ""),
            ("3\r\nabc\r\n0\r\n\r\n", "0\r\n\r\n"),
            ("a;x=y\r\n0123456789\r\n0\r\n\r\n", "x"),
            ("5\r\n0\r\n\r\n\r\n0\r\n\r\n", "POST / HTTP/1.1"),
            ("1\r\na\r\n0\r\nX: y\r\nZ:\r\n\r\n", "rest"),
        ] {
            assert_eq!(end_of(&format!("{body}{rest}")), Ok(Some(body.len())));
            let (cut, _) = body.split_at(body.len() - 1);
            assert_eq!(end_of(cut), Ok(None), "{cut:?}");
        }
    }

    #[test]
    fn io12_what_is_no_chunked_body_is_refused() {
        for body in [
            "\r\n",
            ";\r\n",
            "g\r\n",
            "-1\r\n",
            "+1\r\n",
            "0x1\r\n",
            " 1\r\n",
            "1 \r\n",
            "1\n",
            "1\r\r\n",
            "1\r\nab\r\n",
            "1\r\na\n",
            "1\r\na0\r\n",
            "1;\u{0}\r\n",
            "1;a\nb\r\n",
            "0\r\nX: y\n\r\n",
            "0\r\n\rx",
            "0000000000000000\r\n",
            "ffffffffffffffff\r\n",
        ] {
            assert_eq!(end_of(body), Err(NotChunked), "{body:?}");
        }
    }

    #[test]
    fn io12_however_a_body_is_cut_it_ends_at_the_same_place() {
        let words = [
            "0",
            "1",
            "a",
            ";",
            "x",
            "\r\n",
            "\r",
            "\n",
            "0\r\n",
            "1\r\na\r\n",
            "\r\n\r\n",
        ];
        let mut state = 7_usize;
        let mut ended = 0;
        for _ in 0..20_000 {
            let mut body = String::new();
            for _ in 0..6 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                body.push_str(words[(state >> 33) % words.len()]);
            }
            // It checks that whole and byte by byte come to the same.
            ended += usize::from(matches!(end_of(&body), Ok(Some(_))));
        }
        assert!(ended > 100, "{ended}");
    }

    #[test]
    fn c8_extensions_and_trailers_are_bounded() {
        for (length, passes) in [(EXTRAS - 1, true), (EXTRAS, true), (EXTRAS + 1, false)] {
            let text = "x".repeat(length);
            for body in [
                format!("1;{text}\r\na\r\n0\r\n\r\n"),
                format!("0\r\n{text}\r\n\r\n"),
            ] {
                assert_eq!(
                    Chunks::new().take(body.as_bytes()).is_ok(),
                    passes,
                    "{length}"
                );
            }
        }
    }
}
