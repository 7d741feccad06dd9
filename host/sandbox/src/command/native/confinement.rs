//! What a launcher gives up before it becomes a command. Each step can only take away.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope,
};
use rustix::fs::FileType;
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::launch::at;
use super::orders::{Handles, Orders};
use super::syscalls::{self, Signals};
use crate::command::{Layer, Limits};

/// Does all of it, in an order in which no step forbids a later one.
pub(super) fn confine(orders: &Orders, handles: &Handles) -> io::Result<()> {
    die_with_host(orders.host).map_err(at("following the host"))?;
    rustix::stdio::dup2_stdin(&handles.null).map_err(at("standard input"))?;
    // Whatever the host had inherited itself, or a library of it had opened carelessly.
    close_fds::set_fds_cloexec(3, &[]);
    rustix::process::fchdir(&handles.workspace).map_err(at("entering the workspace"))?;
    drop_privileges().map_err(at("dropping privileges"))?;
    if orders.layers.contains(&Layer::Landlock) {
        landlock(handles).map_err(at("landlock"))?;
    }
    limit(orders.limits).map_err(at("resource limits"))?;
    if orders.layers.contains(&Layer::Seccomp) {
        let signals = if orders.layers.contains(&Layer::Landlock) && has_signal_scope() {
            Signals::Scoped
        } else {
            Signals::OwnGroup(rustix::process::getpid().as_raw_pid())
        };
        syscalls::filter(signals).map_err(at("seccomp"))?;
    }
    Ok(())
}

/// The kernel kills the command when the host's thread that started it ends: that thread waits for
/// the command, so it ends only with the host.
fn die_with_host(host: i32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before.
    let parent = rustix::process::getppid();
    if parent.is_some_and(|parent| parent.as_raw_pid() == host) {
        return Ok(());
    }
    Err(io::Error::other("the host is gone"))
}

/// A host that runs as root starts commands that can do no more than those of any user.
fn drop_privileges() -> io::Result<()> {
    let none = CapabilitySet::empty();
    let sets = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    // With this set, no exec brings capabilities back, and set-user-id programs are plain ones.
    rustix::thread::set_no_new_privs(true)?;
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

/// Whether the kernel has Landlock's first version.
pub(super) fn has_landlock() -> bool {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    ruleset.handle_access(AccessFs::from_all(ABI::V1)).is_ok()
}

/// Whether Landlock keeps signals inside (its sixth version). Without it the filter does.
fn has_signal_scope() -> bool {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    ruleset.scope(Scope::Signal).is_ok()
}

/// The newest version of Landlock that this file was written for and tested on. Of an older one in
/// the kernel, what it has is used; the seccomp filters refuse the rest too.
const KNOWN: ABI = ABI::V7;

fn landlock(handles: &Handles) -> io::Result<()> {
    let status = restrict(handles).map_err(io::Error::other)?;
    match status {
        RulesetStatus::NotEnforced => Err(io::ErrorKind::Unsupported.into()),
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}

fn restrict(handles: &Handles) -> Result<RulesetStatus, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    for readable in &handles.readable {
        rules = allow(rules, readable.as_fd(), read)?;
    }
    for program in handles.programs.iter().chain([&handles.program]) {
        rules = allow(rules, program.as_fd(), read | AccessFs::Execute)?;
    }
    rules = allow(rules, handles.null.as_fd(), read | AccessFs::WriteFile)?;
    Ok(rules.restrict_self()?.ruleset)
}

/// Allows what is asked for below a folder, or of it what a file can be asked for.
fn allow(
    rules: RulesetCreated,
    handle: BorrowedFd<'_>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let is_folder = rustix::fs::fstat(handle)
        .is_ok_and(|status| FileType::from_raw_mode(status.st_mode) == FileType::Directory);
    let access = if is_folder {
        access
    } else {
        access & AccessFs::from_file(KNOWN)
    };
    rules.add_rule(PathBeneath::new(handle, access))
}

fn limit(limits: Limits) -> io::Result<()> {
    // The kernel counts a user's processes everywhere, so that those of the host count too: there
    // is room above all that are there now.
    let running = u64::from(rustix::system::sysinfo().procs);
    let bounds = [
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::As, limits.address_space_bytes),
        (Resource::Fsize, 0),
        (Resource::Nofile, limits.open_files),
        (Resource::Nproc, running.saturating_add(limits.processes)),
        (Resource::Core, 0),
    ];
    for (resource, bound) in bounds {
        // The soft limit of CPU time sends a signal that says what happened, the hard one kills.
        let hard = match resource {
            Resource::Cpu => bound.saturating_add(1),
            _ => bound,
        };
        let ours = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let lowered = Rlimit {
            current: Some(bound.min(ours)),
            maximum: Some(hard.min(ours)),
        };
        setrlimit(resource, lowered)?;
    }
    Ok(())
}
