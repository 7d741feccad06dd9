//! Compiled components on disk (SPEC L6), keyed by the component's digest and by everything of the
//! engine that decides what is compiled.
//!
//! This file holds the host's only `unsafe` block. What makes it sound is written there.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;

use cap_std::fs::{Dir, File, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;
use wasmtime::component::Component;

use crate::saturating::to_u64;
use crate::summary::{SUMMARY_BYTES, Summary};

/// Compiled components kept between processes.
pub(crate) struct Cache {
    dir: Dir,
    /// Names the engine's version, settings and the processor's features.
    engine_key: String,
}

impl Cache {
    /// `dir` must come from `sandbox::ambient::open_cache`, which checks that it is ours alone.
    pub(crate) fn new(dir: Dir, engine: &wasmtime::Engine) -> Self {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Self {
            dir,
            engine_key: format!("{:016x}", hasher.finish()),
        }
    }

    fn names(&self, digest: &str) -> (String, String) {
        let entry = format!("{digest}-{}", self.engine_key);
        (format!("{entry}.cwasm"), format!("{entry}.sum"))
    }

    fn summary_name(&self, digest: &str) -> String {
        format!("{digest}-{}.json", self.engine_key)
    }

    /// What is known of a component whose compiled code is here too. Neither is trusted further than
    /// its checksum: the code is compared with its own when it is mapped.
    pub(crate) fn summary(&self, digest: &str) -> Option<Summary> {
        self.dir.symlink_metadata(self.names(digest).0).ok()?;
        let text = self.read_note(&self.summary_name(digest), SUMMARY_BYTES)?;
        Summary::read(&text)
    }

    /// Keeps what is known of a component whose code was kept.
    pub(crate) fn store_summary(&self, digest: &str, summary: &Summary) {
        let unkept = "what a component defines was not cached";
        self.write_note(&self.summary_name(digest), &summary.text(), unkept);
    }

    /// A text that was kept under a name and is whole.
    pub(crate) fn read_note(&self, name: &str, most_bytes: usize) -> Option<String> {
        let mut text = String::new();
        let limit = to_u64(most_bytes);
        let read = self.open_ours(name).and_then(|file| {
            text.reserve(usize::try_from(file.metadata()?.len().min(limit)).unwrap_or(0));
            file.take(limit).read_to_string(&mut text)
        });
        read.ok()?;
        let (sum, note) = text.split_once('\n')?;
        let mut hasher = named_hasher(name);
        hasher.update(note.as_bytes());
        let is_whole = sum == checksum(note.len(), hasher);
        let start = text.len() - note.len();
        is_whole.then(|| text.split_off(start))
    }

    /// Keeps a text. Failing to is no failure, and is told as `unkept`.
    pub(crate) fn write_note(&self, name: &str, note: &str, unkept: &'static str) {
        let mut hasher = named_hasher(name);
        hasher.update(note.as_bytes());
        let sum = checksum(note.len(), hasher);
        if let Err(error) = self.replace(name, format!("{sum}\n{note}").as_bytes()) {
            tracing::warn!(entry = name, %error, "{unkept}");
        }
    }

    /// The compiled component, or `None` where there is no entry that can be trusted.
    pub(crate) fn load(&self, engine: &wasmtime::Engine, digest: &str) -> Option<Component> {
        let (code, sum) = self.names(digest);
        let outcome = self
            .open_checked(&code, &sum)
            .and_then(|file| deserialize(engine, &file));
        match outcome {
            Ok(component) => Some(component),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(entry = code, %error, "cache entry is not usable: compiling again");
                None
            }
        }
    }

    /// Opens an entry and compares it with its checksum, so that a damaged one is never mapped.
    fn open_checked(&self, code: &str, sum: &str) -> io::Result<File> {
        let mut expected = String::new();
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(careful());
        let sum = self.dir.open_with(sum, &options)?;
        sum.take(SUM_BYTES).read_to_string(&mut expected)?;
        let mut file = self.open_ours(code)?;
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its length differs");
        let length = expected.split_once(' ').ok_or_else(damaged)?.0;
        let bytes = file.metadata()?.len();
        if length != bytes.to_string() || bytes > ENTRY_BYTES {
            return Err(damaged());
        }
        if expected != checksum_of(code, &mut file)? {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "its checksum differs",
            ));
        }
        Ok(file)
    }

    /// Opens a file that only this user can have written.
    fn open_ours(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(careful());
        let file = self.dir.open_with(name, &options)?;
        let metadata = file.metadata()?;
        let ours = metadata.uid() == rustix::process::geteuid().as_raw();
        if !metadata.is_file() || !ours || metadata.mode() & 0o022 != 0 {
            return Err(io::Error::other("it is not a file of ours alone"));
        }
        Ok(file)
    }

    /// Keeps a compiled component. Failing to is no failure: it is compiled again next time.
    pub(crate) fn store(&self, digest: &str, component: &Component) {
        let (code, sum) = self.names(digest);
        let stored = component
            .serialize()
            .map_err(io::Error::other)
            .and_then(|bytes| {
                self.replace(&code, &bytes)?;
                let mut hasher = named_hasher(&code);
                hasher.update(&bytes);
                self.replace(&sum, checksum(bytes.len(), hasher).as_bytes())
            });
        if let Err(error) = stored {
            tracing::warn!(entry = code, %error, "compiled component was not cached");
        }
    }

    /// Writes beside and renames, so that no reader ever sees half an entry.
    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let temporary = format!("{name}.{}.tmp", std::process::id());
        // Left by a process of the same number that ended half way.
        drop(self.dir.remove_file(&temporary));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = self.dir.open_with(&temporary, &options)?;
        file.write_all(bytes)?;
        drop(file);
        self.dir.rename(&temporary, &self.dir, name)
    }
}

