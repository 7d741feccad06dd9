//! Running a command for a plugin (SPEC S4): in an instance of a WASI command component on the same
//! thread, by the sandbox's native executor, or by the embedder's own.
//!
//! The command runs within its caller: it can read what the caller can read and nothing else, its
//! time is the caller's, and its memory is what the caller has left. Deliberately absent: resolving
//! a name by anything but the executor that was chosen when the plugin was loaded.

use std::fmt;
use std::os::fd::AsFd as _;
use std::sync::Arc;

use tidegate_contract::failure::host_failure;
use tidegate_contract::{CallError, Failure};
use tidegate_sandbox::command::{
    CommandExecutor, CommandOutput, CommandRun, NativeCommands, Surroundings,
};
use tidegate_sandbox::denial::{Denial, Kind};
use tidegate_sandbox::error::CommandError;
use tidegate_sandbox::{Access, command};
use wasmtime::component::InstancePre;
use wasmtime_wasi::I32Exit;
use wasmtime_wasi::p2::bindings::sync::CommandIndices;

use crate::admission::Need;
use crate::breach::Breach;
use crate::code::need_of;
use crate::ending::{self, Ending};
use crate::engine::Shared;
use crate::program::{Program, Streams};
use crate::store::{self, CallState, Setup};

/// What runs the commands that a plugin is granted.
#[derive(Clone, Debug)]
pub enum Executor {
    /// A WASI command component, in the same sandbox as the plugin.
    Component(CommandComponent),
    /// Pinned programs of the operator, confined by the kernel.
    Native(Arc<NativeCommands>),
    /// What the embedder brings: the port that it fills.
    Own(Arc<dyn CommandExecutor>),
}

/// A loaded WASI command component: one program that does what its first argument, the command's name,
/// says. Cloning gives another handle to the same one.
#[derive(Clone)]
pub struct CommandComponent(pub(crate) Arc<Loaded>);

pub(crate) struct Loaded {
    pub(crate) engine: Arc<Shared>,
    pub(crate) pre: InstancePre<CallState>,
    pub(crate) run: CommandIndices,
    pub(crate) commands: Box<[String]>,
}

impl fmt::Debug for CommandComponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CommandComponent")
            .field(&self.0.commands)
            .finish()
    }
}

impl Executor {
    fn has(&self, command: &str) -> bool {
        match self {
            Self::Component(component) => component.0.commands.iter().any(|name| name == command),
            Self::Native(native) => native.has(command),
            Self::Own(own) => own.has(command),
        }
    }

    /// What one run takes of the engine's pool beside the plugin's own instance.
    pub(crate) fn need(&self) -> Need {
        match self {
            Self::Component(component) => Need {
                calls: 0,
                ..need_of(component.0.pre.component())
            },
            Self::Native(_) | Self::Own(_) => Need::calls(0),
        }
    }
}

/// Runs a command once. An error ends the plugin's call; a failure is what the plugin is told.
pub(crate) fn run(
    state: &mut CallState,
    run: &CommandRun,
) -> wasmtime::Result<Result<CommandOutput, Failure>> {
    let setup = Arc::clone(&state.setup);
    let granted = setup.handles.grant.execute.allows(&run.command);
    let Some((executor, surroundings)) = &setup.commands else {
        let (denial, failure) = command::deny(&run.command);
        return Ok(Err(state.refuse(denial, failure)));
    };
    if !granted {
        let denial = Denial::new(Kind::Execute, &run.command);
        let message = format!("permission denied: {denial}; permit it with --allow execute=NAME");
        let failure = host_failure("PERMISSION_DENIED", message);
        return Ok(Err(state.refuse(denial, failure)));
    }
    if !executor.has(&run.command) {
        return Ok(Err(state.refuse_unknown(&run.command)));
    }
    match executor {
        Executor::Component(component) => in_component(state, &component.0, surroundings, run),
        Executor::Native(native) => by_host(state, &**native, run),
        Executor::Own(own) => {
            let ended = by_host(state, &**own, run)?;
            Ok(ended.map(|output| bounded(&output, run)))
        }
    }
}

