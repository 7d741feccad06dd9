//! The value of a step: what a submit and the parts beside it become (SPEC I5, I6).
//!
//! Deliberately absent: guessing. A body that looks like JSON and is not declared so stays text.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tidegate_contract::json::{self, JsonBounds};
use tidegate_contract::text::cut;

use crate::error::WorkerError;

/// How much of a body that does not parse an error repeats, in bytes.
const START_BYTES: usize = 80;

/// How deep a submitted value may nest: two levels less than the host's bound on JSON, for what
/// wraps it: the fold, and the step's key in the data of the flow.
const DEPTH: usize = 126;

/// What a final body is read as.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubmitFormat {
    /// Text, byte for byte.
    #[default]
    Text,
    /// One JSON value.
    Json,
    /// A word that nobody knows: text, with a warning that repeats it.
    Unknown(String),
}

impl SubmitFormat {
    /// What the nearest of the three declarations says; the first present key wins, whatever its
    /// value.
    ///
    /// `declared` holds the value of `submit_format` of the step, the agent and the blueprint.
    #[must_use]
    pub fn nearest(declared: [Option<&Value>; 3]) -> Self {
        match declared.into_iter().flatten().next() {
            None => Self::Text,
            Some(Value::String(word)) if word == "json" => Self::Json,
            Some(other) => Self::Unknown(cut(&other.to_string(), START_BYTES).to_owned()),
        }
    }
}

/// A step's value, and what its operator should know of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// The value for the flow.
    pub value: Value,
    /// One line for the log, where the declared format is unknown.
    pub warning: Option<String>,
}

/// The value of a step from its final body and the worker's own parts, in the order in which their
/// names were first staged.
///
/// # Errors
///
/// `NotJson` when the body is declared as JSON and is not, or nests too deep.
pub fn fold(
    agent: &str,
    format: &SubmitFormat,
    body: &str,
    parts: &[(String, String)],
) -> Result<Folded, WorkerError> {
    let folded = read_body(agent, format, body)?;
    if parts.is_empty() {
        return Ok(folded);
    }
    let text = |(name, text): &(String, String)| (name.clone(), Value::String(text.clone()));
    let mut whole = Map::new();
    whole.insert("out".to_owned(), folded.value);
    whole.insert(
        "parts".to_owned(),
        Value::Object(parts.iter().map(text).collect()),
    );
    Ok(Folded {
        value: Value::Object(whole),
        warning: folded.warning,
    })
}

/// The final body alone, as its format says.
///
/// # Errors
///
/// As [`fold`].
pub fn read_body(agent: &str, format: &SubmitFormat, body: &str) -> Result<Folded, WorkerError> {
    let as_text = |warning| Folded {
        value: Value::String(body.to_owned()),
        warning,
    };
    match format {
        SubmitFormat::Text => Ok(as_text(None)),
        SubmitFormat::Unknown(word) => Ok(as_text(Some(format!(
            "`submit_format` {word} of agent `{agent}` is unknown: its body stays text"
        )))),
        SubmitFormat::Json => {
            let bounds = JsonBounds {
                bytes: body.len(),
                depth: DEPTH,
            };
            match json::parse(body, &bounds) {
                Ok(value) => Ok(Folded {
                    value,
                    warning: None,
                }),
                Err(error) => Err(WorkerError::NotJson {
                    agent: agent.to_owned(),
                    reason: error.to_string(),
                    start: cut(body, START_BYTES).escape_debug().to_string(),
                }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parts(list: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        list.iter().map(owned).collect()
    }

    #[test]
    fn i5_parts_stand_beside_the_final_body_and_none_leave_it_plain() {
        let plain = fold("a", &SubmitFormat::Text, "done \n", &[]).unwrap();
        assert_eq!(plain.value, json!("done \n"));
        let staged = parts(&[("plan.md", "# plan"), ("n", "1")]);
        let folded = fold("a", &SubmitFormat::Text, "", &staged).unwrap();
        let expected = json!({"out": "", "parts": {"plan.md": "# plan", "n": "1"}});
        assert_eq!(folded.value, expected);
    }

    #[test]
    fn i6_a_declared_body_is_parsed_and_its_parts_stay_text() {
        let staged = parts(&[("p", "{}")]);
        let folded = fold("a", &SubmitFormat::Json, " {\"lanes\": [1]}\n", &staged).unwrap();
        let expected = json!({"out": {"lanes": [1]}, "parts": {"p": "{}"}});
        assert_eq!(folded.value, expected);
        let scalar = fold("a", &SubmitFormat::Json, "42", &[]).unwrap();
        assert_eq!(scalar.value, json!(42));
    }

    #[test]
    fn i6_an_undeclared_body_is_never_sniffed() {
        for body in ["{\"a\": 1}", "[]", "42", "null", "```json\n{}\n```"] {
            let folded = fold("a", &SubmitFormat::Text, body, &[]).unwrap();
            assert_eq!(folded.value, json!(body));
            assert_eq!(folded.warning, None);
        }
    }

    #[test]
    fn i6_a_body_that_does_not_parse_names_the_agent_and_its_start() {
        for body in [
            "",
            "prose",
            "```json\n{}\n```",
            "{\"a\":1,\"a\":2}",
            "1 2",
            "NaN",
        ] {
            let error = read_body("planner", &SubmitFormat::Json, body).unwrap_err();
            let text = error.to_string();
            assert_eq!(error.status(), 422, "{body:?}");
            assert!(text.contains("planner"), "{text}");
            assert!(text.contains(&body.escape_debug().to_string()), "{text}");
        }
        let long = "x".repeat(3_000_000);
        let error = read_body("planner", &SubmitFormat::Json, &long).unwrap_err();
        assert!(error.to_string().len() < 400);
    }

    #[test]
    fn i6_the_nearest_present_key_wins_even_when_its_value_is_unknown() {
        let (json, text) = (json!("json"), json!("text"));
        for (declared, expected) in [
            ([None, None, None], SubmitFormat::Text),
            ([None, None, Some(&json)], SubmitFormat::Json),
            ([None, Some(&json), Some(&text)], SubmitFormat::Json),
            (
                [Some(&text), Some(&json), None],
                SubmitFormat::Unknown("\"text\"".to_owned()),
            ),
            (
                [Some(&json!(null)), Some(&json), None],
                SubmitFormat::Unknown("null".to_owned()),
            ),
            (
                [None, Some(&json!(true)), Some(&json)],
                SubmitFormat::Unknown("true".to_owned()),
            ),
        ] {
            assert_eq!(SubmitFormat::nearest(declared), expected);
        }
        let folded = fold("a", &SubmitFormat::Unknown("true".to_owned()), "{}", &[]).unwrap();
        assert_eq!(folded.value, json!("{}"));
        assert!(folded.warning.unwrap().contains("true"));
    }

    #[test]
    fn io10_deep_nesting_is_an_answer_and_no_crash() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let staged = parts(&[("p", "")]);
        let folded = fold("a", &SubmitFormat::Json, &nested(DEPTH), &staged).unwrap();
        json::check(&json!({"step": folded.value}), &JsonBounds::default()).unwrap();
        for body in [
            nested(127),
            nested(128),
            nested(100_000),
            "[".repeat(100_000),
        ] {
            let error = read_body("a", &SubmitFormat::Json, &body).unwrap_err();
            assert_eq!(error.code(), "BODY_NOT_JSON");
        }
    }
}
