//! One file of the store: a first line with the media type, padded to a fixed length, then the bytes.
//!
//! A file is opened without following links or waiting, and only this user can have written it.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write};
use std::os::unix::fs::FileExt as _;

use cap_std::fs::{Dir, File, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;
use sha2::{Digest as _, Sha256};

use super::name::{self, EntryName, MEDIA_TYPE_BYTES};
use super::{ArtifactError, Slice};
use crate::ambient;

/// The first line: media type, checksum of it, spaces, a line feed. Of a fixed length, so that what
/// follows is found and measured without reading it.
pub(super) const HEADER_BYTES: u64 = 256;

/// Bytes that are read at a time: as much as stays in the processor's cache.
const PIECE_BYTES: usize = 64 * 1024;

fn header(media_type: &str) -> String {
    let line = format!("{media_type} {}", checksum(media_type));
    format!("{line:<255}\n")
}

fn checksum(media_type: &str) -> String {
    let mut sum = name::hex(&Sha256::digest(media_type.as_bytes()));
    sum.truncate(16);
    sum
}

/// The media type of a first line; `None` where it was changed.
fn media_type(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (media_type, sum) = line.trim_end_matches(' ').split_once(' ')?;
    let fits = media_type.len() <= MEDIA_TYPE_BYTES && sum == checksum(media_type);
    fits.then_some(media_type)
}

/// An entry that is being written. Dropped before it is renamed, it is gone.
pub(super) struct Draft<'a> {
    dir: &'a Dir,
    name: String,
    file: File,
    hasher: Sha256,
    size_bytes: u64,
    most_bytes: u64,
    is_over: bool,
    is_renamed: bool,
}

impl<'a> Draft<'a> {
    pub(super) fn create(dir: &'a Dir, media_type: &str, most_bytes: u64) -> io::Result<Self> {
        let name = ambient::random_id();
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut draft = Self {
            dir,
            file: dir.open_with(&name, &options)?,
            name,
            hasher: Sha256::new(),
            size_bytes: 0,
            most_bytes,
            is_over: false,
            is_renamed: false,
        };
        draft.file.write_all(header(media_type).as_bytes())?;
        Ok(draft)
    }

    /// The digest and the length, once all is written.
    pub(super) fn finish(
        &mut self,
        written: io::Result<()>,
    ) -> Result<(String, u64), ArtifactError> {
        match written {
            Err(_over) if self.is_over => Err(ArtifactError::Full {
                size_bytes: self.size_bytes,
            }),
            Err(error) => Err(ArtifactError::failed("write an artifact")(error)),
            Ok(()) => Ok((name::hex(&self.hasher.finalize_reset()), self.size_bytes)),
        }
    }

    pub(super) fn rename_to(mut self, into: &Dir, name: &str) -> io::Result<()> {
        self.dir.rename(&self.name, into, name)?;
        self.is_renamed = true;
        Ok(())
    }
}

impl Write for Draft<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let size_bytes = self.size_bytes.saturating_add(length);
        if size_bytes > self.most_bytes {
            self.is_over = true;
            self.size_bytes = size_bytes;
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        self.size_bytes = size_bytes;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if !self.is_renamed {
            // What is left is removed when the folder is next looked through.
            drop(self.dir.remove_file(&self.name));
        }
    }
}

/// What tells a file from a changed one without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Print {
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// An open entry.
pub(super) struct Entry {
    file: std::fs::File,
    print: Print,
}

