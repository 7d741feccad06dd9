//! `web_search`: searches the web through one provider (SPEC W1 to W3).
//!
//! A call is read into [`arguments`], which a [`provider`] turns into one request; the answer is
//! bounded while it comes, and becomes an [`outcome`] of plain texts. The calls to the host stand in
//! this file and in `exchange`, so that all else runs natively in tests. Deliberately absent: keys
//! (the host adds them to the request), a second try, reading the pages that are found.

use bindings::exports::tidegate::plugin::tools::{Guest, Problem};
use bindings::tidegate::plugin::context::{self, Level};
use bindings::tidegate::plugin::types::{Outcome, ToolCall, ToolDefinition};
use exchange::{Deadline, Request};

use crate::arguments::Arguments;
use crate::call::Failed;
use crate::settings::Settings;

mod arguments;
mod bindings;
mod call;
mod definition;
mod markup;
mod outcome;
mod provider;
mod results;
mod settings;
mod text;

struct WebSearch;

bindings::export!(WebSearch with_types_in bindings);

impl Guest for WebSearch {
    /// The same under any settings. Wrong ones are an operator's mistake and are told at the first
    /// moment there is: in the log, when the host loads the plugin.
    fn definitions() -> Vec<ToolDefinition> {
        if let Err(reason) = Settings::read(&context::config()) {
            context::log(Level::Error, &reason);
        }
        vec![definition::definition()]
    }

    fn validate(name: String, arguments: String) -> Result<(), Vec<Problem>> {
        Arguments::read(&name, &arguments).map(drop)
    }

    fn execute(call: ToolCall) -> Outcome {
        let outcome = call::execute(&call, &context::config(), ask);
        if outcome.error.is_some() && context::cancelled() {
            return outcome::cancelled();
        }
        outcome
    }
}

/// Asks the provider once. Why that failed is for the operator alone.
fn ask(settings: &Settings, path: &str) -> Result<Vec<u8>, Failed> {
    if context::cancelled() {
        return Err(Failed);
    }
    answer(settings, path).map_err(|reason| {
        context::log(Level::Warn, &format!("web_search failed: {reason}"));
        Failed
    })
}

fn answer(settings: &Settings, path: &str) -> Result<Vec<u8>, String> {
    let deadline = Deadline::after(settings.timeout);
    let request = Request {
        server: &settings.origin,
        path,
        headers: &[("accept", "application/json")],
        body: None,
    };
    let response = exchange::send(&request, &deadline).map_err(|fault| fault.to_string())?;
    match response.status() {
        200 => response
            .read(settings.max_response_bytes, &deadline)
            .map_err(|fault| fault.to_string()),
        status => Err(format!("the provider answered with status {status}")),
    }
}
