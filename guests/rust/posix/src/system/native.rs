//! The system as this machine has it, so that the commands can be compared with others here.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::console::End;
use crate::input::{self, Opened};
use crate::listing::Listing;
use crate::status::{Follow, Kind, Status, Time};

/// The error number of a path with too many links.
pub(crate) const LOOP: i32 = 40;

/// Ends the process.
#[expect(clippy::exit, reason = "the exit code is the command's answer")]
pub(crate) fn exit(code: u8) -> ! {
    std::process::exit(i32::from(code))
}

/// What the program was started with, its own name first.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    env::args_os()
}

/// The value of a variable.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// One of the two standard outputs.
pub(crate) struct Output(Box<dyn Write>);

pub(crate) fn stdout() -> Output {
    Output(Box::new(io::stdout()))
}

pub(crate) fn stderr() -> Output {
    Output(Box::new(io::stderr()))
}

impl Output {
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// An open file.
#[derive(Debug)]
pub(crate) struct File(fs::File);

/// Opens a file to read it. Its kind is asked for before it is opened: to open a FIFO would wait.
pub(crate) fn open(path: &Path) -> io::Result<Opened> {
    input::inside(path)?;
    let metadata = fs::metadata(path)?;
    match kind_of(metadata.file_type()) {
        Kind::File => Ok(Opened::File(File(fs::File::open(path)?), metadata.len())),
        Kind::Folder => Ok(Opened::Folder),
        Kind::Link | Kind::Other => Ok(Opened::Other),
    }
}

impl File {
    /// The next bytes, at most so many; none at the end of the file.
    pub(crate) fn read(&mut self, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; most];
        loop {
            match self.0.read(&mut bytes) {
                Ok(length) => {
                    bytes.truncate(length);
                    return Ok(bytes);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Goes to where the next byte is read.
    pub(crate) fn go_to(&mut self, start: u64) -> io::Result<()> {
        self.0.seek(SeekFrom::Start(start)).map(drop)
    }
}

/// What a link says.
pub(crate) fn link(path: &Path) -> io::Result<PathBuf> {
    fs::read_link(path)
}

/// The status of one file.
pub(crate) fn status(path: &Path, follow: Follow) -> io::Result<Status> {
    input::inside(path)?;
    let metadata = match follow {
        Follow::Yes => fs::metadata(path),
        Follow::No => fs::symlink_metadata(path),
    }?;
    Ok(Status {
        mode: metadata.mode(),
        uid: metadata.uid(),
        gid: metadata.gid(),
        device: metadata.dev(),
        inode: metadata.ino(),
        links: metadata.nlink(),
        size: metadata.size(),
        blocks: metadata.blocks(),
        block_size: metadata.blksize(),
        accessed: time(metadata.atime(), metadata.atime_nsec()),
        modified: time(metadata.mtime(), metadata.mtime_nsec()),
        changed: time(metadata.ctime(), metadata.ctime_nsec()),
    })
}

fn time(seconds: i64, nanoseconds: i64) -> Time {
    Time {
        seconds,
        nanoseconds: u32::try_from(nanoseconds).unwrap_or(0),
    }
}

/// The names in a folder, at most `most` of them, sorted.
pub(crate) fn list(path: &Path, most: usize) -> Result<io::Result<Listing>, End> {
    let entries = match input::inside(path).and_then(|()| fs::read_dir(path)) {
        Ok(entries) => entries,
        Err(error) => return Ok(Err(error)),
    };
    let mut listing = Listing::default();
    for entry in entries {
        let known = entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)));
        match known {
            Ok((name, kind)) if !listing.add(&name, kind_of(kind), most)? => break,
            Ok(_) => {}
            Err(error) => listing.missing = Some(crate::reason::reason(&error).into_owned()),
        }
    }
    listing.sort();
    Ok(Ok(listing))
}

fn kind_of(kind: FileType) -> Kind {
    if kind.is_file() {
        Kind::File
    } else if kind.is_dir() {
        Kind::Folder
    } else if kind.is_symlink() {
        Kind::Link
    } else {
        Kind::Other
    }
}

/// Bytes that came from a name, as a name again.
pub(crate) fn os_str(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}