impl Entry {
    /// Opens an entry; `None` where there is none of ours.
    pub(super) fn open(dir: &Dir, name: &str) -> Result<Option<Self>, ArtifactError> {
        let mut options = OpenOptions::new();
        let careful = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        options
            .read(true)
            .custom_flags(careful.bits().cast_signed());
        let failed = ArtifactError::failed("open an artifact");
        let file = match dir.open_with(name, &options) {
            Ok(file) => file,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let metadata = file.metadata().map_err(failed)?;
        let ours = metadata.uid() == rustix::process::geteuid().as_raw();
        if !metadata.is_file() || !ours || metadata.mode() & 0o022 != 0 {
            return Ok(None);
        }
        Ok(Some(Self {
            print: Print {
                inode: metadata.ino(),
                length: metadata.len(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            },
            file: file.into_std(),
        }))
    }

    pub(super) fn print(&self) -> Print {
        self.print
    }

    pub(super) fn is_older(&self, age_ms: u64, now_ms: u64) -> bool {
        is_older(self.print.modified, age_ms, now_ms)
    }

    /// Whether the bytes have the digest, and the first line was left alone.
    pub(super) fn is_whole(&self, digest: &str) -> Result<bool, ArtifactError> {
        let failed = ArtifactError::failed("read an artifact");
        let whole = || -> io::Result<bool> {
            if self.media_type()?.is_none() {
                return Ok(false);
            }
            let mut hasher = Sha256::new();
            let mut piece = vec![0; PIECE_BYTES];
            let mut at = HEADER_BYTES;
            loop {
                let read = read_at(&self.file, &mut piece, at)?;
                let Some(read @ [_, ..]) = piece.get(..read) else {
                    return Ok(name::hex(&hasher.finalize()) == digest);
                };
                hasher.update(read);
                at = at.saturating_add(u64::try_from(read.len()).unwrap_or(u64::MAX));
            }
        };
        whole().map_err(failed)
    }

    fn media_type(&self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        (&self.file).take(HEADER_BYTES).read_to_end(&mut line)?;
        Ok(media_type(&line).map(str::to_owned))
    }

    /// The bytes from `offset` on, at most `length`.
    pub(super) fn slice(self, offset: u64, length: usize) -> Result<Slice, ArtifactError> {
        let size_bytes = self.print.length.saturating_sub(HEADER_BYTES);
        // Past the end there is nothing, and far past it no offset that the system takes.
        let offset = offset.min(size_bytes);
        let read = || -> io::Result<(Vec<u8>, Option<String>)> {
            let left = usize::try_from(size_bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
            let mut bytes = vec![0; length.min(left)];
            let at = offset.saturating_add(HEADER_BYTES);
            let read = read_at(&self.file, &mut bytes, at)?;
            bytes.truncate(read);
            let mut line = [0; 256];
            read_at(&self.file, &mut line, 0)?;
            Ok((bytes, media_type(&line).map(str::to_owned)))
        };
        let (bytes, media_type) = read().map_err(ArtifactError::failed("read an artifact"))?;
        Ok(Slice {
            bytes,
            size_bytes,
            media_type: media_type.ok_or(ArtifactError::Damaged)?,
        })
    }
}

/// Fills the buffer as far as the file goes.
fn read_at(file: &std::fs::File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    loop {
        let at = at.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
        let rest = buffer.get_mut(filled..).unwrap_or_default();
        match file.read_at(rest, at) {
            Ok(0) => return Ok(filled),
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether a time of the file system lies so far back.
pub(super) fn is_older(modified: (i64, i64), age_ms: u64, now_ms: u64) -> bool {
    stamp_ms(modified).saturating_add(age_ms) <= now_ms
}

/// Milliseconds since 1970; 0 for times before.
pub(super) fn stamp_ms((seconds, nanoseconds): (i64, i64)) -> u64 {
    let ms = seconds
        .saturating_mul(1_000)
        .saturating_add(nanoseconds / 1_000_000);
    u64::try_from(ms).unwrap_or(0)
}

/// Nothing there, or a link, or what can't be read: no entry of ours.
fn is_absent(error: &io::Error) -> bool {
    let link = rustix::io::Errno::LOOP.raw_os_error();
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(link)
}

/// The entries that were found whole, each as it was then.
#[derive(Default)]
pub(super) struct Checked(BTreeMap<EntryName, Print>);

/// Most entries that are remembered: a check again costs no more than a read.
const REMEMBERED: usize = 4_096;

impl Checked {
    pub(super) fn has(&self, name: &EntryName, print: Print) -> bool {
        self.0.get(name) == Some(&print)
    }

    pub(super) fn add(&mut self, name: EntryName, print: Print) {
        if self.0.len() >= REMEMBERED {
            self.0.clear();
        }
        self.0.insert(name, print);
    }

    pub(super) fn remove(&mut self, name: &EntryName) {
        self.0.remove(name);
    }
}
