//! What is too large for an answer, kept by its digest for the caller of one run (SPEC O3, X7).
//!
//! The security property: an entry is found only by whoever belongs to the tenant and the run that it
//! was put for, and what is read of it has the digest that its reference names. Who asks for another's
//! is told what is told of an entry that does not exist.
//!
//! Files are written beside and renamed into place, and never synced: after a crash of the machine an
//! entry is whole, gone, or found out by its digest. Deliberately absent: sharing bytes between owners,
//! whose sizes and times would tell of each other.

mod bounds;
mod entry;
mod index;
mod name;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_std::fs::Dir;
use tidegate_contract::failure::host_failure;
use tidegate_contract::{Failure, Tenant};

use crate::ambient;
use crate::error::SandboxError;

use entry::{Checked, Draft, Entry, Print};
use index::Index;
use name::EntryName;

pub use bounds::{ArtifactBoundError, ArtifactBounds, BoundSpec};

/// Most bytes that one [`read`](Artifacts::read) gives.
pub const SLICE_BYTES: usize = 16 * 1024 * 1024;

/// Whether a text is written like the uri of an artifact, be it there or not.
#[must_use]
pub fn is_uri(text: &str) -> bool {
    name::digest_of(text).is_some()
}

/// Whose an entry is: a tenant's, in one run of a flow or outside of any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// The tenant.
    pub tenant: Tenant,
    /// The run; `None` is a run of its own kind, that of calls outside of flows.
    pub run: Option<Arc<str>>,
}

/// What was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// What it is read by: `artifact:sha-256:` and 64 hex digits.
    pub uri: String,
    /// `sha-256:` and the same digits.
    pub digest: String,
    /// Its length.
    pub size_bytes: u64,
}

/// A piece of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The bytes from the offset on; none at the end and after it.
    pub bytes: Vec<u8>,
    /// The length of the whole.
    pub size_bytes: u64,
    /// What it was put as.
    pub media_type: String,
}

/// Why nothing was kept, or nothing read.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The media type is none.
    #[error("a media type is written TYPE/SUBTYPE, such as text/plain, in at most 127 characters")]
    MediaType,
    /// There is no room, and what is there is too new to make way.
    #[error("there is no room for an artifact of {size_bytes} bytes or more")]
    Full {
        /// The bytes that were asked for, or had been written when the bound was passed.
        size_bytes: u64,
    },
    /// The uri is none of this store.
    #[error("an artifact's uri is artifact:sha-256: and 64 hex digits")]
    Uri,
    /// There is none of this uri for this owner.
    #[error("there is no such artifact")]
    NotFound,
    /// What was kept is not what was put. It has been removed.
    #[error("the artifact was damaged and is gone")]
    Damaged,
    /// The folder can't be read or written.
    #[error("cannot {step}")]
    Failed {
        /// What the host was about to do.
        step: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl ArtifactError {
    fn failed(step: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Failed { step, source }
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::MediaType => "INVALID_MEDIA_TYPE",
            Self::Full { .. } => "ARTIFACTS_FULL",
            Self::Uri => "INVALID_ARGUMENTS",
            Self::NotFound => "NOT_FOUND",
            Self::Damaged => "ARTIFACT_DAMAGED",
            Self::Failed { .. } => "ARTIFACTS_FAILED",
        }
    }

    /// What anyone may read. What the system said stays with the host.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        host_failure(self.code(), self.to_string())
    }
}

/// The store. Cloning gives another handle to the same one.
#[derive(Clone)]
pub struct Artifacts(Arc<Inner>);

struct Inner {
    dir: Dir,
    /// Where entries are written: a folder of its own, so that the other changes by whole entries alone
    /// and is looked through again only when another process has changed it.
    drafts: Dir,
    bounds: ArtifactBounds,
    index: Mutex<Index>,
    /// What the first read of an entry found whole, so that paging through it stays cheap.
    checked: Mutex<Checked>,
}

impl fmt::Debug for Artifacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Artifacts")
            .field("bounds", &self.0.bounds)
            .finish_non_exhaustive()
    }
}

impl Artifacts {
    /// Opens the store of a folder, making it where it is missing, for this user alone. What is there
    /// is looked through when it is first needed.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Artifacts`] when the folder can't be made, belongs to another user or can be
    /// written by others, or a bound is out of its range.
    pub fn open(folder: &Path, bounds: ArtifactBounds) -> Result<Self, SandboxError> {
        let refused = |reason: String| SandboxError::Artifacts {
            path: folder.display().to_string(),
            reason,
        };
        bounds.check().map_err(|error| refused(error.to_string()))?;
        let dir = ambient::open_cache(folder).map_err(|error| match error {
            SandboxError::Cache { reason, .. } => refused(reason),
            other => other,
        })?;
        let drafts = index::drafts(&dir).map_err(|error| refused(error.to_string()))?;
        Ok(Self(Arc::new(Inner {
            dir,
            drafts,
            bounds,
            index: Mutex::default(),
            checked: Mutex::default(),
        })))
    }

