//! SHA-256 as the host writes it: lower-case hex.

use sha2::{Digest as _, Sha256};

/// SHA-256 of a component's bytes in lower-case hex: what names it in caches, pins and logs.
#[must_use]
pub fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Takes the [`digest`] of bytes that come in pieces.
#[derive(Clone, Debug, Default)]
pub struct Digester(Sha256);

impl Digester {
    /// Takes the next piece.
    pub fn take(&mut self, piece: &[u8]) {
        self.0.update(piece);
    }

    /// The digest of all pieces.
    #[must_use]
    pub fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string can't fail.
            if write!(text, "{byte:02x}").is_err() {
                text.clear();
            }
            text
        })
}
