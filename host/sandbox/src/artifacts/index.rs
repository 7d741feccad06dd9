//! What the store holds, and what makes way for what is new.
//!
//! The folder is the truth: it is looked through again whenever another process has changed it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt as _, MetadataExt as _};

use super::ArtifactBounds;
use super::entry::{HEADER_BYTES, is_older, stamp_ms};
use super::name::EntryName;
use crate::ambient;

/// What an entry counts at least: the room that its file takes.
const LEAST_BYTES: u64 = 4_096;

/// A file that is being written for so long was left by a process that ended.
const DRAFT_MS: u64 = 60 * 60 * 1_000;

/// The folder of files that are being written.
const DRAFTS: &str = "drafts";

/// Opens the folder of files that are being written, making it where it is missing.
pub(super) fn drafts(dir: &Dir) -> io::Result<Dir> {
    match dir.create_dir_with(DRAFTS, DirBuilder::new().mode(0o700)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => dir.open_dir_nofollow(DRAFTS),
    }
}

/// The entries of one tenant.
#[derive(Default)]
struct Tenant {
    bytes: u64,
    /// With the time that each was put, oldest first.
    by_age: BTreeSet<(u64, EntryName)>,
}

/// What is in the folder.
#[derive(Default)]
pub(super) struct Index {
    /// When the folder was last changed by us, or as we found it.
    seen: Option<(i64, i64)>,
    total_bytes: u64,
    entries: BTreeMap<EntryName, (u64, u64)>,
    tenants: BTreeMap<Box<str>, Tenant>,
}

fn counted(size_bytes: u64) -> u64 {
    size_bytes.max(LEAST_BYTES)
}

fn changed(dir: &Dir) -> Option<(i64, i64)> {
    let metadata = dir.dir_metadata().ok()?;
    Some((metadata.mtime(), metadata.mtime_nsec()))
}

impl Index {
    /// Looks through the folder, unless nobody but us has changed it.
    pub(super) fn refresh(&mut self, dir: &Dir, drafts: &Dir) {
        let now = changed(dir);
        if now.is_some() && self.seen == now {
            return;
        }
        *self = Self {
            seen: now,
            ..Self::default()
        };
        let Ok(files) = dir.entries() else { return };
        for file in files.flatten() {
            let (name, metadata) = (file.file_name(), file.metadata());
            let (Some(name), Ok(metadata)) = (name.to_str(), metadata) else {
                continue;
            };
            let modified = (metadata.mtime(), metadata.mtime_nsec());
            if let Some(name) = EntryName::parse(name) {
                let size_bytes = metadata.len().saturating_sub(HEADER_BYTES);
                self.insert(name, stamp_ms(modified), size_bytes);
            }
        }
        remove_left(drafts);
    }

    /// Takes a new entry in, whose file is there.
    pub(super) fn added(&mut self, dir: &Dir, name: EntryName, size_bytes: u64) {
        self.take_out(&name);
        self.insert(name, ambient::now_ms(), size_bytes);
        self.seen = changed(dir);
    }

    fn insert(&mut self, name: EntryName, stamp_ms: u64, size_bytes: u64) {
        let bytes = counted(size_bytes);
        let tenant = self.tenants.entry(name.tenant().into()).or_default();
        tenant.bytes = tenant.bytes.saturating_add(bytes);
        tenant.by_age.insert((stamp_ms, name.clone()));
        self.total_bytes = self.total_bytes.saturating_add(bytes);
        self.entries.insert(name, (stamp_ms, bytes));
    }

    fn take_out(&mut self, name: &EntryName) {
        let Some((stamp_ms, bytes)) = self.entries.remove(name) else {
            return;
        };
        self.total_bytes = self.total_bytes.saturating_sub(bytes);
        if let Some(tenant) = self.tenants.get_mut(name.tenant()) {
            tenant.bytes = tenant.bytes.saturating_sub(bytes);
            tenant.by_age.remove(&(stamp_ms, name.clone()));
            if tenant.by_age.is_empty() {
                self.tenants.remove(name.tenant());
            }
        }
    }

