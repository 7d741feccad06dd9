//! What entries are called: outside by their digest, in the folder by their owner as well.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::Owner;

/// Hex digits of a digest.
const DIGEST_DIGITS: usize = 64;

/// Hex digits of a tenant's and of an owner's key: 128 bits, so that no two are ever the same.
const KEY_DIGITS: usize = 32;

/// What stands before the digest in a uri.
const URI_PREFIX: &str = "artifact:sha-256:";

/// Longest media type, in bytes.
pub(super) const MEDIA_TYPE_BYTES: usize = 127;

pub(super) fn uri(digest: &str) -> String {
    format!("{URI_PREFIX}{digest}")
}

/// The digest in a uri; `None` for a uri of another kind or spelling.
pub(super) fn digest_of(uri: &str) -> Option<&str> {
    let digest = uri.strip_prefix(URI_PREFIX)?;
    is_hex(digest, DIGEST_DIGITS).then_some(digest)
}

fn is_hex(text: &str, digits: usize) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == digits && text.bytes().all(is_digit)
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        if write!(text, "{byte:02x}").is_err() {
            text.clear();
        }
        text
    })
}

/// The name of an entry's file: `TENANT-OWNER-DIGEST`, each in hex. Keys stand for the names of tenants
/// and runs, which may hold anything.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EntryName(Box<str>);

impl EntryName {
    pub(super) fn of(owner: &Owner, digest: &str) -> Self {
        let tenant = owner.tenant.as_str().as_bytes();
        let run = owner.run.as_deref();
        // A tenant's name has no NUL, and the byte after it tells a run from none.
        let whose: [&[u8]; 3] = match run {
            None => [tenant, b"\0-", b""],
            Some(run) => [tenant, b"\0+", run.as_bytes()],
        };
        let (tenant, owner) = (key(&[tenant]), key(&whose));
        Self(format!("{tenant}-{owner}-{digest}").into())
    }

    /// The entry of a file's name; `None` for a file of another kind.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let mut fields = name.split('-');
        let (tenant, owner, digest) = (fields.next()?, fields.next()?, fields.next()?);
        let is_name = fields.next().is_none()
            && is_hex(tenant, KEY_DIGITS)
            && is_hex(owner, KEY_DIGITS)
            && is_hex(digest, DIGEST_DIGITS);
        is_name.then(|| Self(name.into()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The key of the tenant.
    pub(super) fn tenant(&self) -> &str {
        self.0.split('-').next().unwrap_or_default()
    }
}

fn key(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    let mut key = hex(&hasher.finalize());
    key.truncate(KEY_DIGITS);
    key
}

/// Whether a text is a type and a subtype (RFC 6838, 4.2), without parameters.
pub(super) fn is_media_type(text: &str) -> bool {
    let is_name = |name: &str| {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.bytes().all(is_letter)
    };
    let parts = text.split_once('/');
    text.len() <= MEDIA_TYPE_BYTES
        && parts.is_some_and(|(kind, subtype)| is_name(kind) && is_name(subtype))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn io05_a_media_type_is_a_type_and_a_subtype_and_nothing_else() {
        let longest = format!("a/{}", "b".repeat(MEDIA_TYPE_BYTES - 2));
        for good in ["text/plain", "application/vnd.a+json", "x/y", &longest] {
            assert!(is_media_type(good), "{good}");
        }
        for bad in [
            "",
            "text",
            "/",
            "text/",
            "/plain",
            "text/plain; charset=utf-8",
            "text/plain\r\n\r\nx",
            "text/pl ain",
            "text/plain/x",
            "-a/b",
            "té/xt",
            &format!("{longest}b"),
        ] {
            assert!(!is_media_type(bad), "{bad:?}");
        }
    }

    #[test]
    fn x7_owners_have_names_of_their_own() {
        let digest = "a".repeat(DIGEST_DIGITS);
        let owner = |tenant: &str, run: Option<&str>| Owner {
            tenant: tidegate_contract::Tenant::new(tenant).unwrap(),
            run: run.map(Into::into),
        };
        let owners = [
            owner("a", None),
            owner("a", Some("")),
            owner("a", Some("-")),
            owner("a", Some("b")),
            owner("b", None),
            owner("ab", None),
        ];
        let names: Vec<EntryName> = owners
            .iter()
            .map(|owner| EntryName::of(owner, &digest))
            .collect();
        for (at, name) in names.iter().enumerate() {
            assert_eq!(EntryName::parse(name.as_str()).as_ref(), Some(name));
            assert!(names.iter().skip(at + 1).all(|other| other != name));
        }
        assert_eq!(names[0].tenant(), names[3].tenant());
        for other in [
            "",
            ".tmp",
            &digest,
            "a-b-c",
            &format!("{}x", names[0].as_str()),
        ] {
            assert_eq!(EntryName::parse(other), None);
        }
    }

    #[test]
    fn o3_a_uri_has_one_spelling() {
        let digest = "0123456789abcdef".repeat(4);
        assert_eq!(digest_of(&uri(&digest)), Some(&*digest));
        for bad in [
            digest.clone(),
            format!("sha-256:{digest}"),
            uri(&digest.to_uppercase()),
            uri(digest.trim_start_matches('0')),
            format!("{}0", uri(&digest)),
            format!("{}/../x", uri(&digest)),
            format!(" {}", uri(&digest)),
        ] {
            assert_eq!(digest_of(&bad), None, "{bad}");
        }
    }
}
