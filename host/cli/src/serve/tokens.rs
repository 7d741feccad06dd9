//! The token file: whose requests are an operator's or an observer's, and for which tenant.
//!
//! The file holds digests, never a token. Deliberately absent: credentials of workers, which belong
//! to one attempt and are the database's.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::num::NonZeroU32;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tidegate::Caller;
use tidegate_contract::{Grant, Tenant};
use tidegate_sandbox::ambient;
use tidegate_worker::token::{CredentialDigest, Role};

use crate::config::Grants;
use crate::yaml;

/// What a token starts with, so that it is known where it turns up.
const PREFIX: &str = "tg-";

/// Bits of a file's mode that let others than its owner in.
const OTHERS: u32 = 0o077;

/// The role of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Post {
    /// Starts runs, hands their steps out, makes calls.
    Operator,
    /// Looks on.
    Observer,
}

impl Post {
    fn role(self) -> Role {
        match self {
            Self::Operator => Role::Operator,
            Self::Observer => Role::Observer,
        }
    }

    /// The word for it in the file.
    pub(crate) fn word(self) -> &'static str {
        self.role().word()
    }
}

/// One entry of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    sha256: String,
    role: Post,
    tenant: String,
    /// The most that calls of this token may use; all that the sandbox has where it is absent.
    #[serde(default)]
    grant: Option<Grants>,
    /// Calls of the tenant at once.
    #[serde(default)]
    concurrency: Option<NonZeroU32>,
    /// Folders below which launches of the tenant may name theirs, relative to the token file.
    #[serde(default)]
    work_roots: Vec<PathBuf>,
}

/// Who a token stands for.
#[derive(Clone, Debug)]
pub(super) struct Holder {
    /// The entry's name, for the log.
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) tenant: Tenant,
    grant: Option<Arc<Grant>>,
    concurrency: Option<NonZeroU32>,
}

impl Holder {
    /// The holder as the runtime knows callers.
    pub(super) fn caller(&self) -> Caller {
        Caller {
            tenant: self.tenant.clone(),
            grant: self.grant.clone(),
            concurrency: self.concurrency,
            ..Caller::default()
        }
    }
}

/// Every token that is known, by its digest, and where runs of their tenants may work.
#[derive(Debug)]
pub(super) struct Tokens {
    holders: Vec<(CredentialDigest, Holder)>,
    work_roots: Vec<(Tenant, PathBuf)>,
}

impl Tokens {
    /// Reads the token file.
    ///
    /// # Errors
    ///
    /// It can't be read, others can read it, or an entry is not right; the message names it.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let read = || {
            let file = ambient::open_for_reading(path)?;
            let metadata = file.metadata()?;
            if !metadata.is_file() {
                bail!("it is not a regular file");
            }
            if metadata.mode() & OTHERS != 0 {
                bail!("others than its owner can open it; run `chmod 600` on it");
            }
            let mut bytes = Vec::new();
            let more = yaml::FILE_BYTES.saturating_add(1);
            file.take(more).read_to_end(&mut bytes)?;
            if bytes.len() > usize::try_from(yaml::FILE_BYTES).unwrap_or(usize::MAX) {
                bail!("it is larger than {} bytes", yaml::FILE_BYTES);
            }
            Ok(bytes)
        };
        let bytes = read().with_context(|| format!("the token file {name}"))?;
        let entries: Vec<Entry> = yaml::parse_bytes(bytes, &name)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::of(entries, folder).with_context(|| name)
    }

    fn of(entries: Vec<Entry>, folder: &Path) -> anyhow::Result<Self> {
        if entries.is_empty() {
            bail!("it has no entry; `tidegate serve token` makes one");
        }
        let (mut holders, mut work_roots) = (Vec::new(), Vec::new());
        let (mut names, mut digests) = (BTreeSet::new(), BTreeSet::new());
        for entry in entries {
            let name = entry.name.clone();
            let bytes = digest_bytes(&entry.sha256)
                .with_context(|| format!("`{name}`: sha256 must be 64 hex digits"))?;
            if !names.insert(name.clone()) {
                bail!("two entries have the name `{name}`");
            }
            if !digests.insert(bytes) {
                bail!("`{name}` has the token of another entry");
            }
            let digest = CredentialDigest::from_bytes(&bytes).context("32 bytes are a digest")?;
            let roots: Vec<PathBuf> = entry.work_roots.iter().map(|r| folder.join(r)).collect();
            let holder = entry.holder().with_context(|| format!("`{name}`"))?;
            let theirs = roots.into_iter().map(|root| (holder.tenant.clone(), root));
            work_roots.extend(theirs);
            holders.push((digest, holder));
        }
        Ok(Self {
            holders,
            work_roots,
        })
    }

    /// The one operator of a service on the loopback, whose runs may work in these folders.
    pub(super) fn only(token: &Token, work_roots: &[PathBuf]) -> Self {
        let holder = Holder {
            name: "local".to_owned(),
            role: Role::Operator,
            tenant: Tenant::default(),
            grant: None,
            concurrency: None,
        };
        let digest = CredentialDigest::from_bytes(&token.digest());
        let roots = work_roots.iter().cloned();
        Self {
            holders: digest.map(|digest| (digest, holder)).into_iter().collect(),
            work_roots: roots.map(|root| (Tenant::default(), root)).collect(),
        }
    }

    /// The folders that runs of each tenant may work in.
    pub(super) fn work_roots(&self) -> &[(Tenant, PathBuf)] {
        &self.work_roots
    }

    /// Who brings this text. Every digest is compared, each in constant time.
    pub(super) fn holder(&self, text: &str) -> Option<&Holder> {
        let brought = CredentialDigest::from_bytes(&Sha256::digest(text.as_bytes()))?;
        let mut found = None;
        for (digest, holder) in &self.holders {
            if *digest == brought {
                found = Some(holder);
            }
        }
        found
    }
}

