//! Names, ids, grants, roots, origins and flow paths as text; and paths against a real folder.
//!
//! Held: nothing panics or waits; what is accepted has the promised shape and one spelling; no path
//! opens, lists, describes or makes anything outside the folder it is resolved in, whatever links,
//! FIFOs and descriptors lie in it.
#![no_main]

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;
use tidegate_contract::grant::parse_allow;
use tidegate_contract::origin::normal_origin;
use tidegate_contract::{CallId, DeliveryId, Grant, Root, ToolName};
use tidegate_sandbox::files::{self, Follow, OpenRequest, Opened};
use tidegate_sandbox::{Handles, Workspace};

// The file itself and not its crate, which would bring a compiler of WebAssembly.
#[expect(
    dead_code,
    reason = "only reading and showing paths is of interest here"
)]
#[path = "../../host/interaction/src/flow/path.rs"]
mod flow_path;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    names(text);
    grants(text);
    roots(text);
    origins(text);
    flow_paths(text);
    let place = place();
    opens(place, text);
    handles(place, text);
    let kept = fs::read_to_string(place.top.path().join("ws-secret/k")).expect("the secret");
    assert_eq!(kept, "secret", "the file outside was changed");
    let beside = fs::read_dir(place.top.path()).expect("the folder above");
    assert_eq!(beside.count(), 2, "something was made outside");
});

fn names(text: &str) {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_name = (1..=64).contains(&text.len()) && text.bytes().all(is_letter);
    assert_eq!(ToolName::new(text).is_ok(), is_name);
    let breaks = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    let is_id = (1..=256).contains(&text.chars().count()) && !text.chars().any(breaks);
    assert_eq!(CallId::new(text).is_ok(), is_id);
    assert_eq!(DeliveryId::new(text).is_ok(), is_id);
}

fn grants(text: &str) {
    let mut grant = Grant::default();
    match parse_allow(text, &mut grant) {
        Ok(()) => {
            assert_ne!(grant, Grant::default(), "something is granted");
            assert_eq!(
                grant.narrow(&grant),
                grant,
                "a grant narrowed by itself stays"
            );
            assert_eq!(grant.narrow(&Grant::default()), Grant::default());
        }
        Err(error) => {
            assert_eq!(grant, Grant::default(), "a refused grant adds nothing");
            let told = error.to_string();
            assert!(
                told.len() < 1024 && !told.contains(char::is_control),
                "{told:?}"
            );
        }
    }
}

fn roots(text: &str) {
    let Ok(root) = Root::parse(text) else {
        return;
    };
    let path = root.as_str();
    assert!(!path.is_empty() && !path.contains(char::is_control));
    assert!(path.split('/').all(|segment| segment != ".."), "{path}");
    assert_eq!(Root::parse(path).as_ref(), Ok(&root), "one spelling");
    assert_eq!(root.is_absolute(), text.starts_with('/'));
    assert!(root.contains(&root));
}

fn origins(text: &str) {
    let Ok(origin) = normal_origin(text) else {
        return;
    };
    assert_eq!(normal_origin(&origin).as_ref(), Ok(&origin), "one spelling");
    let (scheme, host) = origin.split_once("://").expect("a scheme");
    assert!(!scheme.is_empty() && !host.is_empty());
    assert!(origin.is_ascii() && !origin.contains(|letter: char| letter.is_ascii_uppercase()));
    let foreign = |letter: char| letter.is_whitespace() || "/?#@\\%*".contains(letter);
    assert!(!host.contains(foreign), "{origin}");
}

fn flow_paths(text: &str) {
    match flow_path::Path::parse(text) {
        Ok(path) => {
            let shown = path.to_string();
            assert_eq!(
                flow_path::Path::parse(&shown),
                Ok(path),
                "{text:?} as {shown:?}"
            );
        }
        Err(error) => assert!(error.to_string().len() < 1024),
    }
}

/// A folder `ws` full of traps beside a folder `ws-secret` that nothing may reach.
struct Place {
    top: TempDir,
    inside: PathBuf,
    workspace: Workspace,
    folder: File,
}

