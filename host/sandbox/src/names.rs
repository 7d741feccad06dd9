//! File names as a plugin sees them.
//!
//! WASI's names are text and the system's are bytes. A byte that is no part of a character reaches a
//! plugin as a private-use character of its own, and means that byte again when the plugin gives it
//! back. A name that holds such a character itself is told apart: its bytes are written so too. Each
//! name of the system thus has exactly one name for plugins, and leads back to the same file.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

/// The character that stands for byte 0; those in use stand for 0x80 to 0xff (U+10FE80 to U+10FEFF).
const BASE: u32 = 0x10_fe00;

fn byte_of(character: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(character).checked_sub(BASE)?).ok()?;
    (byte >= 0x80).then_some(byte)
}

fn character_of(byte: u8) -> char {
    char::from_u32(BASE + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Whether a plugin's name means bytes that are not text.
#[must_use]
pub fn has_bytes(name: &str) -> bool {
    name.chars().any(|character| byte_of(character).is_some())
}

/// The name for a plugin of a name of the system.
#[must_use]
pub fn for_plugin(name: OsString) -> String {
    let bytes = match name.into_string() {
        Ok(text) if !has_bytes(&text) => return text,
        Ok(text) => text.into_bytes(),
        Err(name) => name.into_vec(),
    };
    let mut text = String::with_capacity(bytes.len().saturating_mul(2));
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if byte_of(character).is_some() {
                let mut buffer = [0; 4];
                let written = character.encode_utf8(&mut buffer);
                text.extend(written.bytes().map(character_of));
            } else {
                text.push(character);
            }
        }
        text.extend(chunk.invalid().iter().copied().map(character_of));
    }
    text
}

/// The path of the system that a plugin's path means.
#[must_use]
pub fn for_system(path: &str) -> Cow<'_, OsStr> {
    if !has_bytes(path) {
        return Cow::Borrowed(OsStr::from_bytes(path.as_bytes()));
    }
    let mut bytes = Vec::with_capacity(path.len());
    for character in path.chars() {
        match byte_of(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend(character.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    Cow::Owned(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fs11_every_name_has_one_name_for_plugins_that_leads_back() {
        let names: [&[u8]; 8] = [
            b"plain",
            "größe".as_bytes(),
            b"weird\xffname",
            b"\x80",
            b"cut \xe2\x80",
            b"\xf0\x9f\x98",
            "\u{10feff}".as_bytes(),
            "a\u{10fe80}\u{10fe7f}\u{10ff00}b".as_bytes(),
        ];
        let mut seen = Vec::new();
        for name in names {
            let told = for_plugin(OsString::from_vec(name.to_vec()));
            assert_eq!(for_system(&told).as_bytes(), name, "{told:?}");
            assert!(!seen.contains(&told), "{told:?}");
            seen.push(told);
        }
        assert_eq!(for_plugin("plain".into()), "plain");
        let weird = for_plugin(OsString::from_vec(b"weird\xffname".to_vec()));
        assert_eq!(weird, "weird\u{10feff}name");
    }

    #[test]
    fn fs11_all_pairs_of_bytes_lead_back() {
        for first in 1..=u8::MAX {
            for second in 1..=u8::MAX {
                let name = [first, second];
                let told = for_plugin(OsString::from_vec(name.to_vec()));
                assert_eq!(for_system(&told).as_bytes(), name);
            }
        }
    }
}
