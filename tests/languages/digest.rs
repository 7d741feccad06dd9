//! Digests, in C: the sums of known texts, at each edge of a block.

use std::fs;

use serde_json::json;
use tempfile::TempDir;

use super::{answer, call, component};

/// The SHA-256 of so many times `a`, as coreutils has it: an empty text, and lengths around those at
/// which the padding needs another block.
const SUMS: [(usize, &str); 6] = [
    (
        0,
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ),
    (
        55,
        "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318",
    ),
    (
        56,
        "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a",
    ),
    (
        63,
        "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34",
    ),
    (
        64,
        "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb",
    ),
    (
        1_000_000,
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
    ),
];

#[test]
fn p2_sha_256_is_right_at_the_edges_of_its_blocks() {
    let Some(digest) = component("digest") else {
        return;
    };
    let folder = TempDir::new().unwrap();
    for (count, sum) in SUMS {
        fs::write(folder.path().join("a b"), vec![b'a'; count]).unwrap();
        let output = call(folder.path(), &digest, "digest", &json!({"path": "a b"}));
        let expected = json!({
            "path": "a b", "algorithm": "sha-256", "digest": sum, "sizeBytes": count,
        });
        assert_eq!(answer(&output), expected);
        assert_eq!(output.json()["content"], json!(format!("{sum}  a b\n")));
    }
}

#[test]
fn p2_crc32_is_the_same_as_another_implementation_has() {
    let Some(digest) = component("digest") else {
        return;
    };
    let folder = TempDir::new().unwrap();
    for bytes in [vec![], b"123456789".to_vec(), vec![0xff; 100_000]] {
        fs::write(folder.path().join("f"), &bytes).unwrap();
        let arguments = json!({"path": "f", "algorithm": "crc32"});
        let output = call(folder.path(), &digest, "digest", &arguments);
        let expected = format!("{:08x}", crc32fast::hash(&bytes));
        assert_eq!(answer(&output)["digest"], json!(expected));
    }
}

/// The path of a call goes through a reader of JSON that is written by hand.
#[test]
fn p2_a_path_keeps_quotes_escapes_and_letters_outside_of_the_first_plane() {
    let Some(digest) = component("digest") else {
        return;
    };
    let folder = TempDir::new().unwrap();
    for name in ["q\"q", "ä", "\u{1d11e}", "a b", "-x"] {
        fs::write(folder.path().join(name), "x").unwrap();
        let output = call(folder.path(), &digest, "digest", &json!({"path": name}));
        assert_eq!(answer(&output)["path"], json!(name));
    }
}