/// Links are not followed, and a FIFO is not waited for.
fn careful() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
}

/// Longest checksum file: two numbers and a space.
const SUM_BYTES: u64 = 64;

/// Largest entry: far above what the largest component compiles to.
const ENTRY_BYTES: u64 = 4 * 1024 * 1024 * 1024;

/// Length, and CRC-32 of the entry's name and bytes: they catch damage and mix-ups. Forgery is kept
/// out by the folder's owner and mode.
fn checksum(bytes: usize, hasher: crc32fast::Hasher) -> String {
    format!("{bytes} {:08x}", hasher.finalize())
}

fn named_hasher(name: &str) -> crc32fast::Hasher {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(name.as_bytes());
    hasher
}

/// The checksum of a file, read in pieces that stay in the processor's cache.
fn checksum_of(name: &str, file: &mut File) -> io::Result<String> {
    let mut hasher = named_hasher(name);
    let mut piece = vec![0; 64 * 1024];
    let mut bytes = 0_usize;
    loop {
        let read = file.read(&mut piece)?;
        let Some(read @ [_, ..]) = piece.get(..read) else {
            return Ok(checksum(bytes, hasher));
        };
        hasher.update(read);
        bytes = bytes.saturating_add(read.len());
    }
}

/// Maps an entry that was checked through this very handle.
fn deserialize(engine: &wasmtime::Engine, file: &File) -> io::Result<Component> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    #[expect(
        unsafe_code,
        reason = "compiled code can only be mapped by an unsafe call"
    )]
    // SAFETY: the file must hold what `Component::serialize` wrote. It lies in a folder that
    // belongs to this user with mode 0700, belongs to this user itself and is writable by no
    // other; only `store` writes there, by rename; its checksum was compared through this handle,
    // and the path leads to the same open file. wasmtime itself refuses another version or other
    // settings. Whoever can still forge it already runs code as this user.
    let component = unsafe { Component::deserialize_file(engine, path) };
    component.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("{error:#}")))
}
