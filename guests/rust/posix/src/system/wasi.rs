//! The system as the host gives it: WASI 0.2, and the file status that WASI does not tell.
//!
//! Everything asks `wasi` itself and nothing the standard library, which would ask the host more
//! often, ends a listing at the first name that is not UTF-8, and imports three times as much: each
//! import costs every call.

mod c_library;
mod streams;

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use wasip2::cli::environment;
use wasip2::filesystem::preopens;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};

use crate::console::End;
use crate::input::{self, Opened};
use crate::listing::Listing;
use crate::status::{Follow, Kind, Status, Time};
use bindings::tidegate::plugin::file_status;
pub(crate) use streams::{File, Output, stderr, stdout};

mod bindings {
    //! What `wit-bindgen` makes of the one interface of the contract that is needed here.

    #![expect(
        clippy::same_length_and_capacity,
        reason = "generated code hands memory over the boundary"
    )]

    wit_bindgen::generate!({
        path: "../../../wit",
        generate_all,
        inline: "
            package tidegate:posix;
            world posix {
                import tidegate:plugin/file-status@0.1.0;
            }
        ",
    });
}

/// The error number of a path with too many links.
pub(crate) const LOOP: i32 = 32;

/// The error number of text that is not UTF-8.
const ILLEGAL_BYTES: i32 = 25;

const SECOND_NS: i64 = 1_000_000_000;

/// Ends the process. The standard library would turn every code but 0 into 1.
pub(crate) fn exit(code: u8) {
    wasip2::cli::exit::exit_with_code(code);
}

/// What the program was started with, its own name first.
pub(crate) fn arguments() -> impl Iterator<Item = OsString> {
    environment::get_arguments().into_iter().map(Into::into)
}

/// The value of a variable.
pub(crate) fn variable(name: &str) -> Option<String> {
    let variables = environment::get_environment().into_iter();
    let mut named = variables.filter(|(known, _)| known == name);
    named.next().map(|(_, value)| value)
}

/// The status of one file.
pub(crate) fn status(path: &Path, follow: Follow) -> io::Result<Status> {
    input::inside(path)?;
    let text = text(path)?;
    match file_status::get(text, follow == Follow::Yes) {
        Ok(status) => Ok(from_host(&status)),
        Err(failure) => Err(match failure.code.as_str() {
            "NOT_FOUND" => ErrorKind::NotFound.into(),
            "PERMISSION_DENIED" => ErrorKind::PermissionDenied.into(),
            "NOT_A_FOLDER" => ErrorKind::NotADirectory.into(),
            _ => why(path, follow).unwrap_or_else(|| io::Error::other(failure.message)),
        }),
    }
}

/// What WASI says of a path that the host could not tell the status of.
fn why(path: &Path, follow: Follow) -> Option<io::Error> {
    let flags = match follow {
        Follow::Yes => PathFlags::SYMLINK_FOLLOW,
        Follow::No => PathFlags::empty(),
    };
    let asked = workspace().and_then(|folder| {
        let status = folder.stat_at(flags, text(path)?);
        status.map_err(from_code)
    });
    asked.err()
}

fn from_host(status: &file_status::Status) -> Status {
    Status {
        mode: status.mode,
        uid: status.uid,
        gid: status.gid,
        device: status.device,
        inode: status.inode,
        links: status.links,
        size: status.size_bytes,
        blocks: status.blocks,
        block_size: u64::from(status.block_size_bytes),
        accessed: time(status.accessed_ns),
        modified: time(status.modified_ns),
        changed: time(status.changed_ns),
    }
}

fn time(nanoseconds: i64) -> Time {
    Time {
        seconds: nanoseconds.div_euclid(SECOND_NS),
        nanoseconds: u32::try_from(nanoseconds.rem_euclid(SECOND_NS)).unwrap_or(0),
    }
}

