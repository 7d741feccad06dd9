//! What a command can reach, and what it can't.

use std::env;
use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;

use rustix::io::FdFlags;
use tidegate_sandbox::ambient::start_launcher;
use tidegate_sandbox::command::Launcher;

use crate::setup::{Place, command, options};

/// What a program prints when it is started without any confinement.
fn plain(program: &str, args: &[&str]) -> String {
    let launcher = Launcher {
        program: program.into(),
        arguments: args.iter().map(|&arg| arg.to_owned()).collect(),
    };
    let null = File::open("/dev/null").unwrap();
    let child = start_launcher(&launcher, null.into()).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn ex01_what_lies_in_the_workspace_is_never_the_command() {
    let mut place = Place::with(&[command("echo", "/bin/echo")], options());
    place.environment = vec![("PATH".to_owned(), ".".to_owned())];
    let planted = place.write("echo", "#!/bin/sh\nprintf planted\n");
    fs::set_permissions(&planted, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(place.run("echo", &["pinned"]).unwrap().stdout, b"pinned\n");

    let absolute = planted.to_str().unwrap();
    for name in [
        "./echo",
        "scratch/echo",
        "../echo",
        "/bin/echo",
        absolute,
        "ECHO",
        "echo ",
        "",
    ] {
        let error = place.run(name, &[]).unwrap_err();
        assert_eq!(error.code(), "PERMISSION_DENIED", "{name}");
    }
}

#[test]
fn ex01_what_lies_in_the_workspace_is_not_executed() {
    let place = Place::new(&[]);
    let planted = place.write("planted", "#!/bin/sh\nprintf planted\n");
    fs::set_permissions(&planted, fs::Permissions::from_mode(0o755)).unwrap();
    let (code, output, errors) = place.sh("./planted");
    assert_eq!((code, output.as_str()), (126, ""));
    assert!(errors.contains("Permission denied"), "{errors}");
}

#[test]
fn arguments_arrive_as_they_are() {
    let place = Place::with(&[command("printf", "/usr/bin/printf")], options());
    let args = ["[%s]", "$HOME", "a b", "", "*", "; id", "—", "\n", "--help"];
    let output = place.run("printf", &args).unwrap();
    assert_eq!(
        output.stdout,
        "[$HOME][a b][][*][; id][—][\n][--help]".as_bytes()
    );
    let error = place.run("printf", &["a\0b"]).unwrap_err();
    assert_eq!(error.code(), "INVALID_ARGUMENTS");
}

/// The environment of a process can't be changed safely, so the test runs itself again in one that
/// holds a secret.
#[test]
fn ex04_the_environment_is_what_was_granted() {
    let environment = fs::read("/proc/self/environ").unwrap();
    if !String::from_utf8_lossy(&environment).contains("sk-test-123") {
        let this = env::current_exe().unwrap();
        let this = this.to_str().unwrap();
        let test = "reach::ex04_the_environment_is_what_was_granted";
        let args = ["MODEL_API_KEY=sk-test-123", this, "--exact", test];
        let said = plain("/usr/bin/env", &args);
        assert!(said.contains("1 passed"), "{said}");
        return;
    }
    let mut place = Place::with(&[command("env", "/usr/bin/env")], options());
    place.environment = Vec::new();
    assert_eq!(place.run("env", &[]).unwrap().stdout, b"");
    place.environment = vec![("LANG".to_owned(), "C".to_owned())];
    assert_eq!(place.run("env", &[]).unwrap().stdout, b"LANG=C\n");
}

#[test]
fn fs04_no_descriptor_is_inherited() {
    let mut ls = command("ls", "/bin/ls");
    ls.also.push("/proc".into());
    let place = Place::with(&[ls], options());
    // One that any child would inherit.
    let leak = File::open("/etc").unwrap();
    rustix::io::fcntl_setfd(&leak, FdFlags::empty()).unwrap();
    let plain = plain("/bin/ls", &["/proc/self/fd"]);
    let number = leak.as_raw_fd().to_string();
    assert!(plain.lines().any(|line| line == number), "{plain}");

    let output = place.run("ls", &["/proc/self/fd"]).unwrap();
    // The last is the listing's own.
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "0\n1\n2\n3\n");
}

#[test]
fn fs04_a_link_to_descriptors_leads_nowhere() {
    let place = Place::new(&[]);
    std::os::unix::fs::symlink("/proc/self", place.folder.path().join("p")).unwrap();
    for script in [
        "cat p/cwd/../*",
        "ls p/fd/",
        "cat < p/environ",
        "cd p/fd && ls",
    ] {
        let (code, output, _) = place.sh(script);
        assert!(code != 0 && output.is_empty(), "{script}: {output}");
    }
}

#[test]
fn a_command_runs_in_the_workspace_and_reads_it() {
    let place = Place::new(&[]);
    place.write("note.txt", "tide\n");
    fs::create_dir(place.folder.path().join("sub")).unwrap();
    place.write("sub/more.txt", "gate\n");
    let (code, output, errors) = place.sh("pwd -P; ls; cat note.txt sub/more.txt; cd sub && ls");
    let folder = place.folder.path().canonicalize().unwrap();
    let expected = format!(
        "{}\nnote.txt\nsub\ntide\ngate\nmore.txt\n",
        folder.display()
    );
    assert_eq!((code, output, errors), (0, expected, String::new()));
}

#[test]
fn only_granted_folders_of_the_workspace_are_read() {
    let mut place = Place::new(&[]);
    for folder in ["docs", "docs/deep", "private"] {
        fs::create_dir(place.folder.path().join(folder)).unwrap();
        place.write(&format!("{folder}/note.txt"), folder);
    }
    place.readable = vec!["docs"];
    let script = "cat docs/note.txt docs/deep/note.txt";
    assert_eq!(place.sh(script).1, "docsdocs/deep");
    for script in [
        "ls",
        "ls private",
        "cat private/note.txt",
        "cat docs/../private/note.txt",
    ] {
        let (code, output, _) = place.sh(script);
        assert!(code != 0 && output.is_empty(), "{script}: {output}");
    }
    place.readable = Vec::new();
    assert_eq!(place.sh(script).0, 1);
}

#[test]
fn nothing_is_written() {
    let place = Place::new(&[]);
    let note = place.write("note.txt", "tide\n");
    let before = fs::metadata(&note).unwrap();
    for script in [
        "echo x > new.txt",
        "echo x >> note.txt",
        ": > note.txt",
        "mkdir sub",
        "rm note.txt",
        "mv note.txt other.txt",
        "ln note.txt other.txt",
        "ln -s note.txt other.txt",
        "mkfifo other",
        "chmod 777 note.txt",
        "chown 1 note.txt",
        "touch -d @0 note.txt",
        "truncate -s 0 note.txt",
        "echo x > /tmp/tidegate-test",
        "echo x > /dev/tty",
    ] {
        let (code, _, errors) = place.sh(script);
        assert!(code != 0 && !errors.is_empty(), "{script}");
    }
    assert_eq!(fs::read_to_string(&note).unwrap(), "tide\n");
    let after = fs::metadata(&note).unwrap();
    assert_eq!(after.modified().unwrap(), before.modified().unwrap());
    assert_eq!(after.permissions(), before.permissions());
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 1);
    // What every script writes to is no file.
    assert_eq!(
        place.sh("echo x > /dev/null; cat < /dev/null"),
        (0, String::new(), String::new())
    );
}

