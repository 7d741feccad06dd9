//! A call of a plain export: the arguments become values, the returned value an outcome (SPEC T7).

use tidegate_contract::limits::Limits;
use tidegate_contract::{CallError, ToolOutcome};
use tidegate_sandbox::artifacts::Shelf;
use wasmtime::component::Val;

use super::{begin, ended, finish, outcome_of, run, traced};
use crate::artifacts::Keeping;
use crate::breach::Breach;
use crate::exports::Asked;
use crate::plugin::Loaded;
use crate::program::Program;
use crate::typed::{self, Typed, Unfit};
use crate::watch::Watch;

/// Calls the function of a tool. The arguments are read first: those that don't fit are refused before
/// there is an instance.
pub(super) fn tool(
    loaded: &Loaded,
    (typed, asked): (&Typed, Asked<'_>),
    watch: Watch,
    shelf: Option<Shelf>,
) -> Result<ToolOutcome, CallError> {
    let unknown = || CallError::UnknownTool {
        name: asked.name.to_owned(),
    };
    let function = typed.function(asked.name).ok_or_else(unknown)?;
    let limits = super::limits(loaded, &watch);
    let arguments = match function.read(asked.arguments, &limits) {
        Ok(arguments) => arguments,
        Err(Unfit::Problem(problem)) => {
            return Err(CallError::InvalidArguments {
                problems: vec![problem],
            });
        }
        Err(Unfit::TooMany) => return Ok(ended(Breach::HostAllocation, &limits)),
    };
    let code = loaded.code()?;
    let mut store = begin(loaded, asked.id, watch, Program::Tool)?;
    store.data_mut().keeping = Keeping::with_result(shelf, &limits);
    let end = run(loaded, &mut store, |store| {
        let instance = traced(tracing::debug_span!("instantiate"), || {
            code.pre.instantiate(&mut *store)
        })?;
        traced(tracing::debug_span!("execute"), || {
            function.call(store, &instance, &arguments)
        })
    });
    let kept_bytes = store.data().keeping.result_bytes;
    let read =
        |returned: Option<Val>, limits: &Limits| Ok(typed::outcome(returned.as_ref(), limits));
    let outcome = outcome_of(end, &limits, kept_bytes, read);
    finish(loaded, outcome, store)
}
