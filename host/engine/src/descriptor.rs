//! The methods of `wasi:filesystem/types.descriptor`, each passed on by [`Files`] to
//! wasmtime-wasi's implementation unless `files.rs` has its own.

use std::path::Path;
use std::sync::Arc;

use rustix::fs::Timestamps;
use tidegate_sandbox::denial::Kind;
use tidegate_sandbox::files::{self, Follow};
use tidegate_sandbox::names;
use wasmtime::component::Resource;
use wasmtime_wasi::OpenMode;
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::bindings::sync::filesystem::types;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsError, FsResult, ReaddirIterator};

use crate::files::{Entries, Files, open_request, plain, short, timespec, writes};
use crate::streams::{FileSink, FileStream};

type Fd = Resource<Descriptor>;

impl preopens::Host for Files<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Fd, String)>> {
        self.preopens
            .iter()
            .map(|preopen| {
                let fd = self.view.table.push(Descriptor::Dir(preopen.dir.clone()))?;
                Ok((fd, preopen.guest_path.clone()))
            })
            .collect()
    }
}

impl types::Host for Files<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<types::ErrorCode> {
        self.view.convert_error_code(error)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<wasmtime::Error>,
    ) -> wasmtime::Result<Option<types::ErrorCode>> {
        self.view.filesystem_error_code(error)
    }
}

impl Files<'_> {
    fn writer(&mut self, fd: &Fd, position: Option<u64>) -> FsResult<Resource<DynOutputStream>> {
        let file = self.file(fd)?;
        if file.perms.write_not_permitted() {
            return Err(ErrorCode::NotPermitted.into());
        }
        let sink: DynOutputStream = Box::new(FileSink::new(Arc::clone(&file.file), position));
        Ok(self.view.table.push(sink)?)
    }
}