    /// Removes an entry with its file.
    pub(super) fn remove(&mut self, dir: &Dir, name: &EntryName) {
        self.take_out(name);
        // It may be gone already.
        drop(dir.remove_file(name.as_str()));
        self.seen = changed(dir);
    }

    /// Removes what is too old, and what has to make way for `name`. False when there is no room: then
    /// nothing made way.
    pub(super) fn make_room(
        &mut self,
        dir: &Dir,
        bounds: &ArtifactBounds,
        name: &EntryName,
        size_bytes: u64,
    ) -> bool {
        let now_ms = ambient::now_ms();
        for name in self.older_than(bounds.age_ms, now_ms) {
            self.remove(dir, &name);
        }
        if self.entries.contains_key(name) {
            // The same bytes take the same room.
            return true;
        }
        let Some(leaving) = self.leaving(bounds, name, counted(size_bytes), now_ms) else {
            return false;
        };
        for name in leaving {
            self.remove(dir, &name);
        }
        true
    }

    fn older_than(&self, age_ms: u64, now_ms: u64) -> Vec<EntryName> {
        let tenants = self.tenants.values();
        tenants
            .flat_map(|tenant| tenant.older_than(age_ms, now_ms).cloned())
            .collect()
    }

    /// What has to make way: of the same tenant where its own bound is passed, then of whoever has the
    /// most, oldest first; `None` when what may make way is not enough.
    fn leaving(
        &self,
        bounds: &ArtifactBounds,
        name: &EntryName,
        bytes: u64,
        now_ms: u64,
    ) -> Option<Vec<EntryName>> {
        if bytes > bounds.tenant_bytes || bytes > bounds.total_bytes {
            return None;
        }
        let mut heaps: BTreeMap<&str, (u64, _)> = BTreeMap::new();
        for (key, tenant) in &self.tenants {
            let movable = tenant.older_than(bounds.keep_ms, now_ms).peekable();
            heaps.insert(key, (tenant.bytes, movable));
        }
        let bytes_of = |name: &EntryName| self.entries.get(name).map_or(0, |(_, bytes)| *bytes);
        let mut leaving = Vec::new();
        let mut total = self.total_bytes;
        if let Some((own, movable)) = heaps.get_mut(name.tenant()) {
            while own.saturating_add(bytes) > bounds.tenant_bytes {
                let next = movable.next()?;
                *own = own.saturating_sub(bytes_of(next));
                total = total.saturating_sub(bytes_of(next));
                leaving.push(next.clone());
            }
        }
        while total.saturating_add(bytes) > bounds.total_bytes {
            let heaps = heaps.values_mut();
            let heaps = heaps.filter_map(|heap| heap.1.peek().is_some().then_some(heap));
            let (most, movable) = heaps.max_by_key(|(bytes, _)| *bytes)?;
            let next = movable.next()?;
            *most = most.saturating_sub(bytes_of(next));
            total = total.saturating_sub(bytes_of(next));
            leaving.push(next.clone());
        }
        Some(leaving)
    }
}

/// Removes drafts of processes that ended before they were kept.
fn remove_left(drafts: &Dir) {
    let Ok(files) = drafts.entries() else { return };
    for file in files.flatten() {
        let Ok(metadata) = file.metadata() else {
            continue;
        };
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        if is_older(modified, DRAFT_MS, ambient::now_ms()) {
            // Where it can't be removed it is tried again next time.
            drop(drafts.remove_file(file.file_name()));
        }
    }
}

impl Tenant {
    /// The entries that are so old, oldest first.
    fn older_than(&self, age_ms: u64, now_ms: u64) -> impl Iterator<Item = &EntryName> {
        let old = move |stamp_ms: u64| stamp_ms.saturating_add(age_ms) <= now_ms;
        self.by_age
            .iter()
            .take_while(move |(stamp_ms, _)| old(*stamp_ms))
            .map(|(_, name)| name)
    }
}
