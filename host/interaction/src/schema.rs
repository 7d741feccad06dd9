//! Arguments checked against a tool's JSON Schema before the tool sees them (SPEC T7).
//!
//! Schemas come from plugins, so compiling and checking one must be bounded: its size and depth, how
//! far its references unfold, and patterns without backtracking. References lead inside the schema
//! only; nothing is ever fetched.

mod unfolding;

use std::fmt;

use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use thiserror::Error;
use tidegate_contract::{JsonObject, Problem, Value, text};

use unfolding::Unfolding;

/// Deepest nesting of a schema, counted across references: checking recurses as deep for each level
/// of the document.
const DEPTH: usize = 32;

/// Most looks at values that checking one document may take, and the most for listing every problem
/// instead of the first. A look takes some 10 ns; a listed problem some 200 bytes.
const LOOKS: u64 = 20_000_000;
const LISTED_LOOKS: u64 = 100_000;

/// Most steps of following every reference. Doubling references reach millions in a few lines.
const STEPS: u32 = 10_000;

/// Most patterns of one schema, and the compiled size of one in bytes.
const PATTERNS: usize = 32;

/// See [`PATTERNS`].
const PATTERN_BYTES: usize = 256 * 1024;

/// Most problems reported of one document.
const PROBLEMS: usize = 32;

/// Longest reason of one problem, in bytes.
const REASON_BYTES: usize = 240;

/// Why a schema can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SchemaError {
    /// Nested too deeply.
    #[error("it is nested deeper than {DEPTH}")]
    TooDeep,
    /// Its references unfold too far.
    #[error("its references unfold too far")]
    TooLarge,
    /// Too many patterns.
    #[error("it has more than {PATTERNS} patterns")]
    TooManyPatterns,
    /// A recursion comes back to one place of the document more than once, so that a nested
    /// document would be checked an exponential number of times, or for ever.
    #[error("`{0}` is recursive and applies to one place more than once")]
    Recursive(String),
    /// A reference that is not a JSON Pointer into the schema, or leads nowhere.
    #[error("the reference `{0}` does not lead to a place in the schema (`#` or `#/...`)")]
    Reference(String),
    /// Not a JSON Schema.
    #[error("it is no JSON Schema: {0}")]
    Invalid(String),
}

/// A compiled schema: what checks arguments, for whoever has other documents to check.
///
/// ```
/// use tidegate::Schema;
///
/// let schema = serde_json::from_str(r#"{"type": "object", "required": ["path"]}"#)?;
/// let schema = Schema::compile(&schema)?;
/// assert!(schema.check(&serde_json::json!({"path": "README.md"})).is_ok());
/// assert!(schema.check(&serde_json::json!({})).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Schema {
    validator: Validator,
    /// Steps that one look at one value can take.
    steps: u64,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Schema")
    }
}

impl Schema {
    /// The check that [`compile`](Self::compile) makes, for a host that keeps which schemas have passed
    /// it: changed with what is refused.
    pub const CHECK: u32 = 1;

    /// Checks that the schema is bounded, then compiles it.
    ///
    /// # Errors
    ///
    /// [`SchemaError`].
    pub fn compile(schema: &JsonObject) -> Result<Self, SchemaError> {
        let document = Value::Object(schema.clone());
        let steps = Unfolding::new(&document).check()?;
        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
            .build(&document)
            .map(|validator| Self {
                validator,
                steps: steps.into(),
            })
            .map_err(|error| SchemaError::Invalid(short(&error.to_string())))
    }

    /// The problems of a document: every one, up to 32, or the first of a large document.
    /// Reasons never repeat the document's values.
    ///
    /// # Errors
    ///
    /// What is wrong at which place.
    pub fn check(&self, document: &Value) -> Result<(), Vec<Problem>> {
        let looks = self.steps.saturating_mul(values(document));
        if looks > LOOKS {
            return Err(vec![Problem {
                pointer: String::new(),
                reason: "too many values to check against the tool's schema".to_owned(),
            }]);
        }
        let Err(first) = self.validator.validate(document) else {
            return Ok(());
        };
        let problem = |error: ValidationError<'_>| Problem {
            pointer: error.instance_path().to_string(),
            reason: short(&error.masked().to_string()),
        };
        if looks > LISTED_LOOKS {
            return Err(vec![problem(first)]);
        }
        let errors = self.validator.iter_errors(document);
        Err(errors.take(PROBLEMS).map(problem).collect())
    }
}

/// How many values a document holds, itself included.
fn values(document: &Value) -> u64 {
    let mut count = 0;
    let mut ahead = vec![document];
    while let Some(value) = ahead.pop() {
        count += 1;
        match value {
            Value::Array(items) => ahead.extend(items),
            Value::Object(map) => ahead.extend(map.values()),
            _ => {}
        }
    }
    count
}

