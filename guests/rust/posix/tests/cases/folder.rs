//! A folder for one test, and commands run in it.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder that is removed at the end.
pub(crate) struct Folder(PathBuf);

/// What one run gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    #[track_caller]
    pub(crate) fn is(&self, code: i32, stdout: &str, stderr: &str) {
        let got = (self.code, self.stdout.as_str(), self.stderr.as_str());
        assert_eq!(got, (Some(code), stdout, stderr));
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // By a tool that copes with paths past every bound.
        let removed = Command::new("rm").arg("-rf").arg(&self.0).status();
        assert!(removed.unwrap().success());
    }
}

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("posix-{name}-{}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(&folder.0).unwrap();
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Makes a path of folders, one after the other.
    pub(crate) fn folders(&self, path: &str) {
        let mut made = self.0.clone();
        for name in path.split_terminator('/') {
            made.push(name);
            fs::create_dir(&made).unwrap();
        }
    }

    pub(crate) fn link(&self, target: &str, name: &str) {
        std::os::unix::fs::symlink(target, self.0.join(name)).unwrap();
    }

    /// Runs a shell script in the folder.
    pub(crate) fn shell(&self, script: &str) {
        let done = Command::new("sh")
            .args(["-c", script])
            .current_dir(&self.0)
            .status();
        assert!(done.unwrap().success());
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        self.start(&mut command(arguments))
    }

    /// Runs a command whose caller keeps so many bytes of its output.
    pub(crate) fn run_bounded(&self, bytes: u64, arguments: &[&str]) -> Run {
        self.start(command(arguments).env("TIDEGATE_STDOUT_BYTES", bytes.to_string()))
    }

    fn start(&self, command: &mut Command) -> Run {
        let output = command.current_dir(&self.0).output().unwrap();
        Run {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_posix"));
    command.arg0(arguments[0]).args(&arguments[1..]).env_clear();
    command
}
