//! `wasi:filesystem` for a guest: wasmtime-wasi's implementation behind the checks of this host.
//!
//! Own code stands only where theirs is not enough: opening never blocks (FIFOs, devices), reading
//! stays on the calling thread, folders are listed lazily, links can't be made to lead out, a
//! write-only grant can't read, and what was denied is recorded.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, Timespec, UTIME_NOW, UTIME_OMIT};
use tidegate_sandbox::denial::{Denial, Kind};
use tidegate_sandbox::files::{self, Follow, OpenRequest, Opened};
use tidegate_sandbox::{Access, Folder, names};
use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::filesystem::{Descriptor, Dir, File, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::clocks::wall_clock::Datetime;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::bindings::sync::filesystem::types;
use wasmtime_wasi::p2::{FsError, FsResult};
use wasmtime_wasi::{FsPerms, OpenMode};

use crate::denials::Denials;
use crate::open_files::OpenFiles;

/// A granted folder in the form that wasmtime-wasi takes.
#[derive(Clone)]
pub(crate) struct Preopen {
    pub(crate) dir: Dir,
    pub(crate) guest_path: String,
}

impl Preopen {
    /// Keeps the folder open for the life of the plugin. File operations block in place: calls run
    /// on threads of their own.
    pub(crate) fn new(folder: &Folder) -> std::io::Result<Self> {
        let (perms, open_mode) = match folder.access {
            Access::Read => (FsPerms::ReadOnly, OpenMode::READ),
            Access::Write => (FsPerms::ReadWrite, OpenMode::WRITE),
            Access::ReadWrite => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),
        };
        let dir = Dir::new(folder.dir.try_clone()?, perms, open_mode, true);
        Ok(Self {
            dir,
            guest_path: folder.guest_path.clone(),
        })
    }
}

/// The files of one call.
pub(crate) struct Files<'a> {
    pub(crate) view: WasiFilesystemCtxView<'a>,
    pub(crate) preopens: &'a [Preopen],
    pub(crate) denials: &'a mut Denials,
    pub(crate) opened: &'a mut OpenFiles,
}

/// Names [`Files`] to the linker.
pub(crate) struct HasFiles;

impl HasData for HasFiles {
    type Data<'a> = Files<'a>;
}

/// What is listed of a folder that is being read.
pub(crate) struct Entries {
    listing: rustix::fs::Dir,
    _held: Arc<()>,
}

impl Entries {
    pub(crate) fn next(&mut self) -> FsResult<Option<types::DirectoryEntry>> {
        for entry in self.listing.by_ref() {
            let entry = entry.map_err(std::io::Error::from)?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                return Ok(Some(types::DirectoryEntry {
                    type_: type_of(entry.file_type()),
                    name: names::for_plugin(OsStr::from_bytes(name).to_owned()),
                }));
            }
        }
        Ok(None)
    }
}

/// Longest path taken, in bytes: what the system itself takes. A longer one would be walked here.
const PATH_BYTES: usize = 4096;

pub(crate) fn short(path: &str) -> FsResult<()> {
    if path.len() > PATH_BYTES {
        return Err(ErrorCode::NameTooLong.into());
    }
    Ok(())
}

/// As [`short`], for what is done by wasmtime-wasi, which takes paths that are text only.
pub(crate) fn plain(path: &str) -> FsResult<()> {
    short(path)?;
    if names::has_bytes(path) {
        return Err(ErrorCode::IllegalByteSequence.into());
    }
    Ok(())
}