fn in_component(
    state: &mut CallState,
    loaded: &Loaded,
    setup: &Arc<Setup>,
    run: &CommandRun,
) -> wasmtime::Result<Result<CommandOutput, Failure>> {
    let streams = Streams::new(run.bounds);
    let arguments = [std::slice::from_ref(&run.command), &run.args].concat();
    let program = Program::Command {
        arguments,
        streams: streams.clone(),
    };
    let engine = &loaded.engine.wasmtime;
    let mut store = store::build(engine, setup, &state.call_id, state.watch.clone(), program);
    store.data_mut().limiter = state.limiter.rest();
    let ran = loaded
        .pre
        .instantiate(&mut store)
        .and_then(|instance| loaded.run.load(&mut store, &instance))
        .and_then(|command| command.wasi_cli_run().call_run(&mut store));
    let exit = match ran {
        Ok(Ok(())) => Ok(0),
        Ok(Err(())) => Ok(1),
        Err(error) => match error.downcast_ref::<I32Exit>() {
            Some(I32Exit(code)) => Ok(u8::try_from(*code).unwrap_or(u8::MAX)),
            None => Err(ending::classify(&error, store.data())),
        },
    };
    let inner = store.into_data();
    state.denials.append(inner.denials);
    // The CPU clock of the call has gone on in there.
    state.watch = inner.watch;
    match exit {
        Ok(exit_code) => Ok(Ok(streams.finish(exit_code))),
        Err(Ending::Breach(breach)) => state.breach_in_command(breach),
        Err(Ending::Trap(failure)) => Ok(Err(state.executor_fault(failure.message()))),
        Err(Ending::Host(reason)) => Ok(Err(state.executor_fault(&reason))),
    }
}

/// An output within the bounds of its run, whoever made it.
fn bounded(output: &CommandOutput, run: &CommandRun) -> CommandOutput {
    let streams = Streams::new(run.bounds);
    streams.stdout.keep(&output.stdout);
    streams.stderr.keep(&output.stderr);
    let kept = streams.finish(output.exit_code);
    CommandOutput {
        stdout_omitted: kept.stdout_omitted.saturating_add(output.stdout_omitted),
        stderr_omitted: kept.stderr_omitted.saturating_add(output.stderr_omitted),
        ..kept
    }
}

fn by_host(
    state: &mut CallState,
    executor: &dyn CommandExecutor,
    run: &CommandRun,
) -> wasmtime::Result<Result<CommandOutput, Failure>> {
    let setup = Arc::clone(&state.setup);
    let readable = || {
        let folders = setup.handles.folders.iter();
        folders.filter(|folder| folder.access != Access::Write)
    };
    let Some(workspace) = readable().find(|folder| folder.guest_path == ".") else {
        let denial = Denial::new(Kind::Read, ".");
        let message = "permission denied: read:.; a native command runs in the workspace";
        let failure = host_failure("PERMISSION_DENIED", message.to_owned());
        return Ok(Err(state.refuse(denial, failure)));
    };
    let folders: Vec<_> = readable().map(|folder| folder.dir.as_fd()).collect();
    let watch = &state.watch;
    let surroundings = Surroundings {
        workspace: workspace.dir.as_fd(),
        readable: &folders,
        environment: &setup.handles.environment,
        deadline: watch.deadline().at,
        cancelled: &|| watch.is_cancelled(),
    };
    match executor.run(run, &surroundings) {
        Ok(output) => Ok(Ok(output)),
        Err(CommandError::Deadline) => state.breach_in_command(Breach::Deadline),
        Err(CommandError::Cancelled) => state.breach_in_command(Breach::Cancelled),
        Err(CommandError::Fault { step, source }) => {
            tracing::error!(command = run.command, step, %source, "a command could not be run");
            Ok(Err(state.executor_fault(&format!("cannot {step}"))))
        }
        Err(error @ CommandError::NotGranted { .. }) => {
            let denial = Denial::new(Kind::Execute, &run.command);
            Ok(Err(state.refuse(denial, error.to_failure())))
        }
        Err(error @ CommandError::Unpassable) => Ok(Err(error.to_failure())),
    }
}

impl CallState {
    /// Records a denial, and that the call was refused if the plugin says no more than that.
    fn refuse(&mut self, denial: Denial, failure: Failure) -> Failure {
        self.refused = Some(CallError::denied(denial.kind.as_str(), denial.name.clone()));
        self.denials.record(denial);
        failure
    }

    /// The same for a command that is granted and that nothing here can run: no grant would help.
    fn refuse_unknown(&mut self, command: &str) -> Failure {
        let denial = Denial::new(Kind::Execute, command);
        let hint = "this host has no such command";
        let message = format!("permission denied: {denial}; {hint}");
        self.refused = Some(CallError::PermissionDenied {
            kind: denial.kind.as_str(),
            name: denial.name.clone(),
            hint: hint.to_owned(),
        });
        self.denials.record(denial);
        host_failure("PERMISSION_DENIED", message)
    }

    fn executor_fault(&mut self, reason: &str) -> Failure {
        let reason = tidegate_contract::failure::redact(reason);
        let failure = host_failure("EXECUTOR_FAULT", reason.clone());
        self.refused = Some(CallError::ExecutorFault { reason });
        failure
    }

    /// The bounds of time are the whole call's; any other is the command's, and the plugin may say so
    /// in its own words.
    fn breach_in_command(
        &mut self,
        breach: Breach,
    ) -> wasmtime::Result<Result<CommandOutput, Failure>> {
        match breach {
            Breach::Cancelled | Breach::Deadline | Breach::Cpu => {
                self.breach = Some(breach);
                Err(breach.into())
            }
            _ => Ok(Err(breach.failure(&self.setup.limits))),
        }
    }
}
