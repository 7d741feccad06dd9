//! The names in one folder, kept close together and sorted by their bytes.

use std::ffi::OsStr;

use crate::console::End;
use crate::status::Kind;
use crate::system;

/// The most names that one listing or one walk holds.
pub(crate) const MAX_ENTRIES: usize = 1_000_000;

/// The names in one folder.
#[derive(Default)]
pub(crate) struct Listing {
    text: Vec<u8>,
    entries: Vec<Entry>,
    /// Why there are not all names, if so.
    pub(crate) missing: Option<String>,
}

#[derive(Clone, Copy)]
struct Entry {
    start: usize,
    length: usize,
    kind: Kind,
}

impl Listing {
    /// Takes one more name; false when there are `most` already.
    pub(crate) fn add(&mut self, name: &OsStr, kind: Kind, most: usize) -> Result<bool, End> {
        if self.entries.len() >= most {
            self.missing = Some(format!("more than {MAX_ENTRIES} entries"));
            return Ok(false);
        }
        let bytes = name.as_encoded_bytes();
        self.text.try_reserve(bytes.len())?;
        self.entries.try_reserve(1)?;
        self.entries.push(Entry {
            start: self.text.len(),
            length: bytes.len(),
            kind,
        });
        self.text.extend_from_slice(bytes);
        Ok(true)
    }

    /// Puts the names into the order of their bytes.
    pub(crate) fn sort(&mut self) {
        let text = &self.text;
        self.entries
            .sort_unstable_by(|one, other| one.name(text).cmp(other.name(text)));
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The name and kind of one entry.
    pub(crate) fn get(&self, at: usize) -> Option<(&OsStr, Kind)> {
        let entry = self.entries.get(at)?;
        Some((system::os_str(entry.name(&self.text)), entry.kind))
    }
}

impl Entry {
    fn name(self, text: &[u8]) -> &[u8] {
        text.get(self.start..self.start + self.length)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_listing_holds_as_many_names_as_it_may() {
        let list = |most| system::list(Path::new("src"), most).unwrap().unwrap();
        let all = list(MAX_ENTRIES).len();
        let check = |most, expected, missing| {
            let listing = list(most);
            assert_eq!(listing.len(), expected, "{most}");
            assert_eq!(listing.missing.is_some(), missing, "{most}");
        };
        check(all + 1, all, false);
        check(all, all, false);
        check(all - 1, all - 1, true);
        check(0, 0, true);
    }
}
