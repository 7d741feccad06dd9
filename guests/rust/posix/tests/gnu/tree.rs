//! The tree that the commands run over. There is no FIFO in it: GNU's `grep -R` waits for one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Paths of the tree, and some that are not in it.
pub(crate) const PATHS: &[&str] = &[
    ".",
    "./",
    "empty",
    "one",
    "text.txt",
    "crlf",
    "long",
    "numbers",
    "words",
    "bytes",
    "binary",
    "late-binary",
    "blank",
    "colons",
    "repeated",
    "d",
    "d/",
    "./d",
    "d/sub",
    "d/sub/.hidden",
    "deep",
    "wide",
    "links",
    "links/file",
    "links/folder",
    "links/broken",
    "loop",
    "loop/a",
    "hard",
    "hard/one",
    "missing",
    "d/missing",
    "one/below",
    "sp ace",
    "it's",
    "#odd",
    "größe",
    "--",
    "-n",
];

/// Paths whose type `file` names as GNU does.
pub(crate) const TYPED_PATHS: &[&str] = &[
    "empty",
    "text.txt",
    "crlf",
    "long",
    "d",
    "links/file",
    "links/folder",
    "links/broken",
    "missing",
    "numbers",
];

/// A tree that is removed at the end.
pub(crate) struct Tree(PathBuf);

impl Drop for Tree {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

impl Tree {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("posix-{name}-{}", std::process::id());
        let tree = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(&tree.0).unwrap();
        tree.files();
        tree.folders();
        tree.links();
        tree
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn files(&self) {
        self.write("empty", "");
        self.write("one", "one\ntwo");
        self.write(
            "text.txt",
            "the first line\nThe second line\n\n  the last\tone\n",
        );
        self.write("crlf", "one line\r\nthe other line\r\n");
        self.write(
            "long",
            format!("{}the{}\nshort\n", "a".repeat(30_000), "e".repeat(30_000)),
        );
        self.write(
            "numbers",
            "10\n9\n-3\n 7 \n007\n1.5\n1.50\n-0\nx\n\n1e3\n+4\n.5\n-.5\n9\n",
        );
        self.write("words", "a b  c\td\x0be\x0cf\n \x01 \x7f\n word\n");
        self.write(
            "bytes",
            b"\xff\xfe one\n\x80\x81\n\xc3\xa9 line\n\xe9 line\n",
        );
        self.write("binary", b"the a\nab\0cd\nthe line\n");
        let late = [b"the line\n".repeat(20_000), b"a\0line\nthe\n".to_vec()].concat();
        self.write("late-binary", late);
        self.write("blank", "\n\n\n");
        self.write("colons", "a:b:c\n:b\nnone\na:\n::\n\na e:e e\n");
        self.write("repeated", "a\na\nA\nb\nb\n\n\nB\na");
        self.write("sp ace", "the space\n");
        self.write("it's", "it is\n");
        self.write("#odd", "odd line\n");
        self.write("größe", "größe\n");
        self.write("-n", "the dash\n");
        self.write("--", "the dashes\n");
    }

    fn folders(&self) {
        self.write("d/a.txt", "in a\n");
        self.write("d/E.txt", "IN E\n");
        self.write("d/sub/.hidden", "the hidden\n");
        self.write("d/sub/binary", b"the\0a\n");
        self.write("d/*", "star\n");
        self.write(&format!("deep/{}f", "x/".repeat(60)), "the deepest line\n");
        for number in 0..300 {
            self.write(&format!("wide/{number}"), format!("line {number}\n"));
        }
        self.write("hard/one", vec![b'a'; 9000]);
        fs::create_dir_all(self.0.join("hard/sub")).unwrap();
        fs::hard_link(self.0.join("hard/one"), self.0.join("hard/sub/two")).unwrap();
    }

    fn links(&self) {
        fs::create_dir_all(self.0.join("links")).unwrap();
        fs::create_dir_all(self.0.join("loop/x")).unwrap();
        let link = |target: &str, name: &str| symlink(target, self.0.join(name)).unwrap();
        link("../one", "links/file");
        link("../d", "links/folder");
        link("nowhere", "links/broken");
        link("..", "loop/x/up");
        link("b", "loop/a");
        link("a", "loop/b");
    }
}
