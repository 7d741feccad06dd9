//! The store of artifacts against damage, links, strangers' files, crowds and secrets (SPEC O3, S7, X7;
//! CASES FS05).

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use tempfile::TempDir;
use tidegate::{ArtifactBounds, Artifacts, Owner, Secret};
use tidegate_contract::Tenant;
use tidegate_sandbox::{ArtifactError, Injection};

use super::asking::{ask, refusal};
use crate::support::Fixture;

/// A store in a folder of its own.
struct Kept {
    folder: TempDir,
    artifacts: Artifacts,
}

impl Kept {
    fn new() -> Self {
        Self::bounded(ArtifactBounds::default())
    }

    fn bounded(bounds: ArtifactBounds) -> Self {
        let folder = TempDir::new().unwrap();
        let artifacts = Artifacts::open(&folder.path().join("kept"), bounds).unwrap();
        Self { folder, artifacts }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("kept")
    }

    /// The store as another process finds it.
    fn reopened(&self) -> Artifacts {
        Artifacts::open(&self.path(), *self.artifacts.bounds()).unwrap()
    }

    fn put(&self, tenant: &str, text: &str) -> Result<String, ArtifactError> {
        put(&self.artifacts, tenant, text)
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        // A folder of its own holds what is being written.
        paths.filter(|path| path.is_file()).collect()
    }

    /// The file of the only entry.
    fn only(&self) -> PathBuf {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].clone()
    }
}

fn owner(tenant: &str) -> Owner {
    Owner {
        tenant: Tenant::new(tenant).unwrap(),
        run: None,
    }
}

fn put(artifacts: &Artifacts, tenant: &str, text: &str) -> Result<String, ArtifactError> {
    let kept = artifacts.put(&owner(tenant), "text/plain", text.as_bytes());
    kept.map(|kept| kept.uri)
}

fn read(artifacts: &Artifacts, tenant: &str, uri: &str) -> Result<String, ArtifactError> {
    let slice = artifacts.read(&owner(tenant), uri, 0, 1 << 20)?;
    Ok(String::from_utf8(slice.bytes).unwrap())
}

/// Says that an entry was last changed so long ago.
fn age(path: &Path, ago: Duration) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - ago).unwrap();
}

