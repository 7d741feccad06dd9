//! How a command ends: exit codes, and errors as people and scripts read them (SPEC L1, E).

use std::process::ExitCode;

use serde_json::json;
use tidegate_contract::CallError;

use crate::print;

/// The exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything was done.
    Success,
    /// The call was made and did not succeed, or gave no valid result.
    Failed,
    /// Refused before anything ran, or wrong usage.
    Refused,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => Self::SUCCESS,
            Exit::Failed => Self::from(1),
            Exit::Refused => Self::from(2),
        }
    }
}

/// Whether the output is for scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Json,
}

impl Form {
    /// `--json` or not.
    pub(crate) fn of(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

/// Reports an error of a call: its public form on stdout for scripts, words on stderr for people.
pub(crate) fn report(error: &CallError, form: Form) -> Exit {
    match form {
        Form::Json => {
            let failure = error.to_failure();
            let public = json!({"code": failure.code(), "message": failure.message()});
            print::json(&json!({ "error": public }));
        }
        Form::Text => print::warning(&format!("error: {}: {error}", error.code())),
    }
    if error.is_refusal() {
        Exit::Refused
    } else {
        Exit::Failed
    }
}

/// Reports that the command could not even start: wrong usage, a bad config, a plugin that does not
/// load. The chain of causes is for the operator.
pub(crate) fn usage(error: &anyhow::Error, form: Form) -> Exit {
    if let Some(error) = error.downcast_ref::<CallError>() {
        return report(error, form);
    }
    let chain = error
        .chain()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ");
    print::warning(&format!("error: {chain}"));
    if form == Form::Json {
        let failure = tidegate_contract::failure::host_failure("INVALID_CALL", chain);
        let public = json!({"code": failure.code(), "message": failure.message()});
        print::json(&json!({ "error": public }));
    }
    Exit::Refused
}
