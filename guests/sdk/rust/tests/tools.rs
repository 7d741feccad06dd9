//! Tools made of their types.

use tidegate_plugin::bindings::tools::exports::tidegate::plugin::tools::Guest;
use tidegate_plugin::schemars::JsonSchema;
use tidegate_plugin::serde::Deserialize;
use tidegate_plugin::{
    Entry, Failure, Outcome, Problem, Status, Tool, ToolCall, Tools, serde_json,
};

/// Not for callers.
#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tidegate_plugin::serde", deny_unknown_fields)]
#[schemars(crate = "tidegate_plugin::schemars")]
struct Arguments {
    /// What to repeat
    #[schemars(length(min = 1, max = 10))]
    text: String,
    times: Option<u8>,
}

struct Repeat;

impl Tool for Repeat {
    type Arguments = Arguments;
    const NAME: &'static str = "repeat";
    const DESCRIPTION: &'static str = "Repeats a text.";

    fn validate(arguments: &Arguments) -> Result<(), Vec<Problem>> {
        match arguments.times {
            Some(0) => Err(vec![Problem::new("/times", "it is 0")]),
            _ => Ok(()),
        }
    }

    fn execute(arguments: Arguments) -> Result<Outcome, Failure> {
        let times = usize::from(arguments.times.unwrap_or(2));
        if times > 9 {
            return Err(Failure::new("TOO_MANY", "that is too often"));
        }
        Ok(Outcome::text(arguments.text.repeat(times)))
    }
}

struct Plugin;

impl Tools for Plugin {
    const TOOLS: &'static [Entry] = &[Entry::of::<Repeat>()];
}

#[test]
fn p1_a_definition_has_the_schema_of_the_type() {
    let definitions = <Plugin as Guest>::definitions();
    let schema: serde_json::Value = serde_json::from_str(&definitions[0].input_schema).unwrap();
    let expected = serde_json::json!({
        "type": "object",
        "properties": {
            "text": {
                "type": "string", "minLength": 1, "maxLength": 10,
                "description": "What to repeat",
            },
            "times": {
                "type": ["integer", "null"], "format": "uint8", "minimum": 0, "maximum": 255,
            },
        },
        "required": ["text"],
        "additionalProperties": false,
    });
    assert_eq!(schema, expected);
}

#[test]
fn p1_arguments_are_read_checked_and_handed_over() {
    let call = |arguments: &str| {
        <Plugin as Guest>::execute(ToolCall {
            id: "1".to_owned(),
            name: "repeat".to_owned(),
            arguments: arguments.to_owned(),
        })
    };
    assert_eq!(call(r#"{"text":"ab"}"#), Outcome::text("abab"));
    // An integer, as JSON Schema has it.
    assert_eq!(call(r#"{"text":"ab","times":1.0}"#), Outcome::text("ab"));
    let unfit = call(r#"{"text":"ab","times":1.5}"#).error.unwrap();
    assert_eq!(unfit.code, "INVALID_ARGUMENTS");
    let failed = call(r#"{"text":"ab","times":10}"#);
    assert_eq!(failed.status, Status::Failed);
    assert_eq!(failed.error.unwrap().code, "TOO_MANY");
    assert_eq!(call("[]").error.unwrap().code, "INVALID_ARGUMENTS");
    let check = |name: &str, arguments: &str| {
        <Plugin as Guest>::validate(name.to_owned(), arguments.to_owned())
    };
    assert!(check("repeat", r#"{"text":"ab"}"#).is_ok());
    for (name, arguments, pointer) in [
        ("repeat", r#"{"text":"ab","times":0}"#, "/times"),
        ("repeat", r#"{"text":1}"#, ""),
        ("repeat", r#"{"text":"ab","more":1}"#, ""),
        ("other", r#"{"text":"ab"}"#, ""),
    ] {
        let problems = check(name, arguments).unwrap_err();
        assert_eq!(problems[0].pointer, pointer, "{name} {arguments}");
    }
}
