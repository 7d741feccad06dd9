//! The key by which a receiver knows a delivery again.

use std::fmt::Write as _;

/// The delivery's id as a header value: visible ASCII as it is, all other bytes of its UTF-8 and the
/// percent sign percent-encoded. So two ids never give the same key.
pub(crate) fn idempotency_key(delivery_id: &str) -> String {
    let mut key = String::with_capacity(delivery_id.len());
    for byte in delivery_id.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            key.push(char::from(byte));
        } else {
            match write!(key, "%{byte:02X}") {
                // Writing to a string does not fail.
                Ok(()) | Err(_) => {}
            }
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io11_an_id_always_gives_the_same_key_and_another_id_another() {
        for (id, key) in [
            ("run:1/step-2", "run:1/step-2"),
            ("a b", "a%20b"),
            ("a%20b", "a%2520b"),
            ("\u{e9}", "%C3%A9"),
            ("x\r\nX-Evil: 1\0", "x%0D%0AX-Evil:%201%00"),
        ] {
            assert_eq!(idempotency_key(id), key);
        }
    }
}