/// The names in a folder, at most `most` of them, sorted.
pub(crate) fn list(path: &Path, most: usize) -> Result<io::Result<Listing>, End> {
    let folder = match open_folder(path) {
        Ok(folder) => folder,
        Err(error) => return Ok(Err(error)),
    };
    let entries = match folder.read_directory() {
        Ok(entries) => entries,
        Err(code) => return Ok(Err(from_code(code))),
    };
    let mut listing = Listing::default();
    loop {
        match entries.read_directory_entry() {
            Ok(Some(entry)) => {
                let kind = kind_of(entry.type_);
                if !listing.add(OsStr::new(&entry.name), kind, most)? {
                    break;
                }
            }
            Ok(None) => break,
            Err(ErrorCode::IllegalByteSequence) => {
                listing.missing = Some("a name in it is not UTF-8".to_owned());
            }
            Err(code) => {
                let error = from_code(code);
                listing.missing = Some(crate::reason::reason(&error).into_owned());
                break;
            }
        }
    }
    listing.sort();
    Ok(Ok(listing))
}

/// Opens a folder of the workspace to list it.
fn open_folder(path: &Path) -> io::Result<Descriptor> {
    open_as(path, OpenFlags::DIRECTORY)
}

/// Opens a file to read it. The host opens nothing that it would have to wait for.
pub(crate) fn open(path: &Path) -> io::Result<Opened> {
    let file = match open_as(path, OpenFlags::empty()) {
        Ok(file) => file,
        // What can't be opened may be no file: then that is what is said of it.
        Err(error) => {
            return match status(path, Follow::Yes)?.kind() {
                Kind::File => Err(error),
                Kind::Folder => Ok(Opened::Folder),
                Kind::Link | Kind::Other => Ok(Opened::Other),
            };
        }
    };
    let status = file.stat().map_err(from_code)?;
    Ok(match kind_of(status.type_) {
        Kind::File => Opened::File(File::new(file), status.size),
        Kind::Folder => Opened::Folder,
        Kind::Link | Kind::Other => Opened::Other,
    })
}

fn open_as(path: &Path, what: OpenFlags) -> io::Result<Descriptor> {
    input::inside(path)?;
    let text = text(path)?;
    workspace()?
        .open_at(PathFlags::SYMLINK_FOLLOW, text, what, DescriptorFlags::READ)
        .map_err(from_code)
}

/// What a link says.
pub(crate) fn link(path: &Path) -> io::Result<PathBuf> {
    let target = workspace()?.readlink_at(text(path)?);
    target.map(PathBuf::from).map_err(from_code)
}

/// The folder that paths are relative to; the host is asked for it once.
fn workspace() -> io::Result<&'static Descriptor> {
    static WORKSPACE: OnceLock<Option<Descriptor>> = OnceLock::new();
    let opened = WORKSPACE.get_or_init(|| {
        let mut folders = preopens::get_directories();
        let here = folders.iter().position(|(_, name)| name == ".");
        let (folder, _) = folders.drain(here.unwrap_or(0)..).next()?;
        Some(folder)
    });
    opened.as_ref().ok_or(ErrorKind::PermissionDenied.into())
}

fn kind_of(kind: DescriptorType) -> Kind {
    match kind {
        DescriptorType::RegularFile => Kind::File,
        DescriptorType::Directory => Kind::Folder,
        DescriptorType::SymbolicLink => Kind::Link,
        _ => Kind::Other,
    }
}

fn from_code(code: ErrorCode) -> io::Error {
    match code {
        ErrorCode::NoEntry => ErrorKind::NotFound.into(),
        ErrorCode::Access | ErrorCode::NotPermitted => ErrorKind::PermissionDenied.into(),
        ErrorCode::NotDirectory => ErrorKind::NotADirectory.into(),
        ErrorCode::NameTooLong => ErrorKind::InvalidFilename.into(),
        ErrorCode::IsDirectory => ErrorKind::IsADirectory.into(),
        ErrorCode::Loop => io::Error::from_raw_os_error(LOOP),
        ErrorCode::IllegalByteSequence => io::Error::from_raw_os_error(ILLEGAL_BYTES),
        other => io::Error::other(other.message()),
    }
}

/// A path as the text that WASI takes.
fn text(path: &Path) -> io::Result<&str> {
    let illegal = || io::Error::from_raw_os_error(ILLEGAL_BYTES);
    path.to_str().ok_or_else(illegal)
}

/// Bytes that came from a name, as a name again. WASI has only names that are UTF-8.
pub(crate) fn os_str(bytes: &[u8]) -> &OsStr {
    OsStr::new(str::from_utf8(bytes).unwrap_or_default())
}
