//! The tool `{{name}}`: counts the words of a text.

use tidegate_plugin::schemars::JsonSchema;
use tidegate_plugin::serde::Deserialize;
use tidegate_plugin::{Entry, Failure, Outcome, Problem, Tool, Tools};

/// What the tool takes. The comments of the fields are their descriptions.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tidegate_plugin::serde", deny_unknown_fields)]
#[schemars(crate = "tidegate_plugin::schemars")]
struct Arguments {
    /// The text whose words are counted
    #[schemars(length(max = 10_000))]
    text: String,
}

struct Count;

impl Tool for Count {
    type Arguments = Arguments;

    const NAME: &'static str = "{{name}}";

    const DESCRIPTION: &'static str =
        "Counts the words of a text: what stands between white space.";

    fn validate(arguments: &Arguments) -> Result<(), Vec<Problem>> {
        if arguments.text.trim().is_empty() {
            return Err(vec![Problem::new("/text", "the text is blank")]);
        }
        Ok(())
    }

    fn execute(arguments: Arguments) -> Result<Outcome, Failure> {
        let words = arguments.text.split_whitespace().count();
        Ok(Outcome::text(format!("{words} words")))
    }
}

struct Plugin;

tidegate_plugin::export_tools!(Plugin);

impl Tools for Plugin {
    const TOOLS: &'static [Entry] = &[Entry::of::<Count>()];
}
