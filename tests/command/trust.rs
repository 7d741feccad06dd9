//! `tidegate trust` (SPEC L4).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;

use crate::support::{Output, tidegate_with};

/// A folder with a config that reaches out of it, and a home of its own.
struct Place {
    folder: TempDir,
    home: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            folder: TempDir::new().unwrap(),
            home: TempDir::new().unwrap(),
        };
        place.write("sandbox: { read: [/tmp] }\n");
        place
    }

    fn write(&self, config: &str) {
        fs::write(self.folder.path().join("tidegate.yaml"), config).unwrap();
    }

    fn run(&self, folder: &Path, arguments: &[&str]) -> Output {
        let home = self.home.path().to_str().unwrap();
        tidegate_with(folder, arguments, "", &[("HOME", home)])
    }

    fn here(&self, arguments: &[&str]) -> Output {
        self.run(self.folder.path(), arguments)
    }
}

#[test]
fn l4_a_found_file_reaches_out_once_it_is_trusted_and_not_when_it_changed() {
    let place = Place::new();
    let untrusted = place.here(&["tools"]);
    assert_eq!(untrusted.exit, 2);
    for word in ["`sandbox.read`", "/tmp", "tidegate trust"] {
        assert!(untrusted.stderr.contains(word), "{}", untrusted.stderr);
    }
    let trusted = place.here(&["trust"]);
    assert_eq!(trusted.exit, 0, "{}", trusted.stderr);
    assert!(
        trusted.stdout.contains("sandbox.read: /tmp"),
        "what it means is shown"
    );
    assert_eq!(place.here(&["tools"]).exit, 0);
    let records = place.home.path().join(".local/state/tidegate/trusted");
    assert_eq!(
        fs::metadata(&records).unwrap().permissions().mode() & 0o777,
        0o600
    );

    place.write("sandbox: { read: [/tmp, /etc] }\n");
    assert_eq!(place.here(&["tools"]).exit, 2, "a changed file");
    assert!(
        place
            .here(&["trust", "--list"])
            .stdout
            .starts_with("changed  sha-256:")
    );
    assert_eq!(place.here(&["trust"]).exit, 0);
    let listed = place.here(&["trust", "--list"]).stdout;
    assert_eq!(listed.lines().count(), 1, "{listed}");
    assert!(listed.starts_with("trusted  sha-256:"), "{listed}");

    assert_eq!(place.here(&["trust", "--remove"]).exit, 0);
    assert_eq!(place.here(&["tools"]).exit, 2, "taken back");
    assert_eq!(
        place.here(&["trust", "--remove"]).exit,
        2,
        "nothing to take back"
    );
}

#[test]
fn l4_a_copy_of_a_trusted_file_elsewhere_is_a_strangers() {
    let place = Place::new();
    assert_eq!(place.here(&["trust"]).exit, 0);
    let other = TempDir::new().unwrap();
    let from = place.folder.path().join("tidegate.yaml");
    fs::copy(from, other.path().join("tidegate.yaml")).unwrap();
    assert_eq!(place.run(other.path(), &["tools"]).exit, 2);
}

#[test]
fn l4_only_a_config_file_is_trusted_and_only_where_it_can_be_kept() {
    let place = Place::new();
    place.write("sandbx: {}\n");
    let wrong = place.here(&["trust"]);
    assert_eq!(wrong.exit, 2);
    assert!(
        wrong.stderr.contains("tidegate.yaml:1:1"),
        "{}",
        wrong.stderr
    );
    place.write("{}\n");
    let homeless = tidegate_with(place.folder.path(), &["trust"], "", &[]);
    assert_eq!(homeless.exit, 2);
    assert!(
        homeless.stderr.contains("XDG_STATE_HOME"),
        "{}",
        homeless.stderr
    );
    assert_eq!(place.here(&["trust", "absent.yaml"]).exit, 2);
}

#[test]
fn l4_records_that_others_could_write_trust_nothing() {
    let place = Place::new();
    assert_eq!(place.here(&["trust"]).exit, 0);
    let state = place.home.path().join(".local/state/tidegate");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(place.here(&["tools"]).exit, 2);
}