#[test]
fn o3_the_store_is_this_users_alone_and_survives_a_restart() {
    let kept = Kept::new();
    let uri = kept.put("acme", "hello").unwrap();
    assert_eq!(
        fs::metadata(kept.path()).unwrap().permissions().mode() & 0o777,
        0o700
    );
    assert_eq!(
        fs::metadata(kept.only()).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(read(&kept.reopened(), "acme", &uri).unwrap(), "hello");

    fs::set_permissions(kept.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let refused = Artifacts::open(&kept.path(), ArtifactBounds::default()).unwrap_err();
    assert!(
        refused.to_string().contains("others can write"),
        "{refused}"
    );
}

/// Changes the bytes of an entry.
type Damage = fn(&mut Vec<u8>);

/// Puts something else in the place of an entry; the second path is outside of the store.
type Replace = fn(&Path, &Path);

#[test]
fn o3_a_damaged_entry_is_never_given_and_goes() {
    let text = "tide ".repeat(1_000);
    let damages: [(&str, Damage); 8] = [
        ("a bit of the bytes", |bytes| bytes[300] ^= 1),
        ("the last byte", |bytes| *bytes.last_mut().unwrap() ^= 0x80),
        ("one byte less", |bytes| bytes.truncate(bytes.len() - 1)),
        ("one byte more", |bytes| bytes.push(b' ')),
        ("nothing", Vec::clear),
        ("half of the first line", |bytes| bytes.truncate(100)),
        ("the media type", |bytes| bytes[0] = b'T'),
        ("the end of the first line", |bytes| bytes[255] = b' '),
    ];
    for (what, damage) in damages {
        let kept = Kept::new();
        let uri = kept.put("acme", &text).unwrap();
        let path = kept.only();
        let mut bytes = fs::read(&path).unwrap();
        damage(&mut bytes);
        fs::write(&path, bytes).unwrap();
        let end = read(&kept.artifacts, "acme", &uri).unwrap_err();
        assert_eq!(end.code(), "ARTIFACT_DAMAGED", "{what}");
        let gone = read(&kept.artifacts, "acme", &uri).unwrap_err();
        assert_eq!(gone.code(), "NOT_FOUND", "{what}");
        assert_eq!(kept.files().len(), 0, "{what}");
        // Putting it again makes it whole.
        kept.put("acme", &text).unwrap();
        assert_eq!(read(&kept.artifacts, "acme", &uri).unwrap(), text, "{what}");
    }
}

#[test]
fn o3_damage_after_the_first_piece_is_found_as_well() {
    let kept = Kept::new();
    let uri = kept.put("acme", &"a".repeat(10_000)).unwrap();
    let piece = |at| kept.artifacts.read(&owner("acme"), &uri, at, 100);
    assert_eq!(piece(0).unwrap().bytes, [b'a'; 100]);
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(kept.only())
        .unwrap();
    file.write_all(b"b").unwrap();
    drop(file);
    assert_eq!(piece(9_900).unwrap_err().code(), "ARTIFACT_DAMAGED");
}

#[test]
fn fs05_nothing_is_followed_out_of_the_store() {
    let secret = TempDir::new().unwrap();
    let outside = secret.path().join("outside");
    fs::write(&outside, "outside").unwrap();
    let replacements: [(&str, Replace); 5] = [
        ("a link", |entry, outside| symlink(outside, entry).unwrap()),
        ("a link to nowhere", |entry, _| {
            symlink("nowhere", entry).unwrap();
        }),
        ("a folder", |entry, _| fs::create_dir(entry).unwrap()),
        ("a pipe", |entry, _| {
            mknodat(CWD, entry, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        }),
        ("a file that others can write", |entry, _| {
            fs::write(entry, "x").unwrap();
            fs::set_permissions(entry, fs::Permissions::from_mode(0o666)).unwrap();
        }),
    ];
    for (what, replace) in replacements {
        let kept = Kept::new();
        let uri = kept.put("acme", "hello").unwrap();
        let entry = kept.only();
        fs::remove_file(&entry).unwrap();
        replace(&entry, &outside);
        let end = read(&kept.artifacts, "acme", &uri).unwrap_err();
        assert!(
            ["NOT_FOUND", "ARTIFACTS_FAILED"].contains(&end.code()),
            "{what}: {end}"
        );
        // Neither is it written through: where an entry can be put, it takes the place of the link.
        let put = kept.put("acme", "hello");
        assert_eq!(put.is_ok(), what != "a folder", "{what}");
        assert_eq!(fs::read_to_string(&outside).unwrap(), "outside", "{what}");
        if put.is_ok() {
            assert_eq!(
                read(&kept.reopened(), "acme", &uri).unwrap(),
                "hello",
                "{what}"
            );
        }
    }
}

#[test]
fn o3_files_of_strangers_are_left_alone_and_not_counted() {
    let kept = Kept::bounded(ArtifactBounds {
        total_bytes: 8_192,
        ..ArtifactBounds::default()
    });
    let strange = kept.path().join("notes.txt");
    fs::write(&strange, vec![b'n'; 100_000]).unwrap();
    let draft = kept.path().join("drafts/1");
    let old = kept.path().join("drafts/2");
    for path in [&draft, &old] {
        fs::write(path, "d").unwrap();
    }
    age(&old, Duration::from_hours(2));
    kept.put("acme", "hello").unwrap();
    assert!(strange.exists() && draft.exists());
    assert!(!old.exists(), "what a process left behind is cleared away");
}

#[test]
fn o3_the_bounds_hold_at_their_edges() {
    let bounds = |total_bytes, tenant_bytes| ArtifactBounds {
        total_bytes,
        tenant_bytes,
        ..ArtifactBounds::default()
    };
    for bounds in [bounds(10_000, 1 << 30), bounds(1 << 30, 10_000)] {
        for (bytes, fits) in [(9_999, true), (10_000, true), (10_001, false)] {
            let kept = Kept::bounded(bounds);
            let put = kept.put("acme", &"x".repeat(bytes));
            assert_eq!(put.is_ok(), fits, "{bounds:?} {bytes}");
            assert_eq!(kept.files().len(), usize::from(fits));
            if let Err(error) = put {
                assert_eq!(error.code(), "ARTIFACTS_FULL");
            }
        }
        // Beside what is there already, whatever found it.
        let kept = Kept::bounded(bounds);
        kept.put("acme", &"x".repeat(5_000)).unwrap();
        let again = kept.reopened();
        put(&again, "acme", &"y".repeat(5_001)).unwrap_err();
        put(&again, "acme", &"y".repeat(5_000)).unwrap();
        kept.put("acme", "z").unwrap_err();
    }
    // A crumb takes the room of a file.
    let kept = Kept::bounded(bounds(3 * 4_096, 1 << 30));
    for text in ["a", "b", ""] {
        kept.put("acme", text).unwrap();
    }
    assert_eq!(kept.put("acme", "d").unwrap_err().code(), "ARTIFACTS_FULL");
}

/// What is older than `keep_ms` makes way, oldest first, and of whoever has the most.
#[test]
fn x7_the_oldest_of_the_largest_tenant_makes_way() {
    let kept = Kept::bounded(ArtifactBounds {
        total_bytes: 40_000,
        tenant_bytes: 30_000,
        keep_ms: 60_000,
        ..ArtifactBounds::default()
    });
    let minutes = Duration::from_mins;
    let mut uris = Vec::new();
    for (at, tenant) in ["large", "small", "large"].into_iter().enumerate() {
        let before = kept.files();
        uris.push(kept.put(tenant, &at.to_string().repeat(10_000)).unwrap());
        let mut files = kept.files();
        files.retain(|file| !before.contains(file));
        age(&files[0], minutes(10 - u64::try_from(at).unwrap()));
    }
    let artifacts = kept.reopened();
    let there = |artifacts: &Artifacts| {
        [("large", 0), ("small", 1), ("large", 2)]
            .map(|(tenant, at)| read(artifacts, tenant, &uris[at]).is_ok())
    };
    // Room for one more; then the oldest of `large`, though `small` has asked and its own is as old.
    put(&artifacts, "small", &"3".repeat(10_000)).unwrap();
    assert_eq!(there(&artifacts), [true; 3]);
    put(&artifacts, "other", &"4".repeat(10_000)).unwrap();
    assert_eq!(there(&artifacts), [false, true, true]);
    // Now `small` has the most, and of it only one is old enough.
    put(&artifacts, "other", &"5".repeat(10_000)).unwrap();
    assert_eq!(there(&artifacts), [false, false, true]);
    put(&artifacts, "third", &"6".repeat(10_000)).unwrap();
    assert_eq!(there(&artifacts), [false; 3]);
    let full = put(&artifacts, "third", &"7".repeat(10_000)).unwrap_err();
    assert_eq!(full.code(), "ARTIFACTS_FULL", "all that is left is new");
}

#[test]
fn x7_a_tenant_over_its_own_bound_costs_nobody_else() {
    let kept = Kept::bounded(ArtifactBounds {
        tenant_bytes: 20_000,
        keep_ms: 0,
        ..ArtifactBounds::default()
    });
    let quiet = kept.put("quiet", "here").unwrap();
    let uris: Vec<String> = (0..50)
        .map(|at| kept.put("loud", &format!("{at:0>10000}")).unwrap())
        .collect();
    let there = uris
        .iter()
        .filter(|uri| read(&kept.artifacts, "loud", uri).is_ok());
    assert_eq!(there.count(), 2);
    assert_eq!(read(&kept.artifacts, "quiet", &quiet).unwrap(), "here");
}

#[test]
fn o3_what_is_too_old_is_gone() {
    let kept = Kept::bounded(ArtifactBounds {
        age_ms: 60_000,
        ..ArtifactBounds::default()
    });
    let uri = kept.put("acme", "hello").unwrap();
    let file = kept.only();
    age(&file, Duration::from_secs(50));
    assert_eq!(read(&kept.artifacts, "acme", &uri).unwrap(), "hello");
    age(&file, Duration::from_secs(61));
    assert_eq!(
        read(&kept.artifacts, "acme", &uri).unwrap_err().code(),
        "NOT_FOUND"
    );
    assert_eq!(kept.files().len(), 0);
    // A put clears away what nobody reads.
    kept.put("acme", "hello").unwrap();
    age(&kept.only(), Duration::from_secs(61));
    put(&kept.reopened(), "other", "x").unwrap();
    assert_eq!(kept.files().len(), 1);
}

#[test]
fn o3_many_put_the_same_and_others_at_once() {
    let kept = Kept::new();
    let other = kept.reopened();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let artifacts = if thread % 2 == 0 {
                &kept.artifacts
            } else {
                &other
            };
            scope.spawn(move || {
                for at in 0..25 {
                    let same = "s".repeat(10_000 + at);
                    let uri = put(artifacts, "acme", &same).unwrap();
                    assert_eq!(read(artifacts, "acme", &uri).unwrap(), same);
                    let own = format!("{thread} {at}");
                    let uri = put(artifacts, "acme", &own).unwrap();
                    assert_eq!(read(artifacts, "acme", &uri).unwrap(), own);
                }
            });
        }
    });
    assert_eq!(kept.files().len(), 25 + 8 * 25);
}

