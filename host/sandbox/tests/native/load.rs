//! What is refused when commands are opened, and what a pin is worth afterwards.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tidegate_contract::Names;
use tidegate_sandbox::SandboxError;
use tidegate_sandbox::command::{Layer, NativeCommand, NativeCommands, Options};
use tidegate_sandbox::error::ProgramError;

use crate::setup::{Place, command, copy, options};

fn refusal(offered: &NativeCommand) -> ProgramError {
    match NativeCommands::open(std::slice::from_ref(offered), &Names::All, options()) {
        Err(SandboxError::Command { name, reason }) => {
            assert_eq!(name, offered.name);
            reason
        }
        other => panic!("{offered:?}: {other:?}"),
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn ex01_a_name_is_one_word() {
    for name in ["", "/bin/sh", "./sh", "a/b", "sh\n", "sh\0"] {
        assert!(
            matches!(refusal(&command(name, "/bin/sh")), ProgramError::Name),
            "{name:?}"
        );
    }
}

#[test]
fn ex01_a_path_depends_on_nothing() {
    for path in ["", "sh", "./sh", "bin/sh"] {
        assert!(
            matches!(refusal(&command("sh", path)), ProgramError::Relative { .. }),
            "{path}"
        );
    }
    let mut further = command("sh", "/bin/sh");
    further.also.push("lib".into());
    assert!(matches!(refusal(&further), ProgramError::Relative { .. }));
}

#[test]
fn what_is_no_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("program");
    let offered = command("program", file.to_str().unwrap());
    assert!(matches!(refusal(&offered), ProgramError::Open { .. }));
    assert!(matches!(
        refusal(&command("dev", "/dev/null")),
        ProgramError::NotExecutable
    ));
    assert!(matches!(
        refusal(&command("bin", "/usr/bin")),
        ProgramError::NotExecutable
    ));

    fs::write(&file, "#!/bin/sh\n").unwrap();
    set_mode(&file, 0o644);
    assert!(matches!(refusal(&offered), ProgramError::NotExecutable));
    set_mode(&file, 0o757);
    assert!(matches!(refusal(&offered), ProgramError::Writable));
    set_mode(&file, 0o755);
    assert!(matches!(refusal(&offered), ProgramError::Format));

    let program = fs::read("/bin/sh").unwrap();
    for length in [0, 4, 63, 64, 100] {
        fs::write(&file, &program[..length]).unwrap();
        assert!(
            matches!(refusal(&offered), ProgramError::Format),
            "{length}"
        );
    }
    let mut other_machine = program;
    other_machine[18] = 8;
    fs::write(&file, other_machine).unwrap();
    assert!(matches!(refusal(&offered), ProgramError::Format));
}

#[test]
fn a_name_is_offered_once_and_opened_where_it_is_granted() {
    let twice = [command("sh", "/bin/sh"), command("sh", "/bin/sh")];
    let opened = NativeCommands::open(&twice, &Names::All, options());
    let reason = opened.unwrap_err();
    assert!(matches!(
        reason,
        SandboxError::Command {
            reason: ProgramError::Twice,
            ..
        }
    ));

    let offered = [command("sh", "/bin/sh"), command("none", "/nowhere/at/all")];
    let granted: Names = ["sh", "ls"].into_iter().collect();
    let opened = NativeCommands::open(&offered, &granted, options()).unwrap();
    assert!(opened.has("sh"));
    assert!(!opened.has("none"));
    assert!(!opened.has("ls"));
}

#[test]
fn a_pinned_digest_is_compared() {
    let mut pinned = command("sh", "/bin/sh");
    pinned.digest = Some("0".repeat(64).parse().unwrap());
    let ProgramError::Digest { found } = refusal(&pinned) else {
        panic!("a wrong digest was taken");
    };
    pinned.digest = Some(found);
    let place = Place::with(&[pinned], options());
    assert_eq!(place.sh("echo pinned").1, "pinned\n");
}

#[test]
fn a_missing_layer_is_named() {
    let offered = [command("sh", "/bin/sh")];
    let check = |missing: &[Layer], allowed: &[Layer], refused: Option<Layer>| {
        let options = Options {
            missing: missing.to_vec(),
            allow_missing: allowed.to_vec(),
            ..options()
        };
        match NativeCommands::open(&offered, &Names::All, options) {
            Ok(commands) => {
                assert_eq!(refused, None);
                assert_eq!(commands.missing(), missing);
            }
            Err(SandboxError::MissingLayer { layer }) => assert_eq!(refused, Some(layer)),
            Err(error) => panic!("{error:?}"),
        }
    };
    check(&[], &[], None);
    check(&[Layer::Landlock], &[], Some(Layer::Landlock));
    check(&[Layer::Seccomp], &[], Some(Layer::Seccomp));
    check(&Layer::ALL, &[Layer::Landlock], Some(Layer::Seccomp));
    check(&[Layer::Landlock], &[Layer::Seccomp], Some(Layer::Landlock));
    check(&[Layer::Landlock], &[Layer::Landlock], None);
    check(&Layer::ALL, &Layer::ALL, None);
    let layer = Layer::Landlock;
    let said = SandboxError::MissingLayer { layer }.to_string();
    assert!(said.contains("`landlock`"), "{said}");
}

#[test]
fn without_landlock_the_filters_still_hold() {
    let options = Options {
        missing: vec![Layer::Landlock],
        allow_missing: vec![Layer::Landlock],
        ..options()
    };
    let place = Place::with(&[command("sh", "/bin/sh")], options);
    assert_eq!(place.sh("kill -TERM $$").0, 143);
    assert_eq!(place.sh("(exec setsid true)").0, 1);
    // A process outside: the shell that runs this test, or whoever started it.
    let outside = rustix::process::getpid();
    let script = format!("kill -0 {}", outside.as_raw_pid());
    let (code, _, errors) = place.sh(&script);
    assert_ne!(code, 0);
    assert!(!errors.is_empty());
}

#[test]
fn a_program_that_is_changed_in_place_does_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("echo");
    copy("/bin/echo", &file);
    let place = Place::with(&[command("echo", file.to_str().unwrap())], options());
    assert_eq!(place.run("echo", &["one"]).unwrap().stdout, b"one\n");

    let mut changed = fs::OpenOptions::new().append(true).open(&file).unwrap();
    changed.write_all(b"more").unwrap();
    drop(changed);
    let error = place.run("echo", &["two"]).unwrap_err();
    assert_eq!(error.code(), "EXECUTOR_FAULT");
}

#[test]
fn a_program_that_is_replaced_is_not_what_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("echo");
    copy("/bin/echo", &file);
    let place = Place::with(&[command("echo", file.to_str().unwrap())], options());

    let other = folder.path().join("other");
    copy("/bin/false", &other);
    fs::rename(&other, &file).unwrap();
    for word in ["one", "two"] {
        let output = place.run("echo", &[word]).unwrap();
        assert_eq!(output.stdout, format!("{word}\n").into_bytes());
    }
}