impl Files<'_> {
    pub(crate) fn dir(&self, descriptor: &Resource<Descriptor>) -> FsResult<&Dir> {
        match self.view.table.get(descriptor)? {
            Descriptor::Dir(dir) => Ok(dir),
            Descriptor::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    pub(crate) fn file(&self, descriptor: &Resource<Descriptor>) -> FsResult<&File> {
        match self.view.table.get(descriptor)? {
            Descriptor::File(file) => Ok(file),
            Descriptor::Dir(_) => Err(ErrorCode::IsDirectory.into()),
        }
    }

    /// Passes an outcome on; a refusal for want of a grant is recorded.
    pub(crate) fn note<T>(&mut self, kind: Kind, name: &str, outcome: FsResult<T>) -> FsResult<T> {
        if let Err(error) = &outcome
            && matches!(error.downcast_ref(), Some(ErrorCode::NotPermitted))
        {
            self.denials.record(Denial::new(kind, name));
        }
        outcome
    }

    pub(crate) fn open(
        &mut self,
        parent: &Dir,
        path: &str,
        (request, open_mode): (OpenRequest, OpenMode),
    ) -> FsResult<Resource<Descriptor>> {
        self.opened.room()?;
        match files::open(&parent.dir, Path::new(&*names::for_system(path)), request)? {
            Opened::Folder(dir) => {
                let dir = Dir::new(dir, parent.perms, open_mode & parent.open_mode, true);
                self.opened.hold(&dir.dir);
                Ok(self.view.table.push(Descriptor::Dir(dir))?)
            }
            Opened::File(file) if parent.open_mode.contains(open_mode) => {
                let file = File::new(file, parent.perms, open_mode, true);
                self.opened.hold(&file.file);
                Ok(self.view.table.push(Descriptor::File(file))?)
            }
            Opened::File(_) => Err(ErrorCode::NotPermitted.into()),
            Opened::NotAFolder => Err(ErrorCode::NotDirectory.into()),
            // POSIX has no word for "neither file nor folder"; this one is never mistaken for
            // a missing file or a denial.
            Opened::Irregular => Err(ErrorCode::Unsupported.into()),
        }
    }
}

impl Files<'_> {
    /// Starts listing a folder, an entry at a time.
    pub(crate) fn list(&mut self, dir: &Dir) -> FsResult<Resource<Entries>> {
        self.opened.room()?;
        let held = Arc::new(());
        self.opened.hold(&held);
        // Opened once more: a listing has a place of its own in the folder.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let listing = rustix::fs::openat(&*dir.dir, ".", flags, Mode::empty())
            .and_then(rustix::fs::Dir::new)
            .map_err(std::io::Error::from)?;
        Ok(self.view.table.push(Entries {
            listing,
            _held: held,
        })?)
    }

    /// The status of a path whose name is not text.
    pub(crate) fn stat_bytes(
        &self,
        fd: &Resource<Descriptor>,
        path: &str,
        follow: Follow,
    ) -> FsResult<types::DescriptorStat> {
        let status = self.status_of_bytes(fd, path, follow)?;
        let time = |(seconds, nanoseconds): (i64, i64)| {
            Some(Datetime {
                seconds: u64::try_from(seconds).ok()?,
                nanoseconds: u32::try_from(nanoseconds).ok()?,
            })
        };
        Ok(types::DescriptorStat {
            type_: type_of(FileType::from_raw_mode(status.mode)),
            link_count: status.links,
            size: status.size_bytes,
            data_access_timestamp: time(status.accessed),
            data_modification_timestamp: time(status.modified),
            status_change_timestamp: time(status.changed),
        })
    }

    /// What tells two files apart, for a path whose name is not text.
    pub(crate) fn hash_bytes(
        &self,
        fd: &Resource<Descriptor>,
        path: &str,
        follow: Follow,
    ) -> FsResult<types::MetadataHashValue> {
        let status = self.status_of_bytes(fd, path, follow)?;
        Ok(types::MetadataHashValue {
            lower: status.inode,
            upper: status.device,
        })
    }

    fn status_of_bytes(
        &self,
        fd: &Resource<Descriptor>,
        path: &str,
        follow: Follow,
    ) -> FsResult<files::Status> {
        let path = names::for_system(path);
        Ok(files::status(
            &self.dir(fd)?.dir,
            Path::new(&*path),
            follow,
        )?)
    }

    /// Whether a name may be moved or linked from one folder to another: from where it can't be
    /// read to where nothing can be read either. A folder below one that can't be read may itself
    /// be granted for reading, so that one readable folder is enough to refuse.
    pub(crate) fn may_move(&self, from: &Resource<Descriptor>) -> FsResult<bool> {
        let readable = |dir: &Dir| dir.open_mode.contains(OpenMode::READ);
        Ok(
            readable(self.dir(from)?)
                || !self.preopens.iter().any(|preopen| readable(&preopen.dir)),
        )
    }
}