fn short(reason: &str) -> String {
    text::cut(reason, REASON_BYTES)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compile(schema: Value) -> Result<Schema, SchemaError> {
        let Value::Object(schema) = schema else {
            panic!("a schema is an object")
        };
        Schema::compile(&schema)
    }

    #[test]
    fn t7_problems_name_the_place_and_hide_the_value() {
        let schema = compile(json!({
            "type": "object",
            "properties": {"path": {"type": "string", "minLength": 1}},
            "required": ["path"],
            "additionalProperties": false,
        }))
        .unwrap();
        assert!(schema.check(&json!({"path": "a"})).is_ok());
        let problems = schema.check(&json!({"path": 31337})).unwrap_err();
        assert_eq!(problems[0].pointer, "/path");
        assert!(
            !problems[0].reason.contains("31337"),
            "{}",
            problems[0].reason
        );
        assert!(schema.check(&json!({})).is_err());
        assert!(schema.check(&json!({"path": "a", "more": 1})).is_err());
    }

    #[test]
    fn t7_schemas_that_explode_are_refused() {
        let mut definitions = JsonObject::new();
        for level in 0..14 {
            let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
            definitions.insert(format!("l{level}"), json!({"allOf": [next, next]}));
        }
        definitions.insert("l14".to_owned(), json!({"type": "string"}));
        let doubling = json!({"$defs": definitions, "$ref": "#/$defs/l0"});
        assert_eq!(compile(doubling).unwrap_err(), SchemaError::TooLarge);

        let step = |more: Value| json!({"properties": {"x": {"$ref": "#"}}, "required": more});
        let twice = json!({"anyOf": [step(json!(["y"])), step(json!(["z"]))]});
        assert_eq!(
            compile(twice).unwrap_err(),
            SchemaError::Recursive("#".to_owned())
        );

        let through =
            |name: &str| json!({"properties": {"x": {"$ref": format!("#/$defs/{name}")}}});
        let both = json!({"allOf": [{"$ref": "#/$defs/c"}, {"$ref": "#/$defs/d"}]});
        let hidden = json!({
            "properties": {"a": {"$ref": "#/$defs/c"}, "b": {"$ref": "#/$defs/d"}},
            "$defs": {"a": through("b"), "b": both, "c": through("a"), "d": through("a")},
        });
        assert!(matches!(
            compile(hidden).unwrap_err(),
            SchemaError::Recursive(_)
        ));
        let forever = json!({"$defs": {"a": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"});
        assert!(matches!(
            compile(forever).unwrap_err(),
            SchemaError::Recursive(_)
        ));

        let mut deep = json!({"type": "string"});
        for _ in 0..100 {
            deep = json!({"not": deep});
        }
        assert_eq!(compile(deep).unwrap_err(), SchemaError::TooDeep);
    }

    #[test]
    fn t7_names_of_properties_are_no_keywords() {
        let twice = json!([{"$ref": "#"}, {"$ref": "#", "title": "b"}]);
        for name in [
            "enum",
            "const",
            "default",
            "examples",
            "$defs",
            "properties",
        ] {
            for map in ["patternProperties", "properties", "dependentSchemas"] {
                let schema = json!({map: {name: {"allOf": twice}}});
                let refused = compile(schema).unwrap_err();
                assert!(
                    matches!(refused, SchemaError::Recursive(_)),
                    "{map} {name}: {refused:?}"
                );
            }
        }
        assert!(compile(json!({"properties": {"$ref": {"type": "string"}}})).is_ok());
        assert!(compile(json!({"enum": [{"$ref": "nowhere"}]})).is_ok());
    }

    #[test]
    fn t7_chains_of_references_count_as_depth() {
        let mut definitions = JsonObject::new();
        for level in 0..DEPTH {
            let next = json!({"not": {"$ref": format!("#/$defs/l{}", level + 1)}});
            definitions.insert(format!("l{level}"), next);
        }
        definitions.insert(format!("l{DEPTH}"), json!({"type": "string"}));
        let chain = json!({"$defs": definitions, "$ref": "#/$defs/l0"});
        assert_eq!(compile(chain).unwrap_err(), SchemaError::TooDeep);
    }

    #[test]
    fn t7_checking_a_large_document_is_bounded() {
        let many: Vec<Value> = (0..300).map(|_| json!({"type": "string"})).collect();
        let schema = compile(json!({"type": "object", "properties": {
            "list": {"items": {"allOf": many}},
        }}))
        .unwrap();
        let list = |length: usize| json!({"list": vec![Value::from(1); length]});
        let small = schema.check(&list(10)).unwrap_err();
        assert_eq!(small.len(), PROBLEMS);
        assert_eq!(schema.check(&list(1_000)).unwrap_err().len(), 1);
        let large = schema.check(&list(200_000)).unwrap_err();
        assert!(large[0].reason.contains("too many values"), "{large:?}");
    }

    #[test]
    fn t7_too_many_patterns_are_refused() {
        let patterns: JsonObject = (0..=PATTERNS)
            .map(|index| (format!("^a{index}"), json!(true)))
            .collect();
        let refused = compile(json!({"patternProperties": patterns})).unwrap_err();
        assert_eq!(refused, SchemaError::TooManyPatterns);
    }

    #[test]
    fn t7_recursion_on_places_of_their_own_is_fine() {
        let tree = json!({
            "type": "object",
            "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}},
        });
        assert!(compile(tree).is_ok());
        let optional = json!({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]});
        let node = json!({"properties": {"left": optional, "right": optional}});
        let schema = json!({"$defs": {"node": node}, "$ref": "#/$defs/node"});
        assert!(compile(schema).is_ok());
    }

    #[test]
    fn t7_references_lead_nowhere_but_inside() {
        for target in [
            "https://example.com/schema",
            "other.json#/a",
            "#/$defs/missing",
            "#anchor",
        ] {
            assert!(compile(json!({"$ref": target})).is_err(), "{target}");
        }
    }

    #[test]
    fn t7_patterns_never_backtrack() {
        let schema = compile(json!({"type": "string", "pattern": "^(a+)+$"})).unwrap();
        let hostile = format!("{}!", "a".repeat(60_000));
        assert!(schema.check(&Value::String(hostile)).is_err());
        assert!(compile(json!({"pattern": "(a{1000}){1000}"})).is_err());
    }
}
