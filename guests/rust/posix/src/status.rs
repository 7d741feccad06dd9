//! What a command knows of a file without opening it.

/// What kind of thing an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    /// A FIFO, a socket or a device: never opened.
    Other,
}

/// Whether a link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    Yes,
    No,
}

/// The status of one file, as `stat` has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) links: u64,
    pub(crate) size: u64,
    /// In units of 512 bytes.
    pub(crate) blocks: u64,
    pub(crate) block_size: u64,
    pub(crate) accessed: Time,
    pub(crate) modified: Time,
    pub(crate) changed: Time,
}

/// A moment: seconds since 1970, and nanoseconds past them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Time {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u32,
}

/// The file type bits of a mode.
const TYPE_BITS: u32 = 0o170_000;

impl Status {
    /// The file type bits of the mode.
    pub(crate) fn type_bits(&self) -> u32 {
        self.mode & TYPE_BITS
    }

    pub(crate) fn kind(&self) -> Kind {
        match self.type_bits() {
            0o100_000 => Kind::File,
            0o040_000 => Kind::Folder,
            0o120_000 => Kind::Link,
            _ => Kind::Other,
        }
    }

    /// What tells this file from every other.
    pub(crate) fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}
