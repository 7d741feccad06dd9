//! What lets a worker in: tokens and handles, who may do what with one, and how often a wrong one
//! may be tried.
//!
//! A credential's text exists twice: in the answer that hands it out and in the request that brings
//! it back. What is kept is its SHA-256. Deliberately absent: signed claims inside a token; all that
//! a credential means is looked up by its digest.

use std::collections::HashMap;
use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tidegate_sandbox::ambient;

/// How long a credential lasts where nobody says: 30 minutes.
pub const LIFETIME_MS: u64 = 30 * 60 * 1000;

/// Credentials that were not found and may be tried at once, by one peer.
const BURST: u32 = 32;

/// How long until one more may be tried.
const REFILL_MS: u64 = 2_000;

/// How many peers are remembered: more than any honest service meets in a minute.
const PEERS: usize = 4_096;

/// The text of a credential. `Debug` never shows it, and there is no `Display`.
pub struct Credential(String);

/// The two forms of a worker's credential; both mean the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `wt-` and 256 random bits, as 64 hex digits.
    Token,
    /// `wh-` and 128 random bits, as 32 hex digits: short enough to be passed on by a model.
    Handle,
}

impl Form {
    fn prefix(self) -> &'static str {
        match self {
            Self::Token => "wt-",
            Self::Handle => "wh-",
        }
    }

    fn digits(self) -> usize {
        match self {
            Self::Token => 64,
            Self::Handle => 32,
        }
    }
}

impl Credential {
    /// Makes one that nobody has seen before.
    #[must_use]
    pub fn mint(form: Form) -> Self {
        let mut text = form.prefix().to_owned();
        text.push_str(&ambient::random_id());
        if form == Form::Token {
            text.push_str(&ambient::random_id());
        }
        Self(text)
    }

    /// Reads one from a request; `None` when it can't be one. Nothing around it is trimmed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        [Form::Token, Form::Handle]
            .into_iter()
            .filter_map(|form| Some((form, text.strip_prefix(form.prefix())?)))
            .any(|(form, rest)| rest.len() == form.digits() && rest.bytes().all(is_digit))
            .then(|| Self(text.to_owned()))
    }

    /// What is kept in its place.
    #[must_use]
    pub fn digest(&self) -> CredentialDigest {
        CredentialDigest(Sha256::digest(self.0.as_bytes()).into())
    }

    /// The text itself, for the one answer that hands it out.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Credential(..)")
    }
}

/// The SHA-256 of a credential. Compared in constant time; `Debug` shows nothing of it.
#[derive(Clone, Copy)]
pub struct CredentialDigest([u8; 32]);

impl CredentialDigest {
    /// The bytes, as a store keeps them.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// One read back from a store; `None` when it has another length.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }
}

impl PartialEq for CredentialDigest {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for CredentialDigest {}

impl fmt::Debug for CredentialDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CredentialDigest(..)")
    }
}

/// Whose hand a credential is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Does one attempt of one step.
    Worker,
    /// Starts runs and hands out their steps.
    Operator,
    /// Looks on.
    Observer,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Fetch the attempt's payload.
    Prompt,
    /// Fetch the system prompt that the payload refers to.
    System,
    /// Fetch an earlier step's output.
    Content,
    /// Stage a named part.
    Artifact,
    /// Complete the attempt.
    Submit,
    /// Start a run.
    Launch,
    /// Take a waiting dispatch.
    Claim,
    /// Read runs and attempts.
    Read,
    /// Cancel a run.
    Cancel,
    /// Start a new attempt of a step.
    Rekick,
    /// Follow what happens.
    Events,
}

impl Role {
    /// The word that a store keeps.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Operator => "operator",
            Self::Observer => "observer",
        }
    }

    /// The role of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [Self::Worker, Self::Operator, Self::Observer];
        all.into_iter().find(|role| role.word() == word)
    }

    /// Whether this role has the verb.
    ///
    /// Source: SPEC I2.
    #[must_use]
    pub fn may(self, verb: Verb) -> bool {
        match verb {
            Verb::Prompt | Verb::System | Verb::Content | Verb::Artifact | Verb::Submit => {
                self == Self::Worker
            }
            Verb::Launch | Verb::Claim | Verb::Cancel | Verb::Rekick => self == Self::Operator,
            Verb::Read => matches!(self, Self::Operator | Self::Observer),
            Verb::Events => self == Self::Observer,
        }
    }
}

/// Counts credentials that were not found, by who tried them: 32 at once, then one every 2 s.
///
/// A peer over its count is refused before anything is looked up, whatever it brings. Who the peer
/// is, is the door's to say.
#[derive(Debug, Default)]
pub struct Throttle {
    peers: HashMap<String, Bucket>,
}

/// When all of a peer's failures will have been forgiven: one number says how full its bucket is.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    empty_at_ms: u64,
}

