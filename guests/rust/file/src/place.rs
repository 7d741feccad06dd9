//! Where a path of the workspace lies among the folders that the host has opened.

/// Which of the folders holds the path, and the path within it: of several that do, the deepest,
/// whose grant decides.
pub(crate) fn within<'a>(folders: &[&str], path: &'a str) -> Option<(usize, &'a str)> {
    let candidates = folders.iter().enumerate().filter_map(|(index, folder)| {
        let (depth, rest) = match *folder {
            "." => (0, path),
            name => (name.len(), path.strip_prefix(name)?.strip_prefix('/')?),
        };
        Some((depth, index, rest))
    });
    candidates
        .max_by_key(|(depth, ..)| *depth)
        .map(|(_, index, rest)| (index, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_folder_that_holds_a_path_is_chosen() {
        let folders = ["a/b", "a", ".", "/srv/x"];
        for (path, place) in [
            ("x", Some((2, "x"))),
            ("a", Some((2, "a"))),
            ("a/x", Some((1, "x"))),
            ("a/bc", Some((1, "bc"))),
            ("a/b/c/x", Some((0, "c/x"))),
            ("ab/x", Some((2, "ab/x"))),
        ] {
            assert_eq!(within(&folders, path), place, "{path}");
        }
        assert_eq!(within(&["a"], "b"), None);
        assert_eq!(within(&["a"], "a"), None);
        assert_eq!(within(&[], "x"), None);
    }
}
