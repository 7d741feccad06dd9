//! Telling whether what a guest is made of has changed. Not for security: what is downloaded is
//! checked by pip, npm and cargo.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A number over a text and files; a folder stands for all files in it.
///
/// # Errors
/// [`Failure::File`] for a path that can't be read.
pub(crate) fn of(text: &str, paths: &[PathBuf]) -> Result<String, Failure> {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    for path in paths {
        add(path, &mut hasher)?;
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn add(path: &Path, hasher: &mut DefaultHasher) -> Result<(), Failure> {
    let failure = |source| Failure::File {
        path: path.to_owned(),
        source,
    };
    path.file_name().hash(hasher);
    if path.is_dir() {
        let entries = fs::read_dir(path).map_err(failure)?;
        let mut inner: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        inner.sort();
        inner.len().hash(hasher);
        return inner.iter().try_for_each(|path| add(path, hasher));
    }
    fs::read(path).map_err(failure)?.hash(hasher);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_byte_name_or_text_changes_the_number() {
        let folder = std::env::temp_dir().join(format!("xtask-digest-{}", std::process::id()));
        let path = [folder.clone()];
        fs::create_dir_all(folder.join("inner")).unwrap();
        fs::write(folder.join("inner/a"), "one").unwrap();
        let first = of("text", &path).unwrap();
        assert_eq!(of("text", &path).unwrap(), first);
        assert_ne!(of("other", &path).unwrap(), first);
        fs::write(folder.join("inner/a"), "two").unwrap();
        assert_ne!(of("text", &path).unwrap(), first);
        fs::rename(folder.join("inner/a"), folder.join("inner/b")).unwrap();
        fs::write(folder.join("inner/b"), "one").unwrap();
        assert_ne!(of("text", &path).unwrap(), first);
        fs::remove_dir_all(&folder).unwrap();
    }
}
