//! The native executor: programs of the operator, pinned at load, each run confined (SPEC S4).
//!
//! The host passes handles to the launcher (`orders.rs`), which confines itself (`launch.rs`,
//! `confinement.rs`, `syscalls.rs`) and becomes the program (`program.rs`); the host reads both pipes
//! and ends the whole process group (`child.rs`). No process leaves the group, since the filters
//! refuse `setsid` and `setpgid`; one that does where seccomp was allowed to be missing is not
//! caught. If the host itself is killed, so is the command, but not what it had started: that stays
//! as confined as it was.
//!
//! Absent on purpose: retries, writing anywhere, executing what lies in a readable folder, a memory
//! limit over all processes of a run (there is one for each), hiding that a file exists (Landlock
//! guards content, not `stat`), taking a folder out of a readable one.

mod child;
mod confinement;
mod launch;
mod orders;
mod program;
mod syscalls;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::Child;
use std::sync::Mutex;
use std::time::Instant;

use tidegate_contract::Names;

use self::child::Running;
use self::orders::Orders;
use self::program::Program;
use crate::ambient;
use crate::command::{
    CommandOutput, CommandRun, Launcher, Layer, Limits, NativeCommand, Options, Surroundings,
};
use crate::denial::{Denial, Kind};
use crate::error::{CommandError, ProgramError, SandboxError};

pub(super) use self::launch::launch;

/// What a dynamic program reads to start, where it is there. Only its interpreter is executed.
const LIBRARIES: [&str; 5] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"];

/// Where the interpreter looks libraries up. It is opened for each run, since every installation of
/// a library puts a new file there.
const LIBRARY_CACHE: &str = "/etc/ld.so.cache";

/// Most further paths of one command: the kernel passes at most 253 handles at once.
const FURTHER_PATHS: usize = 64;

/// Commands that the operator offers, opened once and run by handle.
#[derive(Debug)]
pub struct NativeCommands {
    commands: BTreeMap<String, Offered>,
    libraries: Vec<OwnedFd>,
    null: OwnedFd,
    launcher: Launcher,
    limits: Limits,
    layers: Vec<Layer>,
    missing: Vec<Layer>,
    /// Killed, not yet dead when their run returned.
    leftovers: Mutex<Vec<Child>>,
}

/// One command, opened.
#[derive(Debug)]
struct Offered {
    program: Program,
    /// What else it may read and execute.
    also: Vec<OwnedFd>,
}

impl NativeCommands {
    /// Opens the commands whose names are granted; the others are not looked at.
    ///
    /// # Errors
    ///
    /// [`SandboxError::MissingLayer`] where the kernel lacks a protection that may not be missing;
    /// [`SandboxError::Command`] for the first command that can't be used; [`SandboxError::File`]
    /// where the system has no `/dev/null`.
    pub fn open(
        commands: &[NativeCommand],
        granted: &Names,
        options: Options,
    ) -> Result<Self, SandboxError> {
        let missing = options.missing;
        let refused = |layer: &&Layer| !options.allow_missing.contains(layer);
        if let Some(&layer) = missing.iter().find(refused) {
            return Err(SandboxError::MissingLayer { layer });
        }
        let null = ambient::open_for_reading(Path::new("/dev/null"));
        let null = null.map_err(|source| SandboxError::File {
            path: "/dev/null".to_owned(),
            source,
        })?;
        let libraries = LIBRARIES.iter().map(Path::new);
        let mut layers = Layer::ALL.to_vec();
        layers.retain(|layer| !missing.contains(layer));
        Ok(Self {
            commands: open_all(commands, granted)?,
            // A system has only some of them.
            libraries: libraries.flat_map(ambient::name_file).collect(),
            null: null.into(),
            launcher: options.launcher,
            limits: options.limits,
            layers,
            missing,
            leftovers: Mutex::default(),
        })
    }

