//! A walk over a tree of folders, without recursion: names sorted by bytes, folders entered only
//! when told.
//!
//! Deliberately absent: deciding what is entered and what an error means; the commands differ.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use crate::console::End;
use crate::listing::{Listing, MAX_ENTRIES};
use crate::status::Kind;
use crate::system;

/// What a step of the walk came to.
pub(crate) enum Step {
    /// A new entry; the walk stands at it.
    Entry(Kind),
    /// The last entry of a folder is done; the walk stands at the folder again.
    Left,
}

/// A folder that the walk is in.
struct Level {
    listing: Listing,
    next: usize,
    /// Where the folder's own path ends.
    path_end: usize,
    identity: Option<(u64, u64)>,
}

/// A walk that starts at one path.
pub(crate) struct Walk {
    path: Vec<u8>,
    levels: Vec<Level>,
    /// How many more entries it may come to.
    left: usize,
}

impl Walk {
    pub(crate) fn new(start: &OsStr) -> Self {
        Self::bounded(start, MAX_ENTRIES)
    }

    /// One that comes to at most so many entries.
    fn bounded(start: &OsStr, most: usize) -> Self {
        Self {
            path: start.as_encoded_bytes().to_owned(),
            levels: Vec::new(),
            left: most,
        }
    }

    /// The path of where the walk stands, as it is shown.
    pub(crate) fn name(&self) -> &[u8] {
        &self.path
    }

    /// The path of where the walk stands.
    pub(crate) fn path(&self) -> &Path {
        Path::new(system::os_str(&self.path))
    }

    /// How many folders lie between the start and where the walk stands.
    pub(crate) fn depth(&self) -> usize {
        self.levels.len()
    }

    /// Goes to the next entry; none at the end of the walk.
    pub(crate) fn step(&mut self) -> Result<Option<Step>, End> {
        let Some(level) = self.levels.last_mut() else {
            return Ok(None);
        };
        self.path.truncate(level.path_end);
        let Some((name, kind)) = level.listing.get(level.next) else {
            self.levels.pop();
            return Ok(Some(Step::Left));
        };
        level.next += 1;
        let name = name.as_encoded_bytes();
        self.path.try_reserve(name.len() + 1)?;
        if !self.path.ends_with(b"/") {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
        Ok(Some(Step::Entry(kind)))
    }

    /// Enters the folder that the walk stands at. Gives what is missing of it, if anything.
    pub(crate) fn enter(
        &mut self,
        identity: Option<(u64, u64)>,
    ) -> Result<io::Result<Option<String>>, End> {
        let mut listing = match system::list(self.path(), self.left)? {
            Ok(listing) => listing,
            Err(error) => return Ok(Err(error)),
        };
        self.left = self.left.saturating_sub(listing.len());
        let missing = listing.missing.take();
        self.levels.try_reserve(1)?;
        self.levels.push(Level {
            listing,
            next: 0,
            path_end: self.path.len(),
            identity,
        });
        Ok(Ok(missing))
    }

    /// Whether the walk is inside the folder of that identity.
    pub(crate) fn is_inside(&self, identity: (u64, u64)) -> bool {
        let mut levels = self.levels.iter();
        levels.any(|level| level.identity == Some(identity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many entries a walk over this package's code came to, and what was said to be missing.
    fn walked(most: usize) -> (usize, Vec<String>) {
        let mut walk = Walk::bounded(OsStr::new("src"), most);
        let mut missing: Vec<String> = walk.enter(None).unwrap().unwrap().into_iter().collect();
        let mut entries = 0;
        while let Some(step) = walk.step().unwrap() {
            if let Step::Entry(kind) = step {
                entries += 1;
                if kind == Kind::Folder {
                    missing.extend(walk.enter(None).unwrap().unwrap());
                }
            }
        }
        (entries, missing)
    }

    #[test]
    fn a_walk_ends_at_its_bound_and_says_so() {
        let (all, missing) = walked(MAX_ENTRIES);
        assert!(all > 40, "{all}");
        assert_eq!(missing, [""; 0]);
        assert_eq!(walked(all + 1), (all, Vec::new()));
        assert_eq!(walked(all), (all, Vec::new()));
        let said = || "more than 1000000 entries".to_owned();
        assert_eq!(walked(all - 1), (all - 1, vec![said()]));
        // Every folder that is met then has something missing.
        for most in [1, all / 2, all - 5] {
            let (entries, missing) = walked(most);
            assert_eq!(entries, most);
            assert!(!missing.is_empty());
            assert!(
                missing.iter().all(|missing| *missing == said()),
                "{missing:?}"
            );
        }
        assert_eq!(walked(0), (0, vec![said()]));
    }
}
