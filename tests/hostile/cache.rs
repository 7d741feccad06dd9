//! The cache of compiled plugins: what is damaged, swapped or of another owner is made anew, and
//! never mapped (SPEC L6).

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tidegate::{Engine, EngineSettings, Handles, Plugin, PluginSource};
use tidegate_contract::{JsonObject, Limits};
use tidegate_sandbox::ambient::open_cache;

use super::asking::{call_plugin, load_on, timed};
use super::module::Module;
use crate::support::Fixture;

/// A cache folder of its own, with one entry: the compiled code, its checksum and what it defines.
struct Cached {
    folder: TempDir,
    engine: Engine,
    component: Vec<u8>,
    code: PathBuf,
    sum: PathBuf,
    summary: PathBuf,
    good: [Vec<u8>; 3],
}

impl Cached {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let cache = open_cache(folder.path()).unwrap();
        let settings = EngineSettings {
            slots: 1,
            cache: Some(cache),
        };
        let mut cached = Self {
            engine: Engine::new(settings).unwrap(),
            component: Module::default().component(),
            code: PathBuf::new(),
            sum: PathBuf::new(),
            summary: PathBuf::new(),
            good: Default::default(),
            folder,
        };
        cached.load("before").await;
        cached.code = cached.only("cwasm");
        cached.sum = cached.only("sum");
        cached.summary = cached.only("json");
        cached.good =
            [&cached.code, &cached.sum, &cached.summary].map(|file| fs::read(file).unwrap());
        cached
    }

    fn files(&self) -> Vec<PathBuf> {
        fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect()
    }

    /// The one file with this extension.
    fn only(&self, extension: &str) -> PathBuf {
        let mut files = self.files();
        files.retain(|file| file.extension().is_some_and(|found| found == extension));
        let [file] = files.try_into().unwrap();
        file
    }

    /// Loads and calls the plugin: it is the one that was asked for, whatever is in the cache.
    async fn load(&self, what: &str) {
        let fixture = Fixture::new(&[]);
        let loading = load_on(&self.engine, &fixture, "made", self.component.clone());
        let plugin = timed(loading)
            .await
            .0
            .unwrap_or_else(|error| panic!("{what}: {error:?}"));
        assert_eq!(plugin.definitions().len(), 1, "{what}");
        assert_eq!(plugin.definitions()[0].name.as_str(), "t", "{what}");
        let outcome = call_plugin(&plugin).await.unwrap();
        assert_eq!(
            serde_json::to_value(outcome.content).unwrap(),
            "done",
            "{what}"
        );
    }

    /// Loads the plugin so that its first call maps the code, and calls it.
    fn load_when_called(&self, again: Vec<u8>) -> Plugin {
        let source = PluginSource {
            name: "made".to_owned(),
            bytes: Vec::new(),
            handles: Handles::default(),
            limits: Limits::default(),
            config: JsonObject::new(),
        };
        let reread = Box::new(move || Ok(again.clone()));
        let digest = tidegate_engine::digest(&self.component);
        self.engine
            .load_when_called(source, digest, reread)
            .unwrap()
    }

    /// Whether all files are ours alone again and hold what they held.
    fn assert_made_anew(&self, what: &str) {
        let files = [&self.code, &self.sum, &self.summary];
        for (file, good) in files.into_iter().zip(&self.good) {
            let metadata = file.symlink_metadata().unwrap();
            assert!(metadata.is_file(), "{what}: {}", file.display());
            assert_eq!(metadata.mode() & 0o777, 0o600, "{what}: {}", file.display());
            assert_eq!(
                metadata.uid(),
                rustix::process::geteuid().as_raw(),
                "{what}: {}",
                file.display()
            );
            assert!(
                fs::read(file).unwrap() == *good,
                "{what}: {} is another",
                file.display()
            );
        }
        assert_eq!(self.files().len(), 3, "{what}: {:?}", self.files());
    }
}

type Damage = fn(&Path, &[u8]);

fn replaced(file: &Path, bytes: &[u8]) {
    fs::remove_file(file).unwrap();
    fs::write(file, bytes).unwrap();
    fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
}

fn flipped(file: &Path, bytes: &[u8], at: usize) {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1;
    replaced(file, &bytes);
}