impl Throttle {
    /// Whether this peer may have a credential looked up.
    ///
    /// # Errors
    ///
    /// How many milliseconds it has to wait.
    pub fn check(&self, peer: &str, now_ms: u64) -> Result<(), u64> {
        let Some(bucket) = self.peers.get(peer) else {
            return Ok(());
        };
        let open = u64::from(BURST).saturating_mul(REFILL_MS);
        let owed = bucket.empty_at_ms.saturating_sub(now_ms);
        let over = owed.saturating_add(REFILL_MS).saturating_sub(open);
        if over == 0 { Ok(()) } else { Err(over) }
    }

    /// Counts one that was not found.
    pub fn count_failure(&mut self, peer: &str, now_ms: u64) {
        if self.peers.len() >= PEERS && !self.peers.contains_key(peer) {
            self.peers.retain(|_, bucket| bucket.empty_at_ms > now_ms);
            if self.peers.len() >= PEERS {
                // So many peers at once are one attacker's: forgetting all costs less than growing.
                self.peers.clear();
            }
        }
        let bucket = self.peers.entry(peer.to_owned()).or_insert(Bucket {
            empty_at_ms: now_ms,
        });
        bucket.empty_at_ms = bucket.empty_at_ms.max(now_ms).saturating_add(REFILL_MS);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn i2_minted_credentials_are_long_and_never_the_same() {
        for (form, prefix, digits) in [(Form::Token, "wt-", 64), (Form::Handle, "wh-", 32)] {
            let texts: BTreeSet<String> = (0..100)
                .map(|_| Credential::mint(form).reveal().to_owned())
                .collect();
            assert_eq!(texts.len(), 100);
            for text in texts {
                assert_eq!(text.strip_prefix(prefix).unwrap().len(), digits);
                assert!(Credential::parse(&text).is_some());
            }
        }
    }

    #[test]
    fn i2_what_is_no_credential_is_not_looked_up() {
        let token = "a".repeat(64);
        let handle = "0".repeat(32);
        for text in [
            "",
            "wh-",
            "wh-0a1b2c3d",
            &format!("wt-{handle}"),
            &format!("wh-{token}"),
            &format!(" wh-{handle}"),
            &format!("wh-{handle}\n"),
            &format!("WH-{handle}"),
            &format!("wh-{}", handle.replace('0', "A")),
            &format!("wh-{}", handle.replace('0', "é")),
        ] {
            assert!(Credential::parse(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn io06_debug_shows_nothing_of_a_credential() {
        let credential = Credential::parse(&format!("wh-{}", "5".repeat(32))).unwrap();
        let shown = format!("{credential:?} {:?}", credential.digest());
        assert_eq!(shown, "Credential(..) CredentialDigest(..)");
    }

    #[test]
    fn i2_a_digest_is_equal_to_its_own_credentials_alone() {
        let one = Credential::mint(Form::Handle);
        let kept = CredentialDigest::from_bytes(one.digest().as_bytes()).unwrap();
        assert_eq!(kept, one.digest());
        assert_ne!(kept, Credential::mint(Form::Handle).digest());
        assert!(CredentialDigest::from_bytes(&[0; 31]).is_none());
    }

    #[test]
    fn i2_each_role_has_its_own_verbs() {
        let all = [
            (Verb::Prompt, "w"),
            (Verb::System, "w"),
            (Verb::Content, "w"),
            (Verb::Artifact, "w"),
            (Verb::Submit, "w"),
            (Verb::Launch, "o"),
            (Verb::Claim, "o"),
            (Verb::Read, "ob"),
            (Verb::Cancel, "o"),
            (Verb::Rekick, "o"),
            (Verb::Events, "b"),
        ];
        for (verb, who) in all {
            assert_eq!(Role::Worker.may(verb), who.contains('w'), "{verb:?}");
            assert_eq!(Role::Operator.may(verb), who.contains('o'), "{verb:?}");
            assert_eq!(Role::Observer.may(verb), who.contains('b'), "{verb:?}");
        }
    }

    #[test]
    fn gap4_failed_look_ups_are_throttled_by_peer_and_forgiven_in_time() {
        let mut throttle = Throttle::default();
        let now = 1_000_000;
        for tried in 0..BURST {
            assert_eq!(throttle.check("10.0.0.1", now), Ok(()), "{tried}");
            throttle.count_failure("10.0.0.1", now);
        }
        let wait = throttle.check("10.0.0.1", now).unwrap_err();
        assert_eq!(throttle.check("10.0.0.2", now), Ok(()));
        assert!(throttle.check("10.0.0.1", now + wait - 1).is_err());
        assert_eq!(throttle.check("10.0.0.1", now + wait), Ok(()));
        throttle.count_failure("10.0.0.1", now + wait);
        assert!(throttle.check("10.0.0.1", now + wait).is_err());
    }

    #[test]
    fn gap4_the_throttle_remembers_a_bounded_number_of_peers() {
        let mut throttle = Throttle::default();
        for peer in 0..2 * PEERS {
            throttle.count_failure(&peer.to_string(), 5);
        }
        assert!(throttle.peers.len() <= PEERS);
    }
}
