//! What the system says of a file that stays as long as nobody writes to it.

use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use super::NamedFile;

/// A file that was changed more recently may be changed once more within the same tick of the
/// system's clock.
const SETTLED: Duration = Duration::from_secs(2);

/// A file, and how it stands: whoever finds the same stamp again finds the same bytes.
///
/// No write leaves the time of a file's last change as it was, and nobody but root can set that time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Which file, for as long as it exists: letters, digits and `-`.
    pub file: String,
    /// How it stands: digits and spaces.
    pub state: String,
}

impl NamedFile {
    /// The file's stamp; `None` where it was changed so recently that it may be again unseen.
    #[must_use]
    pub fn stamp(&self) -> Option<Stamp> {
        let metadata = self.file.metadata().ok()?;
        let seconds = u64::try_from(metadata.ctime()).ok()?;
        let changed = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
        let age = SystemTime::now().duration_since(changed).ok()?;
        if age < SETTLED {
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
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn l6_a_file_that_was_just_written_has_no_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        fs::write(&path, "new").unwrap();
        assert_eq!(NamedFile::open(&path, 10).unwrap().stamp(), None);
    }

    #[test]
    fn l6_files_have_stamps_of_their_own() {
        // This program and its manifest were written before the test began to run.
        let program = std::env::current_exe().unwrap();
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let stamp = |path| NamedFile::open(path, 1).unwrap().stamp();
        let (one, other) = (stamp(&program), stamp(manifest.as_ref()));
        assert!(one.is_some() && one != other, "{one:?} {other:?}");
        assert_eq!(one, stamp(&program));
    }
}
