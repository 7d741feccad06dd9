//! Opening a file to read it: only a regular file, so that nothing blocks.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use crate::console::{Console, End};
use crate::name;
use crate::reason::reason;

/// How much is read at once, in bytes.
pub(crate) const CHUNK_BYTES: usize = 128 * 1024;

/// Why a file was not opened.
#[derive(Debug)]
pub(crate) enum Refusal {
    Folder,
    NotRegular,
    Failed(io::Error),
}

/// An open regular file, and its length when it was opened.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) file: File,
    pub(crate) length: u64,
}

impl Refusal {
    /// What is said of it.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Folder => "Is a directory".to_owned(),
            Self::NotRegular => "not a regular file".to_owned(),
            Self::Failed(error) => reason(error).into_owned(),
        }
    }
}

/// Opens a regular file. Its kind is asked for before it is opened: to open a FIFO would wait.
pub(crate) fn open(path: &OsStr) -> Result<Input, Refusal> {
    let path = Path::new(path);
    inside(path).map_err(Refusal::Failed)?;
    let metadata = fs::metadata(path).map_err(Refusal::Failed)?;
    if metadata.is_dir() {
        return Err(Refusal::Folder);
    }
    if !metadata.is_file() {
        return Err(Refusal::NotRegular);
    }
    let file = File::open(path).map_err(Refusal::Failed)?;
    let length = metadata.len();
    Ok(Input { file, length })
}

/// Opens a file for a command whose message is the plain `command: path: reason`.
pub(crate) fn open_or_complain(path: &OsStr, console: &mut Console) -> Option<Input> {
    match open(path) {
        Ok(input) => Some(input),
        Err(refusal) => {
            let name = name::in_message(path.as_encoded_bytes());
            console.complain(1, format_args!("{name}: {}", refusal.reason()));
            None
        }
    }
}

/// Refuses an absolute path, which the C library would look up as if it were relative.
pub(crate) fn inside(path: &Path) -> io::Result<()> {
    if path.is_absolute() {
        return Err(ErrorKind::PermissionDenied.into());
    }
    Ok(())
}

/// A buffer for one chunk.
pub(crate) fn chunk() -> Result<Vec<u8>, End> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(CHUNK_BYTES)?;
    buffer.resize(CHUNK_BYTES, 0);
    Ok(buffer)
}

/// Reads the next bytes into the buffer and gives them; none at the end of the file.
pub(crate) fn read<'a>(file: &mut File, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
    loop {
        match file.read(buffer) {
            Ok(length) => return Ok(buffer.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Reads until the buffer is full or the file ends; a host may give less at once than it is asked.
pub(crate) fn fill<'a>(file: &mut File, buffer: &'a mut [u8]) -> io::Result<&'a [u8]> {
    let mut length = 0;
    while let Some(free) = buffer.get_mut(length..)
        && !free.is_empty()
    {
        match read(file, free)? {
            [] => break,
            bytes => length += bytes.len(),
        }
    }
    Ok(buffer.get(..length).unwrap_or_default())
}
