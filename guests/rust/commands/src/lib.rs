//! The fourteen read-only command tools: `grep`, `ls`, `cat`, `find`, `head`, `tail`, `wc`, `sort`,
//! `uniq`, `cut`, `stat`, `file`, `du` and `pwd` (SPEC R1 to R6).
//!
//! A call is read into typed [`arguments`], which become one fixed command with literal arguments;
//! the host is asked once to run it, and its output becomes a bounded, safe [`outcome`]. The calls
//! to the host stand in this file alone, so that all else runs natively in tests. Deliberately
//! absent: options of the commands that no argument names, a shell, a second try.

use bindings::exports::tidegate::plugin::tools::{Guest, Problem};
use bindings::tidegate::plugin::context::{self, Level};
use bindings::tidegate::plugin::exec;
use bindings::tidegate::plugin::types::{Outcome, ToolCall, ToolDefinition};

use crate::arguments::Arguments;
use crate::settings::Settings;

mod arguments;
mod bindings;
#[cfg(target_family = "wasm")]
mod c_library;
mod call;
mod definitions;
mod fields;
mod json;
mod outcome;
mod path;
mod reason;
mod schema;
mod settings;
mod shape;
mod syntax;
mod text;
mod whole_number;

struct Commands;

bindings::export!(Commands with_types_in bindings);

impl Guest for Commands {
    /// The same list under any settings. Wrong ones are an operator's mistake and are told at the
    /// first moment there is: in the log, when the host loads the plugin.
    fn definitions() -> Vec<ToolDefinition> {
        if let Err(reason) = Settings::read(&context::config()) {
            context::log(Level::Error, &reason);
        }
        definitions::all()
    }

    fn validate(name: String, arguments: String) -> Result<(), Vec<Problem>> {
        Arguments::read(&name, &arguments).map(drop)
    }

    fn execute(call: ToolCall) -> Outcome {
        call::execute(&call, &context::config(), exec::run)
    }
}
