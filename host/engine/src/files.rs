//! `wasi:filesystem` for a guest: wasmtime-wasi's implementation behind the checks of this host.
//!
//! Own code stands only where theirs is not enough: opening never blocks (FIFOs, devices), reading
//! stays on the calling thread, folders are listed lazily, links can't be made to lead out, a
//! write-only grant can't read, and what was denied is recorded.

use std::ffi::OsString;
use std::path::Path;

use cap_primitives::fs::{DirEntry, FileType, FileTypeExt as _};
use tidegate_sandbox::denial::{Denial, Kind};
use tidegate_sandbox::files::{self, OpenRequest, Opened};
use tidegate_sandbox::{Access, Folder};
use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::filesystem::{Descriptor, Dir, File, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::types;
use wasmtime_wasi::p2::{FsError, FsResult};
use wasmtime_wasi::{FsPerms, OpenMode};

use crate::denials::Denials;

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
}

/// Names [`Files`] to the linker.
pub(crate) struct HasFiles;

impl HasData for HasFiles {
    type Data<'a> = Files<'a>;
}

/// What is listed of a folder that is being read.
pub(crate) struct Entries(pub(crate) cap_primitives::fs::ReadDir);

impl Files<'_> {
    pub(crate) fn dir(&self, descriptor: &Resource<Descriptor>) -> FsResult<&Dir> {
        match self.view.table.get(descriptor)? {
            Descriptor::Dir(dir) => Ok(dir),
            Descriptor::File(_) => Err(types::ErrorCode::NotDirectory.into()),
        }
    }

    pub(crate) fn file(&self, descriptor: &Resource<Descriptor>) -> FsResult<&File> {
        match self.view.table.get(descriptor)? {
            Descriptor::File(file) => Ok(file),
            Descriptor::Dir(_) => Err(types::ErrorCode::IsDirectory.into()),
        }
    }

    /// Passes an outcome on; a refusal for want of a grant is recorded.
    pub(crate) fn note<T>(&mut self, kind: Kind, name: &str, outcome: FsResult<T>) -> FsResult<T> {
        if let Err(error) = &outcome
            && matches!(error.downcast_ref(), Some(types::ErrorCode::NotPermitted))
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
        match files::open(&parent.dir, Path::new(path), request)? {
            Opened::Folder(dir) => {
                let dir = Dir::new(dir, parent.perms, open_mode & parent.open_mode, true);
                Ok(self.view.table.push(Descriptor::Dir(dir))?)
            }
            Opened::File(file) if parent.open_mode.contains(open_mode) => {
                let file = File::new(file, parent.perms, open_mode, true);
                Ok(self.view.table.push(Descriptor::File(file))?)
            }
            Opened::File(_) => Err(types::ErrorCode::NotPermitted.into()),
            Opened::NotAFolder => Err(types::ErrorCode::NotDirectory.into()),
            // POSIX has no word for "neither file nor folder"; this one is never mistaken for
            // a missing file or a denial.
            Opened::Irregular => Err(types::ErrorCode::Unsupported.into()),
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
) -> Result<(OpenRequest, OpenMode), types::ErrorCode> {
    use types::{DescriptorFlags, OpenFlags};

    let syncs = [
        DescriptorFlags::FILE_INTEGRITY_SYNC,
        DescriptorFlags::DATA_INTEGRITY_SYNC,
        DescriptorFlags::REQUESTED_WRITE_SYNC,
    ];
    if syncs.into_iter().any(|sync| flags.contains(sync)) {
        return Err(types::ErrorCode::Unsupported);
    }
    let directory = oflags.contains(OpenFlags::DIRECTORY);
    let write = writes(oflags, flags);
    if directory && write && !flags.contains(DescriptorFlags::WRITE) {
        return Err(types::ErrorCode::Invalid);
    }
    if parent.perms.write_not_permitted()
        && (write || flags.contains(DescriptorFlags::MUTATE_DIRECTORY))
    {
        return Err(types::ErrorCode::NotPermitted);
    }
    let read = flags.contains(DescriptorFlags::READ) || !write;
    if read && write && !parent.open_mode.contains(OpenMode::READ) {
        return Err(types::ErrorCode::NotPermitted);
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

/// A name may move to where it can be read only from where it could be read.
pub(crate) fn may_move(from: &Dir, to: &Dir) -> bool {
    from.open_mode.contains(OpenMode::READ) || !to.open_mode.contains(OpenMode::READ)
}

pub(crate) fn entry(entry: std::io::Result<DirEntry>) -> FsResult<types::DirectoryEntry> {
    let entry = entry?;
    let illegal = |_: OsString| FsError::from(types::ErrorCode::IllegalByteSequence);
    Ok(types::DirectoryEntry {
        type_: descriptor_type(entry.file_type()?),
        name: entry.file_name().into_string().map_err(illegal)?,
    })
}

fn descriptor_type(kind: FileType) -> types::DescriptorType {
    use types::DescriptorType as Type;

    let kinds = [
        (kind.is_file(), Type::RegularFile),
        (kind.is_dir(), Type::Directory),
        (kind.is_symlink(), Type::SymbolicLink),
        (kind.is_fifo(), Type::Fifo),
        (kind.is_socket(), Type::Socket),
        (kind.is_char_device(), Type::CharacterDevice),
        (kind.is_block_device(), Type::BlockDevice),
    ];
    kinds
        .into_iter()
        .find_map(|(is, kind)| is.then_some(kind))
        .unwrap_or(Type::Unknown)
}