impl Entry {
    fn holder(self) -> anyhow::Result<Holder> {
        check_name(&self.name)?;
        let grant = self.grant.as_ref().map(Grants::grant).transpose();
        Ok(Holder {
            name: self.name,
            role: self.role.role(),
            tenant: Tenant::new(&self.tenant)?,
            grant: grant.context("grant")?.map(Arc::new),
            concurrency: self.concurrency,
        })
    }
}

/// Checks the name of an entry.
///
/// # Errors
///
/// It is no short plain name.
pub(crate) fn check_name(name: &str) -> anyhow::Result<()> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if !(1..=64).contains(&name.len()) || !name.chars().all(is_letter) {
        bail!("a name is 1 to 64 of letters, digits, `.`, `_` and `-`");
    }
    Ok(())
}

fn digest_bytes(hex: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let mut digits = hex.chars().map(|digit| digit.to_digit(16));
    for byte in &mut bytes {
        let (high, low) = (digits.next()??, digits.next()??);
        *byte = u8::try_from(high * 16 + low).ok()?;
    }
    digits.next().is_none().then_some(bytes)
}

/// A token that was just made. Its text is shown once.
pub(crate) struct Token(String);

impl Token {
    /// 256 random bits.
    pub(crate) fn mint() -> Self {
        let (left, right) = (ambient::random_id(), ambient::random_id());
        Self(format!("{PREFIX}{left}{right}"))
    }

    /// The text itself.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Its digest in hex, as the file keeps it.
    pub(crate) fn sha256(&self) -> String {
        tidegate_worker::store::sha256_hex(self.0.as_bytes())
    }

    fn digest(&self) -> [u8; 32] {
        Sha256::digest(self.0.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<Tokens, String> {
        let entries = yaml::parse(text, "f").map_err(|error| error.to_string())?;
        Tokens::of(entries, Path::new("/etc")).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn i2_a_token_is_known_by_its_digest_alone() {
        let (one, other) = (Token::mint(), Token::mint());
        let file = format!(
            "[{{ name: ci, sha256: {}, role: observer, tenant: acme }}]",
            one.sha256()
        );
        let tokens = tokens(&file).unwrap();
        let holder = tokens.holder(one.reveal()).unwrap();
        assert_eq!((&*holder.name, holder.tenant.as_str()), ("ci", "acme"));
        assert_eq!(holder.role, Role::Observer);
        for text in [
            other.reveal(),
            "",
            &one.sha256(),
            one.reveal().trim_start_matches("tg-"),
        ] {
            assert!(tokens.holder(text).is_none());
        }
        let shown = format!("{tokens:?}");
        assert!(!shown.contains(&one.sha256()), "{shown}");
    }

    #[test]
    fn s1_x7_each_entry_names_where_its_tenant_works() {
        let entry = |name: &str, digits: &str, more: &str| {
            let sha256 = digits.repeat(32);
            format!("{{ name: {name}, sha256: '{sha256}', role: operator, tenant: {name} {more} }}")
        };
        let (one, two) = (
            entry("one", "ab", ", work_roots: [a, /b]"),
            entry("two", "cd", ""),
        );
        let tokens = tokens(&format!("[{one}, {two}]")).unwrap();
        let tenant = Tenant::new("one").unwrap();
        let expected = ["/etc/a", "/b"].map(|path| (tenant.clone(), PathBuf::from(path)));
        assert_eq!(tokens.work_roots(), expected);
    }

    #[test]
    fn i2_an_entry_that_is_not_right_is_named() {
        let digest = "ab".repeat(32);
        let good = format!("name: a, sha256: {digest}, role: operator, tenant: t");
        assert!(tokens(&format!("[{{ {good} }}]")).is_ok());
        for (bad, word) in [
            ("[]".to_owned(), "no entry"),
            (format!("[{{ {good} }}, {{ {good} }}]"), "two entries"),
            (
                format!(
                    "[{{ {good} }}, {{ {} }}]",
                    good.replace("name: a", "name: b")
                ),
                "another entry",
            ),
            (format!("[{{ {good}, token: x }}]"), "unknown key `token`"),
            (
                format!("[{{ {} }}]", good.replace("operator", "worker")),
                "worker",
            ),
            (format!("[{{ {} }}]", good.replace("ab", "a")), "64 hex"),
            (format!("[{{ {} }}]", good.replace("ab", "zz")), "64 hex"),
            (
                format!("[{{ {} }}]", good.replace("name: a", "name: a b")),
                "name",
            ),
            (
                format!("[{{ {} }}]", good.replace("tenant: t", "tenant: a/b")),
                "tenant",
            ),
            (format!("[{{ {good}, grant: {{ raed: true }} }}]"), "`read`"),
            (format!("[{{ {good}, concurrency: 0 }}]"), ""),
        ] {
            let said = tokens(&bad).unwrap_err();
            assert!(said.contains(word), "{bad}: {said}");
        }
    }
}
