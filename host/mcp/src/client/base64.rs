//! Base64 (RFC 4648 section 4), as the protocol writes images, sounds and what no header can hold.

/// The bytes of a text; none when it is no base64. White space in it and missing padding are taken.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    let mut letters = 0_usize;
    let digits =
        text.trim_end_matches(|letter: char| letter == '=' || letter.is_ascii_whitespace());
    for letter in digits.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        bits = (bits << 6) | u32::from(digit(letter)?);
        held += 6;
        letters += 1;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).ok()?);
            bits &= (1 << held) - 1;
        }
    }
    (letters % 4 != 1).then_some(bytes)
}

/// Bytes as a text, with its padding.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let mut bits = [0; 4];
        for (to, from) in bits.iter_mut().skip(1).zip(three) {
            *to = *from;
        }
        let bits = u32::from_be_bytes(bits);
        let letters = [18, 12, 6, 0].map(|shift| letter(bits >> shift));
        let (whole, padding) = (three.len() + 1, 3 - three.len());
        text.extend(letters.into_iter().take(whole));
        text.extend(std::iter::repeat_n('=', padding));
    }
    text
}

/// The letter of the lowest six bits.
fn letter(bits: u32) -> char {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let at = usize::try_from(bits & 63).unwrap_or_default();
    char::from(LETTERS.get(at).copied().unwrap_or(b'='))
}

fn digit(letter: u8) -> Option<u8> {
    Some(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn the_examples_of_the_standard_decode_and_encode() {
        let examples = [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
            ("Zm9v\nYmFy\n", "foobar"),
            ("Zg", "f"),
        ];
        for (text, bytes) in examples {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decode("//79").as_deref(), Some(&[0xff, 0xfe, 0xfd][..]));
        for (text, bytes) in &examples[..7] {
            assert_eq!(encode(bytes.as_bytes()), *text, "{bytes}");
        }
        assert_eq!(encode(&[0xff, 0xfe, 0xfd]), "//79");
        for wrong in ["Z", "Zm9vY", "Zm-v", "Z=9v", "é"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