/// A time as the system takes it.
pub(crate) fn timespec(time: types::NewTimestamp) -> FsResult<Timespec> {
    let special = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    match time {
        types::NewTimestamp::NoChange => Ok(special(UTIME_OMIT)),
        types::NewTimestamp::Now => Ok(special(UTIME_NOW)),
        types::NewTimestamp::Timestamp(time) => {
            let overflow = FsError::from(ErrorCode::Overflow);
            match i64::try_from(time.seconds) {
                Ok(tv_sec) if time.nanoseconds < 1_000_000_000 => Ok(Timespec {
                    tv_sec,
                    tv_nsec: time.nanoseconds.into(),
                }),
                _ => Err(overflow),
            }
        }
    }
}

/// Turns WASI's flags into a request, or refuses what the folder's grant does not allow, before the
/// system sees it (CASES WA03: truncating is writing).
pub(crate) fn open_request(
    parent: &Dir,
    follow: types::PathFlags,
    oflags: types::OpenFlags,
    flags: types::DescriptorFlags,
) -> Result<(OpenRequest, OpenMode), ErrorCode> {
    use types::{DescriptorFlags, OpenFlags};

    let syncs = [
        DescriptorFlags::FILE_INTEGRITY_SYNC,
        DescriptorFlags::DATA_INTEGRITY_SYNC,
        DescriptorFlags::REQUESTED_WRITE_SYNC,
    ];
    if syncs.into_iter().any(|sync| flags.contains(sync)) {
        return Err(ErrorCode::Unsupported);
    }
    let directory = oflags.contains(OpenFlags::DIRECTORY);
    let write = writes(oflags, flags);
    if directory && write && !flags.contains(DescriptorFlags::WRITE) {
        return Err(ErrorCode::Invalid);
    }
    if parent.perms.write_not_permitted()
        && (write || flags.contains(DescriptorFlags::MUTATE_DIRECTORY))
    {
        return Err(ErrorCode::NotPermitted);
    }
    let read = flags.contains(DescriptorFlags::READ) || !write;
    if read && write && !parent.open_mode.contains(OpenMode::READ) {
        return Err(ErrorCode::NotPermitted);
    }
    let mut open_mode = OpenMode::empty();
    open_mode.set(OpenMode::READ, read);
    open_mode.set(OpenMode::WRITE, write);
    if directory && !parent.perms.write_not_permitted() {
        // A folder of a writable root is opened for reading by the system, and written through.
        open_mode |= OpenMode::WRITE;
    }
    let request = OpenRequest {
        read,
        write,
        create: oflags.contains(OpenFlags::CREATE),
        exclusive: oflags.contains(OpenFlags::EXCLUSIVE),
        truncate: oflags.contains(OpenFlags::TRUNCATE),
        directory,
        follow: follow.contains(types::PathFlags::SYMLINK_FOLLOW),
    };
    Ok((request, open_mode))
}

/// Whether opening with these flags can change anything.
pub(crate) fn writes(oflags: types::OpenFlags, flags: types::DescriptorFlags) -> bool {
    use types::OpenFlags;

    flags.contains(types::DescriptorFlags::WRITE)
        || [OpenFlags::CREATE, OpenFlags::EXCLUSIVE, OpenFlags::TRUNCATE]
            .into_iter()
            .any(|change| oflags.contains(change))
}

fn type_of(kind: FileType) -> types::DescriptorType {
    use types::DescriptorType as Type;

    match kind {
        FileType::RegularFile => Type::RegularFile,
        FileType::Directory => Type::Directory,
        FileType::Symlink => Type::SymbolicLink,
        FileType::Fifo => Type::Fifo,
        FileType::Socket => Type::Socket,
        FileType::CharacterDevice => Type::CharacterDevice,
        FileType::BlockDevice => Type::BlockDevice,
        FileType::Unknown => Type::Unknown,
    }
}
