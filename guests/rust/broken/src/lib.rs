//! A small plugin that keeps to the contract, but for the one fault that its bytes name.
//!
//! Its tool says a word, loudly or not; its sink takes every delivery; its worker repeats its prompt.
//! Which rule of `tidegate check` finds which fault is written in the test, not here.

mod answer;
mod bindings;
mod definition;
mod fault;
mod sink;
mod worker;

use bindings::exports::tidegate::plugin::tools::{Guest, Problem};
use bindings::tidegate::plugin::types::{Outcome, ToolCall, ToolDefinition};

struct Broken;

bindings::export!(Broken with_types_in bindings);

impl Guest for Broken {
    fn definitions() -> Vec<ToolDefinition> {
        definition::all()
    }

    fn validate(_name: String, arguments: String) -> Result<(), Vec<Problem>> {
        let is_valid = answer::is_valid(&arguments);
        match fault::name() {
            "validate_traps" => trap(),
            "takes_anything" | "traps_on_invalid" => Ok(()),
            "refuses_all" => Err(vec![problem("/loud", "not today")]),
            "refuses_silently" if !is_valid => Err(Vec::new()),
            "refuses_blankly" if !is_valid => Err(vec![problem("", " ")]),
            "refuses_with_path" if !is_valid => {
                Err(vec![problem("", "see /home/someone/rules.txt")])
            }
            "refuses_nowhere" if !is_valid => Err(vec![problem("loud", "expected a boolean")]),
            _ if is_valid => Ok(()),
            _ => Err(vec![problem("", "expected an object with `loud` alone")]),
        }
    }

    fn execute(call: ToolCall) -> Outcome {
        answer::to(&call.arguments)
    }
}

fn problem(pointer: &str, reason: &str) -> Problem {
    Problem {
        pointer: pointer.to_owned(),
        reason: reason.to_owned(),
    }
}

#[expect(clippy::panic, reason = "the case to be tested")]
fn trap() -> ! {
    panic!("this plugin always panics here");
}