/// What can become of the code, and most of it of its checksum.
const DAMAGES: [(&str, Damage); 12] = [
    ("first byte", |file, bytes| flipped(file, bytes, 0)),
    ("middle byte", |file, bytes| {
        flipped(file, bytes, bytes.len() / 2);
    }),
    ("last byte", |file, bytes| {
        flipped(file, bytes, bytes.len() - 1);
    }),
    ("cut in half", |file, bytes| {
        replaced(file, &bytes[..bytes.len() / 2]);
    }),
    ("without its last byte", |file, bytes| {
        replaced(file, &bytes[..bytes.len() - 1]);
    }),
    ("a byte longer", |file, bytes| {
        replaced(file, &[bytes, b"\0"].concat());
    }),
    ("emptied", |file, _bytes| replaced(file, b"")),
    ("zeros", |file, bytes| replaced(file, &vec![0; bytes.len()])),
    ("text", |file, _bytes| {
        replaced(file, b"not compiled at all\n");
    }),
    ("removed", |file, _bytes| fs::remove_file(file).unwrap()),
    ("a folder", |file, _bytes| {
        fs::remove_file(file).unwrap();
        fs::create_dir(file).unwrap();
    }),
    ("a dangling link", |file, _bytes| {
        fs::remove_file(file).unwrap();
        symlink("absent", file).unwrap();
    }),
];

#[tokio::test]
async fn l6_a_damaged_entry_is_made_anew() {
    let cached = Cached::new().await;
    cached.assert_made_anew("before");
    for (what, damage) in DAMAGES {
        damage(&cached.code, &cached.good[0]);
        cached.load(what).await;
        // A folder can't be replaced by a file; the plugin is loaded all the same.
        if cached.code.is_dir() {
            fs::remove_dir(&cached.code).unwrap();
            cached.load(what).await;
        }
        cached.assert_made_anew(what);
    }
}

#[tokio::test]
async fn l6_an_entry_with_a_damaged_checksum_is_made_anew() {
    let cached = Cached::new().await;
    for (what, damage) in DAMAGES {
        damage(&cached.sum, &cached.good[1]);
        cached.load(what).await;
        if cached.sum.is_dir() {
            fs::remove_dir(&cached.sum).unwrap();
            cached.load(what).await;
        }
        cached.assert_made_anew(what);
    }
}

/// What is done to a file.
type Changed<'a> = &'a dyn Fn(&Path);

/// Code that is right byte for byte, but could have been put or be changed by somebody else.
#[tokio::test]
async fn l6_a_foreign_entry_is_made_anew_even_if_its_bytes_are_right() {
    let cached = Cached::new().await;
    let root = rustix::process::geteuid().is_root();
    let outside = TempDir::new().unwrap();
    let copy = outside.path().join("copy");
    fs::write(&copy, &cached.good[0]).unwrap();
    let damages: [(&str, Changed<'_>); 5] = [
        ("a link to the same bytes outside", &|file| {
            fs::remove_file(file).unwrap();
            symlink(&copy, file).unwrap();
        }),
        ("a link to the same bytes beside it", &|file| {
            fs::rename(file, cached.folder.path().join("beside")).unwrap();
            symlink("beside", file).unwrap();
        }),
        ("writable by the group", &|file| {
            fs::set_permissions(file, Permissions::from_mode(0o660)).unwrap();
        }),
        ("writable by all", &|file| {
            fs::set_permissions(file, Permissions::from_mode(0o606)).unwrap();
        }),
        ("of another user", &|file| {
            if root {
                chown(file, Some(12_345), None).unwrap();
            }
        }),
    ];
    for (what, damage) in damages {
        damage(&cached.code);
        cached.load(what).await;
        let beside = cached.folder.path().join("beside");
        if beside.exists() {
            fs::remove_file(beside).unwrap();
        }
        cached.assert_made_anew(what);
    }
    assert!(
        fs::read(&copy).unwrap() == cached.good[0],
        "what is outside was not written"
    );
}

/// Two entries that are sound in themselves, under each other's names.
#[tokio::test]
async fn l6_a_sound_entry_of_another_component_is_not_taken_for_this_one() {
    let cached = Cached::new().await;
    let other = Module {
        name: "other",
        ..Module::default()
    }
    .component();
    drop(
        load_on(&cached.engine, &Fixture::new(&[]), "other", other)
            .await
            .unwrap(),
    );
    for extension in ["cwasm", "sum"] {
        let ours = if extension == "cwasm" {
            &cached.code
        } else {
            &cached.sum
        };
        let theirs = cached
            .files()
            .into_iter()
            .find(|file| file.extension().is_some_and(|found| found == extension) && file != ours);
        fs::rename(theirs.unwrap(), ours).unwrap();
    }
    cached.load("swapped").await;
}

/// Opening a FIFO for reading waits for a writer, unless one takes care.
#[tokio::test]
async fn l6_a_fifo_in_the_place_of_an_entry_does_not_hold_up_a_load() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    let cached = Cached::new().await;
    fs::remove_file(&cached.code).unwrap();
    mknodat(
        CWD,
        &cached.code,
        FileType::Fifo,
        Mode::RUSR | Mode::WUSR,
        0,
    )
    .unwrap();
    cached.load("a FIFO").await;
    cached.assert_made_anew("a FIFO");
}

