//! Files through open folders (SPEC S2).
//!
//! The security property: a path is resolved inside one open folder, by `cap-primitives`, and what
//! comes out is a regular file or a folder. Links never lead out, and nothing that can block for
//! ever (a FIFO, a device) is handed to a plugin.
//!
//! Absent on purpose: opening anything by a path of the host.

use std::fs::File;
use std::io;
use std::path::{Component, Path};
use std::sync::Arc;

use cap_fs_ext::{OpenOptionsFollowExt as _, OpenOptionsMaybeDirExt as _};
use cap_primitives::fs::{FollowSymlinks, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::{OFlags, Timestamps, futimens};
use tidegate_contract::{Grant, Root};

use crate::ambient::{self, Workspace};
use crate::error::SandboxError;

/// What may be done below a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading and listing.
    Read,
    /// Creating, changing and removing, without reading what is there.
    Write,
    /// Both.
    ReadWrite,
}

/// One granted folder, opened at load.
#[derive(Clone, Debug)]
pub struct Folder {
    /// The open folder.
    pub dir: Arc<File>,
    /// The name a plugin sees: `.` for the workspace, `docs` for a folder in it, or an absolute
    /// path for a granted folder outside it.
    pub guest_path: String,
    /// What the grant allows below it.
    pub access: Access,
}

/// Opens the roots of a grant, deepest first so that the nearest grant decides.
///
/// # Errors
///
/// [`SandboxError::Folder`] for the first root that can't be opened.
pub fn open_roots(grant: &Grant, workspace: &Workspace) -> Result<Vec<Folder>, SandboxError> {
    let mut roots: Vec<&Root> = grant.read.iter().chain(grant.write.iter()).collect();
    roots.sort_by(|a, b| depth(b).cmp(&depth(a)).then(a.cmp(b)));
    roots.dedup();
    roots
        .into_iter()
        .map(|root| open_root(grant, root, workspace))
        .collect()
}

fn depth(root: &Root) -> usize {
    Path::new(root.as_str())
        .components()
        .filter(|component| *component != Component::CurDir)
        .count()
}

fn open_root(grant: &Grant, root: &Root, workspace: &Workspace) -> Result<Folder, SandboxError> {
    let access = match (grant.read.allows(root), grant.write.allows(root)) {
        (true, true) => Access::ReadWrite,
        (false, true) => Access::Write,
        (_, false) => Access::Read,
    };
    let dir = if root.is_absolute() {
        ambient::open_folder(Path::new(root.as_str()))?
    } else {
        workspace
            .dir()
            .open_dir(root.as_str())
            .map_err(|source| SandboxError::Folder {
                root: root.as_str().to_owned(),
                source,
            })?
    };
    let dir = Arc::new(dir.into_std_file());
    Ok(Folder {
        dir,
        guest_path: root.as_str().to_owned(),
        access,
    })
}

/// How to open a path below a folder.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "mirrors the flags of open(2), each independent"
)]
pub struct OpenRequest {
    /// Open for reading.
    pub read: bool,
    /// Open for writing.
    pub write: bool,
    /// Make the file where it is missing.
    pub create: bool,
    /// With `create`: refuse a file that is there.
    pub exclusive: bool,
    /// Cut the file to no bytes.
    pub truncate: bool,
    /// Refuse what is not a folder.
    pub directory: bool,
    /// Follow a link in the last place, as long as it stays inside.
    pub follow: bool,
}

/// What opening came to.
#[derive(Debug)]
pub enum Opened {
    /// A folder.
    Folder(File),
    /// A regular file.
    File(File),
    /// A FIFO, a socket or a device: closed again, nothing was read or written.
    Irregular,
    /// A file, where `directory` was asked for.
    NotAFolder,
}

/// Opens `path` inside `dir` without ever blocking.
///
/// FIFOs and devices are opened with `O_NONBLOCK`, recognised by `fstat` on the open file, so that
/// no swap between look and open matters, and closed at once.
///
/// # Errors
///
/// What the system said; `PermissionDenied` when the path leads out of `dir`.
pub fn open(dir: &File, path: &Path, request: OpenRequest) -> io::Result<Opened> {
    let mut options = OpenOptions::new();
    options
        .read(request.read)
        .write(request.write)
        .truncate(request.truncate)
        .maybe_dir(true)
        .follow(if request.follow {
            FollowSymlinks::Yes
        } else {
            FollowSymlinks::No
        })
        .custom_flags(flags(request));
    if request.create && request.exclusive {
        options.create_new(true);
    } else {
        options.create(request.create);
    }
    let file = match cap_primitives::fs::open(dir, path, &options) {
        Ok(file) => file,
        // Writing to a FIFO that nobody reads, or to a socket.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            return Ok(Opened::Irregular);
        }
        Err(error) => return Err(error),
    };
    let kind = file.metadata()?.file_type();
    Ok(match (kind.is_dir(), kind.is_file()) {
        (true, _) => Opened::Folder(file),
        (false, _) if request.directory => Opened::NotAFolder,
        (false, true) => Opened::File(file),
        (false, false) => Opened::Irregular,
    })
}

