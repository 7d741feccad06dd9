//! What a symbolic link says, as long as it stays in the workspace.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Component, Path};

use crate::name;
use crate::reason::reason;
use crate::system;

/// What is shown instead of a target outside.
const OUTSIDE: &str = "(outside the workspace)";

/// The target of the link at `path` as it is shown. One that leads out is not told: its name
/// belongs to the host.
pub(crate) fn target(path: &OsStr) -> String {
    let path = Path::new(path);
    match system::link(path) {
        Ok(target) if stays_inside(path, &target) => {
            name::shown(target.as_os_str().as_encoded_bytes()).into_owned()
        }
        Ok(_) => OUTSIDE.to_owned(),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => OUTSIDE.to_owned(),
        Err(error) => format!("({})", reason(&error)),
    }
}

/// Whether a link's target, by its words alone, is a place in the workspace.
fn stays_inside(path: &Path, target: &Path) -> bool {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut depth = 0_usize;
    for component in folder.components().chain(target.components()) {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return false,
            },
            Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FS02.
    #[test]
    fn targets_outside_are_told_from_those_inside() {
        let check = |path: &str, target: &str, expected| {
            let got = stays_inside(Path::new(path), Path::new(target));
            assert_eq!(got, expected, "{path} -> {target}");
        };
        check("l", "f", true);
        check("./d/l", "../f", true);
        check("d/l", "../d/../f", true);
        check("l", "../f", false);
        check("d/l", "../../f", false);
        check("d/l", "../../ws/f", false);
        check("l", "/etc/hostname", false);
        check("l", ".", true);
    }
}