impl types::HostDescriptor for Files<'_> {
    fn open_at(
        &mut self,
        fd: Fd,
        follow: types::PathFlags,
        path: String,
        oflags: types::OpenFlags,
        flags: types::DescriptorFlags,
    ) -> FsResult<Fd> {
        short(&path)?;
        let parent = self.dir(&fd)?.clone();
        let kind = if writes(oflags, flags) {
            Kind::Write
        } else {
            Kind::Read
        };
        let opened = open_request(&parent, follow, oflags, flags)
            .map_err(FsError::from)
            .and_then(|request| self.open(&parent, &path, request));
        self.note(kind, &path, opened)
    }

    fn read_via_stream(
        &mut self,
        fd: Fd,
        offset: types::Filesize,
    ) -> FsResult<Resource<DynInputStream>> {
        let file = Arc::clone(&self.file(&fd)?.file);
        let stream: DynInputStream = Box::new(FileStream::new(file, offset));
        Ok(self.view.table.push(stream)?)
    }

    fn read_directory(&mut self, fd: Fd) -> FsResult<Resource<ReaddirIterator>> {
        let dir = self.dir(&fd)?.clone();
        if !dir.open_mode.contains(OpenMode::READ) {
            let denied = Err(ErrorCode::NotPermitted.into());
            return self.note(Kind::Read, ".", denied);
        }
        // The table holds our lazy listing under the type that the bindings name.
        Ok(Resource::new_own(self.list(&dir)?.rep()))
    }

    fn symlink_at(&mut self, fd: Fd, target: String, link: String) -> FsResult<()> {
        plain(&target)?;
        plain(&link)?;
        let outcome = if files::link_stays_inside(Path::new(&target)) {
            self.view.symlink_at(fd, target, link.clone())
        } else {
            Err(ErrorCode::NotPermitted.into())
        };
        self.note(Kind::Write, &link, outcome)
    }

    fn link_at(
        &mut self,
        fd: Fd,
        flags: types::PathFlags,
        old_path: String,
        new_fd: Fd,
        new_path: String,
    ) -> FsResult<()> {
        plain(&old_path)?;
        plain(&new_path)?;
        let outcome = if self.may_move(&fd)? {
            self.view
                .link_at(fd, flags, old_path, new_fd, new_path.clone())
        } else {
            Err(ErrorCode::NotPermitted.into())
        };
        self.note(Kind::Write, &new_path, outcome)
    }

    fn rename_at(
        &mut self,
        fd: Fd,
        old_path: String,
        new_fd: Fd,
        new_path: String,
    ) -> FsResult<()> {
        plain(&old_path)?;
        plain(&new_path)?;
        let outcome = if self.may_move(&fd)? {
            self.view.rename_at(fd, old_path.clone(), new_fd, new_path)
        } else {
            Err(ErrorCode::NotPermitted.into())
        };
        self.note(Kind::Write, &old_path, outcome)
    }

    fn create_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        plain(&path)?;
        let outcome = self.view.create_directory_at(fd, path.clone());
        self.note(Kind::Write, &path, outcome)
    }

    fn remove_directory_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        plain(&path)?;
        let outcome = self.view.remove_directory_at(fd, path.clone());
        self.note(Kind::Write, &path, outcome)
    }

    fn unlink_file_at(&mut self, fd: Fd, path: String) -> FsResult<()> {
        plain(&path)?;
        let outcome = self.view.unlink_file_at(fd, path.clone());
        self.note(Kind::Write, &path, outcome)
    }

    fn set_times_at(
        &mut self,
        fd: Fd,
        flags: types::PathFlags,
        path: String,
        accessed: types::NewTimestamp,
        modified: types::NewTimestamp,
    ) -> FsResult<()> {
        plain(&path)?;
        let times = Timestamps {
            last_access: timespec(accessed)?,
            last_modification: timespec(modified)?,
        };
        let dir = self.dir(&fd)?;
        let outcome = if dir.perms.write_not_permitted() {
            Err(ErrorCode::NotPermitted.into())
        } else if flags.contains(types::PathFlags::SYMLINK_FOLLOW) {
            files::set_times(&dir.dir, Path::new(&path), &times).map_err(FsError::from)
        } else {
            let view = &mut self.view;
            view.set_times_at(fd, flags, path.clone(), accessed, modified)
        };
        self.note(Kind::Write, &path, outcome)
    }

    fn set_times(
        &mut self,
        fd: Fd,
        accessed: types::NewTimestamp,
        modified: types::NewTimestamp,
    ) -> FsResult<()> {
        let outcome = self.view.set_times(fd, accessed, modified);
        self.note(Kind::Write, "an open file", outcome)
    }

    fn set_size(&mut self, fd: Fd, size: types::Filesize) -> FsResult<()> {
        let outcome = self.view.set_size(fd, size);
        self.note(Kind::Write, "an open file", outcome)
    }

    fn write(
        &mut self,
        fd: Fd,
        bytes: Vec<u8>,
        offset: types::Filesize,
    ) -> FsResult<types::Filesize> {
        let outcome = self.view.write(fd, bytes, offset);
        self.note(Kind::Write, "an open file", outcome)
    }

    fn write_via_stream(
        &mut self,
        fd: Fd,
        offset: types::Filesize,
    ) -> FsResult<Resource<DynOutputStream>> {
        let outcome = self.writer(&fd, Some(offset));
        self.note(Kind::Write, "an open file", outcome)
    }

    fn append_via_stream(&mut self, fd: Fd) -> FsResult<Resource<DynOutputStream>> {
        let outcome = self.writer(&fd, None);
        self.note(Kind::Write, "an open file", outcome)
    }

    fn stat_at(
        &mut self,
        fd: Fd,
        flags: types::PathFlags,
        path: String,
    ) -> FsResult<types::DescriptorStat> {
        short(&path)?;
        let outcome = if names::has_bytes(&path) {
            self.stat_bytes(&fd, &path, follow(flags))
        } else {
            self.view.stat_at(fd, flags, path.clone())
        };
        self.note(Kind::Read, &path, outcome)
    }

    fn readlink_at(&mut self, fd: Fd, path: String) -> FsResult<String> {
        plain(&path)?;
        let outcome = self.view.readlink_at(fd, path.clone());
        self.note(Kind::Read, &path, outcome)
    }

    fn read(
        &mut self,
        fd: Fd,
        length: types::Filesize,
        offset: types::Filesize,
    ) -> FsResult<(Vec<u8>, bool)> {
        self.view.read(fd, length, offset)
    }

    fn metadata_hash_at(
        &mut self,
        fd: Fd,
        flags: types::PathFlags,
        path: String,
    ) -> FsResult<types::MetadataHashValue> {
        short(&path)?;
        if names::has_bytes(&path) {
            return self.hash_bytes(&fd, &path, follow(flags));
        }
        self.view.metadata_hash_at(fd, flags, path)
    }

    fn advise(
        &mut self,
        fd: Fd,
        offset: types::Filesize,
        length: types::Filesize,
        advice: types::Advice,
    ) -> FsResult<()> {
        self.view.advise(fd, offset, length, advice)
    }

    fn sync(&mut self, fd: Fd) -> FsResult<()> {
        self.view.sync(fd)
    }

    fn sync_data(&mut self, fd: Fd) -> FsResult<()> {
        self.view.sync_data(fd)
    }

    fn get_flags(&mut self, fd: Fd) -> FsResult<types::DescriptorFlags> {
        self.view.get_flags(fd)
    }

    fn get_type(&mut self, fd: Fd) -> FsResult<types::DescriptorType> {
        self.view.get_type(fd)
    }

    fn stat(&mut self, fd: Fd) -> FsResult<types::DescriptorStat> {
        self.view.stat(fd)
    }

    fn is_same_object(&mut self, a: Fd, b: Fd) -> wasmtime::Result<bool> {
        self.view.is_same_object(a, b)
    }

    fn metadata_hash(&mut self, fd: Fd) -> FsResult<types::MetadataHashValue> {
        self.view.metadata_hash(fd)
    }

    fn drop(&mut self, fd: Fd) -> wasmtime::Result<()> {
        types::HostDescriptor::drop(&mut self.view, fd)
    }
}

fn follow(flags: types::PathFlags) -> Follow {
    if flags.contains(types::PathFlags::SYMLINK_FOLLOW) {
        Follow::Yes
    } else {
        Follow::No
    }
}

impl types::HostDirectoryEntryStream for Files<'_> {
    fn read_directory_entry(
        &mut self,
        listing: Resource<ReaddirIterator>,
    ) -> FsResult<Option<types::DirectoryEntry>> {
        let listing = Resource::<Entries>::new_borrow(listing.rep());
        self.view.table.get_mut(&listing)?.next()
    }

    fn drop(&mut self, listing: Resource<ReaddirIterator>) -> wasmtime::Result<()> {
        self.view
            .table
            .delete(Resource::<Entries>::new_own(listing.rep()))?;
        Ok(())
    }
}
