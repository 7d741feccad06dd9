//! Digests of component files that were hashed before, kept beside the compiled code: a file that
//! nobody has written to since is not read again (SPEC L6).
//!
//! A digest from here decides which compiled code runs, never which bytes are compiled: those are
//! hashed again. So a stale one leads to code that this very file held before.

use tidegate_sandbox::ambient::Stamp;

use crate::cache::Cache;
use crate::engine::Engine;

impl Engine {
    /// The digest of a file: the one that was kept when it had this stamp, else what `hash` says,
    /// which is kept. A file without a stamp, or whose digest has to be certain, is given none.
    ///
    /// # Errors
    ///
    /// As `hash` says.
    pub fn digest_of<E>(
        &self,
        stamp: Option<&Stamp>,
        hash: impl FnOnce() -> Result<String, E>,
    ) -> Result<String, E> {
        let Some((cache, stamp)) = self.0.cache.as_ref().zip(stamp) else {
            return hash();
        };
        if let Some(digest) = cache.seen(stamp) {
            return Ok(digest);
        }
        let digest = hash()?;
        cache.note_seen(stamp, &digest);
        Ok(digest)
    }
}

/// Longest note: a stamp's state and a digest.
const NOTE_BYTES: usize = 256;

impl Cache {
    fn seen(&self, stamp: &Stamp) -> Option<String> {
        let note = self.read_note(&name(stamp), NOTE_BYTES)?;
        let (state, digest) = note.split_once('\n')?;
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        (state == stamp.state && is_digest).then(|| digest.to_owned())
    }

    fn note_seen(&self, stamp: &Stamp, digest: &str) {
        let note = format!("{}\n{digest}", stamp.state);
        self.write_note(&name(stamp), &note, "the digest of a file was not kept");
    }
}

fn name(stamp: &Stamp) -> String {
    format!("file-{}.sum", stamp.file)
}
