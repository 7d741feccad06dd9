//! A call of a plain export: the arguments become values, the returned value an outcome (SPEC T7).

use tidegate_contract::{CallError, ToolOutcome};

use super::{begin, ended, run, traced};
use crate::breach::Breach;
use crate::convert::Broken;
use crate::ending::Ending;
use crate::exports::Asked;
use crate::plugin::Loaded;
use crate::program::Program;
use crate::report;
use crate::secrets;
use crate::typed::{self, Typed, Unfit};
use crate::watch::Watch;

/// Calls the function of a tool. The arguments are read first: those that don't fit are refused before
/// there is an instance.
pub(super) fn tool(
    loaded: &Loaded,
    typed: &Typed,
    asked: Asked<'_>,
    watch: Watch,
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
    let end = run(loaded, &mut store, |store| {
        let instance = traced(tracing::debug_span!("instantiate"), || {
            code.pre.instantiate(&mut *store)
        })?;
        traced(tracing::debug_span!("execute"), || {
            function.call(store, &instance, &arguments)
        })
    });
    let mut outcome = match end {
        Ok(returned) => match typed::outcome(returned.as_ref(), &limits) {
            Ok(outcome) => Ok(outcome),
            Err(Broken::TooLarge) => Ok(ended(Breach::Result, &limits)),
            Err(Broken::Contract(reason)) => Err(CallError::InvalidResult { reason }),
        },
        Err(Ending::Breach(breach)) => Ok(ended(breach, &limits)),
        Err(Ending::Trap(failure)) => Ok(ToolOutcome::failed(failure)),
        Err(Ending::Host(reason)) => Err(CallError::HostFault { reason }),
    };
    match &mut outcome {
        Ok(outcome) => report::attach(&mut outcome.metadata, store.into_data()),
        Err(_) => report::log(store.into_data()),
    }
    let secrets = &loaded.setup.handles.secrets;
    secrets::withhold(secrets, outcome, |outcome| serde_json::to_value(outcome))
}