/// The name that an entry is written under before it gets its own.
#[tokio::test]
async fn l6_a_link_in_the_place_of_a_temporary_file_is_not_written_through() {
    let cached = Cached::new().await;
    let victim = cached.folder.path().join("victim");
    fs::write(&victim, "keep").unwrap();
    for file in [&cached.code, &cached.sum] {
        let temporary = format!("{}.{}.tmp", file.display(), std::process::id());
        symlink("victim", temporary).unwrap();
    }
    fs::remove_file(&cached.code).unwrap();
    cached.load("a planted link").await;
    assert_eq!(fs::read_to_string(victim).unwrap(), "keep");
}

#[test]
fn l6_a_cache_folder_that_others_can_read_is_closed_to_them() {
    let folder = TempDir::new().unwrap();
    for mode in [0o700, 0o755, 0o750, 0o711] {
        fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        open_cache(folder.path()).unwrap();
        assert_eq!(
            folder.path().metadata().unwrap().mode() & 0o777,
            0o700,
            "{mode:o}"
        );
    }
}

/// What is in such a folder may be anybody's.
#[test]
fn l6_a_cache_folder_that_others_can_write_or_own_is_refused() {
    let folder = TempDir::new().unwrap();
    for mode in [0o777, 0o770, 0o702] {
        fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        let refused = open_cache(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("others can write"), "{mode:o}: {refused}");
    }
    fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
    open_cache(folder.path()).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(folder.path(), Some(12_345), None).unwrap();
        let refused = open_cache(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("belongs to another user"), "{refused}");
    }
}

#[tokio::test]
async fn l6_a_listed_plugin_maps_its_code_at_its_first_call_and_checks_it_then() {
    let cached = Cached::new().await;
    for (what, damage) in DAMAGES {
        let plugin = cached.load_when_called(cached.component.clone());
        assert!(!plugin.compiled(), "{what}");
        assert_eq!(plugin.definitions()[0].name.as_str(), "t", "{what}");
        damage(&cached.code, &cached.good[0]);
        let outcome = call_plugin(&plugin).await.unwrap();
        assert_eq!(
            serde_json::to_value(outcome.content).unwrap(),
            "done",
            "{what}"
        );
        if cached.code.is_dir() {
            fs::remove_dir(&cached.code).unwrap();
            cached.load(what).await;
        }
        cached.assert_made_anew(what);
    }
}

#[tokio::test]
async fn l6_a_damaged_summary_is_made_anew() {
    let cached = Cached::new().await;
    for (what, damage) in DAMAGES {
        damage(&cached.summary, &cached.good[2]);
        let plugin = cached.load_when_called(cached.component.clone());
        assert_eq!(plugin.definitions().len(), 1, "{what}");
        if cached.summary.is_dir() {
            fs::remove_dir(&cached.summary).unwrap();
            cached.load(what).await;
        }
        cached.assert_made_anew(what);
    }
}

#[tokio::test]
async fn l6_a_check_of_schemas_is_kept_with_the_component_and_lost_with_its_summary() {
    let cached = Cached::new().await;
    let load = || cached.load_when_called(cached.component.clone());
    let plugin = load();
    assert_eq!(plugin.checked(), 0);
    plugin.keep_checked(3);
    assert_eq!(load().checked(), 3);
    assert_eq!(load().definitions(), plugin.definitions());
    for (what, damage) in DAMAGES {
        plugin.keep_checked(3);
        let kept = fs::read(&cached.summary).unwrap();
        damage(&cached.summary, &kept);
        assert_eq!(load().checked(), 0, "{what}");
        if cached.summary.is_dir() {
            fs::remove_dir(&cached.summary).unwrap();
        }
        cached.load(what).await;
        cached.assert_made_anew(what);
    }
}

#[tokio::test]
async fn l6_a_component_that_changed_before_its_first_call_is_not_run() {
    let cached = Cached::new().await;
    let plugin = cached.load_when_called(b"another".to_vec());
    fs::remove_file(&cached.code).unwrap();
    let refused = call_plugin(&plugin).await.unwrap_err();
    assert_eq!(refused.code(), "HOST_FAULT");
    assert!(refused.to_string().contains("has changed"), "{refused}");
}
