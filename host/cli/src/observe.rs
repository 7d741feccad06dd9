//! `tidegate observe`: an external result on stdin becomes an observation on stdout (SPEC L3, O1).

use tidegate_contract::{CallError, ExternalResult, Observation};

use crate::cli::ObserveArguments;
use crate::refusal::{self, Exit, Form};
use crate::{input, print};

/// Runs the command. Any valid result is observed, whatever its status says.
pub(crate) fn run(arguments: &ObserveArguments) -> Exit {
    match observe() {
        Ok(observation) => {
            print::json(&observation);
            Exit::Success
        }
        Err(error) => refusal::usage(&error, Form::of(arguments.json)),
    }
}

fn observe() -> anyhow::Result<Observation> {
    let result = ExternalResult::from_value(input::document()?, &input::bounds());
    let result = result.map_err(|error| CallError::InvalidCall {
        reason: error.to_string(),
    })?;
    Ok(tidegate::observe(result)?)
}
