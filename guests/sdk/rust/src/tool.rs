//! Tools by their types: arguments are read, and their schema is made, from one struct.
//!
//! Deliberately absent: words of the reader in an answer. What does not fit the schema was told by the
//! host, with its place, before the plugin is asked.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::bindings::tools::exports::tidegate::plugin::tools::{Guest, Problem};
use crate::{Effect, Failure, Outcome, ToolCall, ToolDefinition};

/// One tool.
pub trait Tool {
    /// What it takes. `#[serde(deny_unknown_fields)]` closes the schema; a bound on each text, list
    /// and number keeps what is too large away.
    type Arguments: DeserializeOwned + JsonSchema;

    /// What callers call it: 1 to 64 of letters, digits, `_` and `-`.
    const NAME: &'static str;

    /// Tells a model when to use the tool and what it gets.
    const DESCRIPTION: &'static str;

    /// What it touches. Nothing, for a tool that only computes.
    const EFFECTS: &'static [Effect] = &[];

    /// Whether a person should agree before each run. The host passes it on and asks nobody.
    const REQUIRES_APPROVAL: bool = false;

    /// The JSON Schema of the arguments.
    fn input_schema() -> String {
        schema_of::<Self::Arguments>()
    }

    /// The JSON Schema of what [`Outcome::data`] gets; `None` where the tool promises nothing.
    fn output_schema() -> Option<String> {
        None
    }

    /// Checks what a schema can't say. The call is refused for what is wrong.
    ///
    /// # Errors
    ///
    /// Each place that is wrong, with a reason in one line; at least one.
    fn validate(_arguments: &Self::Arguments) -> Result<(), Vec<Problem>> {
        Ok(())
    }

    /// Runs once.
    ///
    /// # Errors
    ///
    /// What went wrong in the tool's own business.
    fn execute(arguments: Self::Arguments) -> Result<Outcome, Failure>;
}

/// The tools of a plugin: what [`export_tools`](crate::export_tools) takes.
pub trait Tools {
    /// Each of them, by [`Entry::of`].
    const TOOLS: &'static [Entry];
}

/// One tool in the list of a plugin.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    name: &'static str,
    definition: fn() -> ToolDefinition,
    validate: fn(&str) -> Result<(), Vec<Problem>>,
    execute: fn(&str) -> Outcome,
}

impl Entry {
    /// The entry of a tool.
    pub const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            definition: definition::<T>,
            validate: validate::<T>,
            execute: execute::<T>,
        }
    }
}

impl<T: Tools> Guest for T {
    fn definitions() -> Vec<ToolDefinition> {
        Self::TOOLS.iter().map(|tool| (tool.definition)()).collect()
    }

    fn validate(name: String, arguments: String) -> Result<(), Vec<Problem>> {
        match find::<Self>(&name) {
            Some(tool) => (tool.validate)(&arguments),
            None => Err(vec![Problem::new("", NO_SUCH_TOOL)]),
        }
    }

    fn execute(call: ToolCall) -> Outcome {
        match find::<Self>(&call.name) {
            Some(tool) => (tool.execute)(&call.arguments),
            None => Failure::new("UNKNOWN_TOOL", NO_SUCH_TOOL).into(),
        }
    }
}

const NO_SUCH_TOOL: &str = "this plugin has no tool of that name";

const UNFIT: &str = "the arguments do not fit the tool's schema";

fn find<T: Tools>(name: &str) -> Option<&'static Entry> {
    T::TOOLS.iter().find(|tool| tool.name == name)
}

fn definition<T: Tool>() -> ToolDefinition {
    ToolDefinition {
        name: T::NAME.to_owned(),
        description: Some(T::DESCRIPTION.to_owned()),
        input_schema: T::input_schema(),
        output_schema: T::output_schema(),
        effects: T::EFFECTS.to_vec(),
        requires_approval: T::REQUIRES_APPROVAL,
    }
}

/// Reads arguments. For JSON Schema 2.0 is an integer, for serde it is none: such numbers are read as what
/// they are worth where the arguments do not fit as they stand.
fn read<A: DeserializeOwned>(arguments: &str) -> serde_json::Result<A> {
    serde_json::from_str(arguments).or_else(|unfit| {
        let mut value: Value = serde_json::from_str(arguments)?;
        if make_whole(&mut value) {
            serde_json::from_value(value)
        } else {
            Err(unfit)
        }
    })
}

/// The largest number below which each whole one has a float of its own.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// Writes floats without a fraction as integers; whether there were any.
fn make_whole(value: &mut Value) -> bool {
    match value {
        Value::Number(number) => {
            let float = number.as_f64().filter(|_| number.is_f64());
            let whole = float.filter(|float| float.fract() == 0.0 && float.abs() < WHOLE);
            // Its digits are those of an integer.
            let whole = whole.and_then(|whole| format!("{whole:.0}").parse::<i64>().ok());
            whole.is_some_and(|whole| {
                *value = whole.into();
                true
            })
        }
        Value::Array(values) => values
            .iter_mut()
            .fold(false, |any, value| make_whole(value) | any),
        Value::Object(values) => values
            .values_mut()
            .fold(false, |any, value| make_whole(value) | any),
        _ => false,
    }
}

fn validate<T: Tool>(arguments: &str) -> Result<(), Vec<Problem>> {
    match read(arguments) {
        Ok(arguments) => T::validate(&arguments),
        Err(_unfit) => Err(vec![Problem::new("", UNFIT)]),
    }
}

fn execute<T: Tool>(arguments: &str) -> Outcome {
    match read(arguments) {
        Ok(arguments) => T::execute(arguments).unwrap_or_else(Outcome::from),
        Err(_unfit) => Failure::new("INVALID_ARGUMENTS", UNFIT).into(),
    }
}

/// The JSON Schema (2020-12) of a type, with all that it names inside.
pub fn schema_of<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // Neither the name of the type nor what its author knows of it is for a caller.
    schema.remove("title");
    schema.remove("description");
    schema.as_value().to_string()
}

impl Problem {
    /// What is wrong with one place of the arguments, named by a JSON pointer such as `/path`.
    pub fn new(pointer: &str, reason: &str) -> Self {
        Self {
            pointer: pointer.to_owned(),
            reason: reason.to_owned(),
        }
    }
}
