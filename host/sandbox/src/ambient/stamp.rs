//! What the system says of a file that stays as long as nobody writes to it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use rustix::fs::fstatfs;

use super::NamedFile;

/// A file that was changed more recently may be changed once more within the same tick of the
/// system's clock.
const SETTLED: Duration = Duration::from_secs(2);

/// File systems that set the time of a file's last change by themselves: ext, XFS, Btrfs, F2FS, tmpfs
/// and overlays of them. A network's, or one that was packed elsewhere, may give any time.
const OWN_TIMES: [u64; 6] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0xf2f5_2010,
    0x0102_1994,
    0x794c_7630,
];

/// A file, and how it stands: whoever finds the same stamp again finds bytes that the file had while
/// it stood so.
///
/// Writes set the time of a file's last change, and nobody but root can set it otherwise. A program
/// that writes through memory may change what it has written within seconds without a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Which file, for as long as it exists: letters, digits and `-`.
    pub file: String,
    /// How it stands: digits and spaces.
    pub state: String,
}

impl NamedFile {
    /// The file's stamp; `None` where it was changed so recently that it may be again unseen, or
    /// where its file system is not known to keep the time of that.
    #[must_use]
    pub fn stamp(&self) -> Option<Stamp> {
        let system = fstatfs(&self.file).ok()?.f_type;
        let is_known = u64::try_from(system).is_ok_and(|system| OWN_TIMES.contains(&system));
        let metadata = self.file.metadata().ok()?;
        let stamp = stamp_of(&metadata, SystemTime::now());
        stamp.filter(|_| is_known)
    }
}

fn stamp_of(metadata: &Metadata, now: SystemTime) -> Option<Stamp> {
    let seconds = u64::try_from(metadata.ctime()).ok()?;
    let changed = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
    if now.duration_since(changed).ok()? < SETTLED {
        return None;
    }
    let (dev, ino, size) = (metadata.dev(), metadata.ino(), metadata.len());
    let (mtime, ctime) = (metadata.mtime(), metadata.ctime());
    let (mtime_nsec, ctime_nsec) = (metadata.mtime_nsec(), metadata.ctime_nsec());
    Some(Stamp {
        file: format!("{dev:x}-{ino:x}"),
        state: format!("{size} {mtime} {mtime_nsec} {ctime} {ctime_nsec}"),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The stamp of a file so many seconds after the whole second in which it was changed.
    fn stamp_after(path: &std::path::Path, seconds: u64) -> Option<Stamp> {
        let metadata = fs::metadata(path).unwrap();
        let changed = u64::try_from(metadata.ctime()).unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(changed + seconds);
        stamp_of(&metadata, now)
    }

    #[test]
    fn l6_a_file_that_was_just_written_has_no_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        fs::write(&path, "new").unwrap();
        assert_eq!(stamp_after(&path, 1), None);
        assert!(stamp_after(&path, 2).is_some());
        let ahead = fs::metadata(&path).unwrap();
        assert_eq!(stamp_of(&ahead, SystemTime::UNIX_EPOCH), None);
    }

    #[test]
    fn l6_another_file_and_another_state_have_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["one", "other"].map(|name| folder.path().join(name));
        for path in [&one, &other] {
            fs::write(path, "same").unwrap();
        }
        let before = stamp_after(&one, 9).unwrap();
        assert_eq!(stamp_after(&one, 9).unwrap(), before);
        assert_ne!(stamp_after(&other, 9).unwrap().file, before.file);
        fs::write(&one, "longer").unwrap();
        let after = stamp_after(&one, 9).unwrap();
        assert_eq!(after.file, before.file);
        assert_ne!(after.state, before.state);
    }
}
