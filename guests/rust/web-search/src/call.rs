//! One call from its arguments to its outcome. The provider is asked at most once: it comes in as
//! something that can only be called once.

use crate::arguments::Arguments;
use crate::bindings::tidegate::plugin::types::{Outcome, ToolCall};
use crate::outcome;
use crate::results::Results;
use crate::settings::Settings;

/// There is no answer. Why is no business of the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed;

/// Runs one call; `ask` gets the body of the provider's answer to a path.
pub(crate) fn execute(
    call: &ToolCall,
    config: &str,
    ask: impl FnOnce(&Settings, &str) -> Result<Vec<u8>, Failed>,
) -> Outcome {
    let arguments = match Arguments::read(&call.name, &call.arguments) {
        Ok(arguments) => arguments,
        Err(problems) => return outcome::invalid_arguments(&problems),
    };
    let settings = match Settings::read(config) {
        Ok(settings) => settings,
        Err(reason) => return outcome::invalid_config(&reason),
    };
    let path = settings.provider.path(&arguments);
    let hits = ask(&settings, &path).and_then(|body| settings.provider.hits(&body));
    match hits {
        Ok(hits) => outcome::found(&arguments.query, &Results::of(hits, arguments.limit)),
        Err(Failed) => outcome::failed(),
    }
}

#[cfg(test)]
mod tests;
