//! The tree that both run over. No FIFO is in it, since GNU's `grep -R` waits for one, and nothing
//! of which a tool says something else on purpose.

use std::fs;
use std::os::unix::fs::symlink;

use super::random::Random;
use crate::support::Fixture;

/// Paths of the tree and some that are not in it, as a caller may write them.
pub(crate) const PATHS: &[&str] = &[
    ".",
    "empty",
    "unfinished",
    "prose.txt",
    "dos.txt",
    "wide-line",
    "numbers",
    "blanks",
    "table.csv",
    "twins",
    "latin-1",
    "nul",
    "late-nul",
    "words",
    "mixed-0",
    "mixed-1",
    "mixed-2",
    "mixed-3",
    "folder",
    "./folder",
    "folder/inner",
    "folder/inner/.dot",
    "many",
    "deep",
    "links",
    "links/to-file",
    "links/to-folder",
    "links/to-nothing",
    "links/inside/prose.txt",
    "round",
    "round/first",
    "same",
    "same/a",
    "odd",
    "odd/two words",
    "odd/'quoted'",
    "odd/#hash",
    "odd/größe",
    "odd/*",
    "odd/$HOME",
    "!bang",
    "(round)",
    ",comma",
    "-n",
    "--help",
    "nowhere",
    "folder/nowhere",
    "prose.txt/below",
];

/// Paths of which `file` says what GNU's does.
pub(crate) const TYPED_PATHS: &[&str] = &[
    "empty",
    "prose.txt",
    "dos.txt",
    "wide-line",
    "folder",
    "links/to-file",
    "links/to-folder",
    "links/to-nothing",
    "odd/two words",
    "-n",
    "nowhere",
];

/// Pieces of generated files: what the commands read in a way of their own.
const PIECES: &[&[u8]] = &[
    b"a",
    b"B",
    b"the",
    b" ",
    b"  ",
    b"\t",
    b":",
    b"::",
    b"-3",
    b"10",
    b"9",
    b"1.5",
    b"+",
    b"\n",
    b"\n",
    b"\n",
    b"\r\n",
    b"\xff",
    b"\xc3\xa9",
    b"e\xcc\x81",
    b"\x0b",
    b"\x7f",
    b"line",
];

/// Fills a workspace.
pub(crate) fn plant(fixture: &Fixture) {
    files(fixture);
    generated(fixture);
    folders(fixture);
    links(fixture);
}

fn files(fixture: &Fixture) {
    let late_nul = [
        b"a line of some twenty bytes\n".repeat(5_000),
        b"a\0line\nmore\n".to_vec(),
    ]
    .concat();
    for (name, content) in [
        ("empty", &b""[..]),
        ("unfinished", b"first\nlast"),
        ("prose.txt", b"The first line.\nthe second line\n\n\tthe last one\n"),
        ("dos.txt", b"one line\r\ntwo lines\r\n\r\nend\r\n"),
        ("numbers", b"10\n9\n-3\n  7\n007\n1.50\n1.5\n-0\n0\nx1\n\n1e3\n+4\n.5\n-.5\n99999999999999999999\n"),
        ("blanks", b"\n\n \n\t\n\n"),
        ("table.csv", b"a,b,c\n,b\nnone\na,\n,,\n\na b,c d\n"),
        ("twins", b"a\na\nA\nb\nb\nb\n\n\nB\na"),
        ("latin-1", b"caf\xe9\n\xff\xfe\xfd the\n\xc3\n"),
        ("nul", b"the start\nab\0cd\nthe end\n"),
        ("late-nul", &late_nul),
        ("words", b"a b  c\td\x0be\x0cf\n \x01 \x7f\n word\n\xc2\xa0 x\n"),
        ("wide-line", &[&b"x".repeat(40_000)[..], b"the", &b"y".repeat(40_000), b"\nshort\n"].concat()),
        ("!bang", b"bang\n"),
        ("(round)", b"round the\n"),
        (",comma", b"comma\n"),
        ("-n", b"a dash\n"),
        ("--help", b"two dashes\n"),
    ] {
        fixture.write(name, content);
    }
}

fn generated(fixture: &Fixture) {
    let mut random = Random::new(7);
    for number in 0..4 {
        let pieces = (0..random.below(400)).map(|_| random.of(PIECES));
        let content: Vec<u8> = pieces.collect::<Vec<_>>().concat();
        fixture.write(&format!("mixed-{number}"), content);
    }
}

fn folders(fixture: &Fixture) {
    fixture.write("folder/one.txt", "one the\n");
    fixture.write("folder/Two.md", "TWO THE\n");
    fixture.write("folder/inner/.dot", "hidden line\n");
    fixture.write("folder/inner/nul", b"the\0end\n");
    fixture.write(
        &format!("deep/{}leaf", "d/".repeat(50)),
        "the deepest line\n",
    );
    for number in 0..250 {
        fixture.write(&format!("many/{number}"), format!("line {number}\n"));
    }
    for name in [
        "two words",
        "'quoted'",
        "#hash",
        "größe",
        "*",
        "$HOME",
        "a\"b",
        "~",
    ] {
        fixture.write(&format!("odd/{name}"), format!("the {name}\n"));
    }
    fixture.write("same/a", vec![b'z'; 9_000]);
    fs::hard_link(fixture.path("same/a"), fixture.path("same/b")).unwrap();
}

fn links(fixture: &Fixture) {
    fs::create_dir_all(fixture.path("links")).unwrap();
    fs::create_dir_all(fixture.path("round/inner")).unwrap();
    for (name, target) in [
        ("links/to-file", "../unfinished"),
        ("links/to-folder", "../folder"),
        ("links/to-nothing", "nowhere"),
        ("links/inside", ".."),
        ("round/inner/up", ".."),
        ("round/first", "second"),
        ("round/second", "first"),
    ] {
        symlink(target, fixture.path(name)).unwrap();
    }
}
