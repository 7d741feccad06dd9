//! What a peer says, as the log may show it (CASES MC06, SPEC S7): on one line, cut, few times, and
//! nothing that holds a secret.

use tidegate_sandbox::Secret;

/// What of one text is shown, in bytes, before they are escaped.
const SHOWN_BYTES: usize = 200;

/// Texts of one stream that are shown; the rest is not even counted aloud.
const SHOWN_TIMES: u32 = 100;

/// In the place of a text with a secret in it.
pub(crate) const HIDDEN: &str = "[it holds a secret]";

/// Who is on the other side of a connection.
#[derive(Clone, Debug)]
pub struct PeerName {
    pub(crate) name: String,
    pub(crate) secrets: Vec<Secret>,
}

impl PeerName {
    /// A peer, with the secrets that it was given and that the log must not show.
    #[must_use]
    pub fn with_secrets(name: &str, secrets: Vec<Secret>) -> Self {
        Self {
            name: name.to_owned(),
            secrets,
        }
    }
}

impl From<&str> for PeerName {
    fn from(name: &str) -> Self {
        Self::with_secrets(name, Vec::new())
    }
}

/// What one stream of a connection has said so far.
#[derive(Debug)]
pub(crate) struct Said {
    peer: PeerName,
    times: u32,
}

impl Said {
    pub(crate) fn new(peer: PeerName) -> Self {
        Self { peer, times: 0 }
    }

    pub(crate) fn by(&self) -> &str {
        &self.peer.name
    }

    /// The text as the log shows it; none when it shows no more of this stream.
    pub(crate) fn shown(&mut self, text: &[u8]) -> Option<String> {
        if self.times >= SHOWN_TIMES {
            return None;
        }
        self.times += 1;
        // In all of it: a cut would leave a part of a secret that nobody recognises.
        if self
            .peer
            .secrets
            .iter()
            .any(|secret| secret.is_in_bytes(text))
        {
            return Some(HIDDEN.to_owned());
        }
        let shown = text.get(..SHOWN_BYTES).unwrap_or(text);
        Some(shown.escape_ascii().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mc06_what_a_peer_says_is_shown_on_one_line_cut_and_a_hundred_times() {
        let mut said = Said::new("x".into());
        assert_eq!(said.shown(b"a\nb\x1b[31m").unwrap(), r"a\nb\x1b[31m");
        for (bytes, shown) in [(199, 199), (200, 200), (201, 200)] {
            assert_eq!(said.shown(&vec![b'x'; bytes]).unwrap().len(), shown);
        }
        for _ in 4..100 {
            assert!(said.shown(b"x").is_some());
        }
        assert!(said.shown(b"x").is_none());
    }

    #[test]
    fn s7_no_secret_of_a_peer_is_shown_not_even_a_part_of_it() {
        let secret = Secret::new("swordfish-42".to_owned()).unwrap();
        let mut said = Said::new(PeerName::with_secrets("x", vec![secret]));
        for before in [0, 190, 195, 1_000] {
            let text = format!("{}swordfish-42 and more", "x".repeat(before));
            assert_eq!(said.shown(text.as_bytes()).unwrap(), HIDDEN);
        }
        assert_eq!(said.shown(b"catfish-42").unwrap(), "catfish-42");
    }
}
