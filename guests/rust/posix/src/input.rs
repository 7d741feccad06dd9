//! Opening a file to read it: only a regular file, so that nothing blocks.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::console::Console;
use crate::name;
use crate::reason::reason;
use crate::system::{self, File};

/// How much is read at once, in bytes.
pub(crate) const CHUNK_BYTES: usize = 128 * 1024;

/// Why a file was not opened.
#[derive(Debug)]
pub(crate) enum Refusal {
    Folder,
    NotRegular,
    Failed(io::Error),
}

/// What a path leads to that was opened to be read.
#[derive(Debug)]
pub(crate) enum Opened {
    /// A regular file, and its length.
    File(File, u64),
    Folder,
    Other,
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

/// Opens a regular file.
pub(crate) fn open(path: &OsStr) -> Result<Input, Refusal> {
    match system::open(Path::new(path)).map_err(Refusal::Failed)? {
        Opened::File(file, length) => Ok(Input { file, length }),
        Opened::Folder => Err(Refusal::Folder),
        Opened::Other => Err(Refusal::NotRegular),
    }
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

/// Refuses an absolute path: there is no other place than the workspace.
pub(crate) fn inside(path: &Path) -> io::Result<()> {
    if path.is_absolute() {
        return Err(ErrorKind::PermissionDenied.into());
    }
    Ok(())
}

/// Reads as much as is asked for, or to the end of the file; a host may give less at once.
pub(crate) fn read_full(file: &mut File, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = file.read(most)?;
    while !bytes.is_empty() && bytes.len() < most {
        let more = file.read(most - bytes.len())?;
        if more.is_empty() {
            break;
        }
        bytes.extend_from_slice(&more);
    }
    Ok(bytes)
}