#[test]
fn o3_what_breaks_off_leaves_nothing_behind() {
    let kept = Kept::new();
    let broken = kept
        .artifacts
        .put_written(&owner("acme"), "text/plain", |file| {
            file.write_all(b"half")?;
            Err(std::io::ErrorKind::Other.into())
        });
    assert_eq!(broken.unwrap_err().code(), "ARTIFACTS_FAILED");
    assert_eq!(kept.files().len(), 0);
}

/// The value that the host adds to requests, in what the plugin keeps and in what is kept for it.
#[tokio::test]
async fn s7_no_secret_gets_into_an_artifact() {
    let kept = Kept::new();
    let mut fixture =
        Fixture::new(&["network=https://api.example.com"]).limit("result_bytes", 1_000);
    fixture.artifacts = Some(kept.artifacts.clone());
    let secret = Secret::new("tide-secret-42".to_owned()).unwrap();
    let injection = Injection::new("https://api.example.com", "x-key", "", secret).unwrap();
    fixture.inject = vec![injection];
    let runtime = fixture.runtime(&["probe"]).await;
    let text = format!("{}tide-secret-42", "x".repeat(5_000));
    let put = ask(&runtime, "artifact", json!({ "text": text })).await;
    assert_eq!(put["content"], "SECRET_IN_RESULT");
    for input in [
        json!({ "text": 5_000, "word": "tide-secret-42" }),
        json!({ "text": 5_000, "word": "0123456789tide-secret-42" }),
    ] {
        let refused = refusal(&runtime, "large", input).await;
        assert_eq!(refused.code(), "SECRET_IN_RESULT");
    }
    assert_eq!(kept.files().len(), 0);
    let clean = ask(&runtime, "large", json!({ "text": 5_000 })).await;
    assert_eq!(clean["status"], "success");
    assert_eq!(fs::metadata(kept.only()).unwrap().size(), 5_256);
}