fn place() -> &'static Place {
    static PLACE: OnceLock<Place> = OnceLock::new();
    PLACE.get_or_init(|| {
        let top = TempDir::new().expect("a folder");
        let path = top.path().canonicalize().expect("a path");
        let inside = path.join("ws");
        fs::create_dir_all(inside.join("real/deep")).expect("folders");
        fs::create_dir(path.join("ws-secret")).expect("a folder");
        fs::write(path.join("ws-secret/k"), "secret").expect("a file");
        fs::write(inside.join("a.txt"), "keep").expect("a file");
        fs::write(inside.join("real/inner.txt"), "inner").expect("a file");
        for (link, target) in [
            ("abs", "/etc/hostname"),
            ("out", "../ws-secret/k"),
            ("folder", "../ws-secret"),
            ("new", "../ws-secret/new"),
            ("real/up", "../../ws-secret"),
            ("here", "."),
            ("in", "real/inner.txt"),
            ("loop", "loop"),
            ("x", "y"),
            ("y", "x"),
            ("fd", "/proc/self/fd"),
            ("cwd", "/proc/self/cwd"),
            ("root", "/proc/self/root"),
            ("dots", "../../../../../../../../../../../.."),
        ] {
            symlink(target, inside.join(link)).expect("a link");
        }
        mknodat(CWD, inside.join("ff"), FileType::Fifo, Mode::RWXU, 0).expect("a FIFO");
        Place {
            workspace: Workspace::open(&inside).expect("a workspace"),
            folder: File::open(&inside).expect("the open folder"),
            inside,
            top,
        }
    })
}

/// Where an open file is now, by the name the kernel has for it.
fn location(file: &File) -> PathBuf {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).expect("an open file has a name")
}

fn opens(place: &Place, text: &str) {
    let path = Path::new(text);
    let read = OpenRequest {
        read: true,
        ..OpenRequest::default()
    };
    let make = OpenRequest {
        write: true,
        create: true,
        follow: true,
        ..OpenRequest::default()
    };
    for request in [
        read,
        OpenRequest {
            follow: true,
            ..read
        },
        OpenRequest {
            directory: true,
            follow: true,
            ..read
        },
        make,
        OpenRequest {
            exclusive: true,
            ..make
        },
        OpenRequest {
            truncate: true,
            create: false,
            ..make
        },
    ] {
        let known = snapshot(&place.inside);
        if let Ok(Opened::File(file) | Opened::Folder(file)) =
            files::open(&place.folder, path, request)
        {
            let found = location(&file);
            assert!(
                found.starts_with(&place.inside),
                "{text:?} opened {}",
                found.display()
            );
        }
        for made in snapshot(&place.inside) {
            if !known.contains(&made) {
                fs::remove_file(made).expect("what was made is a file");
            }
        }
    }
    let inode = |path: PathBuf| rustix::fs::stat(&path).expect("a file").st_ino;
    let secrets = [
        inode(place.top.path().join("ws-secret")),
        inode(place.top.path().join("ws-secret/k")),
        inode(PathBuf::from("/etc/hostname")),
        inode(PathBuf::from("/")),
    ];
    for follow in [Follow::Yes, Follow::No] {
        if let Ok(status) = files::status(&place.folder, path, follow) {
            assert!(
                !secrets.contains(&status.inode),
                "{text:?} tells about a file outside"
            );
        }
    }
    if files::link_stays_inside(path) {
        assert!(!path.is_absolute() && !text.split('/').any(|segment| segment == ".."));
    }
    if let Ok(bytes) = place.workspace.dir().open_dir(path) {
        let found = location(&bytes.into_std_file());
        assert!(
            found.starts_with(&place.inside),
            "{text:?} opened {}",
            found.display()
        );
    }
}

/// The names at the places where a file can be made.
fn snapshot(inside: &Path) -> Vec<PathBuf> {
    ["", "real", "real/deep"]
        .into_iter()
        .flat_map(|folder| fs::read_dir(inside.join(folder)).expect("a folder"))
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// A relative root that is granted is opened inside the workspace or not at all.
fn handles(place: &Place, text: &str) {
    let Ok(root) = Root::parse(text) else {
        return;
    };
    if root.is_absolute() {
        return;
    }
    let mut grant = Grant::default();
    grant.read.insert(root);
    if let Ok(handles) = Handles::open(&grant, &place.workspace) {
        for folder in &handles.folders {
            let found = location(&folder.dir);
            assert!(
                found.starts_with(&place.inside),
                "{text:?} opened {}",
                found.display()
            );
        }
    }
}
