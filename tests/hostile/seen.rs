//! Files that were hashed before: one that may have changed, or whose note is not whole, is hashed
//! again (SPEC L6).

use std::cell::Cell;
use std::convert::Infallible;
use std::fs;

use tempfile::TempDir;
use tidegate::{Engine, EngineSettings};
use tidegate_sandbox::ambient::{Stamp, open_cache};

fn engine(folder: &TempDir) -> Engine {
    let settings = EngineSettings {
        slots: 1,
        cache: Some(open_cache(folder.path()).unwrap()),
    };
    Engine::new(settings).unwrap()
}

fn stamp(file: &str, state: &str) -> Stamp {
    Stamp {
        file: file.to_owned(),
        state: state.to_owned(),
    }
}

/// Asks for a digest; whether it had to be taken.
fn is_hashed(engine: &Engine, stamp: Option<&Stamp>, digest: &str) -> bool {
    let taken = Cell::new(false);
    let hash = || {
        taken.set(true);
        Ok::<_, Infallible>(digest.to_owned())
    };
    let said = engine.digest_of(stamp, hash);
    assert_eq!(said, Ok(digest.to_owned()));
    taken.get()
}

#[test]
fn l6_a_file_is_hashed_again_once_its_stamp_differs() {
    let folder = TempDir::new().unwrap();
    let [one, two] = ["1".repeat(64), "2".repeat(64)];
    let first = engine(&folder);
    let before = stamp("1-a", "10 5 0 5 0");
    assert!(is_hashed(&first, Some(&before), &one));
    assert!(!is_hashed(&first, Some(&before), &one));
    // Another process.
    assert!(!is_hashed(&engine(&folder), Some(&before), &one));
    let after = stamp("1-a", "10 5 0 6 0");
    assert!(is_hashed(&first, Some(&after), &two), "it was changed");
    assert!(is_hashed(&first, Some(&before), &one), "and changed back");
    let other = stamp("1-b", "10 5 0 5 0");
    assert!(is_hashed(&first, Some(&other), &two), "another file");
    assert!(is_hashed(&first, None, &two) && is_hashed(&first, None, &two));
}

#[test]
fn l6_a_damaged_note_of_a_digest_is_made_anew() {
    let folder = TempDir::new().unwrap();
    let engine = engine(&folder);
    let digest = "d".repeat(64);
    let stamp = stamp("1-a", "10 5 0 5 0");
    assert!(is_hashed(&engine, Some(&stamp), &digest));
    let note = folder.path().join("file-1-a.sum");
    let good = fs::read(&note).unwrap();
    let mut other = good.clone();
    other.iter_mut().rev().take(4).for_each(|byte| *byte = b'e');
    for damaged in [&[][..], b"\n", &good[..good.len() - 1], &good[1..], &other] {
        fs::write(&note, damaged).unwrap();
        assert!(is_hashed(&engine, Some(&stamp), &digest), "{damaged:?}");
        assert!(!is_hashed(&engine, Some(&stamp), &digest), "{damaged:?}");
        assert_eq!(fs::read(&note).unwrap(), good);
    }
}
