//! A call of a component that is a command: arguments and standard input in, bounded output out
//! (SPEC T7, R4, R5).

use tidegate_contract::limits::Limits;
use tidegate_contract::text::BoundedText;
use tidegate_contract::{CallError, ToolOutcome};
use tidegate_sandbox::artifacts::Shelf;
use wasmtime_wasi::I32Exit;
use wasmtime_wasi::p2::bindings::sync::CommandIndices;

use super::{begin, finish, outcome_of, run};
use crate::artifacts::Keeping;
use crate::command_tool::{self, Arguments};
use crate::exports::Asked;
use crate::plugin::Loaded;
use crate::program::Program;
use crate::streams::Capture;
use crate::watch::Watch;

/// Runs the command once.
pub(super) fn tool(
    loaded: &Loaded,
    (indices, asked): (&CommandIndices, Asked<'_>),
    watch: Watch,
    shelf: Option<Shelf>,
) -> Result<ToolOutcome, CallError> {
    let Arguments { args, stdin } =
        command_tool::read(asked.arguments).map_err(|problem| CallError::InvalidArguments {
            problems: vec![problem],
        })?;
    let limits = super::limits(loaded, &watch);
    let arguments = [vec![asked.name.to_owned()], args.clone()].concat();
    let program = Program::Standalone {
        arguments,
        stdin: stdin.into(),
    };
    let code = loaded.code()?;
    let mut store = begin(loaded, asked.id, watch, program)?;
    store.data_mut().keeping = Keeping::on(shelf, &limits);
    let end = run(loaded, &mut store, |store| {
        let instance = code.pre.instantiate(&mut *store)?;
        let command = indices.load(&mut *store, &instance)?;
        match command.wasi_cli_run().call_run(&mut *store) {
            Ok(Ok(())) => Ok(0),
            Ok(Err(())) => Ok(1),
            Err(error) => match error.downcast_ref::<I32Exit>() {
                Some(I32Exit(code)) => Ok(u8::try_from(*code).unwrap_or(u8::MAX)),
                None => Err(error),
            },
        }
    });
    let streams = (
        store.data_mut().stdout.take(),
        store.data_mut().stderr.take(),
    );
    let read = |exit_code, _: &Limits| {
        let output = [streams.0, streams.1].map(printed);
        command_tool::outcome(asked.name, &args, exit_code, output).map(Ok)
    };
    let outcome = outcome_of(end, &limits, None, read);
    finish(loaded, outcome, store)
}

/// What a stream kept; nothing where the command never asked for it.
fn printed(stream: Option<Capture>) -> BoundedText {
    stream.map_or_else(|| BoundedText::new("", 0), |stream| stream.take())
}
