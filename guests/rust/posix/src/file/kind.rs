//! The table of types that `file` knows: by the first bytes, or by being text.

use super::text;

/// A type: where its mark stands, the mark, and what it is called.
type Mark = (usize, &'static [u8], &'static str);

const MARKS: &[Mark] = &[
    (0, b"\x7fELF\x01", "ELF 32-bit"),
    (0, b"\x7fELF\x02", "ELF 64-bit"),
    (
        0,
        b"\0asm\x01\0\0\0",
        "WebAssembly (wasm) binary module version 0x1 (MVP)",
    ),
    (0, b"\0asm\x0d\0\x01\0", "WebAssembly (wasm) component"),
    (0, b"\x89PNG\r\n\x1a\n", "PNG image data"),
    (0, b"\xff\xd8\xff", "JPEG image data"),
    (0, b"GIF87a", "GIF image data, version 87a"),
    (0, b"GIF89a", "GIF image data, version 89a"),
    (0, b"BM", "PC bitmap"),
    (0, b"II*\0", "TIFF image data, little-endian"),
    (0, b"MM\0*", "TIFF image data, big-endian"),
    (0, b"\0\0\x01\0", "MS Windows icon resource"),
    (0, b"wOFF", "Web Open Font Format"),
    (0, b"wOF2", "Web Open Font Format (Version 2)"),
    (0, b"%PDF-", "PDF document"),
    (0, b"%!PS", "PostScript document text"),
    (0, b"PK\x03\x04", "Zip archive data"),
    (0, b"PK\x05\x06", "Zip archive data (empty)"),
    (0, b"\x1f\x8b", "gzip compressed data"),
    (0, b"BZh", "bzip2 compressed data"),
    (0, b"\xfd7zXZ\0", "XZ compressed data"),
    (0, b"\x28\xb5\x2f\xfd", "Zstandard compressed data"),
    (0, b"\x04\x22\x4d\x18", "LZ4 compressed data"),
    (0, b"7z\xbc\xaf\x27\x1c", "7-zip archive data"),
    (0, b"Rar!\x1a\x07", "RAR archive data"),
    (0, b"!<arch>\n", "current ar archive"),
    (257, b"ustar", "POSIX tar archive"),
    (0, b"SQLite format 3\0", "SQLite 3.x database"),
    (0, b"OggS", "Ogg data"),
    (0, b"fLaC", "FLAC audio bitstream data"),
    (0, b"ID3", "Audio file with ID3"),
    (8, b"WAVE", "RIFF (little-endian) data, WAVE audio"),
    (8, b"WEBP", "RIFF (little-endian) data, Web/P image"),
    (4, b"ftyp", "ISO Media"),
    (0, b"\x1a\x45\xdf\xa3", "Matroska data"),
    (0, b"\xca\xfe\xba\xbe", "compiled Java class data"),
    (0, b"\xcf\xfa\xed\xfe", "Mach-O 64-bit"),
    (0, b"MZ", "MS-DOS executable"),
    (0, b"PAR1", "Apache Parquet"),
];

/// The type of a file that starts with these bytes.
pub(crate) fn of(head: &[u8]) -> String {
    let marked = MARKS.iter().find(|(at, mark, _)| {
        head.get(*at..)
            .is_some_and(|behind| behind.starts_with(mark))
    });
    // A short mark is also how a text may begin.
    match (marked, text::describe(head)) {
        (Some((_, mark, _)), Some(text)) if mark.len() < 4 => text,
        (Some((_, _, name)), _) => (*name).to_owned(),
        (None, Some(text)) => text,
        (None, None) => "data".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_by_their_first_bytes() {
        let check = |head: &[u8], expected| assert_eq!(of(head), expected);
        check(b"\x7fELF\x02\x01\x01", "ELF 64-bit");
        check(b"\x89PNG\r\n\x1a\n....", "PNG image data");
        check(b"\x1f\x8b\x08\0", "gzip compressed data");
        check(b"\0asm\x0d\0\x01\0", "WebAssembly (wasm) component");
        check(b"BMW is a car\n", "ASCII text");
        check(b"BM\x8a\0\0\0", "PC bitmap");
        check(b"PK\x03\x04\x14\0", "Zip archive data");
        check(b"ab\0cd\n", "data");
        check(b"\x80\x81", "data");
        let mut tar = vec![0; 512];
        tar.splice(257..262, *b"ustar");
        check(&tar, "POSIX tar archive");
    }
}