    /// Its bounds.
    #[must_use]
    pub fn bounds(&self) -> &ArtifactBounds {
        &self.0.bounds
    }

    /// Keeps bytes for an owner. The same bytes have the same uri, and are as new as when they were
    /// put last.
    ///
    /// # Errors
    ///
    /// [`ArtifactError`]; nothing is kept then.
    pub fn put(
        &self,
        owner: &Owner,
        media_type: &str,
        bytes: &[u8],
    ) -> Result<Kept, ArtifactError> {
        self.put_written(owner, media_type, |file| file.write_all(bytes))
    }

    /// Keeps what is written, which need not be held whole.
    ///
    /// # Errors
    ///
    /// [`ArtifactError`]; nothing is kept then.
    pub fn put_written(
        &self,
        owner: &Owner,
        media_type: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Kept, ArtifactError> {
        let Inner {
            dir,
            drafts,
            bounds,
            ..
        } = &*self.0;
        if !name::is_media_type(media_type) {
            return Err(ArtifactError::MediaType);
        }
        let most = bounds.tenant_bytes.min(bounds.total_bytes);
        let mut draft = Draft::create(drafts, media_type, most)
            .map_err(ArtifactError::failed("make an artifact"))?;
        let written = write(&mut draft);
        let (digest, size_bytes) = draft.finish(written)?;
        let name = EntryName::of(owner, &digest);
        let mut index = self.index();
        index.refresh(dir, drafts);
        if !index.make_room(dir, bounds, &name, size_bytes) {
            return Err(ArtifactError::Full { size_bytes });
        }
        draft
            .rename_to(dir, name.as_str())
            .map_err(ArtifactError::failed("keep an artifact"))?;
        index.added(dir, name, size_bytes);
        Ok(Kept {
            uri: name::uri(&digest),
            digest: format!("sha-256:{digest}"),
            size_bytes,
        })
    }

    /// Reads a piece of an entry, at most `length` or [`SLICE_BYTES`] of it. The first piece that this
    /// process reads of an entry costs reading all of it, since its digest is compared; the others
    /// cost what they are, as long as the file is left alone.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::NotFound`] for what the owner has not, [`ArtifactError::Damaged`] for what was
    /// changed since it was put.
    pub fn read(
        &self,
        owner: &Owner,
        uri: &str,
        offset: u64,
        length: usize,
    ) -> Result<Slice, ArtifactError> {
        let digest = name::digest_of(uri).ok_or(ArtifactError::Uri)?;
        let name = EntryName::of(owner, digest);
        let dir = &self.0.dir;
        let entry = Entry::open(dir, name.as_str())?.ok_or(ArtifactError::NotFound)?;
        if entry.is_older(self.0.bounds.age_ms, ambient::now_ms()) {
            self.forget(&name, entry.print());
            return Err(ArtifactError::NotFound);
        }
        let checked = self.checked().has(&name, entry.print());
        if !checked {
            if !entry.is_whole(digest)? {
                self.forget(&name, entry.print());
                return Err(ArtifactError::Damaged);
            }
            self.checked().add(name, entry.print());
        }
        entry.slice(offset, length.min(SLICE_BYTES))
    }

    /// Removes the file that was seen under a name, unless a new one was put in its place meanwhile.
    fn forget(&self, name: &EntryName, seen: Print) {
        let Inner { dir, drafts, .. } = &*self.0;
        self.checked().remove(name);
        let mut index = self.index();
        index.refresh(dir, drafts);
        let found = Entry::open(dir, name.as_str()).ok().flatten();
        if found.is_some_and(|entry| entry.print() == seen) {
            index.remove(dir, name);
        }
    }

    fn index(&self) -> MutexGuard<'_, Index> {
        self.0.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn checked(&self) -> MutexGuard<'_, Checked> {
        self.0
            .checked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The store as one owner sees it: what a call is handed.
#[derive(Clone, Debug)]
pub struct Shelf {
    /// The store.
    pub artifacts: Artifacts,
    /// Whose the call is.
    pub owner: Owner,
}

impl Shelf {
    /// Whether bytes can be kept as this media type: `TYPE/SUBTYPE` without parameters.
    #[must_use]
    pub fn takes(media_type: &str) -> bool {
        name::is_media_type(media_type)
    }

    /// As [`Artifacts::put`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn put(&self, media_type: &str, bytes: &[u8]) -> Result<Kept, ArtifactError> {
        self.artifacts.put(&self.owner, media_type, bytes)
    }

    /// As [`Artifacts::put_written`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn put_written(
        &self,
        media_type: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Kept, ArtifactError> {
        self.artifacts.put_written(&self.owner, media_type, write)
    }

    /// As [`Artifacts::read`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn read(&self, uri: &str, offset: u64, length: usize) -> Result<Slice, ArtifactError> {
        self.artifacts.read(&self.owner, uri, offset, length)
    }
}