fn flags(request: OpenRequest) -> i32 {
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    // Nothing else is opened where a folder is asked for. A link that is not followed would then be
    // no folder in place of a link, and making one is refused.
    if request.directory && request.follow && !request.create {
        flags |= OFlags::DIRECTORY;
    }
    flags.bits().cast_signed()
}

/// Whether a link with this target stays below the folder it is in, wherever it or the folders on
/// its way are moved or swapped for links: only a target without `..` does.
///
/// Reading through a link is checked again by every open; refusing to make one that could lead out
/// keeps programs outside the sandbox from following it (CASES FS05).
#[must_use]
pub fn link_stays_inside(target: &Path) -> bool {
    target
        .components()
        .all(|component| matches!(component, Component::Normal(_) | Component::CurDir))
}

/// Sets the times of what `path` leads to, following links that stay inside.
///
/// # Errors
///
/// What the system said; `Unsupported` for a FIFO or a device, which is never waited for.
pub fn set_times(dir: &File, path: &Path, times: &Timestamps) -> io::Result<()> {
    let request = OpenRequest {
        follow: true,
        ..OpenRequest::default()
    };
    let write = OpenRequest {
        write: true,
        ..request
    };
    let read = OpenRequest {
        read: true,
        ..request
    };
    let opened = match open(dir, path, write) {
        Err(error) if is_not_writable(&error) => open(dir, path, read)?,
        opened => opened?,
    };
    match opened {
        Opened::File(file) | Opened::Folder(file) => Ok(futimens(&file, times)?),
        Opened::Irregular | Opened::NotAFolder => Err(io::ErrorKind::Unsupported.into()),
    }
}

fn is_not_writable(error: &io::Error) -> bool {
    use rustix::io::Errno;

    let codes = [Errno::ACCESS, Errno::ISDIR, Errno::ROFS].map(Errno::raw_os_error);
    error
        .raw_os_error()
        .is_some_and(|code| codes.contains(&code))
}

/// What the file system knows about a path: the fields of `stat(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Type and permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device the file is on.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Hard links.
    pub links: u64,
    /// Size in bytes.
    pub size_bytes: u64,
    /// 512-byte blocks allocated.
    pub blocks: u64,
    /// Preferred block size in bytes.
    pub block_size_bytes: u64,
    /// Seconds and nanoseconds since 1970-01-01T00:00:00Z of the last access.
    pub accessed: (i64, i64),
    /// The same of the last change of content.
    pub modified: (i64, i64),
    /// The same of the last change of status.
    pub changed: (i64, i64),
}

/// The status of `path` inside `dir`, of a link itself unless `follow`.
///
/// # Errors
///
/// What the system said; `PermissionDenied` when the path leads out of `dir`.
pub fn status(dir: &File, path: &Path, follow: FollowSymlinks) -> io::Result<Status> {
    let metadata = cap_primitives::fs::stat(dir, path, follow)?;
    Ok(Status {
        mode: metadata.mode(),
        uid: metadata.uid(),
        gid: metadata.gid(),
        device: metadata.dev(),
        inode: metadata.ino(),
        links: metadata.nlink(),
        size_bytes: metadata.size(),
        blocks: metadata.blocks(),
        block_size_bytes: metadata.blksize(),
        accessed: (metadata.atime(), metadata.atime_nsec()),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

pub use cap_primitives::fs::FollowSymlinks as Follow;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fs05_links_that_lead_out_are_recognised() {
        let check = |target: &str, inside: bool| {
            assert_eq!(link_stays_inside(Path::new(target)), inside, "{target}");
        };
        check("a.txt", true);
        check("./a", true);
        check("a/b/c", true);
        check(".", true);
        check("..", false);
        check("../a.txt", false);
        check("a/../b", false);
        check("../../../../etc", false);
        check("/etc/passwd", false);
    }
}
