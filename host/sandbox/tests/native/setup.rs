//! A workspace, the commands of a test, and how they are run.

use std::env;
use std::fs::{self, File};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tidegate_contract::Names;
use tidegate_sandbox::command::{
    CommandOutput, CommandRun, Launcher, NativeCommand, NativeCommands, Options, OutputBounds,
    Surroundings,
};
use tidegate_sandbox::error::CommandError;

/// Far more than any test needs: only a hang reaches it.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// The launcher that was built beside this test.
pub(crate) fn launcher() -> Launcher {
    let test = env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples/launcher");
    assert!(
        program.exists(),
        "the example `launcher` is built by `cargo test` without `--test`"
    );
    Launcher {
        program,
        arguments: Vec::new(),
    }
}

pub(crate) fn options() -> Options {
    Options {
        launcher: launcher(),
        ..Options::default()
    }
}

/// A command by a program's path, which may start every program of the system.
pub(crate) fn command(name: &str, path: &str) -> NativeCommand {
    NativeCommand {
        name: name.to_owned(),
        path: PathBuf::from(path),
        digest: None,
        also: ["/bin", "/usr/bin"].map(PathBuf::from).to_vec(),
    }
}

/// What a test runs commands with.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) commands: NativeCommands,
    /// Folders of the workspace that may be read.
    pub(crate) readable: Vec<&'static str>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) bounds: OutputBounds,
}

impl Place {
    /// A new workspace, and `sh` with further paths that it may read.
    pub(crate) fn new(further: &[&str]) -> Self {
        let mut sh = command("sh", "/bin/sh");
        sh.also.extend(further.iter().map(PathBuf::from));
        Self::with(&[sh], options())
    }

    pub(crate) fn with(commands: &[NativeCommand], options: Options) -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            commands: NativeCommands::open(commands, &Names::All, options).unwrap(),
            readable: vec!["."],
            environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            bounds: OutputBounds {
                stdout_bytes: 64 * 1024,
                stderr_bytes: 8 * 1024,
                stdout_lines: 1000,
            },
        }
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Runs a command until a cancel or for so long at most.
    pub(crate) fn run_until(
        &self,
        command: &str,
        args: &[&str],
        longest: Duration,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<CommandOutput, CommandError> {
        let workspace = File::open(self.folder.path()).unwrap();
        let readable: Vec<_> = self
            .readable
            .iter()
            .map(|name| File::open(self.folder.path().join(name)).unwrap())
            .collect();
        let readable: Vec<_> = readable.iter().map(File::as_fd).collect();
        let run = CommandRun {
            command: command.to_owned(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            bounds: self.bounds,
        };
        let around = Surroundings {
            workspace: workspace.as_fd(),
            readable: &readable,
            environment: &self.environment,
            deadline: Instant::now() + longest,
            cancelled,
        };
        self.commands.run(&run, &around)
    }

    pub(crate) fn run(&self, command: &str, args: &[&str]) -> Result<CommandOutput, CommandError> {
        self.run_until(command, args, LONG, &|| false)
    }

    /// Runs a script and gives its exit code, output and errors as text.
    pub(crate) fn sh(&self, script: &str) -> (u8, String, String) {
        let output = self.run("sh", &["-c", script]).unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.exit_code, text(output.stdout), text(output.stderr))
    }
}

/// Whether some process of the machine, not yet a zombie, was started with this argument.
pub(crate) fn is_running(argument: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.into_iter().any(|process| {
        let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0)
            .any(|word| word == argument.as_bytes())
    })
}

/// Waits for what is about to come true; false after a time that only a fault takes.
pub(crate) fn soon(is_so: impl Fn() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(5);
    while !is_so() {
        if Instant::now() > end {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

pub(crate) fn copy(program: &str, to: &Path) {
    fs::copy(program, to).unwrap();
}