#[test]
fn nothing_outside_is_read() {
    let place = Place::new(&[]);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret\n").unwrap();
    let link = place.folder.path().join("link");
    std::os::unix::fs::symlink(outside.path(), link).unwrap();
    let name = outside.path().file_name().unwrap().to_str().unwrap();
    let scripts = [
        "cat /etc/hostname".to_owned(),
        "cat /etc/passwd".to_owned(),
        "cat /proc/self/environ".to_owned(),
        "cat link/secret".to_owned(),
        "ls link/".to_owned(),
        "ls ..".to_owned(),
        format!("cat ../{name}/secret"),
        format!("cat {}/secret", outside.path().display()),
        format!("cat /proc/{}/environ", std::process::id()),
    ];
    for script in scripts {
        let (code, output, errors) = place.sh(&script);
        assert!(code != 0 && output.is_empty(), "{script}: {output}");
        assert!(errors.contains("Permission denied"), "{script}: {errors}");
    }
}

#[test]
fn the_network_is_out_of_reach() {
    let place = Place::with(&[command("bash", "/bin/bash")], options());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(TcpStream::connect(address).unwrap());
    drop(listener.accept().unwrap());

    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{}", address.port());
    let output = place.run("bash", &["-c", &script]).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_ne!(output.exit_code, 0);
    assert!(errors.contains("Operation not permitted"), "{errors}");
    listener.set_nonblocking(true).unwrap();
    let error = listener.accept().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_command_has_no_privileges_and_gets_none() {
    let place = Place::new(&["/proc"]);
    let (_, status, _) = place.sh("cat /proc/self/status");
    for capabilities in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        let line = format!("{capabilities}:\t{:016x}\n", 0);
        assert!(status.contains(&line), "{status}");
    }
    assert!(status.contains("NoNewPrivs:\t1\n"), "{status}");
    assert!(status.contains("Seccomp:\t2\n"), "{status}");
}

#[test]
fn the_host_is_out_of_reach() {
    let place = Place::new(&[]);
    let host = std::process::id();
    for script in [
        format!("kill -9 {host}"),
        format!("prlimit --pid {host} --cpu=1"),
    ] {
        let (code, _, errors) = place.sh(&script);
        assert!(code != 0 && !errors.is_empty(), "{script}");
    }
    for script in [
        "unshare -r true",
        "setsid true",
        "nice -n -1 true",
        "mount -t tmpfs x .",
    ] {
        let (_, _, errors) = place.sh(script);
        assert!(!errors.is_empty(), "{script}");
    }
}
