//! A program that was looked at once and is run by its handle: whatever its path leads to later
//! takes no part.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use crate::ambient;
use crate::command::Digest;
use crate::error::ProgramError;

/// An open program and what its bytes were at load.
#[derive(Debug)]
pub(super) struct Program {
    file: File,
    digest: Digest,
    /// When the file's bytes were last compared with the digest.
    compared: Mutex<Stamp>,
    interpreter: Option<PathBuf>,
}

/// What changes whenever anything about a file does: the time of its last change of status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp(i64, i64, u64);

impl Program {
    /// Opens a program by an absolute path, checks its form and its digest.
    pub(super) fn open(path: &Path, pin: Option<Digest>) -> Result<Self, ProgramError> {
        let failed = |source| ProgramError::Open {
            path: path.display().to_string(),
            source,
        };
        let file = ambient::open_for_reading(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() || metadata.mode() & 0o111 == 0 {
            return Err(ProgramError::NotExecutable);
        }
        if metadata.mode() & 0o002 != 0 {
            return Err(ProgramError::Writable);
        }
        let interpreter = interpreter(&file)?;
        if let Some(path) = &interpreter {
            ambient::name_file(path).map_err(|source| ProgramError::Open {
                path: path.display().to_string(),
                source,
            })?;
        }
        // The stamp is taken first: a change while the bytes are read shows at the next run.
        let compared = Mutex::new(stamp(&file).map_err(failed)?);
        let digest = digest(&file).map_err(failed)?;
        if pin.is_some_and(|pin| pin != digest) {
            return Err(ProgramError::Digest { found: digest });
        }
        Ok(Self {
            file,
            digest,
            compared,
            interpreter,
        })
    }

    /// What is executed.
    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// A handle of the dynamic linker that the program names, if it is dynamic.
    ///
    /// The kernel opens it by its path at each run, so the handle must be of what is there now: an
    /// update of the system may have put a new one there since load.
    pub(super) fn interpreter(&self) -> io::Result<Option<OwnedFd>> {
        let path = self.interpreter.as_deref();
        path.map(ambient::name_file).transpose()
    }

    /// Refuses a program whose bytes were changed in place since load.
    ///
    /// The bytes are read again only where the file's status has changed, as it does when an
    /// update puts a new file in its place; the old one is still what runs. A change between this
    /// check and the exec is not seen: who can write to the file is trusted with that millisecond.
    pub(super) fn check_unchanged(&self) -> io::Result<()> {
        let now = stamp(&self.file)?;
        let mut compared = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        if *compared == now {
            return Ok(());
        }
        if digest(&self.file)? != self.digest {
            return Err(io::Error::other(
                "the program was changed since it was loaded",
            ));
        }
        *compared = now;
        Ok(())
    }
}

fn stamp(file: &File) -> io::Result<Stamp> {
    let metadata = file.metadata()?;
    Ok(Stamp(
        metadata.ctime(),
        metadata.ctime_nsec(),
        metadata.size(),
    ))
}

fn digest(file: &File) -> io::Result<Digest> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut at = 0;
    loop {
        let read = file.read_at(&mut buffer, at)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
            return Ok(Digest::new(hash.finalize().into()));
        };
        hash.update(bytes);
        at = at.saturating_add(u64::try_from(read).map_err(io::Error::other)?);
    }
}

/// The machine's number in the header of an ELF file.
const MACHINE: u16 = if cfg!(target_arch = "x86_64") {
    62
} else {
    183
};

/// The type of the program header that names the interpreter.
const INTERPRETER: u32 = 3;

/// The path of the interpreter that an ELF program names; an error for what is no such program.
///
/// The kernel would run other formats too, with files that nobody pinned: a script's interpreter, a
/// handler of `binfmt_misc`.
fn interpreter(file: &File) -> Result<Option<PathBuf>, ProgramError> {
    parse(file).ok_or(ProgramError::Format)
}

/// The outer option is none for what is no program of this machine.
#[expect(
    clippy::option_option,
    reason = "a program without an interpreter is not the same as no program"
)]
fn parse(file: &File) -> Option<Option<PathBuf>> {
    let header: [u8; 64] = read(file, 0)?;
    // 64 bits, least significant byte first, version 1.
    let is_program = matches!(half(&header, 16)?, 2 | 3);
    if !header.starts_with(b"\x7fELF\x02\x01\x01") || half(&header, 18)? != MACHINE || !is_program {
        return None;
    }
    let (table, size, count) = (long(&header, 32)?, half(&header, 54)?, half(&header, 56)?);
    for entry in 0..u64::from(count) {
        let at = table.checked_add(entry.checked_mul(u64::from(size))?)?;
        let entry: [u8; 56] = read(file, at)?;
        if u32::from_le_bytes(*entry.first_chunk()?) == INTERPRETER {
            let mut path = vec![0; usize::try_from(long(&entry, 32)?).ok()?.min(4096)];
            file.read_exact_at(&mut path, long(&entry, 8)?).ok()?;
            let path = String::from_utf8(path).ok()?;
            return Some(Some(PathBuf::from(path.trim_end_matches('\0'))));
        }
    }
    Some(None)
}

fn read<const LENGTH: usize>(file: &File, at: u64) -> Option<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