    /// Whether a command of this name is there.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.commands.contains_key(name)
    }

    /// The layers that are missing and were allowed to be. Whoever opens the commands says so aloud.
    #[must_use]
    pub fn missing(&self) -> &[Layer] {
        &self.missing
    }

    /// Runs a command once and waits for its end, at most until the deadline.
    ///
    /// It blocks the thread, so call it where that is allowed; from a cancel it returns within 10
    /// ms. When it returns, every process of the command is dead or has been sent `SIGKILL`.
    ///
    /// # Errors
    ///
    /// [`CommandError::NotGranted`] for a name that is not there; [`CommandError::Unpassable`];
    /// [`CommandError::Deadline`] and [`CommandError::Cancelled`]; [`CommandError::Fault`] where
    /// the command could not be run. A nonzero exit code is an output.
    pub fn run(
        &self,
        run: &CommandRun,
        around: &Surroundings<'_>,
    ) -> Result<CommandOutput, CommandError> {
        let Some(offered) = self.commands.get(&run.command) else {
            let command = Denial::new(Kind::Execute, &run.command).name;
            return Err(CommandError::NotGranted { command });
        };
        if (around.cancelled)() {
            return Err(CommandError::Cancelled);
        }
        if Instant::now() >= around.deadline {
            return Err(CommandError::Deadline);
        }
        child::reap(&self.leftovers);
        let checked = offered.program.check_unchanged();
        let interpreter = checked.and_then(|()| offered.program.interpreter());
        let interpreter = interpreter.map_err(fault("check the program"))?;
        let cache = ambient::name_file(Path::new(LIBRARY_CACHE));
        let libraries = self.libraries.iter().chain(&cache).map(OwnedFd::as_fd);
        let readable: Vec<_> = around.readable.iter().copied().chain(libraries).collect();
        let programs = offered.also.iter().chain(&interpreter).map(OwnedFd::as_fd);
        let programs: Vec<_> = programs.collect();
        let orders = self.orders(run, around, [readable.len(), programs.len()]);
        if !orders.can_be_passed() {
            return Err(CommandError::Unpassable);
        }
        // In the order that `orders.rs` gives them.
        let mut handles = vec![
            self.null.as_fd(),
            around.workspace,
            offered.program.handle(),
        ];
        handles.extend(readable.into_iter().chain(programs));
        let sent = orders.send(&handles);
        let (host, launcher) = sent.map_err(fault("give orders to the launcher"))?;
        let child = ambient::start_launcher(&self.launcher, launcher);
        let child = child.map_err(fault("start the launcher"))?;
        Running::new(child, host, run.bounds, &self.leftovers)?.finish(around)
    }

    fn orders(
        &self,
        run: &CommandRun,
        around: &Surroundings<'_>,
        [readable, programs]: [usize; 2],
    ) -> Orders {
        let name = std::iter::once(&run.command);
        Orders {
            host: rustix::process::getpid().as_raw_pid(),
            limits: self.limits,
            layers: self.layers.clone(),
            readable,
            programs,
            arguments: name.chain(&run.args).cloned().collect(),
            environment: around.environment.to_vec(),
        }
    }
}

fn open_all(
    commands: &[NativeCommand],
    granted: &Names,
) -> Result<BTreeMap<String, Offered>, SandboxError> {
    let mut opened = BTreeMap::new();
    for command in commands {
        if !granted.allows(&command.name) {
            continue;
        }
        let offered = open_one(command).and_then(|offered| {
            let before = opened.insert(command.name.clone(), offered);
            before.map_or(Ok(()), |_first| Err(ProgramError::Twice))
        });
        offered.map_err(|reason| SandboxError::Command {
            name: command.name.clone(),
            reason,
        })?;
    }
    Ok(opened)
}

fn open_one(command: &NativeCommand) -> Result<Offered, ProgramError> {
    let is_unfit = |c: char| c == '/' || c.is_control();
    if command.name.is_empty() || command.name.contains(is_unfit) {
        return Err(ProgramError::Name);
    }
    if command.also.len() > FURTHER_PATHS {
        return Err(ProgramError::TooManyPaths);
    }
    let also: Result<_, _> = command.also.iter().map(|path| open_also(path)).collect();
    Ok(Offered {
        program: Program::open(absolute(&command.path)?, command.digest)?,
        also: also?,
    })
}

fn open_also(path: &Path) -> Result<OwnedFd, ProgramError> {
    ambient::name_file(absolute(path)?).map_err(|source| ProgramError::Open {
        path: path.display().to_string(),
        source,
    })
}

fn absolute(path: &Path) -> Result<&Path, ProgramError> {
    if path.is_absolute() {
        return Ok(path);
    }
    Err(ProgramError::Relative {
        path: path.display().to_string(),
    })
}

fn fault(step: &'static str) -> impl Fn(io::Error) -> CommandError {
    move |source| CommandError::Fault { step, source }
}

/// Whether this kernel has a layer. Nothing is confined by asking.
pub(super) fn has(layer: Layer) -> bool {
    match layer {
        Layer::Landlock => confinement::has_landlock(),
        Layer::Seccomp => rustix::thread::secure_computing_mode().is_ok(),
    }
}
